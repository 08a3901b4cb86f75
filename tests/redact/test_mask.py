"""Known key formats are masked, and nothing that only looks like one. The keys are made up here: none was ever valid."""

from __future__ import annotations

import base64
import json
import random
import re
import string
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stenograph.redact import RULES, Masker, find_secrets, mask

_RANDOM = random.Random(7)


def _word(length: int, alphabet: str = string.ascii_letters + string.digits) -> str:
    return "0" + "".join(_RANDOM.choices(alphabet, k=length - 1))


_PEM = "-----BEGIN RSA PRIVATE KEY-----\n" + "\n".join(_word(64) for _ in range(5)) + "\n-----END RSA PRIVATE KEY-----"
_JWT = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0." + _word(43)
SECRETS = [
    ("anthropic-key", "sk-ant-api03-" + _word(90) + "-_AA"),
    ("anthropic-key", "sk-ant-oat01-" + _word(80)),
    ("openai-key", "sk-" + _word(48)),
    ("openai-key", "sk-proj-" + _word(40) + "_" + _word(60) + "-A"),
    ("openai-key", "sk-svcacct-" + _word(60)),
    ("aws-key-id", "AKIA" + _word(16, string.ascii_uppercase)),
    ("aws-key-id", "ASIA" + _word(16, string.ascii_uppercase)),
    ("github-token", "ghp_" + _word(36)),
    ("github-token", "gho_" + _word(36)),
    ("github-token", "ghs_" + _word(36)),
    ("github-token", "github_pat_" + _word(22) + "_" + _word(59)),
    ("gitlab-token", "glpat-" + _word(20)),
    ("slack-token", "xoxb-123456789012-123456789012-" + _word(24)),
    ("slack-token", "xoxp-" + _word(30)),
    ("google-key", "AIza" + _word(35)),
    ("stripe-key", "sk_live_" + _word(24)),
    ("stripe-key", "rk_live_" + _word(24)),
    ("npm-token", "npm_" + _word(36)),
    ("pypi-token", "pypi-AgEIcHlwaS5vcmc" + _word(150)),
    ("private-key", _PEM),
    ("private-key", _PEM.replace("RSA ", "").replace("\n", "\\n")),
    ("private-key", _PEM.replace("RSA", "OPENSSH")),
    ("jwt", _JWT),
    ("openrouter-key", "sk-or-v1-" + _word(64, "0123456789abcdef")),
    ("groq-key", "gsk_" + _word(52)),
    ("xai-key", "xai-" + _word(80)),
    ("huggingface-token", "hf_" + _word(34)),
    ("sendgrid-key", "SG." + _word(22) + "." + _word(43)),
    ("digitalocean-token", "dop_v1_" + _word(64, "0123456789abcdef")),
    ("google-oauth-token", "ya29." + _word(120) + "-_" + _word(40)),
]


@pytest.mark.parametrize(("name", "secret"), SECRETS, ids=lambda value: value[:16])
@pytest.mark.parametrize(
    "around",
    [
        "{}",
        "export KEY={}\n",
        '{{"key": "{}"}}',
        "see ({}), then",
        "`{}`",
        "x/{}\n",
        "https://h/?key={}&b=1",
        "\x1b[32m{}\x1b[0m",
        "\\u001b[1;32m{}\\u001b[0m",
        '"a\\n{}\\n"',
        "\x1b[01;31m\x1b[K{}\x1b[m",
    ],
)
def test_a_secret_is_masked_wherever_it_stands(name: str, secret: str, around: str) -> None:
    if around == "x/{}\n" and name in ("google-key", "jwt"):
        around = "x:{}\n"  # behind a slash these could be part of a base64 text
    assert mask(around.format(secret)) == (around.format(f"[{name}:1]"), 1)


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        ("Authorization: Bearer abcdef0123456789abcdef", "Authorization: Bearer [bearer-token:1]"),
        ("authorization: bearer " + _JWT, "authorization: bearer [jwt:1]"),
        ("postgres://app:hunter2@db:5432/x", "postgres://app:[url-password:1]@db:5432/x"),
        ("https://:s3cret@host/", "https://:[url-password:1]@host/"),
        ("aws_secret_access_key = " + "a1/+" * 10, "aws_secret_access_key = [aws-secret:1]"),
        ('\\"SecretAccessKey\\": \\"' + "Zz09" * 10 + '\\"', '\\"SecretAccessKey\\": \\"[aws-secret:1]\\"'),
        ("Authorization: Basic dXNlcjpodW50ZXIy", "Authorization: Basic [basic-auth:1]"),
        ('"authorization": "basic dXNlcjpwYXNzd29yZA=="', '"authorization": "basic [basic-auth:1]"'),
        ("AccountName=x;AccountKey=" + "aZ0+" * 21 + "aa==;End", "AccountName=x;AccountKey=[azure-key:1];End"),
        (
            "https://hooks.slack.com/services/T0ABCDEFG/B0ABCDEFG/" + "aZ09" * 6,
            "https://hooks.slack.com/services/[slack-webhook:1]",
        ),
        ("AWS_SESSION_TOKEN=" + "Ab1+" * 40, "AWS_SESSION_TOKEN=[aws-session-token:1]"),
    ],
)
def test_only_the_secret_part_of_an_assignment_or_address_is_masked(text: str, masked: str) -> None:
    assert mask(text) == (masked, 1)


