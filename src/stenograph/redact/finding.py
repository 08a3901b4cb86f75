"""Secrets in a text, and the text without them.

In: text, or anything made of JSON values. Out: the same with placeholders like `[github-token:1]`; one secret has one number as
long as one `Masker` is used, so that a reader still sees where it is the same. With a key it has one placeholder everywhere, like
`[github-token:3f9a1c52b07e]`, in every process and run.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable
from functools import cache, partial
from math import isfinite
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from stenograph.redact.assignments import secret_part
from stenograph.redact.masks import Mask
from stenograph.redact.names import compiled, item_names, member_names
from stenograph.redact.rules import ASSIGNED, DOT, DOT_BEFORE, RULES

if TYPE_CHECKING:
    from ahocorasick_rs import AhoCorasick

#: How deep values are copied, and what stands for what is deeper.
DEEPEST = 200
TOO_DEEP = "[nested too deep to show]"
# Bits; Python writes no more than 4300 digits.
_LONGEST_NUMBER = 14_000
# What a masker remembers as harmless: texts of so many characters, so many of them.
_SHORT = 32
_MANY = 50_000
# A secret that the end of a text cuts off is seldom longer.
_LONGEST_CUT = 20_000
# How a secret of several lines begins; a patch is a list of lines.
_SPANS_LINES = "-----BEGIN"
# Of a keyed placeholder: among 100,000 secrets two are alike with a chance of 1 in 56,000.
_MARK_BYTES = 6


# Where a secret begins, minus its end, and the number of its rule: in this order the longest of equals is the first.
_Found: TypeAlias = tuple[int, int, int]
# The number of a literal, and where it begins and ends.
_Hit: TypeAlias = tuple[int, int, int]
_NAMES = [*(rule.name for rule in RULES), ASSIGNED]


class Secret(NamedTuple):
    """Where a secret stands, and of what kind it is."""

    start: int
    end: int
    name: str


# Characters that nobody sees: joiners, marks of direction, selectors of variants, tags.
_UNSEEN_RANGES = (
    *((0xAD, 0xAD), (0x34F, 0x34F), (0x61C, 0x61C), (0x115F, 0x1160), (0x17B4, 0x17B5), (0x180B, 0x180F), (0x200B, 0x200F)),
    *((0x202A, 0x202E), (0x2060, 0x206F), (0x3164, 0x3164), (0xFE00, 0xFE0F), (0xFEFF, 0xFEFF), (0xFFA0, 0xFFA0)),
    *((0xFFF9, 0xFFFB), (0xE0000, 0xE007F), (0xE0100, 0xE01EF)),
)
_UNSEEN = f"[{''.join(f'{chr(first)}-{chr(last)}' for first, last in _UNSEEN_RANGES)}]"
# What a terminal takes for orders: colours and cursors, titles and links, and the rest.
_ORDER = r"(?s:\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|.)?)"
# What Markdown shows without its backslash, within a word. Quotes are left: in JSON and code they end values.
_ESCAPE = r"\\(?=[!#-&(-/:-@\[\]^_{-~])"
_ESCAPED_WORD = rf"[A-Za-z0-9_-]{_ESCAPE}"


def find_secrets(text: str, name: str = "") -> list[Secret]:
    """Every secret, in order; those that overlap are one. With a name also the one that only the name gives away.

    Also one that a program has colored in the middle, as grep does with what it found, or that holds unseen characters, or
    backslashes that Markdown does not show.
    """
    return [Secret(start, end, _NAMES[number]) for start, end, number in _spans(text, name)]


def _spans(text: str, name: str) -> list[tuple[int, int, int]]:
    """Where each secret begins and ends, and the number of its rule."""
    prefilter = _prefilter()
    hits = prefilter.hits(text)
    is_hiding = _is_hiding(text)
    if not hits and not name and not is_hiding and (len(text) <= _SHORT or not prefilter.dots.search(text)):
        return []
    found = _find(text, hits)
    if is_hiding:
        found += _find_hidden(text)
    if name and (part := secret_part(name, text)):
        found.append((part[0], -part[1], len(RULES)))
    # Of equals the first rule's comes first: it has the more telling name.
    found.sort()
    spans: list[tuple[int, int, int]] = []
    last = 0
    for start, minus_end, number in found:
        if start >= last:
            last = -minus_end
            spans.append((start, last, number))
        elif -minus_end > last:
            last = -minus_end
            spans[-1] = (spans[-1][0], last, spans[-1][2])
    return spans


def _is_hiding(text: str) -> bool:
    """Whether there is anything in a text that a reader may not see."""
    return (
        "\x1b" in text
        or ("\\" in text and compiled(_ESCAPED_WORD).search(text) is not None)
        or (not text.isascii() and compiled(_UNSEEN).search(text) is not None)
    )


def _find_hidden(text: str) -> list[_Found]:
    """What is a secret without what a terminal takes for orders, without unseen characters and without escapes of Markdown."""
    orders = compiled(f"{_ORDER}|{_UNSEEN}|{_ESCAPE}")
    bare = orders.sub("", text)
    found = _find(bare, _prefilter().hits(bare))
    if not found:
        return []
    # Where each piece between two orders begins: in the text without them, and in the text itself.
    bare_starts, starts = [0], [0]
    for order in orders.finditer(text):
        bare_starts.append(bare_starts[-1] + order.start() - starts[-1])
        starts.append(order.end())

    def place(bare: int) -> int:
        piece = bisect_right(bare_starts, bare) - 1
        return starts[piece] + bare - bare_starts[piece]

    return [(place(start), -place(-minus_end - 1) - 1, number) for start, minus_end, number in found]


def _find(text: str, hits: list[_Hit]) -> list[_Found]:
    """What each rule finds where one of its literals is."""
    prefilter = _prefilter()
    if not hits and not prefilter.dots.search(text):
        return []
    places_of: dict[int, list[int]] = defaultdict(list)
    for literal, place, _ in hits:
        places_of[literal].append(place)
    places: dict[int, list[int]] = {}
    for literal, at in places_of.items():
        for number in prefilter.rules_of[literal]:
            places[number] = sorted(places[number] + at) if number in places else at
    if dots := [match.start() for match in prefilter.dots.finditer(text)]:
        places |= dict.fromkeys(prefilter.dotted, dots)
    last_cut = 0 if "…" in text or "..." in text else len(text) - _LONGEST_CUT
    return [(start, -end, number) for number, at in places.items() for start, end in RULES[number].find(text, at, last_cut)]


class _Prefilter(NamedTuple):
    """What finds the places to try rules at, in one pass over a text for all literals and another for dots."""

    literals: AhoCorasick
    #: The numbers of the rules of each literal.
    rules_of: list[list[int]]
    dots: re.Pattern[str]
    dotted: list[int]

    def hits(self, text: str) -> list[_Hit]:
        try:
            return self.literals.find_matches_as_indexes(text, overlapping=True)
        except UnicodeEncodeError:  # a lone surrogate, which transcripts hold
            return self.hits(compiled("[\ud800-\udfff]").sub("\ufffd", text))


@cache
def _prefilter() -> _Prefilter:
    from ahocorasick_rs import AhoCorasick, Implementation

    rules_of: dict[str, list[int]] = defaultdict(list)
    for number, rule in enumerate(RULES):
        for literal in rule.literals:
            rules_of[literal].append(number)
    dotted = rules_of.pop(DOT)
    automaton = AhoCorasick(rules_of, implementation=Implementation.DFA)
    return _Prefilter(automaton, list(rules_of.values()), re.compile(DOT_BEFORE), dotted)


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
        spans = _spans(text, name)
        if not spans:
            if not name and len(text) <= _SHORT and len(self._clean) < _MANY:
                self._clean.add(text)
            return text
        parts: list[str] = []
        place = 0
        placeholders = self._placeholders
        for start, end, number in spans:
            secret = text[start:end]
            parts.append(text[place:start])
            parts.append(placeholders.get(secret) or self._placeholder(secret, number))
            place = end
        self.count += len(spans)
        parts.append(text[place:])
        return "".join(parts)

    def secret_of(self, placeholder: str) -> str | None:
        """What a placeholder that this masker made stands for; None for any other."""
        return next((secret for secret, known in list(self._placeholders.items()) if known == placeholder), None)

    def mask_json(self, value: Any) -> Any:
        """A copy of JSON values with every secret in it masked: by its format, or by the name of its member."""
        return mask_json(value, self.mask)

    def _placeholder(self, secret: str, number: int) -> str:
        name = _NAMES[number]
        self._placeholders[secret] = placeholder = f"[{name}:{self._mark(secret, name)}]"
        return placeholder

    def _mark(self, secret: str, name: str) -> str:
        if self._key is not None:
            # A lone surrogate is no error: it comes in transcripts.
            import hmac  # OpenSSL: most texts hold no secret

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
                if any(isinstance(item, str) and _SPANS_LINES in item for item in value) and all(
                    isinstance(item, str) and "\n" not in item for item in value
                ):
                    value = mask("\n".join(value)).split("\n")
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
