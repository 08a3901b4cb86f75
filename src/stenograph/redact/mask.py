"""Secrets in a text, and the text without them.

In: text, or anything made of JSON values. Out: the same with placeholders like `[github-token:1]`; one secret has one number as
long as one `Masker` is used, so that a reader still sees where it is the same. With a key it has one placeholder everywhere, like
`[github-token:3f9a1c52b07e]`, in every process and run.
"""

from __future__ import annotations

import hmac
import re
from bisect import bisect_right
from collections.abc import Callable
from functools import cache, partial
from math import isfinite
from typing import Any, NamedTuple, Protocol

from stenograph.redact.assignments import secret_part
from stenograph.redact.names import item_names, member_names
from stenograph.redact.places import Places
from stenograph.redact.rules import ASSIGNED, RULES

#: How deep values are copied, and what stands for what is deeper.
DEEPEST = 200
TOO_DEEP = "[nested too deep to show]"
# Bits; Python writes no more than 4300 digits.
_LONGEST_NUMBER = 14_000
# What a masker remembers as harmless: texts of so many characters, so many of them.
_SHORT = 32
_MANY = 10_000
# Of a keyed placeholder: among 100,000 secrets two are alike with a chance of 1 in 56,000.
_MARK_BYTES = 6


class Secret(NamedTuple):
    """Where a secret stands, and of what kind it is."""

    start: int
    end: int
    name: str


# Characters that nobody sees: joiners, marks of direction, selectors of variants, tags.
_UNSEEN = (
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164"
    "\ufe00-\ufe0f\ufeff\uffa0\ufff9-\ufffb\U000e0000-\U000e0fff]"
)
# What a terminal takes for orders: colours and cursors, titles and links, and the rest.
_ORDER = r"(?s:\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|.)?)"


class Mask(Protocol):
    """Replaces the secrets in a text. `name` is what the text is called where it was found, as a member of JSON is."""

    def __call__(self, text: str, name: str = "", /) -> str: ...


def as_is(text: str, _name: str = "", /) -> str:
    """The mask that reveals."""
    return text


def find_secrets(text: str, name: str = "") -> list[Secret]:
    """Every secret, in order; those that overlap are one. With a name also the one that only the name gives away.

    Also one that a program has coloured in the middle, as grep does with what it found, or that holds unseen characters.
    """
    found = _find_coloured(text)
    if name and (part := secret_part(name, text)):
        found = _apart(sorted([*found, Secret(*part, ASSIGNED)], key=lambda secret: (secret.start, -secret.end)))
    return found


def _find_coloured(text: str) -> list[Secret]:
    has_unseen = not text.isascii() and re.search(_UNSEEN, text) is not None
    wanted = [_ORDER] * ("\x1b" in text) + [_UNSEEN] * has_unseen
    if not wanted:
        return _find(text)
    orders = re.compile("|".join(wanted))
    coloured = _find(orders.sub("", text))
    if coloured:
        coloured = _placed(coloured, text, orders)
    return _apart(sorted([*coloured, *_find(text)], key=lambda secret: (secret.start, -secret.end)))


def _placed(bare_secrets: list[Secret], text: str, orders: re.Pattern[str]) -> list[Secret]:
    """Where secrets of the text without orders stand in the text itself."""
    # Where what is between two orders begins: in the text without them, and in the text itself.
    bare_starts, starts = [0], [0]
    for order in orders.finditer(text):
        bare_starts.append(bare_starts[-1] + order.start() - starts[-1])
        starts.append(order.end())

    def place(bare: int) -> int:
        piece = bisect_right(bare_starts, bare) - 1
        return starts[piece] + bare - bare_starts[piece]

    return [Secret(place(start), place(end - 1) + 1, name) for start, end, name in bare_secrets]


def _find(text: str) -> list[Secret]:
    found: list[tuple[int, Secret]] = []
    # Where the next of a literal's may begin: those of one literal don't overlap.
    free: dict[tuple[int, str], int] = {}
    for place, literal, number, rule in _places()(text):
        if place < free.get((number, literal), 0):
            continue
        begun = rule.begun_pattern
        match = rule.pattern.match(text, place) or (begun.match(text, place) if begun else None)
        if match is None or (rule.is_secret and not rule.is_secret(match)):
            continue
        free[number, literal] = match.end()
        found.append((number, Secret(*match.span("secret" if "secret" in match.re.groupindex else 0), rule.name)))
    if not found:
        return []
    # Of equals the first rule's stands first.
    found.sort(key=lambda numbered: (numbered[1].start, -numbered[1].end, numbered[0]))
    return _apart([secret for _, secret in found])