def test_a_private_key_that_was_cut_off_is_masked_as_far_as_it_goes() -> None:
    lines = [_word(64) for _ in range(3)]
    text = "-----BEGIN PRIVATE KEY-----\n" + "\n".join(lines) + "\n... (12 more lines)"
    assert mask(text) == ("[private-key:1]... (12 more lines)", 1)
    numbered = "     1→-----BEGIN PRIVATE KEY-----\n" + "\n".join(f"     {i}→{line}" for i, line in enumerate(lines, 2))
    assert mask(numbered) == ("     1→[private-key:1]", 1)


@pytest.mark.parametrize(
    "text",
    [
        "550e8400-e29b-41d4-a716-446655440000",
        "commit 9fceb02d0ae598e95dc970b74767f19372d61af8",
        "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
        "task-list-with-a-very-long-name-that-goes-on-2",
        "sk-toggleable-content-arrow-is-a-class-of-a-library",
        "desk-0123456789012345678901234567890123456789",
        "risk-assessment-2024-and-everything-after-it",
        "toolu_01fdd2417ecf90664ac8ceaa and msg_01f55149b4ce4961f6c374ce",
        "npm_config_registry=x npm_lifecycle_event=test",
        "git@github.com:someone/project.git",
        "http://localhost:8080/@scope/package",
        "https://example.org:443/a@b",
        "postgres://app:$PASSWORD@db/x and mysql://root:${PW}@h and x://u:<password>@h and x://u:***@h",
        "Bearer authentication-is-described-in-the-manual",
        "the bearer of this letter",
        "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----",
        "-----BEGIN PUBLIC KEY-----\nMIIB\n-----END PUBLIC KEY-----",
        "eyJhbGciOiJIUzI1NiJ9 is only a header",
        "secret_key = os.environ['SECRET_KEY']",
        "AKIAIOSFODNN7EXAMPLETOOLONGFORAKEY",
        "ghp_short xoxo-hugs-and-kisses",
    ],
)
def test_what_only_looks_like_a_secret_is_left_alone(text: str) -> None:
    assert mask(text) == (text, 0)


def test_pictures_in_base64_are_left_alone() -> None:
    picture = base64.b64encode(random.Random(1).randbytes(3_000_000)).decode()
    # The worst there is: text that begins as keys do, in the middle of it.
    text = picture[:1000] + "AIza" + picture[1000:2000] + "AKIA" + picture[2000:] + "eyJ" + picture[:50]
    assert mask(text) == (text, 0)


def test_the_same_secret_has_the_same_number() -> None:
    masker = Masker()
    one, other = "ghp_" + _word(36), "ghp_" + _word(36)
    assert masker.mask(f"{one} {other}") == "[github-token:1] [github-token:2]"
    assert masker.mask(f"{other} {one}") == "[github-token:2] [github-token:1]"
    assert masker.count == 4


def test_a_secret_coloured_in_the_middle_is_masked_whole() -> None:
    secret = "ghp_" + _word(36)
    coloured = f"token: \x1b[01;31m\x1b[K{secret[:4]}\x1b[m\x1b[K{secret[4:]} rest"
    assert mask(coloured) == ("token: \x1b[01;31m\x1b[K[github-token:1] rest", 1)


@pytest.mark.parametrize(
    "secret",
    [
        "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8",
        "sk_live_51HabcDEFghiJKLmno12345",
        "github_pat_11ABCDEFG0123456789abcdef",
        "glpat-abcdefghij1234567890",
        "sk-ant-api03-abcdEFGH1234ijkl-5678_x",
    ],
)
def test_a_secret_whose_punctuation_markdown_escapes_is_masked_whole(secret: str) -> None:
    hidden = re.sub("[_-]", lambda mark: "\\" + mark[0], secret)
    masked, count = mask(f"The key is {hidden}, yes.")
    assert count == 1
    assert re.fullmatch(r"The key is \[[a-z-]+:1\], yes\.", masked)


