"""SQLite files of our own, as SQLite and the file system see them."""

from __future__ import annotations

import os
import sqlite3
import stat
import threading
from pathlib import Path

import pytest

from stenograph.database import files_of, is_busy, is_damage, open_database, transaction
from stenograph.errors import UnreadableError

TABLES = "CREATE TABLE one (name TEXT);\nCREATE TABLE two (name TEXT);\n"


def test_a_database_is_made_with_its_tables_for_this_user_alone(tmp_path: Path) -> None:
    path = tmp_path / "ours" / "a.sqlite"
    before = os.umask(0)
    try:
        connection = open_database(path, TABLES, 3)
        with transaction(connection) as db:
            db.execute("INSERT INTO two VALUES ('x')")
        modes = {file.name: stat.S_IMODE(file.stat().st_mode) for file in (path.parent, *files_of(path))}
    finally:
        os.umask(before)
    assert modes == {"ours": 0o700, "a.sqlite": 0o600, "a.sqlite-wal": 0o600, "a.sqlite-shm": 0o600}
    connection.close()
    by_hand = sqlite3.connect(path)
    assert by_hand.execute("PRAGMA user_version").fetchone() == (3,)
    assert by_hand.execute("SELECT name FROM two").fetchall() == [("x",)]
    by_hand.close()


def test_a_file_that_others_may_read_is_closed_to_them(tmp_path: Path) -> None:
    path = tmp_path / "a.sqlite"
    path.touch(0o644)
    open_database(path, TABLES, 1).close()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_newer_database_is_refused_and_left_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "a.sqlite"
    open_database(path, TABLES, 2).close()
    before = path.read_bytes()
    with pytest.raises(UnreadableError, match="newer release") as raised:
        open_database(path, TABLES, 1)
    assert raised.value.path == path
    assert path.read_bytes() == before


def test_an_older_database_is_upgraded_once(tmp_path: Path) -> None:
    path = tmp_path / "a.sqlite"
    open_database(path, TABLES, 1).close()
    upgraded = []

    def upgrade(db: sqlite3.Connection, found: int) -> None:
        upgraded.append(found)
        db.execute("ALTER TABLE one ADD COLUMN size INTEGER")

    for _ in range(2):
        open_database(path, "CREATE TABLE one (name TEXT, size INTEGER)", 2, upgrade=upgrade).close()
    assert upgraded == [1]


def test_an_upgrade_that_fails_changes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "a.sqlite"
    open_database(path, TABLES, 1).close()

    def fail(db: sqlite3.Connection, found: int) -> None:
        db.execute("DROP TABLE one")
        raise ValueError(found)

    with pytest.raises(ValueError, match="1"):
        open_database(path, TABLES, 2, upgrade=fail)
    connection = open_database(path, TABLES, 1)
    assert connection.execute("SELECT count(*) FROM one").fetchone() == (0,)
    connection.close()


def test_a_link_or_a_directory_is_used_only_where_it_is_trusted(tmp_path: Path) -> None:
    (tmp_path / "elsewhere.sqlite").touch()
    link = tmp_path / "a.sqlite"
    link.symlink_to("elsewhere.sqlite")
    with pytest.raises(OSError, match="symbolic links"):
        open_database(link, TABLES, 1, is_trusted=False)
    open_database(link, TABLES, 1).close()
    assert (tmp_path / "elsewhere.sqlite").stat().st_size
    with pytest.raises(OSError, match="directory"):
        open_database(tmp_path, TABLES, 1)


def test_damage_and_another_writer_are_told_apart(tmp_path: Path) -> None:
    path = tmp_path / "a.sqlite"
    path.write_bytes(b"not a database, but long enough to be looked at as one" * 100)
    with pytest.raises(sqlite3.DatabaseError) as damaged:
        open_database(path, TABLES, 1)
    path.unlink()
    one, other = open_database(path, TABLES, 1), open_database(path, TABLES, 1, patience=0)
    with transaction(one), pytest.raises(sqlite3.OperationalError) as busy, transaction(other):
        pass
    assert (is_damage(damaged.value), is_busy(damaged.value)) == (True, False)
    assert (is_damage(busy.value), is_busy(busy.value)) == (False, True)
    one.close()
    other.close()


def test_what_fails_in_a_transaction_is_undone(tmp_path: Path) -> None:
    connection = open_database(tmp_path / "a.sqlite", TABLES, 1)
    with pytest.raises(sqlite3.OperationalError, match="no such table"), transaction(connection) as db:
        _insert(db, "one", "three")
    assert not connection.in_transaction
    assert connection.execute("SELECT count(*) FROM one").fetchone() == (0,)
    connection.close()


def _insert(db: sqlite3.Connection, *tables: str) -> None:
    for table in tables:
        db.execute(f"INSERT INTO {table} VALUES ('x')")


def test_another_thread_may_close_it() -> None:
    connection = open_database(None, TABLES, 1)
    thread = threading.Thread(target=connection.close)
    thread.start()
    thread.join()
    with pytest.raises(sqlite3.ProgrammingError, match="closed"):
        connection.execute("SELECT 1")
