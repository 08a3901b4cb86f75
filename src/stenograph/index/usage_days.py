"""What calls of a day sum up to, kept until a call of that day changes. The store does not know what is in it."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Mapping

from stenograph.index.store import IndexStore

_DAY = 86_400
# The row that says how the sums were made.
_BASIS = -(10**9)
#: The day of calls without a time.
NO_DAY = _BASIS + 1


def kept_days(store: IndexStore, basis: str) -> dict[int, bytes | None] | None:
    """By day what is kept of it; None where a call has changed since. None for all if they were made in another way."""
    days = dict(store.connection.execute("SELECT day, sums FROM usage_days").fetchall())
    return days if days.pop(_BASIS, None) == basis.encode() else None


def keep_days(db: sqlite3.Connection, basis: str, days: Mapping[int, bytes]) -> None:
    """Keep what was summed up in the same transaction."""
    if db.execute("SELECT sums FROM usage_days WHERE day = ?", (_BASIS,)).fetchone() != (basis.encode(),):
        forget_all_days(db)
    rows = [(_BASIS, basis.encode()), *days.items()]
    db.executemany("INSERT OR REPLACE INTO usage_days (day, sums) VALUES (?, ?)", rows)


def forget_days(db: sqlite3.Connection, times: Iterable[int | None]) -> None:
    """Note that calls of these times have changed. A time is in one of three days, depending on the time zone."""
    if db.execute("SELECT 1 FROM usage_days LIMIT 1").fetchone() is None:
        return
    days = {NO_DAY if time is None else time // _DAY + beside for time in times for beside in (-1, 0, 1)}
    db.executemany("INSERT OR REPLACE INTO usage_days (day, sums) VALUES (?, NULL)", ((day,) for day in days))


def forget_all_days(db: sqlite3.Connection) -> None:
    db.execute("DELETE FROM usage_days")
