"""Two texts -> `structuredPatch`, the hunks that clients record.

Three lines of context; leading tabs are two spaces each; a missing last newline has a line of its own (2.1.325).
"""

from __future__ import annotations

from collections import Counter
from typing import TypeAlias

from stenograph.agent.tools.base import Json

_AROUND = 3
_NO_NEWLINE = "\\ No newline at end of file"
#: Pairs of equal lines to compare; beyond, the change is one hunk.
_MOST_PAIRS = 2_000_000

#: (old from, old to, new from, new to)
Change: TypeAlias = tuple[int, int, int, int]


def structured_patch(before: str, after: str) -> list[Json]:
    if before == after:
        return []
    old, new = _split(before), _split(after)
    return [_hunk(group, old, new) for group in _grouped(_changes(old, new))]


def _split(text: str) -> list[str]:
    lines = text.split("\n")
    last = lines.pop()
    return [f"{line}\n" for line in lines] + ([last] if last else [])


def _changes(old: list[str], new: list[str]) -> list[Change]:
    head = 0
    shorter = min(len(old), len(new))
    while head < shorter and old[head] == new[head]:
        head += 1
    tail = 0
    while tail < shorter - head and old[-1 - tail] == new[-1 - tail]:
        tail += 1
    mine, others = old[head : len(old) - tail], new[head : len(new) - tail]
    counts = Counter(others)
    if sum(counts[line] for line in mine) > _MOST_PAIRS:
        return [(head, head + len(mine), head, head + len(others))]
    # Slow to load.
    from difflib import SequenceMatcher

    matcher = SequenceMatcher(None, mine, others, autojunk=False)
    return [
        (head + start, head + end, head + new_start, head + new_end)
        for tag, start, end, new_start, new_end in matcher.get_opcodes()
        if tag != "equal"
    ]


def _grouped(changes: list[Change]) -> list[list[Change]]:
    """Changes whose contexts touch are one hunk."""
    groups: list[list[Change]] = []
    for change in changes:
        if groups and change[0] - groups[-1][-1][1] <= 2 * _AROUND:
            groups[-1].append(change)
        else:
            groups.append([change])
    return groups


def _hunk(changes: list[Change], old: list[str], new: list[str]) -> Json:
    start = max(changes[0][0] - _AROUND, 0)
    new_start = changes[0][2] - (changes[0][0] - start)
    end = min(changes[-1][1] + _AROUND, len(old))
    new_end = changes[-1][3] + (end - changes[-1][1])
    lines: list[str] = []
    at = start
    for old_from, old_to, new_from, new_to in changes:
        lines += _marked(" ", old[at:old_from])
        lines += _marked("-", old[old_from:old_to])
        lines += _marked("+", new[new_from:new_to])
        at = old_to
    lines += _marked(" ", old[at:end])
    return {
        "oldStart": start + 1,
        "oldLines": end - start,
        "newStart": new_start + 1,
        "newLines": new_end - new_start,
        "lines": lines,
    }


def _marked(sign: str, lines: list[str]) -> list[str]:
    marked: list[str] = []
    for line in lines:
        text = line.removesuffix("\n")
        tabs = len(text) - len(text.lstrip("\t"))
        marked.append(sign + "  " * tabs + text[tabs:])
        if text == line:
            marked.append(_NO_NEWLINE)
    return marked
