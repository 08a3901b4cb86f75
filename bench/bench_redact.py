"""Masking: megabytes per second for the texts of sessions, for plain output, and for every kind of hostile text."""

from __future__ import annotations

import base64
import json
import random
from collections.abc import Iterator
from functools import partial
from typing import Any

from bench.figures import Figure, best, corpus_lines
from stenograph.redact import RULES, Masker

MILLION = 1_000_000
#: What could make a reader go back or stop often: beginnings of keys, names, signs, quotes, words within words.
HOSTILE = {
    "one letter": "a",
    "beginnings of keys": "sk-ant-ghp_eyJAKIA",
    "names": "key",
    "names in one word": "token_key_pass_auth_",
    "names and signs": "token=",
    "names, signs and quotes": 'key="',
    "names and blanks": "password ",
    "secrets with names": 'password: "q7Zp2mX9" ',
    "secrets in settings": "API_KEY=kT9vQ2mLx8WzAA1\n",
    "tokens": "ghp_" + "aB1" * 12 + " ",
    "dots": "MTk4NjIyNDgzNDcxOTI1MjQ4.Cl2FMQ.",
    "dotted hex": "0123456789abcdef" * 2 + ".aB1" * 4,
    "addresses": "x://u:",
    "addresses with passwords": "x://u:p1@h ",
    "at signs": "@a.b:",
    "quotes": "\"'`\\",
    "cookies": "Cookie: a=",
    "headers": "Authorization: ",
    "bearers": "Bearer ",
    "private keys": "-----BEGIN PRIVATE KEY-----",
    "parts of tokens": "eyJaaaaaaaa.eyJ",
    "settings": ";Password=",
    "colors": "\x1b[1meyJ",
    "unseen characters": "a\u200b",
    "escapes": "a\\_",
    "escaped beginnings of keys": "sk\\-ant\\-ghp\\_eyJ",
    "escaped names": "API\\_KEY\\=",
    "not ASCII": "é",
    "surrogates": "\ud83d",
    "options": " --token -u a:",
    "ellipses": "sk-… ",
}
#: Megabytes per second that no text may be below.
LEAST = 5


def measure() -> Iterator[Figure]:
    texts = [text for line in corpus_lines() for text in _strings(line)]
    yield _speed("masking the texts of sessions", texts, 40)
    yield _speed("masking plain output", ["a line of output\n" * 300, "because " * 60] * 1000, 60)
    picture = base64.b64encode(random.Random(1).randbytes(MILLION * 3 // 4)).decode()
    yield _speed("masking a picture in base64", [picture], 40)
    slowest = min((_rate([literal * (MILLION // 5 // len(literal))]), literal) for rule in RULES for literal in rule.literals)
    yield Figure("hostile text, slowest literal", slowest[0], " MB/s", LEAST, "at least", f"[{slowest[1]!r}]")
    for name, piece in HOSTILE.items():
        yield _speed(f"hostile text, {name}", [piece * (MILLION // len(piece))], LEAST)


def _speed(what: str, texts: list[str], bound: float) -> Figure:
    size = sum(map(len, texts)) / MILLION
    return Figure(what, _rate(texts), " MB/s", bound, "at least", f"[{size:.0f} MB]")


def _rate(texts: list[str]) -> float:
    took = best({"": partial(_mask, texts)}, rounds=3)[""]
    return sum(map(len, texts)) / MILLION / took


def _mask(texts: list[str]) -> None:
    masker = Masker()
    for text in texts:
        masker.mask(text)


def _strings(line: bytes) -> Iterator[str]:
    try:
        waiting: list[Any] = [json.loads(line)]
    except (ValueError, RecursionError):
        return
    while waiting:
        value = waiting.pop()
        if isinstance(value, str):
            yield value
        elif isinstance(value, dict):
            waiting += value.values()
        elif isinstance(value, list):
            waiting += value
