"""A value is masked when its name says that it is a secret and it looks random. The values are made up here."""

from __future__ import annotations

import random
import string

import pytest
from tests.corpora import CORPUS, FIXTURES, lines_of

from stenograph.redact import find_secrets, mask
from stenograph.redact.assignments import entropy
from stenograph.redact.names import NameKind, name_kind

SECRETS = [
    "DB_PASSWORD={}",
    "export API_KEY={}\n",
    'password = "{}"',
    "password: {}\n",
    '"apiKey": "{}",',
    '{{\\"client_secret\\": \\"{}\\"}}',
    "'access-token': '{}'",
    "X-Api-Key: {}",
    'PASSWD := "{}"',
    "'secret' => '{}'",
    'API_KEY: str = "{}"',
    "api key: {}",
    "SECRET_KEY_BASE={}",
    "auth_token_2={}",
    "redis.pwd={}",
    "aws_credentials='{}'",
    "?access_token={}&x=1",
    '"auth": "{}"',
    "SIGNING-KEY: `{}`",
]


@pytest.mark.parametrize("text", SECRETS)
@pytest.mark.parametrize("value", ["q7Zp2mX9", "3f9a1c52b07e4d68", "Tr0ub4dor-n3xt!", "a8Kd/92+jsK1l0qPz=="])
def test_a_value_that_looks_random_is_masked_where_its_name_says_secret(text: str, value: str) -> None:
    assert mask(text.format(value)) == (text.format("[assigned-secret:1]"), 1)


@pytest.mark.parametrize(
    "text",
    [
        "token = get_token()",
        "token = get_token2fa1b2()",
        "password: string",
        "password: Password2FA4Type",
        'auth = "oauth2"',
        'token = "field2"',
        '"token": "<your-token>"',
        '"token": "your-token-1a2b3c4d"',
        "API_KEY=${X1Y2Z3A4}",
        "API_KEY=$X1Y2Z3A4B5",
        "API_KEY={{ secrets.k1e2y3a4 }}",
        "API_KEY=xxxxxxxx1x2x3",
        '"sessionId": "3e5b0983-6394-4b28-9312-8c085518a9ff"',
        '"session_token": "3e5b0983-6394-4b28-9312-8c085518a9ff"',
        "sha: 9fceb02d0ae598e95dc970b74767f19372d61af8",
        "token_sha256 = 9fceb02d0ae598e95dc970b74767f19372d61af8",
        "usage.input_tokens: 123456789",
        "max_tokens=4096000000",
        "nextPageToken: a1b2c3d4e5f6",
        "password = config.database2.password",
        "private_key: Ed25519PrivateKey",
        "token=tokens[0]",
        "secret_name=projects/a1b2/x",
        "secret: /run/secrets/a1b2c3d4",
        "auth: https://a1b2c3d4.example.org/",
        "password: hunter two",
        "key = a1b2c3d4e5f6",
        "author=a1b2c3d4e5f6",
        "token: 2026-01-01T00:00:00Z1a2b3c4",
        "auth = person1a2b3c@example.org",
        "if password == a1b2c3d4e5f6",
        "secret=aaaaaaa1",
        "[github-token:3f9a1c52b07e]",
        "token: [github-token:3f9a1c52b07e]",
    ],
)
def test_code_templates_counts_and_names_are_left_alone(text: str) -> None:
    assert mask(text) == (text, 0)


def test_a_uuid_is_a_secret_where_its_name_says_key() -> None:
    text = "HEROKU_API_KEY=3e5b0983-6394-4b28-9312-8c085518a9ff"
    assert mask(text) == ("HEROKU_API_KEY=[assigned-secret:1]", 1)


def test_a_known_format_names_the_value() -> None:
    assert mask("GITHUB_TOKEN=ghp_" + "aB1" * 12) == ("GITHUB_TOKEN=[github-token:1]", 1)


def test_what_a_name_ends_in_says_how_sure_a_secret_is() -> None:
    """`pass` alone is also a statement; behind another word it is a password, however short."""
    assert name_kind("DB_PASS") is name_kind("smtpPass") is NameKind.CERTAIN
    assert name_kind("pass") is NameKind.LIKELY
    assert name_kind("first_name") is name_kind("by_pass_filter") is NameKind.OTHER


def test_entropy_is_that_of_shannon() -> None:
    assert (entropy("aaaa"), entropy("abab"), entropy("abcd"), entropy("abcdefgh")) == (0, 1, 2, 3)


@pytest.mark.parametrize(("alphabet", "length"), [(string.hexdigits[:16], 16), (string.ascii_letters + string.digits, 20)])
def test_nearly_all_random_values_are_found(alphabet: str, length: int) -> None:
    """What is missed: values without a digit, or with nothing but digits."""
    chance = random.Random(3)
    values = ["".join(chance.choices(alphabet, k=length)) for _ in range(1000)]
    missed = [value for value in values if not find_secrets(f'"apiKey": "{value}"')]
    assert len(missed) < 60


def test_no_fixture_holds_an_assigned_secret() -> None:
    """Recorded and public sessions: nothing in them is one, by a look at each name."""
    found = set()
    for folder in (FIXTURES, CORPUS):
        for path in sorted(folder.rglob("*.jsonl")):
            for line in lines_of(path):
                text = line.decode(errors="replace")
                found |= {text[max(0, at.start - 30) : at.start] for at in find_secrets(text) if at.name == "assigned-secret"}
    assert found == set()
