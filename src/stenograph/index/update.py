"""Sessions on disk -> the store, in proportion to what changed.

A file whose identity, size and times are as stored is not opened. One that grew is read from where reading ended, if the bytes
before that place are still the same; any other is read anew. Files that are gone lose their rows. Whole transactions only: after
a crash the store is as it was before the last batch of files.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Struct

from stenograph.disk import Finding
from stenograph.errors import UnreadableError, UnwritableError
from stenograph.index.sources import FilePart, IndexedFile, find_sources
from stenograph.index.store import IndexStore, clear_if_mostly_garbage, note_homes

# What reads files is imported where there is something to read: most syncs find nothing new.
if TYPE_CHECKING:
    from stenograph.index.reading import FileEnd, FileReading, FileRows, ReadTask, SessionFacts

# A transaction ends after so many bytes of sessions, so that other processes can write in between.
_BATCH_BYTES = 64_000_000
# Rows that wait to be written: some megabytes.
_DOCS_HELD = 30_000

#: Called with the bytes read and the bytes to read.
Progress = Callable[[int, int], None]


class SyncReport(Struct, frozen=True):
    """What a sync did. Where `pending` is not 0, time ran out before so many files were read."""

    files: int
    changed: int
    removed: int
    pending: int
    findings: tuple[Finding, ...] = ()


def sync(
    store: IndexStore,
    homes: Sequence[Path],
    *,
    archived: Sequence[IndexedFile] = (),
    seconds: float | None = None,
    progress: Progress | None = None,
) -> SyncReport:
    """Bring the store up to date with the sessions of these homes; with `seconds`, for about that long.

    `archived` are files that are gone from the homes and stay in the store: those that it has are not read again.
    """
    deadline = None if seconds is None else time.monotonic() + seconds
    with contextlib.suppress(UnwritableError):  # said below, if there is anything to write
        clear_if_mostly_garbage(store)
    known = {row[0]: row[1:] for row in store.connection.execute("SELECT path, device, inode, size, changed_ns FROM files")}
    found = find_sources(homes, known)
    present, findings = found.present, found.findings
    kept = {path: source for source in archived if (path := os.fsencode(source.path)) not in present}
    stale = [source for path, source in kept.items() if _is_stale(source, known.get(path))]
    stale += found.changed
    stale.sort(key=lambda source: -source.changed_ns)
    removed = count = 0
    try:
        removed = _forget_missing(store, known.keys() - present - kept.keys(), homes)
        for done in _index_all(store, stale, deadline, findings, progress):
            count = done
        if count:
            from stenograph.index.catalogue import name_by_summaries

            name_by_summaries(store)
        if count == len(stale):
            note_homes(store, homes)
    except UnwritableError as error:
        findings.append(Finding("unwritable-index", error.path, detail=str(error)))
    return SyncReport(len(present) + len(kept), count, removed, len(stale) - count, tuple(findings))


def _is_stale(source: IndexedFile, known: tuple[int, ...] | None) -> bool:
    """Whether a file has changed; of one that is gone only its size is compared, for a copy is another file."""
    if source.unpack is not None:
        return known is None or known[2] != source.size
    return known != source.identity


def _index_all(
    store: IndexStore, stale: Sequence[IndexedFile], deadline: float | None, findings: list[Finding], progress: Progress | None
) -> Iterator[int]:
    """Read files until time runs out, at least one; yields how many are done after each transaction."""
    if not stale:
        return
    from stenograph.index.reading import read_here

    total, done, count = sum(source.size for source in stale), 0, 0
    by_path: dict[Path, IndexedFile] = {}

    def tasks_of_all() -> Iterator[ReadTask]:
        for source in stale:
            task = _task(store.connection, source)
            by_path[task.path] = source
            yield task

    tasks = tasks_of_all()
    read = read_here
    if deadline is None:  # a warm store reads little, and starts no processes for it
        from stenograph.index.workers import MUCH, can_read_beside, read_beside

        read = read_beside if total >= MUCH and can_read_beside() else read_here
    with contextlib.closing(read(tasks)) as readings:
        waiting = next(readings, None)
        while waiting is not None and (deadline is None or not count or time.monotonic() < deadline):
            with store.writing() as db:
                writer, batch = _Writer(db), 0
                while waiting is not None and batch < _BATCH_BYTES and (not batch or not deadline or time.monotonic() < deadline):
                    source = by_path[waiting.task.path]
                    try:
                        writer.write(source, waiting)
                    except UnreadableError as error:
                        findings.append(Finding("unreadable-file", source.path, detail=str(error)))
                    batch += source.size
                    done += source.size
                    count += 1
                    if progress is not None:
                        progress(done, total)
                    waiting = next(readings, None)
                writer.flush()
            yield count


class _File(Struct, frozen=True):
    """A file that is being read: its row and its session's."""

    source: IndexedFile
    id: int
    session: int
    #: The store has no rows of it.
    is_new: bool


