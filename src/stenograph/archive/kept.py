"""Whole files, compressed, each with its place, mode and time: what is kept of sessions that clients delete.

One SQLite file, made on first use. A file's bytes are a *content*: segments that are only ever added, so that what was appended
costs its own bytes. A new content is compressed against another one that it resembles, its *base*: a fork against its parent, any
other file against the file that was kept before it in its project. `docs/decisions/0019-kept-sessions.md` has the figures.

Each segment has a digest, and so has each file that was read as a whole: what is read back is checked against both.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec

from stenograph.archive.packing import digest_of, pack, unpack
from stenograph.database import PATIENCE, is_busy, is_damage, open_database, transaction
from stenograph.disk import projects_folder
from stenograph.errors import BusyError, DiskError, UnreadableError, UnwritableError
from stenograph.family import LINES_SUFFIX

_VERSION = 1
NAME = "kept.sqlite"
#: Bytes of a file that are compressed at once.
SEGMENT = 8_000_000
# How much of a segment's own file before it is used to compress it.
_OWN_PREFIX = 1_000_000
_LARGEST_PREFIX = 16_000_000
_NO_FACTS = "{}"
# Each step back to a base has to be unpacked before the next.
_DEEPEST = 8

_TABLES = """
CREATE TABLE contents (
  id INTEGER PRIMARY KEY,
  base INTEGER, base_size INTEGER NOT NULL,
  depth INTEGER NOT NULL,
  size INTEGER NOT NULL,
  sha256 BLOB,
  anchor TEXT,
  folder BLOB NOT NULL
);
CREATE INDEX contents_by_anchor ON contents (anchor) WHERE anchor IS NOT NULL;
CREATE INDEX contents_by_folder ON contents (folder);
CREATE INDEX contents_by_base ON contents (base) WHERE base IS NOT NULL;
CREATE TABLE segments (
  content INTEGER NOT NULL, start INTEGER NOT NULL, size INTEGER NOT NULL,
  prefix INTEGER NOT NULL,
  digest BLOB NOT NULL,
  data BLOB NOT NULL,
  UNIQUE (content, start)
);
CREATE TABLE sessions (
  id INTEGER PRIMARY KEY,
  home BLOB NOT NULL,
  path BLOB NOT NULL UNIQUE,
  name TEXT NOT NULL,
  facts TEXT NOT NULL
);
CREATE INDEX sessions_by_name ON sessions (name);
CREATE TABLE files (
  id INTEGER PRIMARY KEY,
  path BLOB NOT NULL,
  session INTEGER NOT NULL,
  content INTEGER NOT NULL,
  size INTEGER NOT NULL,
  mode INTEGER NOT NULL,
  mtime_ns INTEGER NOT NULL, device INTEGER NOT NULL, inode INTEGER NOT NULL, changed_ns INTEGER NOT NULL,
  fingerprint BLOB NOT NULL,
  kept REAL NOT NULL,
  replaced REAL
);
CREATE UNIQUE INDEX files_by_path ON files (path) WHERE replaced IS NULL;
CREATE INDEX files_by_session ON files (session);
CREATE INDEX files_by_content ON files (content);
"""


class KeptFile(msgspec.Struct, frozen=True):
    """A file as it is kept, with the state in which it was read."""

    id: int
    path: Path
    session: int
    content: int
    size: int
    #: Permissions.
    mode: int
    mtime_ns: int
    device: int
    inode: int
    changed_ns: int
    #: Of its first bytes and of those before its end, to tell whether a file that grew still begins with what is kept.
    fingerprint: bytes
    kept: float
    #: None: it was kept piece by piece while it grew, and not yet read as a whole.
    sha256: bytes | None

    @property
    def is_whole(self) -> bool:
        return self.sha256 is not None


class KeptSession(msgspec.Struct, frozen=True):
    id: int
    home: Path
    path: Path
    name: str
    #: What a list says of it, as JSON.
    facts: str
    #: Bytes of all its files.
    size: int
    files: int
    #: When it was last kept.
    kept: float

    @property
    def has_own_file(self) -> bool:
        """False: only its subagents were left when it was kept."""
        return self.facts != _NO_FACTS


class KeptTotals(msgspec.Struct, frozen=True):
    sessions: int
    files: int
    #: Bytes of the originals.
    size: int
    #: Bytes that they take.
    stored: int
    #: When something was last kept, in seconds since 1970; None: never.
    last: float | None


class KeptStore:
    """An open store. What is written in a transaction is there entirely or not at all."""

    def __init__(self, connection: sqlite3.Connection, path: Path) -> None:
        self._db = connection
        self.path = path
        # The first bytes of the content that was put last, which is mostly the base of the next.
        self._last: tuple[int, bytes] = (0, b"")

    def close(self) -> None:
        self._db.close()

    def __del__(self) -> None:
        self._db.close()

    @contextlib.contextmanager
    def writing(self) -> Iterator[None]:
        """A transaction that no other writer is in; undone where it raises. Raises DiskError."""
        with self._naming_failures(), transaction(self._db):
            yield

    @contextlib.contextmanager
    def _naming_failures(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.DatabaseError as error:
            if isinstance(error, sqlite3.OperationalError) or is_damage(error):
                raise _failed(self.path, error) from error
            raise

    @contextlib.contextmanager
    def attempting(self) -> Iterator[None]:
        """A part of a transaction that is undone by itself where it raises."""
        self._db.execute("SAVEPOINT attempt")
        try:
            yield
        except BaseException:
            if self._db.in_transaction:  # a full disk has undone all of it already
                self._db.execute("ROLLBACK TO attempt")
            raise
        finally:
            if self._db.in_transaction:
                self._db.execute("RELEASE attempt")

    # Reading

    def totals(self) -> KeptTotals:
        sessions = self._one("SELECT count(*) FROM sessions")[0]
        files, size, last = self._one("SELECT count(*), coalesce(sum(size), 0), max(kept) FROM files WHERE replaced IS NULL")
        stored = self._one("SELECT coalesce(sum(length(data)), 0) FROM segments")[0]
        return KeptTotals(sessions, files, size, stored, last)

    def sessions(self, homes: Iterable[Path] | None = None, *, name: str | None = None) -> list[KeptSession]:
        """Those of some homes, those with a name, or all."""
        rows = self._all(
            "SELECT s.id, s.home, s.path, s.facts, sum(f.size), count(*), max(f.kept)"
            " FROM sessions AS s JOIN files AS f ON f.session = s.id AND f.replaced IS NULL"
            f" {'' if name is None else 'WHERE s.name = ?'} GROUP BY s.id ORDER BY s.path",
            () if name is None else (_text(name),),
        )
        paths = [(_path(row[1]), _path(row[2])) for row in rows]
        found = [
            KeptSession(row[0], home, path, path.name.removesuffix(LINES_SUFFIX), *row[3:])
            for row, (home, path) in zip(rows, paths, strict=True)
        ]
        if homes is None:
            return found
        # A home may be named by a link, or by its `projects` directory.
        wanted = {os.path.realpath(projects_folder(home).parent) for home in homes}
        places = {home: os.path.realpath(home) for home in {each.home for each in found}}
        return [each for each in found if places[each.home] in wanted]

    def files(self, session: int | None = None) -> list[KeptFile]:
        """The files of a session, its own first, or all; as they were when they were last kept."""
        return self._files() if session is None else self._files("AND f.session = ?", session)

    def files_before(self, session: int, moment: float) -> list[KeptFile]:
        """The files of a session as they were kept before those that were rewritten after a moment, in seconds since 1970."""
        oldest: dict[Path, KeptFile] = {}
        for file in self._files(
            "AND f.session = ? AND (f.replaced IS NULL OR f.replaced > ?)", session, moment, is_current=False
        ):
            oldest.setdefault(file.path, file)  # rows of a path are in the order in which they were kept
        return list(oldest.values())

    def versions(self, session: int) -> list[KeptFile]:
        """The files of a session with all that was ever kept of them."""
        return self._files("AND f.session = ?", session, is_current=False)

    def sha256_of(self, file: KeptFile) -> str:
        """Raises UnreadableError."""
        digest = hashlib.sha256()
        for piece in self.stream(file):
            digest.update(piece)
        return digest.hexdigest()

    def file_at(self, path: Path) -> KeptFile | None:
        return next(iter(self._files("AND f.path = ?", os.fsencode(path))), None)

    def _files(self, where: str = "", *values: object, is_current: bool = True) -> list[KeptFile]:
        rows = self._all(
            "SELECT f.id, f.path, f.session, f.content, f.size, f.mode, f.mtime_ns, f.device, f.inode, f.changed_ns,"
            " f.fingerprint, f.kept, c.sha256 FROM files AS f JOIN contents AS c ON c.id = f.content"
            f" WHERE {'f.replaced IS NULL' if is_current else '1'} {where} ORDER BY f.id",
            values,
        )
        return [KeptFile(row[0], _path(row[1]), *row[2:]) for row in rows]

    def stream(self, file: KeptFile) -> Iterator[bytes]:
        """The bytes of a file, piece by piece. Raises UnreadableError, at the end too: use nothing before that."""
        digest = hashlib.sha256()
        for piece in self._pieces(file.content, file.size):
            digest.update(piece)
            yield piece
        if file.sha256 is not None and digest.digest() != file.sha256:
            raise _damaged(self.path)

    def _pieces(self, content: int, stop: int) -> Iterator[bytes]:
        """The first bytes of a content, segment by segment."""
        before = self._base_bytes(content)
        at = 0
        while at < stop:
            size, prefix, digest, data = self._one(
                "SELECT size, prefix, digest, data FROM segments WHERE content = ? AND start = ?", content, at
            )
            piece = unpack(data, before[len(before) - prefix :], size)
            if piece is None or digest_of(piece) != digest:
                raise _damaged(self.path)
            yield piece if at + size <= stop else piece[: stop - at]
            before = piece[-_OWN_PREFIX:] if at == 0 else (before + piece)[-_OWN_PREFIX:]
            at += size

    def _base_bytes(self, content: int) -> bytes:
        base, size = self._one("SELECT base, base_size FROM contents WHERE id = ?", content)
        if base is None:
            return b""
        if base == self._last[0] and size <= len(self._last[1]):
            return self._last[1][:size]
        return b"".join(self._pieces(base, size))

    # Writing; inside of a transaction.

    def put_session(self, home: Path, path: Path, name: str, facts: str | None) -> int:
        """The number of a session; with facts, those that it had are replaced."""
        row = self._db.execute(
            "INSERT INTO sessions (home, path, name, facts) VALUES (?, ?, ?, coalesce(?, '{}'))"
            " ON CONFLICT (path) DO UPDATE SET facts = coalesce(?, facts) RETURNING id",
            (os.fsencode(home), os.fsencode(path), _text(name), facts, facts),
        )
        return int(row.fetchone()[0])

    def put_new(self, file: KeptFile, pieces: Iterable[bytes], *, anchor: str | None, folder: Path) -> None:
        """Keep a file of which nothing is kept yet, read as a whole."""
        base = self._similar(anchor, folder, file.size)
        content, size = self._put_content(pieces, base, anchor, folder)
        self._insert_file(msgspec.structs.replace(file, size=size), content)

    def put_tail(self, file: KeptFile, known: KeptFile, before: bytes, pieces: Iterable[bytes]) -> None:
        """Add what was appended to a file; `before` are its bytes just before that, which have to be those that are kept."""
        size = known.size
        for piece in pieces:
            self._put_segment(known.content, size, before, piece)
            before = (before + piece)[-_OWN_PREFIX:]
            size += len(piece)
        self._db.execute("UPDATE contents SET size = ?, sha256 = NULL WHERE id = ?", (size, known.content))
        self._update_file(known.id, msgspec.structs.replace(file, size=size), known.content)

    def put_continued(
        self, file: KeptFile, known: KeptFile, pieces: Iterable[bytes], *, anchor: str | None, folder: Path
    ) -> None:
        """Keep a file anew that begins with the bytes that are kept of it, read as a whole."""
        base, base_size, depth = self._one("SELECT base, base_size, depth FROM contents WHERE id = ?", known.content)
        content, size = self._put_content(pieces, (base, base_size, depth), anchor, folder)
        self._db.execute("UPDATE files SET content = ? WHERE content = ?", (content, known.content))
        self._db.execute("UPDATE contents SET base = ? WHERE base = ?", (content, known.content))
        self._delete_content(known.content)
        self._update_file(known.id, msgspec.structs.replace(file, size=size), content)

    def put_other(self, file: KeptFile, known: KeptFile, pieces: Iterable[bytes], *, anchor: str | None, folder: Path) -> None:
        """Keep a file that was rewritten, read as a whole; what was kept of it stays as an older version."""
        depth = self._one("SELECT depth FROM contents WHERE id = ?", known.content)[0]
        base = (known.content, min(known.size, _LARGEST_PREFIX), depth + 1) if depth < _DEEPEST else (None, 0, 0)
        content, size = self._put_content(pieces, base, anchor, folder)
        self._db.execute("UPDATE files SET replaced = ? WHERE id = ?", (file.kept, known.id))
        self._insert_file(msgspec.structs.replace(file, size=size), content)

    def note_state(self, file: KeptFile, known: KeptFile) -> None:
        """The bytes of a file are as they are kept, but not its time or mode."""
        self._update_file(known.id, msgspec.structs.replace(file, size=known.size), known.content)

    def note_fingerprint(self, path: Path, value: bytes) -> None:
        self._db.execute("UPDATE files SET fingerprint = ? WHERE path = ? AND replaced IS NULL", (value, os.fsencode(path)))

    def drop_if_empty(self, session: int) -> None:
        """Forget a session of which no file is kept."""
        self._db.execute(
            "DELETE FROM sessions WHERE id = ? AND NOT EXISTS (SELECT 1 FROM files WHERE session = ?)", (session,) * 2
        )

    def forget(self, session: int) -> None:
        """Delete everything that is kept of a session; files of others that were compressed against it are kept anew."""
        own = [row[0] for row in self._all("SELECT DISTINCT content FROM files WHERE session = ?", (session,))]
        shared = "SELECT 1 FROM files WHERE content = ? AND session <> ?"
        gone = [content for content in own if not self._all(shared, (content, session))]
        for content in gone:
            for dependent, size, anchor, folder in self._all(
                "SELECT id, size, anchor, folder FROM contents WHERE base = ?", (content,)
            ):
                if dependent not in gone:
                    self._put_apart(dependent, size, anchor, _path(folder))
        self._db.execute("DELETE FROM files WHERE session = ?", (session,))
        self._db.execute("DELETE FROM sessions WHERE id = ?", (session,))
        for content in gone:
            self._delete_content(content)

    def compact(self) -> None:
        """Give back the space of what was deleted, and leave nothing of it behind. Raises DiskError."""
        with self._naming_failures():
            self._db.execute("VACUUM")
            self._db.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def _put_apart(self, content: int, size: int, anchor: str | None, folder: Path) -> None:
        """Keep a content without its base. Those that build on it follow."""
        whole = self._one("SELECT sha256 FROM contents WHERE id = ?", content)[0]
        fresh, _ = self._put_content(_resized(self._pieces(content, size)), (None, 0, 0), anchor, folder)
        self._db.execute("UPDATE contents SET sha256 = ? WHERE id = ?", (whole, fresh))
        self._db.execute("UPDATE files SET content = ? WHERE content = ?", (fresh, content))
        self._db.execute("UPDATE contents SET base = ? WHERE base = ?", (fresh, content))
        self._delete_content(content)

    def _similar(self, anchor: str | None, folder: Path, size: int) -> _Base:
        """What a new file is compressed against: the file that it is a fork of, otherwise the last one of its project."""
        row = None
        if anchor is not None:
            row = self._db.execute(
                "SELECT id, size, depth FROM contents WHERE anchor = ? AND depth < ? ORDER BY size DESC", (anchor, _DEEPEST)
            ).fetchone()
        enough = 2 * size
        if row is None:
            row = self._db.execute(
                "SELECT id, size, depth FROM contents WHERE folder = ? ORDER BY id DESC LIMIT 1", (os.fsencode(folder),)
            ).fetchone()
            enough = min(4 * size, _OWN_PREFIX)
        if row is None or row[2] >= _DEEPEST:
            return None, 0, 0
        return row[0], min(row[1], max(enough, 1 << 16), _LARGEST_PREFIX), row[2] + 1

    def _put_content(self, pieces: Iterable[bytes], base: _Base, anchor: str | None, folder: Path) -> tuple[int, int]:
        """The number and the size of a new content."""
        made = self._db.execute(
            "INSERT INTO contents (base, base_size, depth, size, anchor, folder) VALUES (?, ?, ?, 0, ?, ?)",
            (*base, anchor, os.fsencode(folder)),
        )
        content = int(made.lastrowid or 0)
        before = self._base_bytes(content)
        digest, size = hashlib.sha256(), 0
        for piece in pieces:
            self._put_segment(content, size, before, piece)
            before = piece[-_OWN_PREFIX:] if size == 0 else (before + piece)[-_OWN_PREFIX:]
            if size == 0:
                self._last = content, piece[:_OWN_PREFIX]
            digest.update(piece)
            size += len(piece)
        self._db.execute("UPDATE contents SET size = ?, sha256 = ? WHERE id = ?", (size, digest.digest(), content))
        return content, size

    def _put_segment(self, content: int, start: int, before: bytes, piece: bytes) -> None:
        self._db.execute(
            "INSERT INTO segments (content, start, size, prefix, digest, data) VALUES (?, ?, ?, ?, ?, ?)",
            (content, start, len(piece), len(before), digest_of(piece), pack(piece, before)),
        )

    def _delete_content(self, content: int) -> None:
        self._db.execute("DELETE FROM segments WHERE content = ?", (content,))
        self._db.execute("DELETE FROM contents WHERE id = ?", (content,))

    def _insert_file(self, file: KeptFile, content: int) -> None:
        self._db.execute(
            "INSERT INTO files (path, session, content, size, mode, mtime_ns, device, inode, changed_ns, fingerprint, kept)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (os.fsencode(file.path), file.session, content, *_state(file)),
        )

    def _update_file(self, number: int, file: KeptFile, content: int) -> None:
        self._db.execute(
            "UPDATE files SET session = ?, content = ?, size = ?, mode = ?, mtime_ns = ?, device = ?, inode = ?, changed_ns = ?,"
            " fingerprint = ?, kept = ? WHERE id = ?",
            (file.session, content, *_state(file), number),
        )

    def _one(self, statement: str, *values: object) -> tuple[Any, ...]:
        with self._naming_failures():
            row = self._db.execute(statement, values).fetchone()
        if row is None:
            raise _damaged(self.path)
        return tuple(row)

    def _all(self, statement: str, values: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        with self._naming_failures():
            return self._db.execute(statement, values).fetchall()


#: The number of a content, how many of its first bytes are used, and how many steps lead to a content without a base.
_Base = tuple[int | None, int, int]


def open_kept(folder: Path, *, create: bool = False, patience: float = PATIENCE) -> KeptStore | None:
    """The store of an archive; None where nothing was ever kept, unless it is to be made.

    Writers wait for each other for `patience` seconds. Raises UnreadableError, UnwritableError, BusyError.
    """
    path = folder / NAME
    if not create and not os.path.exists(path):  # noqa: PTH110 - Path.exists raises without rights
        return None
    try:
        connection = open_database(path, _TABLES, _VERSION, patience=patience, is_durable=True)
        # What is purged must not be found in the file.
        connection.execute("PRAGMA secure_delete = ON")
        return KeptStore(connection, path)
    except OSError as error:
        raise UnwritableError(f"cannot write to {path}: {error.strerror}", path=path) from error
    except sqlite3.OperationalError as error:
        raise _failed(path, error) from error
    except sqlite3.DatabaseError as error:
        raise _damaged(path) from error


def fingerprint(head: bytes, end: bytes) -> bytes:
    """Of the first bytes of a file and the last ones that are kept."""
    return digest_of(head + end)


def _resized(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """The same bytes in segments of the usual size: many small ones become few."""
    waiting = b""
    for piece in pieces:
        waiting += piece
        if len(waiting) >= SEGMENT:
            yield waiting
            waiting = b""
    if waiting:
        yield waiting


def _state(file: KeptFile) -> tuple[object, ...]:
    return (
        file.size, file.mode, file.mtime_ns, file.device, file.inode, file.changed_ns, file.fingerprint, file.kept,
    )  # fmt: skip


def _text(name: str) -> str:
    """SQLite has no text for a name that is not UTF-8; the path says what it is."""
    return name.encode(errors="replace").decode()


def _path(name: bytes) -> Path:
    return Path(os.fsdecode(name))


def _damaged(path: Path) -> UnreadableError:
    return UnreadableError(f"{path} is damaged", hint="restore it from a backup", path=path)


def _failed(path: Path, error: sqlite3.DatabaseError) -> DiskError:
    if is_damage(error):
        return _damaged(path)
    if is_busy(error):
        return BusyError(f"another process is writing to {path}", hint="try again", path=path)
    return UnwritableError(f"cannot write to {path}: {error}", path=path)
