"""What was sent where, and what is still to be sent: one SQLite file.

In: facts from senders and hooks. Out: places to read on from. All that one acknowledgement means is written in one transaction,
so that a crash leaves either none of it (the same spans are posted again, with the same ids) or all of it. Holds ids, places and
counts; never what a transcript says.
"""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterable, Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any

from msgspec import Struct

from stenograph.errors import UnwritableError
from stenograph.traces.reading import Closing, Place

_VERSION = 1
#: Seconds to wait for another process that writes.
_BUSY_SECONDS = 20.0
#: Of what a receiver refused for good, so many are remembered.
_REMEMBERED_REFUSALS = 1_000

_SCHEMA = """
CREATE TABLE cursors (
    destination TEXT, path TEXT, start INTEGER, turns INTEGER, last_start INTEGER, last_turns INTEGER, behind BLOB, at REAL,
    PRIMARY KEY (destination, path)) WITHOUT ROWID;
CREATE TABLE sent_turns (destination TEXT, trace_id BLOB, PRIMARY KEY (destination, trace_id)) WITHOUT ROWID;
CREATE TABLE sent_calls (destination TEXT, message BLOB, trace_id BLOB, PRIMARY KEY (destination, message)) WITHOUT ROWID;
CREATE TABLE waiting (
    destination TEXT, path TEXT, start INTEGER, turns INTEGER, agents TEXT, PRIMARY KEY (destination, path, start)) WITHOUT ROWID;
CREATE TABLE due (
    destination TEXT, path TEXT, closing INTEGER, stamp INTEGER, PRIMARY KEY (destination, path)) WITHOUT ROWID;
CREATE TABLE health (
    destination TEXT PRIMARY KEY, turns INTEGER DEFAULT 0, spans INTEGER DEFAULT 0, posts INTEGER DEFAULT 0,
    refused INTEGER DEFAULT 0, last_success REAL, last_failure REAL, last_error TEXT DEFAULT '', failures INTEGER DEFAULT 0,
    retry_at REAL DEFAULT 0) WITHOUT ROWID;
CREATE TABLE refused (destination TEXT, trace_id BLOB, span_id BLOB, status INTEGER, size INTEGER, at REAL);
CREATE TABLE facts (name TEXT PRIMARY KEY, value) WITHOUT ROWID;
"""


class Cursor(Struct, frozen=True):
    place: Place
    #: A digest of the bytes before the place: the file may have been rewritten since.
    behind: bytes


class Waiting(Struct, frozen=True):
    """A group whose turn is told, but for sub-agents that were still at work."""

    start: int
    turns: int
    agents: frozenset[str]


class Due(Struct, frozen=True):
    destination: str
    path: Path
    closing: Closing
    stamp: int


class Health(Struct, frozen=True):
    destination: str
    turns: int = 0
    spans: int = 0
    posts: int = 0
    refused: int = 0
    #: Seconds since 1970.
    last_success: float | None = None
    last_failure: float | None = None
    last_error: str = ""
    #: In a row.
    failures: int = 0
    retry_at: float = 0.0


class Receipt(Struct, frozen=True):
    """What one acknowledgement means."""

    path: Path
    cursor: Cursor
    turns: int
    spans: int
    posts: int
    trace_ids: tuple[bytes, ...] = ()
    #: Message id -> the trace that told its tokens.
    calls: dict[str, bytes] = {}
    waiting: tuple[Waiting, ...] = ()
    refused: tuple[tuple[bytes, bytes, int, int], ...] = ()
    at: float = 0.0