def test_a_value_whose_name_markdown_escapes_is_masked() -> None:
    assert mask(r"Set API\_KEY\=kT9v\-Q2mLx8\!WzAA1 first") == (r"Set API\_KEY\=[assigned-secret:1] first", 1)


def test_backslashes_of_code_and_paths_hide_nothing() -> None:
    for text in (r"re.compile(r'\w+\.py\(\d+\)')", r"C:\work\_build\-x", r"path\/to\/file", r"a \_ b \- c"):
        assert mask(text) == (text, 0)


@pytest.mark.parametrize("unseen", ["\u200b", "\u00ad", "\u2060\ufeff", "\u202e", "\U000e0041", "\u200b\x1b[1m"])
def test_a_secret_with_unseen_characters_in_it_is_masked_whole(unseen: str) -> None:
    secret = "ghp_" + _word(36)
    assert mask(f"token: {secret[:2]}{unseen}{secret[2:20]}{unseen}{secret[20:]} rest") == ("token: [github-token:1] rest", 1)


def test_a_hyphen_is_seen_and_the_mark_before_it_in_unicode_is_not() -> None:
    secret = "ghp_" + _word(36)
    assert mask(f"{secret[:3]}\u200f{secret[3:]}") == ("[github-token:1]", 1)
    visible = f"{secret[:3]}\u2010{secret[3:]}"
    assert mask(visible) == (visible, 0)


@pytest.mark.parametrize("piece", ["0meyJaaaaaaaa", "[0meyJaaaaaaaa", ";meyJaaaaaaaa", "\\neyJaaaaaaaa.", "[KeyJaaaaaaaa.eyJ"])
def test_words_within_words_are_not_read_again_and_again(piece: str) -> None:
    """Four times the text takes four times the time, not sixteen."""

    def seconds(number: int) -> float:
        times = []
        for _ in range(3):
            started = time.process_time()
            find_secrets(piece * number)
            times.append(time.process_time() - started)
        return min(times)

    assert seconds(40_000) < 9 * seconds(10_000) + 0.05


@pytest.mark.parametrize("colour", ["[m", "[1m", "[0;m", "[31m", "[1;31m", "[38;5;196m", "[38:5:196m", "[K"])
def test_a_token_behind_a_colour_is_one(colour: str) -> None:
    assert mask(f"\\u001b{colour}{_JWT}") == (f"\\u001b{colour}[jwt:1]", 1)


def test_json_that_nests_without_end_is_copied_as_far_as_it_can_be_written() -> None:
    deep: Any = ["end"]
    for _ in range(5000):
        deep = {"in": deep}
    masked = Masker().mask_json([deep, "after"])
    written = json.dumps(masked)
    assert written.count('"in"') == 199
    assert ("[nested too deep to show]" in written, "end" in written, masked[1]) == (True, False, "after")


def test_numbers_that_json_has_not_are_null() -> None:
    values = [float("inf"), float("-inf"), float("nan"), 10**5000, -(10**5000), 10**4000, 1.5, True]
    assert Masker().mask_json(values) == [None, None, None, None, None, 10**4000, 1.5, True]


def test_overlapping_secrets_are_masked_as_one() -> None:
    token = "ghp_" + _word(36)
    assert mask(f"https://x:{token}@github.com/") == ("https://x:[github-token:1]@github.com/", 1)


def test_masked_text_stays_as_it_is_when_masked_again() -> None:
    text = "\n".join(secret for _, secret in SECRETS) + " x://u:pass@h Bearer " + _word(30)
    once, count = mask(text)
    assert count == len(SECRETS) + 2
    assert mask(once) == (once, 0)


def test_json_is_masked_through_and_through() -> None:
    token = "npm_" + _word(36)
    masked = Masker().mask_json({"a": [token, 1, None, {token: True}]})
    assert masked == {"a": ["[npm-token:1]", 1, None, {"[npm-token:1]": True}]}


def test_a_list_in_which_a_key_begins_keeps_its_items_whatever_is_among_them() -> None:
    begins = "-----BEGIN RSA PRIVATE KEY-----"
    for others in (["two\nlines"], [5, None]):
        assert Masker().mask_json([begins, *others])[1:] == others


