"""Order sessions so that originals come before their forks.

A fork's copies have the original's ids but not all of its lines, and name another session: the original should be sent first.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import islice
from pathlib import Path
from typing import NamedTuple, TypeVar

from stenograph.errors import DiskError
from stenograph.records import read_records

T = TypeVar("T")
#: Copies are at the beginning of a file.
_FIRST_LINES = 60


class Beginning(NamedTuple):
    #: The first timestamp. Forks of 2.1.325 name no other session, but begin with a later line of their own.
    at: str
    #: Other sessions that the first lines name: copies of older releases keep the original's id.
    others: frozenset[str]


def originals_first(files: Sequence[T], path_of: Callable[[T], Path]) -> list[T]:
    """By the time of the first line, but each after the sessions that its first lines name."""
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