def _task(db: sqlite3.Connection, source: IndexedFile) -> ReadTask:
    """What is to be read of a file, as far as it is known now."""
    row = db.execute("SELECT id, offset, lines, fingerprint FROM files WHERE path = ?", (os.fsencode(source.path),)).fetchone()
    task = _whole_task(source)
    if row is None or not row[1] or row[1] > source.size:
        return task
    file, offset, lines, fingerprint = row
    branch = db.execute(
        "SELECT name FROM names WHERE file = ? AND kind = 'branch' ORDER BY last DESC LIMIT 1", (file,)
    ).fetchone()
    place, conversation = None, None
    if task.session is not None:
        place, conversation = db.execute(
            "SELECT place, conversation FROM sessions WHERE path = ?", (os.fsencode(source.session.path),)
        ).fetchone() or (None, None)
    return msgspec.structs.replace(
        task,
        offset=offset,
        lines=lines,
        fingerprint=fingerprint,
        place=place,
        branch=branch[0] if branch else None,
        conversation=conversation,
    )


def _whole_task(source: IndexedFile) -> ReadTask:
    from stenograph.index.reading import ReadTask

    place = source.path if source.unpack is None else source.unpack()
    own = msgspec.structs.replace(source.session, path=place) if source.part is FilePart.SESSION else None
    return ReadTask(path=place, part=source.part, size=source.size, session=own)


