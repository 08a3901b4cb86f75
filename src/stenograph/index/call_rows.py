"""Files with model calls -> rows of the store, and which of a call's copies counts.

Opens only what changed, and reads files that grew from where reading ended. Of a call's copies in several files of a home one
counts, as `index.counting` says.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import msgspec
from msgspec import structs

from stenograph.disk import Finding
from stenograph.errors import UnreadableError, UnwritableError
from stenograph.family import AgentFile, meta_path, named_owner, read_metas
from stenograph.index.beginnings import OwnBeginning, read_beginning
from stenograph.index.call_flags import AGENT, FINISHED
from stenograph.index.call_scan import BLOCK, ModelCall, ScannedCalls, call_key, fingerprint, merged, scan_calls
from stenograph.index.call_sources import CallSource
from stenograph.index.counting import FILES_OF_CALL, ORIGINAL_FIRST
from stenograph.index.storable import clean
from stenograph.index.store import IndexStore
from stenograph.index.usage_days import forget_all_days, forget_days
from stenograph.records import TokenCounts, gc_paused

_BATCH_BYTES = 512_000_000
# A second process takes longer to start than it saves where there is less to read.
_MUCH = 24_000_000
# Of what two processes read, the share of the one that writes.
_OWN_SHARE = 0.35
_LENGTH = 8
# More calls are looked through as a whole.
_FEW = 500
# Rows that wait to be written.
_HELD = 2_000
#: Called with the bytes read and the bytes to read.
Progress = Callable[[int, int], None]


def write_calls(
    store: IndexStore,
    stale: Sequence[CallSource],
    gone: Sequence[bytes],
    seconds: float | None,
    findings: list[Finding],
    progress: Progress | None,
) -> int:
    """Read changed files and forget those that are gone; how many files were read."""
    deadline = None if seconds is None else time.monotonic() + seconds
    total, read, count = sum(source.size for source in stale), 0, 0
    try:
        while count < len(stale) or gone:
            with store.writing() as db, gc_paused():
                writing = _Writing(db)
                for path in gone:
                    writing.forget(path)
                gone = ()
                batch = 0
                with _scan_beside(_next_batch(stale, count) if deadline is None else ()) as take:
                    while count < len(stale) and batch < _BATCH_BYTES:
                        source = stale[count]
                        try:
                            writing.read(source, take(source))
                        except UnreadableError as error:
                            findings.append(Finding("unreadable-file", source.path, detail=str(error)))
                        batch += source.size
                        read += source.size
                        count += 1
                        if progress is not None:
                            progress(read, total)
                        if deadline is not None and time.monotonic() >= deadline:
                            break
                writing.finish()
            if deadline is not None and time.monotonic() >= deadline:
                break
    except UnwritableError as error:
        findings.append(Finding("unwritable-index", error.path, detail=str(error)))
    return count


_INSERT = (
    "INSERT OR REPLACE INTO model_calls (file, session, key, offset, time, model, input, output, cache_read, cache_write_5m,"
    " cache_write_1h, web_searches, thinking, estimated, written, tier, branch, agent_type, release, tools, flags, counted)"
    f" VALUES ({', '.join('?' * 21)}, 1)"
)

# In each home one counts: a home may be a copy of another, and what is asked of one does not depend on the other.
_CHOOSE = (
    "UPDATE model_calls SET counted = 1 WHERE id IN (SELECT id FROM (SELECT o.id, row_number() OVER ("
    f"PARTITION BY o.key, s.home ORDER BY {ORIGINAL_FIRST}) AS place FROM model_calls o {FILES_OF_CALL}"
    " JOIN usage_sessions s ON s.id = o.session WHERE o.key IN (SELECT key FROM touched)) WHERE place = 1)"
)


class _Writing:
    """One transaction."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db
        self._names: dict[str, int] = {}
        self._named: dict[tuple[str, ...], tuple[int, ...]] = {}
        #: By directory and name, with their projects.
        self._sessions: dict[tuple[bytes, str], tuple[int, str | None]] = {}
        #: Nothing is known yet.
        self._is_empty = db.execute("SELECT 1 FROM usage_files UNION ALL SELECT 1 FROM usage_sessions").fetchone() is None
        self._rows: list[tuple[object, ...]] = []
        self._has_written = False
        self._touched: set[int] = set()
        #: Of calls that are gone.
        self._times: set[int | None] = set()
        self._buffer = bytearray(BLOCK)

    def forget(self, path: bytes) -> None:
        for file, session in self._db.execute("SELECT id, session FROM usage_files WHERE path = ?", (path,)).fetchall():
            self._forget_calls(file, 0)
            self._db.execute("DELETE FROM usage_files WHERE id = ?", (file,))
            self._db.execute(
                "DELETE FROM usage_sessions WHERE id = ? AND NOT EXISTS (SELECT 1 FROM usage_files WHERE session = ?)",
                (session, session),
            )

    def read(self, source: CallSource, ahead: ScannedCalls | None = None) -> None:
        """Read what is new in a file; `ahead` is all of it, where another process has read it."""
        path = os.fsencode(source.path)
        known = None if self._is_empty else self._known(path)
        if known and known[6:] == source.state:
            return  # another process was quicker
        start = known[1] if known and known[1] <= source.size and fingerprint(source.place, known[1]) == known[2] else 0
        scanned = ahead if ahead is not None and not start else self._scan(source, start)
        if known and start and self._may_repeat(known[0], scanned):
            start, scanned = 0, self._scan(source, 0)
        session = self._session(source, scanned.cwd, is_whole=not start)
        total = scanned.total if scanned.total is not None or not known or not start else known[3]
        digest = scanned.fingerprint or fingerprint(source.place, scanned.end)
        known_beginning = OwnBeginning(known[4], bool(known[5])) if known else OwnBeginning()
        beginning = _beginning(source, scanned, known_beginning if start else None)
        state = (session, *source.state, scanned.end, digest, total, beginning.began, beginning.is_clone)
        if known:
            file = known[0]
            self._forget_calls(file, start)
            self._db.execute(
                "UPDATE usage_files SET session = ?, device = ?, inode = ?, size = ?, changed_ns = ?, offset = ?,"
                " fingerprint = ?, client_total = ?, began = ?, is_clone = ? WHERE id = ?",
                (*state, file),
            )
        else:
            file = self._db.execute(
                "INSERT INTO usage_files (session, device, inode, size, changed_ns, offset, fingerprint, client_total, began,"
                " is_clone, path, agent) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (*state, path, source.agent.agent_id if source.agent else None),
            ).lastrowid
        if beginning != known_beginning and not self._is_empty:
            self._touch_session(session)
        agent_type = self._agent_type(source.agent) if scanned.calls else ""
        for name, call in scanned.calls.items():
            key = call_key(name)
            if start and (before := self._before(file, key)) is not None:
                call = merged(before, call)
            if source.agent is not None:
                call.flags |= AGENT
            self._add(file, session, key, call, agent_type)
        if known and start:
            moved = self._db.execute(
                "UPDATE model_calls SET session = ? WHERE file = ? AND session != ?", (session, file, session)
            )
            if moved.rowcount:
                forget_all_days(self._db)
        if len(self._rows) >= _HELD:
            self._db.executemany(_INSERT, self._rows)
            self._rows.clear()
            self._has_written = True

    def _known(self, path: bytes) -> tuple[Any, ...] | None:
        row: tuple[Any, ...] | None = self._db.execute(
            "SELECT id, offset, fingerprint, client_total, began, is_clone, device, inode, size, changed_ns FROM usage_files"
            " WHERE path = ?",
            (path,),
        ).fetchone()
        return row

    def finish(self) -> None:
        """Write the rows, and let one of each call's copies count."""
        db = self._db
        db.execute("CREATE TEMP TABLE IF NOT EXISTS touched (key INTEGER PRIMARY KEY)")
        db.execute("DELETE FROM touched")
        are_few = len(self._touched) <= _FEW and not self._has_written
        if are_few:
            db.executemany("INSERT INTO touched (key) VALUES (?)", ((key,) for key in self._touched))
            self._times |= self._touched_times()
        db.executemany(_INSERT, self._rows)
        self._rows.clear()
        if are_few:
            forget_days(db, self._times | self._touched_times())
        else:
            forget_all_days(db)
            db.execute("INSERT INTO touched SELECT key FROM model_calls GROUP BY key HAVING count(*) > 1")
            db.execute("UPDATE model_calls SET counted = 1 WHERE counted = 0")
        db.execute("UPDATE model_calls SET counted = 0 WHERE key IN (SELECT key FROM touched)")
        db.execute(_CHOOSE)
        self._touched.clear()
        self._times.clear()

    def _touched_times(self) -> set[int | None]:
        rows = self._db.execute("SELECT DISTINCT time FROM model_calls WHERE key IN (SELECT key FROM touched)")
        return {time for (time,) in rows}

    def _add(self, file: int, session: int, key: int, call: ModelCall, agent_type: str) -> None:
        tokens = call.tokens
        self._touched.add(key)
        names = (call.model, call.tier, call.branch, call.agent_type or agent_type, call.release, ",".join(call.tools))
        if (ids := self._named.get(names)) is None:
            ids = self._named[names] = tuple(map(self._name, names))
        self._rows.append(
            (
                file, session, key, call.offset, call.time, ids[0], tokens.input, tokens.output,
                tokens.cache_read, tokens.cache_write_5m, tokens.cache_write_1h, tokens.web_searches, call.thinking,
                call.estimated, call.written, *ids[1:], call.flags,
            )
        )  # fmt: skip

    def _forget_calls(self, file: int, offset: int) -> None:
        rows = self._db.execute("SELECT key, time FROM model_calls WHERE file = ? AND offset >= ?", (file, offset)).fetchall()
        self._touched.update(key for key, _ in rows)
        self._times.update(time for _, time in rows)
        self._db.execute("DELETE FROM model_calls WHERE file = ? AND offset >= ?", (file, offset))

    def _scan(self, source: CallSource, start: int) -> ScannedCalls:
        return scan_calls(source.place, start, _named_after(source), self._buffer)

    def _may_repeat(self, file: int, scanned: ScannedCalls) -> bool:
        """Whether new lines may be those of known calls: 2.1.14 wrote a resumed session again into its own file.

        Only a look at both tells, for the store keeps neither ids of tool calls nor texts, and texts count where no line counts
        the whole output.
        """
        query = "SELECT flags, u.name FROM model_calls JOIN usage_names u ON u.id = tools WHERE file = ? AND key = ?"
        for name, call in scanned.calls.items():
            for flags, tools in self._db.execute(query, (file, call_key(name))):
                if (call.tools and tools) or not (flags | call.flags) & FINISHED:
                    return True
        return False

    def _touch_session(self, session: int) -> None:
        """Choose anew for all calls of a session of which is now known when it began."""
        self._touched.update(
            key
            for (key,) in self._db.execute(
                "SELECT key FROM model_calls WHERE file IN (SELECT id FROM usage_files WHERE session = ?)", (session,)
            )
        )

    def _before(self, file: int, key: int) -> ModelCall | None:
        row = self._db.execute(
            "SELECT offset, time, m.name, input, output, cache_read, cache_write_5m, cache_write_1h, web_searches, thinking,"
            " written, t.name, b.name, a.name, r.name, u.name, flags FROM model_calls JOIN usage_names m ON m.id = model"
            " JOIN usage_names t ON t.id = tier JOIN usage_names b ON b.id = branch JOIN usage_names a ON a.id = agent_type"
            " JOIN usage_names r ON r.id = release JOIN usage_names u ON u.id = tools WHERE file = ? AND key = ?",
            (file, key),
        ).fetchone()
        if row is None:
            return None
        tools = row[15].split(",") if row[15] else []
        counts, (tier, branch, agent_type, release) = TokenCounts(*row[3:9]), row[11:15]
        return ModelCall(row[0], row[1], row[2], counts, row[9], row[10], tier, branch, agent_type, release, tools, row[16])

    def _session(self, source: CallSource, cwd: str | None, *, is_whole: bool) -> int:
        """The project is the first directory that the session's own file names."""
        key = os.fsencode(source.folder), clean(source.session or named_owner(source.path)) or ""
        row = self._sessions.get(key) or (None if self._is_empty else self._known_session(key))
        if row is None:
            inserted = self._db.execute(
                "INSERT INTO usage_sessions (home, folder, name, project) VALUES (?, ?, ?, ?)",
                (os.fsencode(source.home), *key, cwd),
            )
            row = int(inserted.lastrowid or 0), cwd
        elif cwd and (row[1] is None or (is_whole and source.agent is None and row[1] != cwd)):
            self._db.execute("UPDATE usage_sessions SET project = ? WHERE id = ?", (cwd, row[0]))
            row = row[0], cwd
        self._sessions[key] = row
        return row[0]

    def _known_session(self, key: tuple[bytes, str]) -> tuple[int, str | None] | None:
        row: tuple[int, str | None] | None = self._db.execute(
            "SELECT id, project FROM usage_sessions WHERE folder = ? AND name = ?", key
        ).fetchone()
        return row

    def _agent_type(self, agent: AgentFile | None) -> str:
        if agent is None:
            return ""
        beside = agent.meta or meta_path(agent.path)
        metas, _ = read_metas([structs.replace(agent, meta=beside)]) if os.path.isfile(beside) else ({}, [])  # noqa: PTH113
        return metas[agent.agent_id].agent_type if agent.agent_id in metas else ""

    def _name(self, text: str) -> int:
        if (known := self._names.get(text)) is None:
            self._db.execute("INSERT OR IGNORE INTO usage_names (name) VALUES (?)", (text,))
            known = self._names[text] = int(self._db.execute("SELECT id FROM usage_names WHERE name = ?", (text,)).fetchone()[0])
        return known


