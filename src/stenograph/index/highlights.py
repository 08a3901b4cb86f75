"""Where a text holds what was sought: for snippets, and to choose the text of a line that shows most of it."""

from __future__ import annotations

import re
from itertools import islice
from typing import TypeAlias

from stenograph.index.patterns import BoundedPattern
from stenograph.index.query import Query, Term, relaxed, terms_of
from stenograph.index.tokens import fold, patterns_of

#: What a text is compared with.
Sought: TypeAlias = Query | re.Pattern[str] | BoundedPattern
# More matches in one text are not marked.
_MANY = 200


def worth(text: str, sought: Sought) -> int:
    """How much of what was sought a text holds."""
    if isinstance(sought, re.Pattern | BoundedPattern):
        return bool(sought.search(text))
    return sum(bool(_spans(text, term)) for term in _terms(sought))


def highlight(text: str, sought: Sought) -> tuple[tuple[int, int], ...]:
    """Where a text holds what was sought."""
    if isinstance(sought, re.Pattern | BoundedPattern):
        return tuple(match.span() for match in islice(sought.finditer(text), _MANY) if match[0])
    merged: list[tuple[int, int]] = []
    for begin, end in sorted(span for term in _terms(sought) for span in _spans(text, term)):
        if merged and begin <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((begin, end))
    return tuple(merged)


def _terms(query: Query) -> tuple[Term, ...]:
    """Of a sentence, the words that it was searched by."""
    return relaxed(query) or tuple(terms_of(query))


def _spans(text: str, term: Term) -> list[tuple[int, int]]:
    folded = fold(text)
    for pattern in patterns_of(term.text, is_prefix=term.is_prefix, forms=term.forms):
        spans = [match.span() for match in islice(pattern.finditer(folded), _MANY)]
        # Parts of names are words in the index: `cache` in `RedisCache`, but not `to` in `store`.
        if found := [span for span in spans if not term.text.isascii() or _is_part(text, *span, is_prefix=term.is_prefix)]:
            return found
    return []


def _is_part(text: str, begin: int, end: int, *, is_prefix: bool) -> bool:
    return _parts_at(text, begin) and (is_prefix or _parts_at(text, end))


def _parts_at(text: str, place: int) -> bool:
    """Whether a word, or a part of a name, begins or ends here."""
    if place in (0, len(text)):
        return True
    before, after = text[place - 1], text[place]
    if not (before.isalnum() and after.isalnum()):
        return True
    is_last_capital = after.isupper() and text[place + 1 : place + 2].islower()
    return before.isdigit() != after.isdigit() or (after.isupper() and not before.isupper()) or is_last_capital
