"""What was sent where, and what is still to be sent: one SQLite file with ids, places and counts, never session text.

Each acknowledgement is one transaction: after a crash the same spans are posted again, under the same ids, or not at all.

What a destination has is known by keys that copies of a turn keep: a message id, `tool <id>`, `compaction <uuid>`, `opening …`
for an unanswered prompt. They are stored as digests, each with the trace that sent it.
"""

from __future__ import annotations

import contextlib
import sqlite3
import time
from collections.abc import Callable, Iterable, Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any

from msgspec import Struct

from stenograph.database import files_of, is_damage, open_database, transaction
from stenograph.disk import move_file
from stenograph.errors import UnreadableError, UnwritableError
from stenograph.traces.delivery import BadSpan
from stenograph.traces.reading import Closing, Place, ReadFailure

_VERSION = 3
_BUSY_SECONDS = 20.0
_REMEMBERED_REFUSALS = 1_000
#: SQLite allows 999 variables at least.
_KEYS_AT_ONCE = 500

_SCHEMA = """
CREATE TABLE cursors (
    destination TEXT, path TEXT, start INTEGER, turns INTEGER, last_start INTEGER, last_turns INTEGER,
    digest_before BLOB, at REAL, skipped INTEGER DEFAULT 0,
    PRIMARY KEY (destination, path)) WITHOUT ROWID;
CREATE TABLE sent_turns (destination TEXT, trace_id BLOB, PRIMARY KEY (destination, trace_id)) WITHOUT ROWID;
CREATE TABLE told (destination TEXT, key BLOB, trace_id BLOB, PRIMARY KEY (destination, key)) WITHOUT ROWID;
CREATE TABLE waiting (
    destination TEXT, path TEXT, start INTEGER, turns INTEGER, agents TEXT, PRIMARY KEY (destination, path, start)) WITHOUT ROWID;
CREATE TABLE due (
    destination TEXT, path TEXT, closing INTEGER, stamp INTEGER, failures INTEGER DEFAULT 0,
    PRIMARY KEY (destination, path)) WITHOUT ROWID;
CREATE TABLE health (
    destination TEXT PRIMARY KEY, turns INTEGER DEFAULT 0, spans INTEGER DEFAULT 0, posts INTEGER DEFAULT 0,
    refused INTEGER DEFAULT 0, last_success REAL, last_failure REAL, last_error TEXT DEFAULT '', failures INTEGER DEFAULT 0,
    retry_at REAL DEFAULT 0) WITHOUT ROWID;
CREATE TABLE refused (destination TEXT, trace_id BLOB, span_id BLOB, status INTEGER, size INTEGER, at REAL);
CREATE TABLE unread (
    destination TEXT, session TEXT, path TEXT, reason TEXT, PRIMARY KEY (destination, session, path)) WITHOUT ROWID;
CREATE TABLE taken_over (
    destination TEXT, path TEXT, lines INTEGER, start INTEGER, PRIMARY KEY (destination, path)) WITHOUT ROWID;
CREATE TABLE facts (name TEXT PRIMARY KEY, value) WITHOUT ROWID;
"""


#: Table -> which of its entries are about a file.
_NAMING = {**dict.fromkeys(("cursors", "waiting", "due"), "is_own(path)"), "unread": "is_own(session) OR is_own(path)"}


class Cursor(Struct, frozen=True):
    place: Place
    #: Of the bytes before the place: detects a rewritten file.
    digest_before: bytes


class Waiting(Struct, frozen=True):
    """A turn that was sent without subagents that were still at work."""

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
    #: Key -> trace.
    told: dict[str, bytes] = {}
    waiting: tuple[Waiting, ...] = ()
    refused: tuple[BadSpan, ...] = ()
    #: Lines that are not JSON objects.
    skipped: int = 0
    at: float = 0.0


