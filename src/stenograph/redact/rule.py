"""What a rule for one kind of secret is, and how it is looked for.

In: a text, and the places in it where a literal of the rule is. Out: where the secrets are. Knows no format.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from itertools import repeat
from typing import NamedTuple

from stenograph.redact.names import compiled

#: More places than one in so many characters are not tried one by one.
_DENSE = 20
_LONGEST_LITERAL = 20
_CUT_OFF = r"(?=\s{0,9}\Z|…|\.\.\.)"


class SecretRule(NamedTuple):
    #: The kind of the secret; part of its placeholder.
    name: str
    #: What is in every such secret, or right before it: the rule is tried only where one of these is.
    literals: tuple[str, ...]
    #: Who says that they look like this.
    source: str
    #: The secret is the group `secret` where there is one, else all that matches at the literal.
    expression: str = ""
    #: The same for one that was cut off, without what must follow; empty where `expression` takes those too.
    begun: str = ""
    #: Has the last word on what matched.
    is_secret: Callable[[re.Match[str]], bool] | None = None
    #: What every text with such a secret holds; looked for where there are many places.
    needs: str = ""
    #: Finds the secret behind what matched.
    finder: Callable[[re.Match[str]], tuple[int, int] | None] | None = None

    def find(self, text: str, places: list[int], last_cut: int) -> Iterator[tuple[int, int]]:
        """The secrets of a text whose literals are at these places. `last_cut`: none before it can be cut off.

        Place by place; where there are so many that Python would be slow, by searching.
        """
        is_dense = len(places) * _DENSE > len(text)
        if is_dense and self.needs and not compiled(self.needs).search(text):
            return iter(())
        if self.finder:
            return self._find_behind(self.finder, text, places, is_dense)
        return self._search_all(text, places, last_cut) if is_dense else self._match(text, places, last_cut)

    def _find_behind(
        self, find: Callable[[re.Match[str]], tuple[int, int] | None], text: str, places: list[int], is_dense: bool
    ) -> Iterator[tuple[int, int]]:
        pattern = compiled(self.expression)
        inside = 0
        for match in pattern.finditer(text, places[0]) if is_dense else map(pattern.match, repeat(text), places):
            # What is inside a secret of the same rule is part of it, but a literal may begin in one and end behind it.
            if match and match.start() >= inside and (span := find(match)):
                inside = span[1] - _LONGEST_LITERAL
                yield span

    def _match(self, text: str, places: list[int], last_cut: int) -> Iterator[tuple[int, int]]:
        inside = 0
        for place in places:
            if place < inside:
                continue
            match = compiled(self.expression).match(text, place)
            if match is None and self.begun and place >= last_cut:
                match = compiled(self.begun + _CUT_OFF).match(text, place)
            if match and (not self.is_secret or self.is_secret(match)):
                span = match.span(match.lastgroup or 0)
                inside = span[1] - _LONGEST_LITERAL
                yield span

    def _search_all(self, text: str, places: list[int], last_cut: int) -> Iterator[tuple[int, int]]:
        yield from self._search(self.expression, text, places[0])
        if self.begun and places[-1] >= last_cut:
            yield from self._search(self.begun + _CUT_OFF, text, max(places[0], last_cut))

    def _search(self, expression: str, text: str, start: int) -> Iterator[tuple[int, int]]:
        pattern = compiled(f"(?={'|'.join(map(re.escape, self.literals))}){expression}")
        is_secret, secret = self.is_secret, pattern.groupindex.get("secret", 0)
        while match := pattern.search(text, start):
            if is_secret is None or is_secret(match):
                yield match.span(secret)
            begin, end = match.span()
            start = begin + 1 if begin + _LONGEST_LITERAL >= end else end - _LONGEST_LITERAL
