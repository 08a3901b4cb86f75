"""Masking: milliseconds a megabyte for the texts of sessions, and that for hostile ones the time grows with length alone."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import partial
from typing import Any

from bench.figures import Figure, best, corpus_lines
from stenograph.redact import Masker, find_secrets

SIZES = (1, 2, 4, 8)
MILLION = 1_000_000
#: What could make a reader go back: beginnings of keys, signs, quotes, words within words.
HOSTILE = {
    "one letter": "a",
    "beginnings of keys": "sk-ant-ghp_eyJAKIA",
    "signs": "token=",
    "signs with values": 'password: "q7Zp2mX9" ',
    "dots": "MTk4NjIyNDgzNDcxOTI1MjQ4.Cl2FMQ.",
    "addresses": "x://u:",
    "private keys": "-----BEGIN PRIVATE KEY-----",
    "parts of tokens": "eyJaaaaaaaa.eyJ",
    "settings": ";Password=",
    "colours": "\x1b[1meyJ",
}


def measure() -> Iterator[Figure]:
    texts = [text for line in corpus_lines() for text in _strings(line)]
    size = sum(map(len, texts)) / MILLION
    took = best({"": partial(_mask, texts)}, rounds=3)[""]
    yield Figure("masking the texts of sessions", 1000 * took / size, " ms/MB", 60, "at most", f"[{size:.0f} MB]")
    prose = ["a line of output\n" * 300, "because " * 60] * 1000
    size = sum(map(len, prose)) / MILLION
    took = best({"": partial(_mask, prose)}, rounds=3)[""]
    yield Figure("masking plain output", 1000 * took / size, " ms/MB", 15, "at most", f"[{size:.0f} MB]")
    for name, piece in HOSTILE.items():
        runs = {str(size): partial(find_secrets, piece * (size * MILLION // len(piece))) for size in SIZES}
        costs = best(runs, rounds=1)
        each = ", ".join(f"{size} MB {1000 * costs[str(size)] / size:.0f} ms/MB" for size in SIZES)
        ratio = costs["8"] / costs["1"]
        yield Figure(f"hostile text, {name}: 8 MB / 1 MB", ratio, "x", 16, "at most", f"[{each}]")


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
