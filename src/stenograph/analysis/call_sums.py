"""The store's model calls -> sums of tokens by one dimension: a day, a session, a model …

In: a synced store and what calls are grouped by, as SQL. Out: rows of numbers, not priced yet. Sums of days are kept in the
store, and made anew for the days of which a call has changed: a year of calls is not added up for every look at it.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import msgspec
from msgspec import Struct

from stenograph.errors import UnwritableError
from stenograph.index import ABORTED, ADVISOR, FAST, NO_DAY, US, IndexStore, keep_days, kept_days

DAY = 86_400
#: What a price depends on, of a call's flags.
PRICED = FAST | US | ADVISOR
#: The times that a clock which is about right can show, 1970 to 2099: any other time is as unknown as a missing one.
EARLIEST, LATEST = DAY, 4_102_444_800
DATED = f"c.time >= {EARLIEST} AND c.time < {LATEST}"
FROM = "FROM model_calls c"
#: All calls.
EVERY = " WHERE 1"

_TOKENS = "count(*), sum(c.input), sum(c.output), sum(c.cache_read), sum(c.cache_write_5m), sum(c.cache_write_1h)"
COUNTS = f"c.counted AND NOT c.flags & {ABORTED}"
# What a session repeats of its own, such as the responses of a subagent, is not a copy.
_IS_OWN = "EXISTS (SELECT 1 FROM model_calls o WHERE o.key = c.key AND o.session = c.session AND o.counted)"
_LEFT_OUT = f"(c.counted AND c.flags & {ABORTED} OR NOT c.counted AND NOT {_IS_OWN})"


class CallSums(NamedTuple):
    #: Dimension, what the price depends on (`price_key`), calls, input, output, cache read, written for five minutes and an hour,
    #: searches, thinking, estimated.
    groups: Iterable[Sequence[int]]
    #: Dimension, session, model; the model only where it was asked for, else 0.
    sessions: Iterable[tuple[int, int, int]]
    #: Whether they count, then calls and tokens: responses that were interrupted, and copies.
    left_out: Iterable[Sequence[int]]


def price_key(thresholds: Sequence[int]) -> str:
    """Model, flags and how many of the lengths its prompt exceeds, in one number, as SQL."""
    prompt = "c.input + c.cache_read + c.cache_write_5m + c.cache_write_1h"
    level = " + ".join([f"({prompt} > {above})" for above in thresholds] or ["0"])
    return f"(c.model << 16) + ((c.flags & {PRICED}) << 4) + {level}"


def sum_groups(store: IndexStore, dimension: str, price: str, where: str, values: Sequence[object]) -> Iterable[Sequence[int]]:
    return _groups(store.connection, dimension, price, where, values)


def sum_calls(
    store: IndexStore, dimension: str, price: str, where: str, values: Sequence[object], *, models: bool = False
) -> CallSums:
    db = store.connection
    left_out = f"SELECT c.counted, {_TOKENS} {FROM}{where} AND {_LEFT_OUT} GROUP BY 1"
    return CallSums(
        _groups(db, dimension, price, where, values),
        db.execute(f"SELECT DISTINCT {dimension}, c.session, {'c.model' if models else '0'} {FROM}{where} AND {COUNTS}", values),
        db.execute(left_out, values),
    )


def sum_days(store: IndexStore, dimension: str, price: str) -> CallSums:
    """The same for all calls by day."""
    basis = f"{dimension}; {price}; {_LEFT_OUT}"
    days = kept_days(store, basis)
    if days is None or None in days.values():
        try:
            with store.writing() as db:  # what is kept is of the same moment as the calls
                days = kept_days(store, basis)
                made = _make_days(db, dimension, price, None if days is None else _stale(days))
                keep_days(db, basis, made)
                days = {**(days or {}), **made}
        except UnwritableError:
            return sum_calls(store, dimension, price, EVERY, ())
    groups, sessions, left_out = [], [], []
    for number, sums in days.items():
        day = None if number == NO_DAY else number
        made_of = _decode(sums or b"")
        groups += [(day, *row) for row in made_of.groups]
        sessions += [(day, session, 0) for session in made_of.sessions]
        left_out += made_of.left_out
    # A call without a known time has no day: None, as SQLite gives it too.
    return CallSums(groups, sessions, left_out)  # type: ignore[arg-type]


def _stale(days: Mapping[int, bytes | None]) -> list[int]:
    """The days to sum up again. The store notes a time that no clock shows by its day, but here it has none."""
    stale = {day for day, sums in days.items() if not sums}
    if any(not EARLIEST // DAY + 1 < day < LATEST // DAY - 1 for day in stale):
        stale.add(NO_DAY)
    return sorted(stale)


class _Day(Struct, array_like=True):
    groups: list[tuple[int, ...]]
    sessions: list[int]
    left_out: list[tuple[int, ...]]


_decode = msgspec.msgpack.Decoder(_Day).decode


def _make_days(db: sqlite3.Connection, dimension: str, price: str, only: Sequence[int] | None) -> dict[int, bytes]:
    """The sums of some days, or of all."""
    where = EVERY if only is None else f" WHERE {_in_days(dimension, only)}"
    made = {day: _Day([], [], []) for day in only or ()}

    def of(day: int | None) -> _Day:
        return made.setdefault(NO_DAY if day is None else day, _Day([], [], []))

    for day, *row in _groups(db, dimension, price, where, ()):
        of(day).groups.append(tuple(row))
    for day, session in db.execute(f"SELECT DISTINCT {dimension}, c.session {FROM}{where} AND {COUNTS}"):
        of(day).sessions.append(session)
    left_out = f"SELECT {dimension}, c.counted, {_TOKENS} {FROM}{where} AND {_LEFT_OUT} GROUP BY 1, 2"
    for day, *row in db.execute(left_out):
        of(day).left_out.append(tuple(row))
    return {day: msgspec.msgpack.encode(sums) for day, sums in made.items()}


def _in_days(dimension: str, days: Sequence[int]) -> str:
    dated = sorted(day for day in days if EARLIEST // DAY - 1 <= day <= LATEST // DAY)
    found = [f"c.time IS NULL OR NOT ({DATED})"] if NO_DAY in days else []
    if dated:
        # No zone is a day away from UTC.
        near = f"c.time BETWEEN {(dated[0] - 1) * DAY} AND {(dated[-1] + 2) * DAY}"
        found.append(f"({near} AND {dimension} IN ({', '.join(map(str, dated))}))")
    return f"({' OR '.join(found or ['0'])})"


def _groups(db: sqlite3.Connection, dimension: str, price: str, where: str, values: Sequence[object]) -> Iterable[Sequence[int]]:
    return db.execute(
        f"SELECT {dimension}, {price}, {_TOKENS}, sum(c.web_searches), sum(c.thinking), sum(c.estimated)"
        f" {FROM}{where} AND {COUNTS} GROUP BY 1, 2",
        values,
    )
