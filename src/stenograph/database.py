"""Stenograph's own SQLite files: created with their tables, for this user only, and refused by versions that do not know them.

In: a path, a version and the tables. Out: a connection. What a damaged or unusable file means is for its owner to say.
"""

from __future__ import annotations

import contextlib
import errno
import os
import sqlite3
import stat
from collections.abc import Callable, Iterator
from pathlib import Path

from stenograph.disk import PRIVATE, make_folder
from stenograph.errors import UnreadableError

#: Seconds that writers wait for each other.
PATIENCE = 30.0
#: What SQLite keeps beside a file.
_BESIDE = ("-wal", "-shm")


def open_database(
    path: Path | None,
    tables: str,
    version: int,
    *,
    patience: float = PATIENCE,
    is_durable: bool = False,
    is_trusted: bool = True,
    upgrade: Callable[[sqlite3.Connection, int], None] | None = None,
) -> sqlite3.Connection:
    """A connection without a transaction, for any thread; None: in memory.

    `is_durable`: what was committed outlives a crash of the machine. `is_trusted`: the file may be a link, or another user's.
    `upgrade`: changes the tables of an older version. Raises OSError, DiskError, sqlite3.Error; UnreadableError for a newer one.
    """
    if path is not None:
        make_folder(path.parent)
        _make_private(path, is_trusted=is_trusted)
    connection = sqlite3.connect(path or ":memory:", timeout=patience, isolation_level=None, check_same_thread=False)
    try:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute(f"PRAGMA synchronous = {'FULL' if is_durable else 'NORMAL'}")
        if _version_of(connection) != version:  # asked first without a lock: another process may be writing for long
            with transaction(connection):
                _make_tables(connection, path, tables, version, upgrade)
    except BaseException:
        connection.close()
        raise
    return connection


@contextlib.contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[sqlite3.Connection]:
    """One that no other writer is in; undone where it raises. Raises sqlite3.Error."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield connection
        connection.execute("COMMIT")
    finally:
        if connection.in_transaction:  # SQLite itself undoes one on a full disk
            connection.execute("ROLLBACK")


def is_damage(error: sqlite3.Error) -> bool:
    """Whether the file itself is broken, not the disk, its permissions or a statement."""
    return _code(error) in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)


def is_busy(error: sqlite3.Error) -> bool:
    """Whether another process writes."""
    return _code(error) in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)


def files_of(path: Path) -> list[Path]:
    """A database and what SQLite may keep beside it."""
    return [path, *(path.with_name(path.name + suffix) for suffix in _BESIDE)]


def _make_tables(
    connection: sqlite3.Connection,
    path: Path | None,
    tables: str,
    version: int,
    upgrade: Callable[[sqlite3.Connection, int], None] | None,
) -> None:
    found = _version_of(connection)
    if found > version:
        raise UnreadableError(
            f"{path} was written by a newer release of steno", hint="update steno", path=path or Path(":memory:")
        )
    if found and found < version and upgrade is not None:
        upgrade(connection, found)
    elif found < version:
        for statement in tables.split(";\n"):
            connection.execute(statement)
    connection.execute(f"PRAGMA user_version = {version}")


def _version_of(connection: sqlite3.Connection) -> int:
    return int(connection.execute("PRAGMA user_version").fetchone()[0])


def _make_private(path: Path, *, is_trusted: bool) -> None:
    """Make the file where it is missing: it holds what sessions hold, so nobody else may read it. Raises OSError."""
    flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0)
    file = os.open(path, flags if is_trusted else flags | getattr(os, "O_NOFOLLOW", 0), PRIVATE)
    try:
        found = os.fstat(file)
        is_ours = not hasattr(os, "geteuid") or found.st_uid == os.geteuid()
        if not stat.S_ISREG(found.st_mode) or not (is_ours or is_trusted):
            raise PermissionError(errno.EPERM, "not a file of this user", str(path))
        if os.name == "posix" and is_ours and found.st_mode & 0o077:
            os.fchmod(file, PRIVATE)
    finally:
        os.close(file)


def _code(error: sqlite3.Error) -> int:
    return getattr(error, "sqlite_errorcode", 0) & 0xFF
