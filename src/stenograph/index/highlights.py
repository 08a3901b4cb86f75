"""Where a text holds what was sought: for snippets, and to choose the text of a line that shows most of it."""

from __future__ import annotations

import re
from itertools import islice
from typing import TypeAlias

from stenograph.index.patterns import BoundedPattern
from stenograph.index.query import Query, Term, terms_of
from stenograph.index.tokens import fold, patterns_of

#: What a text is compared with.
Sought: TypeAlias = Query | re.Pattern[str] | BoundedPattern
# More matches in one text are not marked.
_MANY = 200


def worth(text: str, sought: Sought) -> int:
    """How much of what was sought a text holds."""
    if isinstance(sought, re.Pattern | BoundedPattern):
        return bool(sought.search(text))
    return sum(bool(_spans(text, term)) for term in terms_of(sought))


def highlight(text: str, sought: Sought) -> tuple[tuple[int, int], ...]:
    """Where a text holds what was sought."""
    if isinstance(sought, re.Pattern | BoundedPattern):
        return tuple(match.span() for match in islice(sought.finditer(text), _MANY) if match[0])
    merged: list[tuple[int, int]] = []
    for begin, end in sorted(span for term in terms_of(sought) for span in _spans(text, term)):
        if merged and begin <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((begin, end))
    return tuple(merged)


def _spans(text: str, term: Term) -> list[tuple[int, int]]:
    folded = fold(text)
    for pattern in patterns_of(term.text, is_prefix=term.is_prefix):
        if found := [match.span() for match in islice(pattern.finditer(folded), _MANY)]:
            return found
    return []