class _Writer:
    """Writes the rows of files within one transaction.

    Texts are written as they come and all other rows at the end: a statement that changes many rows of another table makes SQLite
    write out all words that it holds in memory, as a piece of the index that has to be merged later.
    """

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db
        last = db.execute("SELECT seq FROM sqlite_sequence WHERE name = 'docs'").fetchone()
        self._next_doc = (last[0] if last else 0) + 1
        self._docs: list[tuple[Any, ...]] = []
        #: The first and the last document of each.
        self._spans: list[tuple[int, int, _File]] = []
        self._calls: list[tuple[Any, ...]] = []
        self._answers: list[tuple[Any, ...]] = []
        self._ends: list[tuple[_File, FileEnd]] = []

    def write(self, source: IndexedFile, reading: FileReading) -> None:
        """Raises UnreadableError."""
        from stenograph.index.reading import read_file

        db, path = self._db, os.fsencode(source.path)
        row = db.execute("SELECT id, device, inode, size, changed_ns FROM files WHERE path = ?", (path,)).fetchone()
        if row is not None and row[1:] == source.identity:
            return  # another process was quicker
        session = _session_row(db, source)
        if row is None:
            task = _whole_task(source)
            file = db.execute(
                "INSERT INTO files (path, session, part, name, agent, device, inode, size, changed_ns, offset, lines,"
                " fingerprint) VALUES (?, ?, ?, ?, ?, 0, 0, 0, 0, 0, 0, x'')",
                (path, session, source.part, _text(source.path.name), source.agent),
            ).lastrowid
        else:
            task, file = _task(db, source), row[0]
        emit = partial(self._take, _File(source, int(file or 0), session, is_new=row is None))
        if task == reading.task:
            reading.read(emit)
        else:  # another process read some of it since
            read_file(task, emit)

    def flush(self) -> None:
        db = self._db
        db.executemany("INSERT INTO docs (id, session, file, offset, line, uuid, time) VALUES (?, ?, ?, ?, ?, ?, ?)", self._docs)
        db.executemany(
            "INSERT INTO calls (file, id, name, target, used, answered, failed, spilled) VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
            " ON CONFLICT (file, id) DO UPDATE SET answered = excluded.answered, failed = excluded.failed,"
            " spilled = excluded.spilled WHERE answered IS NULL",
            self._calls,
        )
        db.executemany(
            "UPDATE calls SET answered = ?, failed = ?, spilled = ? WHERE file = ? AND id = ? AND answered IS NULL", self._answers
        )
        for first, last, file in self._spans:
            _note_span(db, file, first, last)
        for file, end in self._ends:
            _end(db, file, end)
        self._docs, self._spans, self._calls, self._answers, self._ends = [], [], [], [], []

    def _take(self, file: _File, rows: FileRows) -> None:
        if rows.begin is not None and not file.is_new:
            _forget(self._db, file.id, rows.begin)
        if rows.docs:
            first = self._next_doc
            self._next_doc += len(rows.docs)
            self._docs += [(number, file.session, file.id, *doc) for number, (doc, _) in enumerate(rows.docs, first)]
            self._db.executemany(
                "INSERT INTO text (rowid, prompt, answer, thinking, input, output, title, note) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                ((number, *texts) for number, (_, texts) in enumerate(rows.docs, first)),
            )
            if self._spans and self._spans[-1][1:] == (first - 1, file):
                self._spans[-1] = (self._spans[-1][0], self._next_doc - 1, file)
            else:
                self._spans.append((first, self._next_doc - 1, file))
        self._calls += [(file.id, *call) for call in rows.calls]
        self._answers += [(*answer, file.id, id_) for id_, *answer in rows.answers]
        if rows.end is not None:
            self._ends.append((file, rows.end))
        if len(self._docs) >= _DOCS_HELD:
            self.flush()


def _note_span(db: sqlite3.Connection, file: _File, first: int, last: int) -> None:
    grown = db.execute("UPDATE doc_spans SET last = ? WHERE file = ? AND last = ?", (last, file.id, first - 1))
    if not grown.rowcount:
        db.execute("INSERT INTO doc_spans (first, last, file, session) VALUES (?, ?, ?, ?)", (first, last, file.id, file.session))


def _end(db: sqlite3.Connection, file: _File, end: FileEnd) -> None:
    db.executemany(
        "INSERT INTO names (file, kind, name, last) VALUES (?, ?, ?, ?)"
        " ON CONFLICT (file, kind, name) DO UPDATE SET last = max(last, excluded.last)",
        ((file.id, *name) for name in end.names),
    )
    db.execute(
        "UPDATE files SET session = ?, device = ?, inode = ?, size = ?, changed_ns = ?, offset = ?, lines = ?, fingerprint = ?"
        " WHERE id = ?",
        (file.session, *file.source.identity, end.offset, end.lines, end.fingerprint, file.id),
    )
    if end.session is not None:
        _note_session(db, file.session, end.session)