def _next_batch(stale: Sequence[CallSource], count: int) -> list[CallSource]:
    size = 0
    found = []
    for source in stale[count:]:
        if size >= _BATCH_BYTES:
            break
        size += source.size
        found.append(source)
    return found


Take = Callable[[CallSource], ScannedCalls | None]


@contextlib.contextmanager
def _scan_beside(sources: Sequence[CallSource]) -> Iterator[Take]:
    """A second process reads the later of many files while this one reads and writes the earlier ones.

    Yields what gives the calls of a file that was read there; files have to be asked for in their order.
    None where there is little to read, no second core, or another thread, whose locks would stay locked in a copy, and for what
    was not read: such files are read one by one.
    """
    shared = _later(sources)
    if not shared or sys.platform != "linux" or len(os.sched_getaffinity(0)) < 2 or threading.active_count() > 1:
        yield lambda _: None
        return
    import tempfile

    with tempfile.TemporaryFile() as answers:
        lengths, noted = os.pipe()
        child = os.fork()
        if not child:
            status = 1
            try:
                os.close(lengths)
                buffer = bytearray(BLOCK)
                for source in shared:
                    data = _scanned(source, buffer)
                    answers.write(data)
                    answers.flush()
                    os.write(noted, len(data).to_bytes(_LENGTH, "big"))
                status = 0
            finally:
                os._exit(status)  # nothing of this process is the child's to clean up
        os.close(noted)
        waiting = {source.path for source in shared}
        place = 0
        decode = msgspec.msgpack.Decoder(ScannedCalls).decode

        def take(source: CallSource) -> ScannedCalls | None:
            nonlocal place
            if source.path not in waiting or len(length := os.read(lengths, _LENGTH)) < _LENGTH:
                return None
            data = os.pread(answers.fileno(), int.from_bytes(length, "big"), place)
            place += len(data)
            return decode(data) if data else None

        try:
            yield take
        finally:
            os.close(lengths)  # it ends when it has nobody to answer
            with contextlib.suppress(ChildProcessError):  # whoever started this process may have it ignore the ends of others
                os.waitpid(child, 0)


def _later(sources: Sequence[CallSource]) -> list[CallSource]:
    """What the second process reads: this one has to write too."""
    total = sum(source.size for source in sources)
    before, found = 0, []
    for source in sources if total >= _MUCH else ():
        if before >= _OWN_SHARE * total:
            found.append(source)
        before += source.size
    return found


def _scanned(source: CallSource, buffer: bytearray) -> bytes:
    """The calls of a file, encoded; nothing where it cannot be read, which is said when it is read again."""
    try:
        return msgspec.msgpack.encode(scan_calls(source.place, 0, _named_after(source), buffer))
    except UnreadableError:
        return b""


def _beginning(source: CallSource, scanned: ScannedCalls, known: OwnBeginning | None) -> OwnBeginning:
    """`known`: of the lines before those that were scanned; None where there are none."""
    if known is None:
        return scanned.beginning or OwnBeginning()
    if known.began is not None or not scanned.has_own_line:
        return known
    return read_beginning(source.place, source.session)  # its time may be that of a line before


def _named_after(source: CallSource) -> str:
    """The session that a file is named after; empty for a subagent's file."""
    return source.session if source.agent is None else ""