class TraceState:
    """The state in a folder; made when it is first written to."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / "traces.db"
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._connection = sqlite3.connect(self._path, timeout=_BUSY_SECONDS, isolation_level=None)
            self._connection.execute("PRAGMA journal_mode = WAL")
            self._connection.execute("PRAGMA synchronous = NORMAL")
            with self._transaction():
                found = self._connection.execute("PRAGMA user_version").fetchone()[0]
                if not found:
                    for statement in _SCHEMA.split(";"):
                        self._connection.execute(statement)
                    self._connection.execute(f"PRAGMA user_version = {_VERSION}")
        except (OSError, sqlite3.Error) as error:
            raise UnwritableError(f"{self._path} can't be used: {error}", path=self._path) from error
        if found > _VERSION:
            raise UnwritableError(f"{self._path} was written by a newer release of stenograph", path=self._path)

    def __enter__(self) -> TraceState:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._connection.close()

    def cursor(self, destination: str, path: Path) -> Cursor | None:
        row = self._one(
            "SELECT start, turns, last_start, last_turns, behind FROM cursors WHERE destination = ? AND path = ?",
            destination,
            str(path),
        )
        return Cursor(Place(*row[:4]), row[4]) if row else None

    def cursors(self, destination: str) -> dict[Path, Cursor]:
        rows = self._all(
            "SELECT path, start, turns, last_start, last_turns, behind FROM cursors WHERE destination = ?", destination
        )
        return {Path(path): Cursor(Place(*place), behind) for path, *place, behind in rows}

    def is_sent(self, destination: str, trace_id: bytes) -> bool:
        return bool(self._one("SELECT 1 FROM sent_turns WHERE destination = ? AND trace_id = ?", destination, trace_id))

    def traces_of_calls(self, destination: str, message_ids: Iterable[str]) -> dict[str, bytes]:
        """The traces that told of some responses."""
        found = {}
        for message_id in message_ids:
            row = self._one(
                "SELECT trace_id FROM sent_calls WHERE destination = ? AND message = ?", destination, _short(message_id)
            )
            if row:
                found[message_id] = row[0]
        return found

    def waiting(self, destination: str, path: Path) -> list[Waiting]:
        rows = self._all(
            "SELECT start, turns, agents FROM waiting WHERE destination = ? AND path = ? ORDER BY start", destination, str(path)
        )
        return [Waiting(start, turns, frozenset(agents.split())) for start, turns, agents in rows]

    def paths_waiting(self, destination: str) -> set[Path]:
        return {Path(path) for (path,) in self._all("SELECT DISTINCT path FROM waiting WHERE destination = ?", destination)}

    def acknowledge(self, destination: str, receipt: Receipt) -> None:
        """Note that a receiver has something. All of it or nothing is written."""
        place, path = receipt.cursor.place, str(receipt.path)
        with self._transaction():
            run = self._connection.execute
            run(
                "INSERT OR REPLACE INTO cursors VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                (
                    *(destination, path, place.offset, place.turns, place.last_offset, place.last_turns),
                    *(receipt.cursor.behind, receipt.at),
                ),
            )
            many = self._connection.executemany
            many("INSERT OR IGNORE INTO sent_turns VALUES (?, ?)", [(destination, trace) for trace in receipt.trace_ids])
            many(
                "INSERT OR IGNORE INTO sent_calls VALUES (?, ?, ?)",
                [(destination, _short(message_id), trace) for message_id, trace in receipt.calls.items()],
            )
            for each in receipt.waiting:
                if each.agents:
                    told = (destination, path, each.start, each.turns, " ".join(sorted(each.agents)))
                    run("INSERT OR REPLACE INTO waiting VALUES (?, ?, ?, ?, ?)", told)
                else:
                    run("DELETE FROM waiting WHERE destination = ? AND path = ? AND start = ?", (destination, path, each.start))
            many("INSERT INTO refused VALUES (?, ?, ?, ?, ?, ?)", [(destination, *each, receipt.at) for each in receipt.refused])
            run(
                "DELETE FROM refused WHERE rowid <= (SELECT max(rowid) FROM refused) - ?",
                (_REMEMBERED_REFUSALS,),
            )
            if receipt.posts:
                run("INSERT OR IGNORE INTO health (destination) VALUES (?)", (destination,))
                run(
                    "UPDATE health SET turns = turns + ?, spans = spans + ?, posts = posts + ?, refused = refused + ?,"
                    " last_success = ?, failures = 0, retry_at = 0, last_error = '' WHERE destination = ?",
                    (receipt.turns, receipt.spans, receipt.posts, len(receipt.refused), receipt.at, destination),
                )

    def forget_file(self, destination: str, path: Path) -> None:
        """The file holds something else now: it is read from its beginning. What was sent of it stays known."""
        with self._transaction():
            for table in ("cursors", "waiting"):
                self._connection.execute(f"DELETE FROM {table} WHERE destination = ? AND path = ?", (destination, str(path)))

    def note_failure(self, destination: str, error: str, retry_at: float, at: float) -> None:
        with self._transaction():
            self._connection.execute("INSERT OR IGNORE INTO health (destination) VALUES (?)", (destination,))
            self._connection.execute(
                "UPDATE health SET last_failure = ?, last_error = ?, failures = failures + 1, retry_at = ? WHERE destination = ?",
                (at, error, retry_at, destination),
            )

    def note_recovery(self, destination: str) -> None:
        """Somebody saw it take a span: what failed before counts no more."""
        with self._transaction():
            self._connection.execute(
                "UPDATE health SET failures = 0, retry_at = 0, last_error = '' WHERE destination = ?", (destination,)
            )

    def health(self, destination: str) -> Health:
        names = ", ".join(Health.__struct_fields__)
        row = self._one(f"SELECT {names} FROM health WHERE destination = ?", destination)
        return Health(*row) if row else Health(destination)

    def make_due(self, destinations: Iterable[str], path: Path, closing: Closing, stamp: int) -> None:
        """Something happened in a session. What is known of its last turn only grows until it was sent."""
        with self._transaction():
            for destination in destinations:
                self._connection.execute(
                    "INSERT INTO due VALUES (?, ?, ?, ?) ON CONFLICT (destination, path)"
                    " DO UPDATE SET closing = max(closing, excluded.closing), stamp = excluded.stamp",
                    (destination, str(path), closing.value, stamp),
                )

    def due(self, destination: str) -> list[Due]:
        rows = self._all("SELECT path, closing, stamp FROM due WHERE destination = ? ORDER BY stamp", destination)
        return [Due(destination, Path(path), Closing(closing), stamp) for path, closing, stamp in rows]

    def settle(self, due: Due) -> None:
        """It was seen to, unless something else happened meanwhile."""
        with self._transaction():
            self._connection.execute(
                "DELETE FROM due WHERE destination = ? AND path = ? AND stamp = ?", (due.destination, str(due.path), due.stamp)
            )

    def fact(self, name: str) -> float | None:
        row = self._one("SELECT value FROM facts WHERE name = ?", name)
        return row[0] if row else None

    def set_fact_once(self, name: str, value: float) -> None:
        with self._transaction():
            self._connection.execute("INSERT OR IGNORE INTO facts VALUES (?, ?)", (name, value))

    @contextlib.contextmanager
    def _transaction(self) -> Iterator[None]:
        try:
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield
            except BaseException:
                self._connection.execute("ROLLBACK")
                raise
            self._connection.execute("COMMIT")
        except sqlite3.Error as error:
            raise UnwritableError(f"{self._path} can't be written: {error}", path=self._path) from error

    def _one(self, statement: str, *values: object) -> tuple[Any, ...] | None:
        return next(iter(self._all(statement, *values)), None)

    def _all(self, statement: str, *values: object) -> list[tuple[Any, ...]]:
        try:
            return self._connection.execute(statement, values).fetchall()
        except sqlite3.Error as error:
            raise UnwritableError(f"{self._path} can't be read: {error}", path=self._path) from error


def _short(message_id: str) -> bytes:
    """Ids may be of any length; twelve bytes tell them apart."""
    return sha256(message_id.encode("utf-8", "surrogatepass")).digest()[:12]
