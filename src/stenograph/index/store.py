"""The store: one SQLite file in our data directory, made on first use. Deleting it loses nothing but time.

Its name holds the version of its tables, so no release meets a store that it does not understand. A damaged store is replaced by
an empty one. Where no file can be written, the store is in memory and lasts as long as the process.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path

from stenograph.config import data_folder
from stenograph.database import files_of, open_database, transaction
from stenograph.errors import DiskError, UnwritableError

VERSION = 11
_NAME = f"index-{VERSION}.sqlite"

# Full text is kept without the texts: they are in the sessions. SQLite before 3.43 can't delete from such a table, so the rows of
# deleted lines stay behind without a row in `docs`, where no search finds them, until there are so many that all is read anew.
_TABLES = """
CREATE TABLE homes (path BLOB PRIMARY KEY) WITHOUT ROWID;
CREATE TABLE files (
  id INTEGER PRIMARY KEY,
  path BLOB NOT NULL UNIQUE,
  session INTEGER NOT NULL,
  part TEXT NOT NULL, name TEXT NOT NULL,
  agent TEXT,
  device INTEGER NOT NULL, inode INTEGER NOT NULL, size INTEGER NOT NULL, changed_ns INTEGER NOT NULL,
  offset INTEGER NOT NULL, lines INTEGER NOT NULL, fingerprint BLOB NOT NULL
);
CREATE INDEX files_by_session ON files (session);
CREATE TABLE names (
  file INTEGER NOT NULL, kind TEXT NOT NULL, name TEXT NOT NULL, last INTEGER NOT NULL,
  PRIMARY KEY (file, kind, name)
) WITHOUT ROWID;
CREATE TABLE sessions (
  id INTEGER PRIMARY KEY,
  home BLOB NOT NULL,
  path BLOB NOT NULL UNIQUE,
  name TEXT NOT NULL,
  folder TEXT NOT NULL,
  title TEXT, project TEXT, repository TEXT, branch TEXT, release TEXT,
  started REAL, ended REAL,
  turns INTEGER NOT NULL DEFAULT 0,
  current INTEGER,
  conversation INTEGER,
  place TEXT,
  glance BLOB
);
CREATE TABLE turns (
  session INTEGER NOT NULL, offset INTEGER NOT NULL, number INTEGER NOT NULL,
  opening INTEGER NOT NULL, previous INTEGER, started REAL,
  lines BLOB NOT NULL,
  PRIMARY KEY (session, offset)
) WITHOUT ROWID;
CREATE TABLE docs (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  session INTEGER NOT NULL,
  file INTEGER NOT NULL,
  offset INTEGER NOT NULL, line INTEGER NOT NULL,
  uuid INTEGER,
  time REAL
);
CREATE INDEX docs_by_file ON docs (file, offset);
-- Documents of one file with numbers in a row, so that a search need not look up each one.
CREATE TABLE doc_spans (
  first INTEGER PRIMARY KEY, last INTEGER NOT NULL, file INTEGER NOT NULL, session INTEGER NOT NULL
);
CREATE INDEX doc_spans_by_file ON doc_spans (file, last);
CREATE TABLE calls (
  file INTEGER NOT NULL,
  id TEXT NOT NULL,
  name TEXT NOT NULL,
  target TEXT,
  used INTEGER NOT NULL,
  answered INTEGER,
  failed INTEGER NOT NULL DEFAULT 0,
  spilled TEXT,
  PRIMARY KEY (file, id)
) WITHOUT ROWID;
CREATE INDEX calls_by_target ON calls (target) WHERE target IS NOT NULL;
CREATE INDEX calls_by_spilled ON calls (spilled) WHERE spilled IS NOT NULL;
CREATE TABLE usage_names (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
CREATE TABLE usage_sessions (
  id INTEGER PRIMARY KEY,
  home BLOB NOT NULL, folder BLOB NOT NULL, name TEXT NOT NULL,
  project TEXT,
  UNIQUE (folder, name)
);
CREATE TABLE usage_files (
  id INTEGER PRIMARY KEY,
  path BLOB NOT NULL UNIQUE,
  session INTEGER NOT NULL,
  agent TEXT,
  device INTEGER NOT NULL, inode INTEGER NOT NULL, size INTEGER NOT NULL, changed_ns INTEGER NOT NULL,
  offset INTEGER NOT NULL, fingerprint BLOB NOT NULL,
  client_total INTEGER,
  began INTEGER, is_clone INTEGER NOT NULL DEFAULT 0
);
CREATE INDEX usage_files_by_session ON usage_files (session);
CREATE TABLE model_calls (
  id INTEGER PRIMARY KEY,
  file INTEGER NOT NULL, session INTEGER NOT NULL, key INTEGER NOT NULL, offset INTEGER NOT NULL,
  time INTEGER,
  model INTEGER NOT NULL,
  input INTEGER NOT NULL, output INTEGER NOT NULL, cache_read INTEGER NOT NULL,
  cache_write_5m INTEGER NOT NULL, cache_write_1h INTEGER NOT NULL, web_searches INTEGER NOT NULL,
  thinking INTEGER NOT NULL, estimated INTEGER NOT NULL, written INTEGER NOT NULL,
  tier INTEGER NOT NULL, branch INTEGER NOT NULL, agent_type INTEGER NOT NULL, release INTEGER NOT NULL, tools INTEGER NOT NULL,
  flags INTEGER NOT NULL,
  counted INTEGER NOT NULL,
  UNIQUE (key, file)
);
CREATE INDEX model_calls_by_file ON model_calls (file, offset);
CREATE INDEX model_calls_by_time ON model_calls (time);
CREATE TABLE usage_days (day INTEGER PRIMARY KEY, sums BLOB);
CREATE TABLE session_facts (session INTEGER PRIMARY KEY, state BLOB NOT NULL, facts BLOB NOT NULL);
CREATE VIRTUAL TABLE text USING fts5 (
  prompt, answer, thinking, input, output, title, note,
  content = '', tokenize = "unicode61 remove_diacritics 2"
);
-- Words wait in memory for so many bytes: fewer pieces to merge, a tenth less time and space.
INSERT INTO text (text, rank) VALUES ('hashsize', 8388608);
"""


# Steps of SQLite between two looks at the clock: less than a millisecond.
_BETWEEN_LOOKS = 5_000


class IndexStore:
    """An open store. `connection` has no transaction open between calls."""

    def __init__(self, connection: sqlite3.Connection, path: Path | None) -> None:
        self.connection = connection
        #: None: in memory.
        self.path = path
        #: Where a file can be read: where it is, unless somebody has a copy of one that is gone.
        self.place_of: Callable[[Path], Path] = lambda path: path

    def close(self) -> None:
        self.connection.close()

    def __del__(self) -> None:
        self.connection.close()

    @contextlib.contextmanager
    def reading(self) -> Iterator[None]:
        """What is asked meanwhile is answered from one state of the store, whatever others write."""
        self.connection.execute("BEGIN")
        try:
            yield
        finally:
            self.connection.rollback()

    @contextlib.contextmanager
    def within(self, seconds: float) -> Iterator[None]:
        """What is asked meanwhile is given up after so many seconds. Raises TimeoutError."""
        end = time.monotonic() + seconds
        self.connection.set_progress_handler(lambda: time.monotonic() > end, _BETWEEN_LOOKS)
        try:
            yield
        except sqlite3.OperationalError as error:
            if time.monotonic() > end:
                raise TimeoutError("the question took too long") from error
            raise
        finally:
            self.connection.set_progress_handler(None, 0)
            if self.connection.in_transaction:  # its end was given up too
                self.connection.rollback()

    @contextlib.contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """A transaction that no other writer is in; undone where it raises. Raises UnwritableError."""
        try:
            with transaction(self.connection) as db:
                yield db
        except sqlite3.OperationalError as error:  # a full disk, or a writer that does not end
            path = self.path or Path(":memory:")
            raise UnwritableError(f"cannot write the index {path}: {error}", path=path) from error


def knows_home(store: IndexStore, home: Path) -> bool:
    """Whether all sessions of a home were indexed once."""
    return store.connection.execute("SELECT 1 FROM homes WHERE path = ?", (os.fsencode(home),)).fetchone() is not None


def note_homes(store: IndexStore, homes: Iterable[Path]) -> None:
    """Note that all sessions of some homes are indexed. Raises UnwritableError."""
    unknown = [home for home in homes if not knows_home(store, home)]
    if unknown:
        with store.writing() as db:
            db.executemany("INSERT OR IGNORE INTO homes (path) VALUES (?)", ((os.fsencode(home),) for home in unknown))


_GARBAGE = 50_000


def clear_if_mostly_garbage(store: IndexStore) -> None:
    """Forget everything once most documents are those of deleted lines. Raises UnwritableError."""
    live = store.connection.execute("SELECT coalesce(sum(last - first + 1), 0) FROM doc_spans").fetchone()[0]
    made = store.connection.execute("SELECT coalesce(max(seq), 0) FROM sqlite_sequence WHERE name = 'docs'").fetchone()[0]
    if made <= _GARBAGE + 3 * live:
        return
    with store.writing() as db:
        for table in ("homes", "files", "names", "sessions", "turns", "docs", "doc_spans", "calls", "sqlite_sequence"):
            db.execute(f"DELETE FROM {table}")
        db.execute("INSERT INTO text (text) VALUES ('delete-all')")


def store_path(environ: Mapping[str, str]) -> Path | None:
    """Where the store is; None where there is no data directory."""
    folder = data_folder(environ)
    return None if folder is None else folder / _NAME


def open_store(path: Path | None) -> IndexStore:
    """The store at a path, made where it is missing; in memory for None, or where nothing can be written there."""
    if path is not None:
        with contextlib.suppress(OSError, DiskError, sqlite3.OperationalError):
            try:
                return IndexStore(_connect(path), path)
            except sqlite3.DatabaseError as error:
                if isinstance(error, sqlite3.OperationalError):
                    raise
                discard_store(path)
                return IndexStore(_connect(path), path)
    return IndexStore(_connect(None), None)


def discard_store(path: Path) -> None:
    """Delete a store and what SQLite keeps beside it."""
    for file in files_of(path):
        with contextlib.suppress(FileNotFoundError):
            file.unlink()


def _connect(path: Path | None) -> sqlite3.Connection:
    connection = open_database(path, _TABLES, VERSION, is_trusted=False)
    connection.execute("PRAGMA temp_store = MEMORY")
    # A first index writes most pages several times: they reach the database once in 100 MB, and when the store is closed.
    connection.execute("PRAGMA wal_autocheckpoint = 25000")
    return connection
