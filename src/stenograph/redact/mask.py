"""Secrets in a text, and the text without them.

In: text, or anything made of JSON values. Out: the same with placeholders like `[github-token:1]`; one secret has one number as
long as one `Masker` is used, so that a reader still sees where it is the same.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator
from functools import partial
from math import isfinite
from typing import Any, NamedTuple

from stenograph.redact.rules import RULES, Rule

#: How deep values are copied, and what stands for what is deeper.
DEEPEST = 200
TOO_DEEP = "[nested too deep to show]"
# Bits; Python writes no more than 4300 digits.
_LONGEST_NUMBER = 14_000
# What a masker remembers as harmless: texts of so many characters, so many of them.
_SHORT = 32
_MANY = 10_000


class Secret(NamedTuple):
    """Where a secret stands, and of what kind it is."""

    start: int
    end: int
    name: str


# Characters that nobody sees: joiners, marks of direction, selectors of variants, tags.
_UNSEEN = "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164"
_UNSEEN = f"[{_UNSEEN}\ufe00-\ufe0f\ufeff\uffa0\ufff9-\ufffb\U000e0000-\U000e0fff]"
# What a terminal takes for orders: colours and cursors, titles and links, and the rest.
_ORDER = rf"(?s)\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|.)?|{_UNSEEN}"


def find_secrets(text: str) -> list[Secret]:
    """Every secret of a known format, in order; those that overlap are one.

    Also one that a program has coloured in the middle, as grep does with what it found, or that holds unseen characters.
    """
    if "\x1b" not in text and (text.isascii() or not re.search(_UNSEEN, text)):
        return _find(text)
    pieces: list[str] = []
    # Where each piece begins: in the text without orders, and in the text itself.
    bare_starts, starts = [0], [0]
    for order in re.finditer(_ORDER, text):
        pieces.append(text[starts[-1] : order.start()])
        bare_starts.append(bare_starts[-1] + len(pieces[-1]))
        starts.append(order.end())
    pieces.append(text[starts[-1] :])

    def place(bare: int) -> int:
        piece = bisect_right(bare_starts, bare) - 1
        return starts[piece] + bare - bare_starts[piece]

    coloured = [Secret(place(start), place(end - 1) + 1, name) for start, end, name in _find("".join(pieces))]
    return _apart(sorted([*coloured, *_find(text)], key=lambda secret: (secret.start, -secret.end)))


def _find(text: str) -> list[Secret]:
    found = [secret for rule in RULES for literal in rule.literals if literal in text for secret in _matches(rule, literal, text)]
    found.sort(key=lambda secret: (secret.start, -secret.end))  # stable: of equals the first rule's stands first
    return _apart(found)


def _apart(found: list[Secret]) -> list[Secret]:
    apart = found[:1]
    for secret in found[1:]:
        last = apart[-1]
        if secret.start >= last.end:
            apart.append(secret)
        elif secret.end > last.end:
            apart[-1] = last._replace(end=secret.end)
    return apart


def _matches(rule: Rule, literal: str, text: str) -> Iterator[Secret]:
    pattern, begun = rule.pattern, rule.begun_pattern
    group = "secret" if pattern.groups else 0
    place = text.find(literal)
    while place >= 0:
        match = pattern.match(text, place) or (begun.match(text, place) if begun else None)
        if match:
            yield Secret(*match.span(group), rule.name)
        place = text.find(literal, match.end() if match else place + 1)


class Masker:
    """Masks one text after another; `count` is how many secrets it has replaced, `different` how many different ones."""

    def __init__(self) -> None:
        self.count = 0
        # Short texts without a secret: nine of ten are names of members and kinds of blocks, over and over.
        self._clean: set[str] = set()
        self._placeholders: dict[str, str] = {}
        self._numbers: dict[str, int] = {}

    @property
    def different(self) -> int:
        return len(self._placeholders)

    def mask(self, text: str) -> str:
        if text in self._clean:
            return text
        secrets = find_secrets(text)
        if not secrets:
            if len(text) <= _SHORT and len(self._clean) < _MANY:
                self._clean.add(text)
            return text
        parts: list[str] = []
        place = 0
        for secret in secrets:
            parts += (text[place : secret.start], self._placeholder(text[secret.start : secret.end], secret.name))
            place = secret.end
        self.count += len(secrets)
        return "".join((*parts, text[place:]))

    def mask_json(self, value: Any) -> Any:
        """A copy of JSON values with every string in it masked, names of members too."""
        return mask_json(value, self.mask)

    def _placeholder(self, secret: str, name: str) -> str:
        known = self._placeholders.get(secret)
        if known is None:
            number = self._numbers[name] = self._numbers.get(name, 0) + 1
            known = self._placeholders[secret] = f"[{name}:{number}]"
        return known


def mask(text: str) -> tuple[str, int]:
    """The text with its secrets replaced, and how many there were."""
    masker = Masker()
    return masker.mask(text), masker.count


def mask_json(value: Any, mask: Callable[[str], str]) -> Any:
    """A copy of JSON values with every string in it masked by a function, names of members too.

    The copy can be written as JSON: what stands deeper than `DEEPEST` is a word that says so, a number that JSON has not is null.
    """
    top: list[Any] = []
    # What is still to be copied, and how it gets to its place. Not by recursion: a line may nest deeper than Python does.
    waiting: list[tuple[Any, Callable[[Any], object], int]] = [(value, top.append, 0)]
    while waiting:
        value, put, depth = waiting.pop()
        if isinstance(value, str):
            put(mask(value))
        elif isinstance(value, dict | list | tuple):
            if depth >= DEEPEST:
                put(TOO_DEEP)
            elif isinstance(value, dict):
                members: dict[str, Any] = {}
                put(members)
                inner = [(member, partial(members.__setitem__, mask(name)), depth + 1) for name, member in value.items()]
                waiting += reversed(inner)
            else:
                items: list[Any] = []
                put(items)
                waiting += [(item, items.append, depth + 1) for item in reversed(value)]
        elif isinstance(value, float):
            put(value if isfinite(value) else None)
        elif isinstance(value, int):
            put(value if value.bit_length() <= _LONGEST_NUMBER else None)
        else:
            put(value)
    return top[0]