def _note_session(db: sqlite3.Connection, session: int, facts: SessionFacts) -> None:
    turns = list(facts.turns)
    if facts.begin and turns:
        # What comes before the turn that reading began with is known from the last time.
        offset, number, opening, _, started, lines = turns[0]
        previous, before = db.execute(
            "SELECT previous, lines FROM turns WHERE session = ? AND offset = ?", (session, offset)
        ).fetchone() or (None, None)
        if before is not None:
            turns[0] = (offset, number, opening, previous, started, _with_said_before(lines, before))
    db.execute("DELETE FROM turns WHERE session = ? AND offset >= ?", (session, facts.begin))
    db.executemany(
        "INSERT INTO turns (session, offset, number, opening, previous, started, lines) VALUES (?, ?, ?, ?, ?, ?, ?)",
        ((session, *turn) for turn in turns),
    )
    db.execute(
        "UPDATE sessions SET title = ?, project = ?, repository = ?, branch = ?, release = ?, started = ?, ended = ?,"
        " turns = coalesce((SELECT number FROM turns WHERE session = sessions.id AND opening = ?), 0),"
        " current = ?, conversation = ?, place = ?, glance = ?"
        " WHERE id = ?",
        (
            facts.title, facts.project, facts.repository, facts.branch, facts.release, facts.started, facts.ended,
            facts.current, facts.current, facts.conversation, facts.place, facts.glance, session,
        ),
    )  # fmt: skip


def _with_said_before(lines: bytes, before: bytes) -> bytes:
    from stenograph.turns import TurnLines

    decode = msgspec.msgpack.Decoder(TurnLines).decode
    return msgspec.msgpack.encode(msgspec.structs.replace(decode(lines), said_before=decode(before).said_before))


def _session_row(db: sqlite3.Connection, source: IndexedFile) -> int:
    """The row of the session that a file belongs to; its facts come with its own file."""
    path = os.fsencode(source.session.path)
    row = db.execute("SELECT id FROM sessions WHERE path = ?", (path,)).fetchone()
    if row is not None:
        return int(row[0])
    inserted = db.execute(
        "INSERT INTO sessions (home, path, name, folder) VALUES (?, ?, ?, ?)",
        (os.fsencode(source.home), path, _text(source.session.session_id), _text(source.session.path.parent.name)),
    )
    return int(inserted.lastrowid or 0)


def _text(name: str) -> str:
    """A name as text: the system's may be any bytes."""
    return os.fsencode(name).decode(errors="replace")


def _forget_missing(store: IndexStore, missing: Iterable[bytes], homes: Sequence[Path]) -> int:
    """Drop the files that are gone from these homes; those of other homes are not looked at."""
    roots = tuple(os.fsencode(home) + os.sep.encode() for home in homes)
    gone = [path for path in missing if path.startswith(roots)]
    if gone:
        with store.writing() as db:
            for path in gone:
                for (file,) in db.execute("SELECT id FROM files WHERE path = ?", (path,)).fetchall():
                    _forget(db, file)
                    db.execute("DELETE FROM files WHERE id = ?", (file,))
                for (session,) in db.execute("SELECT id FROM sessions WHERE path = ?", (path,)).fetchall():
                    db.execute("DELETE FROM turns WHERE session = ?", (session,))
                    db.execute("DELETE FROM sessions WHERE id = ?", (session,))
    return len(gone)


def _forget(db: sqlite3.Connection, file: int, offset: int = 0) -> None:
    """Drop the rows of a file from an offset on."""
    (first,) = db.execute("SELECT min(id) FROM docs WHERE file = ? AND offset >= ?", (file, offset)).fetchone()
    if first is not None:  # documents of a file are numbered in the order of its lines
        db.execute("DELETE FROM docs WHERE file = ? AND offset >= ?", (file, offset))
        db.execute("DELETE FROM doc_spans WHERE file = ? AND first >= ?", (file, first))
        db.execute("UPDATE doc_spans SET last = ? WHERE file = ? AND last >= ?", (first - 1, file, first))
    db.execute("DELETE FROM calls WHERE file = ? AND used >= ?", (file, offset))
    db.execute("UPDATE calls SET answered = NULL, failed = 0, spilled = NULL WHERE file = ? AND answered >= ?", (file, offset))
    if not offset:
        db.execute("DELETE FROM names WHERE file = ?", (file,))
