"""Which of some sessions go on from which: originals before their forks.

In: session files. Out: the same in another order. A fork's copies of turns have the original's ids, but not all of its lines, and
say another session: whoever is sent first should be the original.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import islice
from pathlib import Path
from typing import NamedTuple, TypeVar

from stenograph.errors import DiskError
from stenograph.records import read_records

T = TypeVar("T")
#: Copies stand at the beginning of a file; so many lines are looked at.
_FIRST_LINES = 60


class Beginning(NamedTuple):
    #: The first time that a line says. Forks of 2.1.325 name no other session, but begin with a line of their own, written later.
    at: str
    #: The other sessions that the first lines name: copies of older releases keep the original's id.
    others: frozenset[str]


def originals_first(files: Sequence[T], path_of: Callable[[T], Path]) -> list[T]:
    """The files in the order in which they began, but each behind those that its first lines name."""
    beginnings = {path_of(file).stem: beginning_of(path_of(file)) for file in files}
    by_id = {path_of(file).stem: file for file in files}
    ordered: dict[str, T] = {}
    opened: set[str] = set()
    waiting = sorted(by_id, key=lambda name: beginnings[name].at, reverse=True)
    while waiting:
        name = waiting.pop()
        before = [other for other in beginnings[name].others if other in by_id and other not in opened]
        if name not in opened and before:
            waiting += [name, *before]
        elif name not in ordered:
            ordered[name] = by_id[name]
        opened.add(name)
    return list(ordered.values())


def beginning_of(path: Path) -> Beginning:
    """What the first lines of a file say of where it comes from; nothing where it can't be read."""
    at, others = "", set()
    try:
        for located in islice(read_records(path), _FIRST_LINES):
            record = located.record
            at = at or _text(record, "timestamp")
            others |= {_text(record, "sessionId"), _text(record, "session_id")}
    except DiskError:
        pass
    return Beginning(at, frozenset(others - {"", path.stem}))


def _text(record: object, name: str) -> str:
    value = getattr(record, name, None)
    return value if isinstance(value, str) else ""