@pytest.mark.spread(20)
@pytest.mark.parametrize("literal", sorted({literal for rule in RULES for literal in rule.literals}))
def test_the_time_grows_with_the_length_alone(literal: str) -> None:
    """A text of nothing but beginnings of keys; quadratic time would be minutes."""
    for filler in ("", "a", "-", ".", "a0 ", ":", "A" * 50, "://"):
        text = (literal + filler) * (50_000 // len(literal + filler))
        started = time.process_time()
        find_secrets(text)
        assert time.process_time() - started < 2


@given(st.text())
def test_no_text_is_too_odd(text: str) -> None:
    masked, count = mask(text)
    assert (masked == text) == (count == 0)


@pytest.mark.parametrize(
    ("name", "secret", "known"),
    [
        ("anthropic-key", "sk-ant-api03-" + _word(90), 11),
        ("openai-key", "sk-proj-1" + _word(40), 13),
        ("aws-key-id", "AKIA" + "Q7" * 8, 8),
        ("github-token", "ghp_" + _word(36), 8),
        ("github-token", "github_pat_" + _word(60), 15),
        ("gitlab-token", "glpat-" + _word(20), 10),
        ("slack-token", "xoxb-1" + _word(30), 9),
        ("google-key", "AIza" + _word(35), 8),
        ("stripe-key", "sk_live_" + _word(24), 12),
        ("npm-token", "npm_A" + _word(35), 8),
        ("pypi-token", "pypi-Ag" + _word(80), 11),
        ("jwt", _JWT, _JWT.index(".") + 4),
        ("openrouter-key", "sk-or-v1-" + "0a1b" * 16, 13),
        ("groq-key", "gsk_" + _word(52), 8),
        ("xai-key", "xai-" + _word(80), 12),
        ("huggingface-token", "hf_" + _word(34), 7),
        ("sendgrid-key", "SG." + _word(22) + "." + _word(43), 11),
        ("digitalocean-token", "dop_v1_" + "0a1b" * 16, 11),
        ("google-oauth-token", "ya29." + _word(100), 9),
        ("slack-webhook", "hooks.slack.com/services/T0ABCDEFG/B0ABCDEFG/" + "aZ09" * 6, 36),
        ("azure-key", "AccountKey=" + "aZ0+" * 21, 15),
        ("basic-auth", "Authorization: Basic dXNlcjpodW50ZXIy", 23),
        ("bearer-token", "Bearer 1" + _word(40), 11),
        ("url-password", "postgres://app:hunter2hunter2", 16),
        ("aws-secret", "aws_secret_access_key = " + "a1/+" * 10, 28),
    ],
    ids=lambda value: str(value)[:16],
)
@pytest.mark.parametrize("after", ["", "…", "...", "\n"])
def test_a_secret_that_was_cut_off_is_masked_too(name: str, secret: str, known: int, after: str) -> None:
    for length in range(known, len(secret)):
        masked, count = mask(f"see {secret[:length]}{after}")
        assert count == 1, secret[:length]
        assert masked.rstrip("….\n").endswith(f"[{name}:1]"), (masked, length)


@pytest.mark.parametrize(
    "text",
    [
        "look at http://localhost:8080",
        "look at http://localhost:8080…",
        "look at http://localhost:3000.",
        "set npm_config",
        "the class sk-toggle",
        "ask the bearer of",
        "Authorization: Basic authentication",
        "def hf_tokenizer",
        "the target xai-engine",
        "ghp_ab",
        "a token like ghp_abcdefgh stands here",
        "x://u:[url-password:1]",
    ],
)
def test_what_ends_as_many_texts_do_is_left_alone(text: str) -> None:
    assert mask(text) == (text, 0)


def test_different_secrets_are_counted_once() -> None:
    masker = Masker()
    for _ in range(3):
        masker.mask("ghp_" + "Ab1" * 12)
    assert (masker.count, masker.different) == (3, 1)


def test_no_pattern_is_made_before_it_is_needed_but_the_one_that_finds_places() -> None:
    """A list of sessions masks too, and is to be there at once."""
    code = (
        "import re; made = []; compile = re.compile\n"
        "re.compile = lambda *given: made.append(given) or compile(*given)\n"
        "from stenograph.redact import mask; mask('A title'); print(len(made))\n"
    )
    import subprocess
    import sys

    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "1\n"


def test_a_short_secret_is_masked_and_counted_each_time_it_stands_there() -> None:
    masker = Masker()
    url = "ftp://a:b0c1@host"
    assert len(url) < 32
    for _ in range(3):
        assert masker.mask("type") == "type"
        assert masker.mask(url) == "ftp://a:[url-password:1]@host"
    assert (masker.count, masker.different) == (3, 1)
