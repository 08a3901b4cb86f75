"""A session as a strip of characters, a column for each prompt and tool call: heights read without color."""

from __future__ import annotations

from itertools import groupby

from stenograph.views.terminal.options import BAD, CARE, GOOD, OTHER, QUIET, STRONG, TOOL, RenderOptions

#: A longer session is binned.
COLUMNS = 24
#: By the letters of `timeline`: prompt, change, shell, read, search and the rest, subagent, error, interrupted, compaction.
_DRAWN = {
    "p": ("█", STRONG),
    "e": ("▅", GOOD),
    "b": ("▄", TOOL),
    "r": ("▂", QUIET),
    "w": ("▂", QUIET),
    "o": ("▂", QUIET),
    "g": ("▆", OTHER),
    "x": ("x", BAD),
    "i": ("■", CARE),
    "c": ("┊", CARE),
}
#: What a bin shows: the first of these that is in it.
_ORDER = "pxicgebwor"


def binned(letters: str, columns: int = COLUMNS) -> str:
    """The letters in at most so many columns, prompts and errors first."""
    known = [letter for letter in letters if letter in _DRAWN]
    if len(known) <= columns:
        return "".join(known)
    size = len(known) / columns
    bins = (known[int(place * size) : max(int(place * size) + 1, int((place + 1) * size))] for place in range(columns))
    return "".join(min(each, key=_ORDER.index) for each in bins)


def tape(letters: str, options: RenderOptions, columns: int = COLUMNS) -> str:
    """Painted, as wide as `len(binned(letters, columns))`."""
    parts = ((_DRAWN[letter][1], _DRAWN[letter][0]) for letter in binned(letters, columns))
    return "".join(
        options.paint("".join(sign for _, sign in group), *role) for role, group in groupby(parts, key=lambda part: part[0])
    )
