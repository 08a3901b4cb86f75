"""One pass over a text finds what trying every rule at each of its literals finds."""

from __future__ import annotations

import random
import re
import string

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.corpora import CORPUS, FIXTURES, lines_of
from tests.redact.test_assignments import SECRETS as ASSIGNED
from tests.redact.test_formats import FORMATS
from tests.redact.test_mask import SECRETS

from stenograph.redact import RULES, find_secrets


def _slowly(text: str) -> list[tuple[int, int]]:
    """Rule by rule and place by place; only for texts without colors, unseen characters and escapes of Markdown."""
    found: list[tuple[int, int]] = []
    for rule in RULES:
        for literal in rule.literals:
            place = text.find(literal)
            while place >= 0:
                found += rule.find(text, [place], 0)
                place = text.find(literal, place + 1)
    apart: list[tuple[int, int]] = []
    for start, end in sorted(found):
        if not apart or start >= apart[-1][1]:
            apart.append((start, end))
        else:
            apart[-1] = (apart[-1][0], max(end, apart[-1][1]))
    return apart


def _quickly(text: str) -> list[tuple[int, int]]:
    return [(secret.start, secret.end) for secret in find_secrets(text)]


def _unescaped(text: str) -> str:
    return re.sub(rf"\\(?=[{re.escape(string.punctuation)}])(?![\"'`\\])", "", text)


_PIECES = [
    *(secret for _, secret in SECRETS),
    *(before + secret for _, before, secret, _ in FORMATS),
    *(harmless for *_, harmless in FORMATS),
    *(text.format("q7Zp2mX9kd") for text in ASSIGNED),
    *(literal for rule in RULES for literal in rule.literals),
    *" \n\t\"'`:=;&?/.-_a0Z…→",
    "...",
    "\\n",
    "x://u:p1@h",
    "Bearer ",
    "token",
    "password",
]


@given(st.lists(st.sampled_from(_PIECES), max_size=12))
def test_texts_made_of_secrets_and_their_beginnings(pieces: list[str]) -> None:
    text = _unescaped("".join(pieces))
    assert _quickly(text) == _slowly(text)


@pytest.mark.parametrize("seed", range(20))
def test_pieces_of_secrets_cut_anywhere(seed: int) -> None:
    chance = random.Random(seed)
    for _ in range(100):
        pieces = []
        for _ in range(chance.randint(1, 8)):
            piece = chance.choice(_PIECES)
            start = chance.randint(0, len(piece) // 3)
            pieces.append(piece[start : chance.randint(start, len(piece))])
        text = _unescaped("".join(pieces))
        assert _quickly(text) == _slowly(text)


@pytest.mark.proof
@pytest.mark.parametrize("folder", [FIXTURES, CORPUS], ids=["fixtures", "corpus"])
def test_lines_of_sessions(folder: object) -> None:
    """Whole lines, as they are written: JSON, with its quotes escaped. One in five: the slow way is slow."""
    paths = sorted((FIXTURES if folder == FIXTURES else CORPUS).rglob("*.jsonl"))
    if not paths:
        pytest.skip("no corpus of public sessions")
    lines = [line for path in paths for line in list(lines_of(path))[::5]]
    for line in lines:
        text = _unescaped(line.decode("ascii", errors="ignore").replace("\x1b", ""))
        assert _quickly(text) == _slowly(text)
