"""Sessions on disk -> the store, in proportion to what changed.

A file whose identity, size and times are as stored is not opened. One that grew is read from where reading ended, if the bytes
before that place are still the same; any other is read anew. Files that are gone lose their rows. Whole transactions only: after
a crash the store is as it was before the last batch of files.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import sqlite3
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

import msgspec
from msgspec import Struct

from stenograph.disk import Finding, read_slice
from stenograph.errors import UnreadableError, UnwritableError
from stenograph.family import ProjectListing, SessionFile, find_family, named_owner
from stenograph.index.store import IndexStore, clear_if_mostly_garbage, note_homes
from stenograph.index.texts import TextKind, texts_of
from stenograph.index.tokens import indexed
from stenograph.inputs import InputReader
from stenograph.records import AssistantRecord, ChainedRecord, Located, Record, ToolUseBlock, moment, read_records
from stenograph.sessions import find_projects

# A transaction ends after so many bytes of sessions, so that other processes can write in between.
_BATCH_BYTES = 16_000_000
_HEAD = 256
_TAIL = 1024
# Inputs that name the file a tool works on.
_TARGETS = ("file_path", "notebook_path", "path")

#: Called with the bytes read and the bytes to read.
Progress = Callable[[int, int], None]


class SyncReport(Struct, frozen=True):
    """What a sync did. Where `pending` is not 0, time ran out before so many files were read."""

    files: int
    changed: int
    removed: int
    pending: int
    findings: tuple[Finding, ...] = ()


class _Source(Struct, frozen=True):
    """A file that belongs into the store."""

    path: Path
    session: SessionFile
    home: Path
    agent: str | None
    device: int
    inode: int
    size: int
    changed_ns: int


def sync(
    store: IndexStore, homes: Sequence[Path], *, seconds: float | None = None, progress: Progress | None = None
) -> SyncReport:
    """Bring the store up to date with the sessions of these homes; with `seconds`, for about that long."""
    deadline = None if seconds is None else time.monotonic() + seconds
    listings, findings = find_projects(homes)
    with contextlib.suppress(UnwritableError):  # said below, if there is anything to write
        clear_if_mostly_garbage(store)
    sources = {os.fsencode(source.path): source for listing in listings for source in _sources(listing)}
    known = {row[0]: row[1:] for row in store.connection.execute("SELECT path, device, inode, size, changed_ns FROM files")}
    stale = [
        source
        for path, source in sources.items()
        if known.get(path) != (source.device, source.inode, source.size, source.changed_ns)
    ]
    stale.sort(key=lambda source: -source.changed_ns)
    removed = count = 0
    try:
        removed = _forget_missing(store, known.keys() - sources.keys(), homes)
        for done in _index_all(store, stale, deadline, findings, progress):
            count = done
        if count == len(stale):
            note_homes(store, homes)
    except UnwritableError as error:
        findings.append(Finding("unwritable-index", error.path, detail=str(error)))
    return SyncReport(len(sources), count, removed, len(stale) - count, tuple(findings))


def _index_all(
    store: IndexStore, stale: Sequence[_Source], deadline: float | None, findings: list[Finding], progress: Progress | None
) -> Iterator[int]:
    """Read files until time runs out, at least one; yields how many are done after each transaction."""
    total, done, count = sum(source.size for source in stale), 0, 0

    def is_time_up() -> bool:
        return deadline is not None and count > 0 and time.monotonic() >= deadline

    while count < len(stale) and not is_time_up():
        with store.writing() as db:
            batch = 0
            while count < len(stale) and batch < _BATCH_BYTES and not is_time_up():
                source = stale[count]
                try:
                    _index(db, source)
                except UnreadableError as error:
                    findings.append(Finding("unreadable-file", source.path, detail=str(error)))
                batch += source.size
                done += source.size
                count += 1
                if progress is not None:
                    progress(done, total)
        yield count


def _sources(listing: ProjectListing) -> Iterator[_Source]:
    """The session files of a project and those of their subagents, each with its state."""
    home = listing.folder.parent.parent
    by_name = {file.session_id: file for file in listing.sessions}
    for file in listing.sessions:
        yield from _source(file.path, file, home, None)
    for name in listing.session_folders:
        if owner := by_name.get(name):
            for agent in find_family(listing.folder, name).agents:
                yield from _source(agent.path, owner, home, agent.agent_id)
    for agent in listing.loose_agents:
        if owner := by_name.get(named_owner(agent.path) or ""):
            yield from _source(agent.path, owner, home, agent.agent_id)


def _source(path: Path, session: SessionFile, home: Path, agent: str | None) -> Iterator[_Source]:
    try:
        state = path.stat()
    except OSError:
        return  # gone since the directory was listed
    yield _Source(
        path, session, home, agent, state.st_dev, state.st_ino, state.st_size, max(state.st_ctime_ns, state.st_mtime_ns)
    )


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
    db.execute("DELETE FROM docs WHERE file = ? AND offset >= ?", (file, offset))
    db.execute("DELETE FROM calls WHERE file = ? AND used >= ?", (file, offset))
    db.execute("UPDATE calls SET answered = NULL, failed = 0 WHERE file = ? AND answered >= ?", (file, offset))


def _index(db: sqlite3.Connection, source: _Source) -> None:
    path = os.fsencode(source.path)
    session = _session_id(db, source)
    row = db.execute(
        "SELECT id, offset, lines, fingerprint, branch, device, inode, size, changed_ns FROM files WHERE path = ?", (path,)
    )
    known = row.fetchone()
    if known and known[5:] == (source.device, source.inode, source.size, source.changed_ns):
        return  # another process was quicker
    if known and known[1] <= source.size and _fingerprint(source.path, known[1]) == known[3]:
        file, offset, lines, branch = known[0], known[1], known[2], known[4]
    else:
        offset, lines, branch = 0, 0, None
        file = (
            known[0]
            if known
            else db.execute(
                "INSERT INTO files (path, session, agent, device, inode, size, changed_ns, offset, lines, fingerprint)"
                " VALUES (?, ?, ?, 0, 0, 0, 0, 0, 0, x'')",
                (path, session, source.agent),
            ).lastrowid
        )
    _forget(db, file, offset)
    reading = _Reading(db, session, file, offset, lines, branch)
    if source.agent is None:
        _read_session(db, session, source.path, reading)
    else:
        reading.read_rest(source.path, offset)
    reading.flush()
    db.execute(
        "UPDATE files SET session = ?, device = ?, inode = ?, size = ?, changed_ns = ?, offset = ?, lines = ?, fingerprint = ?,"
        " branch = ? WHERE id = ?",
        (
            session, source.device, source.inode, source.size, source.changed_ns,
            reading.end, reading.lines, _fingerprint(source.path, reading.end), reading.branch, file,
        ),
    )  # fmt: skip


def _read_session(db: sqlite3.Connection, session: int, path: Path, reading: _Reading) -> None:
    """Lines and turns in one reading, from the beginning of the last turn that is known."""
    from stenograph.turns import Place, TurnReader

    row = db.execute("SELECT place FROM sessions WHERE id = ?", (session,)).fetchone()
    place = msgspec.json.decode(row[0], type=Place) if row[0] and reading.end else Place()
    reader = TurnReader(path, place=place, watch=reading.watch)
    reading.read_rest(path, reading.end)
    places = reader.places()
    if places:
        db.execute("DELETE FROM turns WHERE session = ? AND offset >= ?", (session, min(offset for _, offset in places)))
    db.executemany(
        "INSERT OR REPLACE INTO turns (session, number, offset) VALUES (?, ?, ?)",
        ((session, number, offset) for number, offset in places),
    )
    db.execute("UPDATE sessions SET place = ? WHERE id = ?", (msgspec.json.encode(reader.place), session))


def _session_id(db: sqlite3.Connection, source: _Source) -> int:
    """The row of the session that a file belongs to; its facts are renewed with its own file."""
    path = os.fsencode(source.session.path)
    row = db.execute("SELECT id FROM sessions WHERE path = ?", (path,)).fetchone()
    if row and source.agent is not None:
        return int(row[0])
    from stenograph.sessions import describe

    info = describe(source.session, written=set())
    facts = (
        info.title, info.project, info.branch, info.release,
        info.created.timestamp() if info.created else None, info.last_record.timestamp(),
    )  # fmt: skip
    if row:
        db.execute(
            "UPDATE sessions SET title = ?, project = ?, branch = ?, release = ?, started = ?, ended = ? WHERE id = ?",
            (*facts, row[0]),
        )
        return int(row[0])
    inserted = db.execute(
        "INSERT INTO sessions (home, path, name, title, project, branch, release, started, ended)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (os.fsencode(source.home), path, source.session.session_id, *facts),
    )
    return int(inserted.lastrowid or 0)


def _fingerprint(path: Path, offset: int) -> bytes:
    """A hash of the beginning of a file and of the last bytes before a place in it."""
    if not offset:
        return b""
    digest = hashlib.blake2b(read_slice(path, 0, min(_HEAD, offset)), digest_size=16)
    digest.update(read_slice(path, max(0, offset - _TAIL), offset))
    return digest.digest()


class _Reading:
    """Writes the lines of one file into the store, in the file's order."""

    def __init__(self, db: sqlite3.Connection, session: int, file: int, end: int, lines: int, branch: str | None) -> None:
        self._db = db
        self._session = session
        self._file = file
        self._begin = end
        self._inputs = InputReader()
        self._rows: list[tuple[str, ...]] = []
        self._docs: list[tuple[object, ...]] = []
        self.branch = branch
        #: Whole lines that were read so far, and where they end; a line without an end is read again next time.
        self.lines = lines
        self.end = end

    def watch(self, located: Located) -> Located:
        """Note a whole line; one that was noted before only says what the next one is."""
        if located.offset >= self._begin:
            self.lines += 1
            self.end = located.offset + located.length + 1
            self._note(located)
        else:
            self._inputs.read(located.record)
        return located

    def read_rest(self, path: Path, start: int) -> None:
        """Note the lines from a place on, with the last one even if it has no end yet."""
        for located in read_records(path, start):
            if located.finding is not None and located.finding.code in ("missing-final-newline", "torn-tail"):
                self._note(located, self.lines + 1)
            else:
                self.watch(located)

    def _note(self, located: Located, line: int | None = None) -> None:
        record = located.record
        understood = self._inputs.read(record)
        columns = [""] * len(TextKind)
        for kind, text in texts_of(record, understood):
            columns[kind] = f"{columns[kind]}\n{text}" if columns[kind] else text
        if (named := self._new_branch(record)) is not None:
            columns[TextKind.TITLE] = f"{columns[TextKind.TITLE]}\n{named}"
        if isinstance(record, AssistantRecord):
            self._note_uses(record, located.offset)
        elif understood is not None and understood.results:
            for result in understood.results:
                self._db.execute(
                    "UPDATE calls SET answered = ?, failed = ? WHERE file = ? AND id = ? AND answered IS NULL",
                    (located.offset, bool(result.is_error), self._file, str(result.tool_use_id)),
                )
        if any(columns):
            when = moment(record.timestamp) if isinstance(record, ChainedRecord) and isinstance(record.timestamp, str) else None
            uuid = _number_of(record.uuid) if isinstance(record, ChainedRecord) and isinstance(record.uuid, str) else None
            self._docs.append(
                (self._session, self._file, located.offset, line or self.lines, uuid, when.timestamp() if when else None)
            )
            self._rows.append(tuple(indexed(text) if text else "" for text in columns))
            if len(self._rows) >= 500:
                self.flush()

    def flush(self) -> None:
        if not self._rows:
            return
        db = self._db
        last = db.execute("SELECT seq FROM sqlite_sequence WHERE name = 'docs'").fetchone()
        first = (last[0] if last else 0) + 1
        db.executemany(
            "INSERT INTO docs (id, session, file, offset, line, uuid, time) VALUES (?, ?, ?, ?, ?, ?, ?)",
            ((first + place, *doc) for place, doc in enumerate(self._docs)),
        )
        db.executemany(
            "INSERT INTO text (rowid, prompt, answer, thinking, input, output, title, note) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            ((first + place, *row) for place, row in enumerate(self._rows)),
        )
        self._docs.clear()
        self._rows.clear()

    def _new_branch(self, record: Record) -> str | None:
        """The git branch that a line names, where the line before named another."""
        branch = record.gitBranch if isinstance(record, ChainedRecord) else None
        if not isinstance(branch, str) or not branch or branch == self.branch:
            return None
        self.branch = branch
        return branch

    def _note_uses(self, record: AssistantRecord, offset: int) -> None:
        for block in record.content if isinstance(record.content, tuple) else ():
            if isinstance(block, ToolUseBlock) and isinstance(block.id, str):
                given = block.input if isinstance(block.input, dict) else {}
                target = next((given[name] for name in _TARGETS if isinstance(given.get(name), str)), None)
                self._db.execute(
                    "INSERT OR IGNORE INTO calls (file, id, name, target, used) VALUES (?, ?, ?, ?, ?)",
                    (self._file, block.id, str(block.name or ""), target, offset),
                )


def _number_of(uuid: str) -> int:
    """A line's UUID as a number that SQLite can hold."""
    return int.from_bytes(hashlib.blake2b(uuid.encode(errors="surrogatepass"), digest_size=8).digest(), "big", signed=True)