class TraceState:
    """A context manager. A damaged file is renamed and a new one begun. All methods raise UnwritableError."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / "traces.db"
        try:
            try:
                self._connect()
            except sqlite3.Error as error:
                if not is_damage(error):
                    raise
                self._set_aside()
                self._connect()
        except (OSError, sqlite3.Error, UnwritableError) as error:
            raise UnwritableError(f"cannot use {self._path}: {error}", path=self._path) from error
        except UnreadableError as error:
            hint = f"{error.hint}, or delete it and send everything again"
            raise UnwritableError(error.what, hint=hint, path=self._path) from error

    def _connect(self) -> None:
        # Of the file that is found damaged, if it is: another process may replace it meanwhile.
        self._inode = self._path.stat().st_ino if self._path.exists() else 0
        self._connection = open_database(self._path, _SCHEMA, _VERSION, patience=_BUSY_SECONDS, upgrade=_upgrade)
        self._inode = self._path.stat().st_ino

    def _set_aside(self) -> None:
        """Rename the damaged file and SQLite's files beside it, unless another process did."""
        if not self._path.exists() or self._path.stat().st_ino != self._inode:
            return
        aside = self._path.with_name(f"{self._path.name}.damaged-{time.time_ns()}")
        for old, new in zip(files_of(self._path), files_of(aside), strict=True):
            if old.exists():
                move_file(old, new)

    def damaged(self) -> list[Path]:
        """Earlier states that were renamed because they were damaged."""
        found = self._path.parent.glob(f"{self._path.name}.damaged-*")
        return sorted(path for path in found if path.suffix.removeprefix(".damaged-").isdigit())

    def __enter__(self) -> TraceState:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._connection.close()

    def cursor(self, destination: str, path: Path) -> Cursor | None:
        row = self._one(
            "SELECT start, turns, last_start, last_turns, digest_before FROM cursors WHERE destination = ? AND path = ?",
            destination,
            _stored(path),
        )
        return Cursor(Place(*row[:4]), row[4]) if row else None

    def cursors(self, destination: str) -> dict[Path, Cursor]:
        rows = self._all(
            "SELECT path, start, turns, last_start, last_turns, digest_before FROM cursors WHERE destination = ?", destination
        )
        return {_path(path): Cursor(Place(*place), digest) for path, *place, digest in rows}

    def skipped(self, destination: str) -> dict[Path, int]:
        """How many lines of each session were skipped because they are not JSON objects."""
        rows = self._all("SELECT path, skipped FROM cursors WHERE destination = ? AND skipped > 0 ORDER BY path", destination)
        return {_path(path): count for path, count in rows}

    def is_sent(self, destination: str, trace_id: bytes) -> bool:
        return bool(self._one("SELECT 1 FROM sent_turns WHERE destination = ? AND trace_id = ?", destination, trace_id))

    def traces_that_told(self, destination: str, keys: Iterable[str]) -> dict[str, bytes]:
        """The traces that sent some keys; the first trace wins."""
        by_digest = {_short(key): key for key in keys}
        digests, found = list(by_digest), dict[str, bytes]()
        for start in range(0, len(digests), _KEYS_AT_ONCE):
            some = digests[start : start + _KEYS_AT_ONCE]
            names = ", ".join("?" * len(some))
            rows = self._all(f"SELECT key, trace_id FROM told WHERE destination = ? AND key IN ({names})", destination, *some)
            found |= {by_digest[digest]: trace_id for digest, trace_id in rows}
        return found

    def count_told(self, destination: str, trace_id: bytes) -> int:
        """How many keys a trace has sent."""
        row = self._one("SELECT count(*) FROM told WHERE destination = ? AND trace_id = ?", destination, trace_id)
        return int(row[0]) if row else 0

    def waiting(self, destination: str, path: Path) -> list[Waiting]:
        rows = self._all(
            "SELECT start, turns, agents FROM waiting WHERE destination = ? AND path = ? ORDER BY start",
            destination,
            _stored(path),
        )
        return [Waiting(start, turns, frozenset(_name(agents).split())) for start, turns, agents in rows]

    def acknowledge(self, destination: str, receipt: Receipt) -> None:
        place, path = receipt.cursor.place, _stored(receipt.path)
        with self._transaction() as run:
            run(
                "INSERT INTO cursors VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET start = excluded.start,"
                " turns = excluded.turns, last_start = excluded.last_start, last_turns = excluded.last_turns,"
                " digest_before = excluded.digest_before, at = excluded.at, skipped = skipped + excluded.skipped",
                (
                    *(destination, path, place.offset, place.turns, place.last_offset, place.last_turns),
                    *(receipt.cursor.digest_before, receipt.at, receipt.skipped),
                ),
            )
            many = self._connection.executemany
            many("INSERT OR IGNORE INTO sent_turns VALUES (?, ?)", [(destination, trace) for trace in receipt.trace_ids])
            many(
                "INSERT OR IGNORE INTO told VALUES (?, ?, ?)",
                [(destination, _short(key), trace) for key, trace in receipt.told.items()],
            )
            for each in receipt.waiting:
                if each.agents:
                    row = (destination, path, each.start, each.turns, _stored(" ".join(sorted(each.agents))))
                    run("INSERT OR REPLACE INTO waiting VALUES (?, ?, ?, ?, ?)", row)
                else:
                    run("DELETE FROM waiting WHERE destination = ? AND path = ? AND start = ?", (destination, path, each.start))
            many(
                "INSERT INTO refused VALUES (?, ?, ?, ?, ?, ?)",
                [(destination, bad.trace_id, bad.span_id, bad.status, bad.size, receipt.at) for bad in receipt.refused],
            )
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
        """Read a rewritten file from its beginning; what was sent stays known."""
        with self._transaction() as run:
            for table in ("cursors", "waiting"):
                run(f"DELETE FROM {table} WHERE destination = ? AND path = ?", (destination, _stored(path)))
            run("UPDATE taken_over SET start = 0 WHERE destination = ? AND path = ?", (destination, _stored(path)))

    def take_over(self, destination: str, path: Path, lines: int, offset: int) -> None:
        """Another program sent the turns in the first lines of a session."""
        with self._transaction() as run:
            run("INSERT OR REPLACE INTO taken_over VALUES (?, ?, ?, ?)", (destination, _stored(path), lines, offset))

    def taken_offset(self, destination: str, path: Path) -> int | None:
        """Where the lines end that another program sent; 0 if the file was rewritten since."""
        row = self._one("SELECT start FROM taken_over WHERE destination = ? AND path = ?", destination, _stored(path))
        return row[0] if row else None

    def taken_over(self, destination: str) -> dict[Path, int]:
        """How many lines of which sessions another program sent."""
        rows = self._all("SELECT path, lines FROM taken_over WHERE destination = ? ORDER BY path", destination)
        return {_path(path): lines for path, lines in rows}

    def destinations(self) -> list[str]:
        """Those that anything was sent to."""
        return [row[0] for row in self._all("SELECT DISTINCT destination FROM sent_turns ORDER BY destination")]

    def entries_of(self, is_own: Callable[[Path], bool]) -> int:
        """How many entries are about certain files: those of a session."""
        self._define(is_own)
        counts = [self._one(f"SELECT count(*) FROM {table} WHERE {condition}") for table, condition in _NAMING.items()]
        return sum(row[0] for row in counts if row)

    def forget_session(self, is_own: Callable[[Path], bool]) -> None:
        """Delete these entries, and overwrite them; digests of what was sent stay."""
        self._define(is_own)
        self._connection.execute("PRAGMA secure_delete = ON")
        with self._transaction() as run:
            for table, condition in _NAMING.items():
                run(f"DELETE FROM {table} WHERE {condition}")
        self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def _define(self, is_own: Callable[[Path], bool]) -> None:
        self._connection.create_function("is_own", 1, lambda stored: is_own(_path(stored)))

    def note_failure(self, destination: str, error: str, retry_at: float, at: float) -> None:
        with self._transaction() as run:
            run("INSERT OR IGNORE INTO health (destination) VALUES (?)", (destination,))
            run(
                "UPDATE health SET last_failure = ?, last_error = ?, failures = failures + 1, retry_at = ? WHERE destination = ?",
                (at, error.encode("utf-8", "replace").decode(), retry_at, destination),
            )

    def note_recovery(self, destination: str) -> None:
        """A test span arrived: earlier failures no longer count."""
        with self._transaction() as run:
            run("UPDATE health SET failures = 0, retry_at = 0, last_error = '' WHERE destination = ?", (destination,))

    def health(self, destination: str) -> Health:
        names = ", ".join(Health.__struct_fields__)
        row = self._one(f"SELECT {names} FROM health WHERE destination = ?", destination)
        return Health(*row) if row else Health(destination)

    def make_due(self, destinations: Iterable[str], path: Path, closing: Closing, stamp: int) -> None:
        """Note an event of a session. What is known of its last turn only grows until it is sent."""
        with self._transaction() as run:
            for destination in destinations:
                run(
                    "INSERT INTO due (destination, path, closing, stamp) VALUES (?, ?, ?, ?) ON CONFLICT (destination, path)"
                    " DO UPDATE SET closing = max(closing, excluded.closing), stamp = excluded.stamp",
                    (destination, _stored(path), closing.value, stamp),
                )

    def due(self, destination: str) -> list[Due]:
        """In order: those that a receiver failed at come last."""
        rows = self._all("SELECT path, closing, stamp FROM due WHERE destination = ? ORDER BY failures, stamp", destination)
        return [Due(destination, _path(path), Closing(closing), stamp) for path, closing, stamp in rows]

    def put_off(self, due: Due) -> None:
        with self._transaction() as run:
            run("UPDATE due SET failures = failures + 1 WHERE destination = ? AND path = ?", (due.destination, _stored(due.path)))

    def is_due(self, destination: str, path: Path) -> bool:
        return bool(self._one("SELECT 1 FROM due WHERE destination = ? AND path = ?", destination, _stored(path)))

    def settle(self, due: Due) -> None:
        """Done, unless something happened since."""
        with self._transaction() as run:
            run(
                "DELETE FROM due WHERE destination = ? AND path = ? AND stamp = ?",
                (due.destination, _stored(due.path), due.stamp),
            )

    def note_unread(self, destination: str, session: Path, failures: Iterable[ReadFailure]) -> None:
        """Replace the list of a session's unreadable files."""
        now = {(_stored(each.path), _stored(each.reason)) for each in failures}
        whose = _stored(session)
        rows = self._all("SELECT path, reason FROM unread WHERE destination = ? AND session = ?", destination, whose)
        if now != set(rows):
            with self._transaction() as run:
                run("DELETE FROM unread WHERE destination = ? AND session = ?", (destination, whose))
                self._connection.executemany(
                    "INSERT OR REPLACE INTO unread VALUES (?, ?, ?, ?)", [(destination, whose, *each) for each in now]
                )

    def unread(self, destination: str) -> list[ReadFailure]:
        rows = self._all("SELECT path, reason FROM unread WHERE destination = ? ORDER BY path", destination)
        return [ReadFailure(_path(path), _name(reason)) for path, reason in rows]

    def first_event(self) -> float | None:
        """The time of the first hook event less a margin; None before that."""
        row = self._one("SELECT value FROM facts WHERE name = 'first_event'")
        return row[0] if row else None

    def note_first_event(self, at: float) -> None:
        with self._transaction() as run:
            run("INSERT OR IGNORE INTO facts VALUES ('first_event', ?)", (at,))

    @contextlib.contextmanager
    def _transaction(self) -> Iterator[Callable[..., sqlite3.Cursor]]:
        try:
            with transaction(self._connection) as db:
                yield db.execute
        except sqlite3.Error as error:
            self._give_up(error)
            raise UnwritableError(f"cannot write to {self._path}: {error}", path=self._path) from error

    def _give_up(self, error: sqlite3.Error) -> None:
        """Damage found late: whoever opens the state next begins anew."""
        if is_damage(error):
            with contextlib.suppress(OSError):
                self.close()
                self._set_aside()

    def _one(self, statement: str, *values: object) -> tuple[Any, ...] | None:
        return next(iter(self._all(statement, *values)), None)

    def _all(self, statement: str, *values: object) -> list[tuple[Any, ...]]:
        try:
            return self._connection.execute(statement, values).fetchall()
        except sqlite3.Error as error:
            self._give_up(error)
            raise UnwritableError(f"cannot read {self._path}: {error}", path=self._path) from error


def _upgrade(db: sqlite3.Connection, found: int) -> None:
    if found == 1:
        # Version 1 counted turns in file order: count anew, with what was sent still known.
        db.execute("UPDATE cursors SET turns = 0, last_start = 0, last_turns = 0")
    db.execute("ALTER TABLE cursors ADD COLUMN skipped INTEGER DEFAULT 0")
    db.execute(next(each for each in _SCHEMA.split(";") if "TABLE taken_over" in each))


def _stored(name: Path | str) -> str | bytes:
    """Bytes if it is not valid text: file systems allow any bytes in a name."""
    text = str(name)
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-8", "surrogatepass")
    return text


def _name(stored: str | bytes) -> str:
    return stored if isinstance(stored, str) else stored.decode("utf-8", "surrogatepass")


def _path(stored: str | bytes) -> Path:
    return Path(_name(stored))


def _short(key: str) -> bytes:
    """Keeps words out of the database; twelve bytes tell all keys apart."""
    return sha256(key.encode("utf-8", "surrogatepass")).digest()[:12]
