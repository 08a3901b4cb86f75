"""Where in a text the literals of the rules stand, in one pass.

In: rules and a text. Out: each place of each literal, with its rule. Knows nothing of what makes a secret.

To look for each of some hundred literals on its own would read the text as many times. One expression reads it once, and stops at
few characters only: of every literal it looks for one that is rare (an underscore, a hyphen, a capital), and from there to both
sides for the rest.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence

from stenograph.redact.rules import SecretRule

# How often a character stands among ten thousand of public sessions, counted; any other counts as the rarest of these.
_COUNTED = {
    **{" ": 1096, "e": 735, "t": 528, "s": 464, "\n": 446, "o": 398, "a": 390, "n": 375, "i": 369, "r": 361, "d": 260, "c": 253},
    **{"p": 218, "l": 209, "u": 184, "m": 176, "-": 171, "1": 155, "2": 143, "_": 133, "h": 133, "0": 131, "f": 125, "4": 121},
    **{"g": 119, "5": 107, ".": 104, "3": 104, "b": 104, "6": 98, "9": 94, "8": 92, "/": 91, "7": 86, "y": 80, "k": 70, "v": 61},
    **{":": 62, "w": 59, "x": 53, "T": 51, "U": 43, "I": 42, "S": 42, "=": 38, "C": 36, "E": 35, "A": 34, "R": 33, "j": 31},
    **{"P": 30, "D": 30, "q": 28, "B": 27, "L": 27, "N": 26, "M": 24, "G": 23, "Z": 23, "O": 23, "F": 22, "H": 21, "z": 21},
}
_RARE = 20
# What it costs to stop at one character more, in the same measure.
_ONE_MORE = 50


class Places:
    """Finds the literals of some rules."""

    def __init__(self, rules: Sequence[SecretRule]) -> None:
        stops = _stops({literal for rule in rules for literal in rule.literals})
        # By the character to stop at, by how many stand before it, by those and itself.
        self._literals: dict[str, dict[int, dict[str, list[tuple[str, int, SecretRule]]]]] = {}
        expressions: dict[str, dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
        for number, rule in enumerate(rules):
            for literal in rule.literals:
                stop = min((stop for stop in stops if stop in literal), key=_often)
                offset = literal.index(stop)
                head, tail = literal[: offset + 1], literal[offset + 1 :]
                by_width = self._literals.setdefault(stop, {})
                by_width.setdefault(offset, {}).setdefault(head, []).append((literal, number, rule))
                expressions[stop][head].add(re.escape(tail) + rule.follows)
        # Where an expression has many branches the first ones are the quickest.
        ordered = sorted(expressions, key=_often, reverse=True)
        self._pattern = re.compile("|".join(_expression(stop, expressions[stop]) for stop in ordered))

    def __call__(self, text: str) -> Iterable[tuple[int, str, int, SecretRule]]:
        """Those of one literal from left to right; with the literal, the rule's number and the rule."""
        # Of most texts one look is all.
        first = self._pattern.search(text)
        return self._places(text, first.start()) if first else ()

    def _places(self, text: str, start: int) -> Iterator[tuple[int, str, int, SecretRule]]:
        for match in self._pattern.finditer(text, start):
            stop = match.start()
            for offset, heads in self._literals[text[stop]].items():
                for literal, number, rule in heads.get(text[stop - offset : stop + 1], ()) if stop >= offset else ():
                    if text.startswith(literal, stop - offset):
                        yield stop - offset, literal, number, rule


def _often(character: str) -> int:
    return _COUNTED.get(character, _RARE)


def _stops(literals: set[str]) -> list[str]:
    """Characters of which each literal holds one, as few and as rare ones as can be had without much thought; the first first."""
    stops: list[str] = []
    while literals:
        worth = Counter(character for literal in literals for character in set(literal))
        stop = max(sorted(worth), key=lambda character: worth[character] / (_often(character) + _ONE_MORE))
        stops.append(stop)
        literals = {literal for literal in literals if stop not in literal}
    return stops


def _expression(stop: str, heads: dict[str, set[str]]) -> str:
    """The character to stop at where one of the heads ends with it and one of the tails that belong to it follows.

    Heads of one length with the same tails are looked for together.
    """
    together: dict[tuple[int, frozenset[str]], list[str]] = defaultdict(list)
    for head, tails in heads.items():
        together[len(head), frozenset() if "" in tails else frozenset(tails)].append(head)
    ways = []
    for (length, follow), alike in together.items():
        before = f"(?<={'|'.join(map(re.escape, sorted(alike)))})" if length > 1 else ""
        ways.append(before + (f"(?={'|'.join(sorted(follow))})" if follow else ""))
    shortest = min(map(len, heads))
    # Most places are seen to be none by the one or two characters before.
    guard = f"(?<={_any_of(head[-2] for head in heads)}{re.escape(stop)})" if shortest > 1 else ""
    if shortest > 2 and len(heads) > 3:
        pairs = defaultdict(set)
        for head in heads:
            pairs[head[-2]].add(head[-3])
        guard += f"(?<={'|'.join(_any_of(firsts) + re.escape(second + stop) for second, firsts in pairs.items())})"
    return f"{re.escape(stop)}{guard}(?:{'|'.join(ways)})"


def _any_of(characters: Iterable[str]) -> str:
    return f"[{''.join(map(re.escape, sorted(set(characters))))}]"