@cache
def _places() -> Places:
    return Places(RULES)


def _apart(found: list[Secret]) -> list[Secret]:
    apart = found[:1]
    for secret in found[1:]:
        last = apart[-1]
        if secret.start >= last.end:
            apart.append(secret)
        elif secret.end > last.end:
            apart[-1] = last._replace(end=secret.end)
    return apart


class Masker:
    """Masks one text after another; `count` is how many secrets it has replaced, `different` how many different ones."""

    def __init__(self, key: bytes | None = None) -> None:
        """With a key a placeholder is the same wherever that key is used, and tells nobody without the key what it stands for."""
        self.count = 0
        self._key = key
        # Short texts without a secret: nine of ten are names of members and kinds of blocks, over and over.
        self._clean: set[str] = set()
        self._placeholders: dict[str, str] = {}
        self._numbers: dict[str, int] = {}

    @property
    def different(self) -> int:
        return len(self._placeholders)

    def mask(self, text: str, name: str = "", /) -> str:
        if not name and text in self._clean:
            return text
        secrets = find_secrets(text, name)
        if not secrets:
            if not name and len(text) <= _SHORT and len(self._clean) < _MANY:
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
        """A copy of JSON values with every secret in it masked: by its format, or by the name of its member."""
        return mask_json(value, self.mask)

    def _placeholder(self, secret: str, name: str) -> str:
        known = self._placeholders.get(secret)
        if known is None:
            known = self._placeholders[secret] = f"[{name}:{self._mark(secret, name)}]"
        return known

    def _mark(self, secret: str, name: str) -> str:
        if self._key is not None:
            # A lone surrogate is no error: it comes in transcripts.
            return hmac.digest(self._key, secret.encode(errors="surrogatepass"), "sha256")[:_MARK_BYTES].hex()
        number = self._numbers[name] = self._numbers.get(name, 0) + 1
        return str(number)


def mask(text: str) -> tuple[str, int]:
    """The text with its secrets replaced, and how many there were."""
    masker = Masker()
    return masker.mask(text), masker.count


def mask_json(value: Any, mask: Mask) -> Any:
    """A copy of JSON values with every string in it masked by a function, names of members too.

    A string is masked under the name of its member, or under the one that is beside it: `{"name": …, "value": …}`,
    `[name, value]`. The copy can be written as JSON: what is deeper than `DEEPEST` is a word that says so, and a number that JSON
    does not have is null.
    """
    top: list[Any] = []
    # What is still to be copied, under which name, and how it gets to its place. Not by recursion: a line may nest deeper than
    # Python does.
    waiting: list[tuple[Any, str, Callable[[Any], object], int]] = [(value, "", top.append, 0)]
    while waiting:
        value, name, put, depth = waiting.pop()
        if isinstance(value, str):
            put(mask(value, name))
        elif isinstance(value, dict | list | tuple):
            if depth >= DEEPEST:
                put(TOO_DEEP)
            elif isinstance(value, dict):
                members: dict[str, Any] = {}
                put(members)
                names = member_names(value, name)
                inner = [
                    (member, called, partial(members.__setitem__, mask(own)), depth + 1)
                    for (own, member), called in zip(value.items(), names, strict=True)
                ]
                waiting += reversed(inner)
            else:
                items: list[Any] = []
                put(items)
                waiting += [
                    (item, called, items.append, depth + 1)
                    for item, called in zip(reversed(value), reversed(item_names(value, name)), strict=True)
                ]
        elif isinstance(value, float):
            put(value if isfinite(value) else None)
        elif isinstance(value, int):
            number = value if value.bit_length() <= _LONGEST_NUMBER else None
            # A password may be written as a number.
            masked = mask(str(number), name) if name and not isinstance(number, bool | None) else ""
            put(number if masked in ("", str(number)) else masked)
        else:
            put(value)
    return top[0]
