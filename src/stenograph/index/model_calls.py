"""Session files -> the store's table of model calls: one row per call and file, and which of them counts.

`index.call_scan` reads the calls of a file. Of a call's copies in several files of a home one counts: that with the most tokens,
else the original. `index.counting` tells which one where several homes are looked at together.

Reads usage only, and apart from the full text, so that a first look at costs takes seconds. Like `index.update` it opens only
files that changed, and reads those that grew from where reading ended.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

import msgspec
from msgspec import Struct, structs

from stenograph.disk import Finding, distinct_homes
from stenograph.errors import UnreadableError, UnwritableError
from stenograph.family import (
    AgentFile,
    AgentLayout,
    agent_id_of,
    is_session_id,
    list_homes,
    list_session_folder,
    meta_path,
    named_owner,
    read_metas,
    session_name,
    session_of,
)
from stenograph.index.call_scan import (
    AGENT,
    COPY,
    SIDECHAIN,
    ModelCall,
    ScannedCalls,
    call_key,
    fingerprint,
    merged,
    scan_calls,
)
from stenograph.index.sources import FilePart, IndexedFile, identity_of, status_of
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


class UsageSync(Struct, frozen=True):
    """What was read. Where `pending` is not 0, time ran out before so many files were read."""

    files: int
    changed: int
    removed: int
    pending: int = 0
    findings: tuple[Finding, ...] = ()


class _Source(Struct, frozen=True):
    path: Path
    home: Path
    #: The project's directory, and the session's name; empty for an agent of which nothing says whose it is.
    folder: Path
    session: str
    agent: AgentFile | None
    state: tuple[int, int, int, int]
    #: Of a file that only the archive has: writes a copy and returns its path.
    unpack: Callable[[], Path] | None = None

    @property
    def place(self) -> Path:
        """Where it can be read."""
        return self.path if self.unpack is None else self.unpack()

    @property
    def size(self) -> int:
        return self.state[2]


def sync_usage(
    store: IndexStore,
    homes: Sequence[Path],
    *,
    archived: Sequence[IndexedFile] = (),
    seconds: float | None = None,
    progress: Progress | None = None,
) -> UsageSync:
    """Bring the calls of these homes up to date; with `seconds`, for about that long. `archived`: files that no home has now."""
    findings: list[Finding] = []
    rows = store.connection.execute("SELECT path, device, inode, size, changed_ns FROM usage_files")
    known = {row[0]: row[1:] for row in rows}
    present, stale = _find_sources(homes, known, findings)
    roots = tuple(os.fsencode(home) + os.sep.encode() for home in homes)
    kept = {os.fsencode(file.path): file for file in archived if file.part is not FilePart.RESULT}
    gone = [path for path in known.keys() - present - kept.keys() if path.startswith(roots)]
    # What is known of a file from before it was deleted stays so: the archive has the same bytes.
    stale += [_archived_source(file) for path, file in kept.items() if path not in known and path not in present]
    # Oldest first: of a session and its clone, whose lines are the same, the one that was read first is the original.
    stale.sort(key=lambda source: source.state[3])
    done = _write(store, stale, gone, seconds, findings, progress)
    return UsageSync(len(present), done, len(gone), len(stale) - done, tuple(findings))


def sync_session_usage(store: IndexStore, path: Path) -> None:
    """Bring the calls of one session up to date, as far as its files are where clients put them today."""
    project = path.parent
    name = session_name(path)
    sources = []
    home, folder = project.parent.parent, f"{project}{os.sep}{name}"
    if (status := status_of(path)) is not None:
        sources.append(_Source(path, home, project, name, None, identity_of(status)))
    if is_session_id(name) and os.path.isdir(folder) and not os.path.islink(folder):  # noqa: PTH112, PTH114 - never raises
        entries = list_session_folder(folder, []).agent_entries()
        sources += [_agent_source(entry.path, home, project, name, identity_of(entry.stat())) for entry in entries]
    marks = ", ".join("?" * len(sources))
    rows = store.connection.execute(
        f"SELECT path, device, inode, size, changed_ns FROM usage_files WHERE path IN ({marks})",
        [os.fsencode(source.path) for source in sources],
    )
    known = {row[0]: row[1:] for row in rows}
    _write(store, [source for source in sources if known.get(os.fsencode(source.path)) != source.state], [], None, [], None)


_State = tuple[int, int, int, int]


def _find_sources(
    homes: Sequence[Path], known: Mapping[bytes, tuple[int, ...]], findings: list[Finding]
) -> tuple[set[bytes], list[_Source]]:
    """Every file with lines of a session or a subagent, also of subagents whose session is gone: the paths of all, and those that
    are not as they are known."""
    listings, found = list_homes(distinct_homes(homes))
    findings += found
    present: set[bytes] = set()
    changed: list[_Source] = []
    for listing in listings:
        folder, home = listing.folder, listing.folder.parent.parent
        for entry in listing.session_entries:
            present.add(path := os.fsencode(entry.path))
            if known.get(path) != (state := identity_of(entry.stat())):
                file = session_of(entry)
                changed.append(_Source(file.path, home, folder, file.session_id, None, state))
        for name in listing.session_folders:
            for entry in list_session_folder(f"{folder}{os.sep}{name}", []).agent_entries():
                present.add(path := os.fsencode(entry.path))
                if known.get(path) != (state := identity_of(entry.stat())):
                    changed.append(_agent_source(entry.path, home, folder, name, state))
        for agent in listing.loose_agents:
            if (status := status_of(agent.path)) is not None:
                present.add(path := os.fsencode(agent.path))
                if known.get(path) != (state := identity_of(status)):
                    changed.append(_Source(agent.path, home, folder, "", agent, state))
    return present, changed


def _agent_source(name: str, home: Path, folder: Path, session: str, state: _State) -> _Source:
    """Of an agent in its session's directory. Its metadata are looked for when it is read."""
    path = Path(name)
    return _Source(path, home, folder, session, AgentFile(path, agent_id_of(path), AgentLayout.NESTED), state)


def _archived_source(file: IndexedFile) -> _Source:
    session = file.session
    agent = AgentFile(file.path, file.agent, AgentLayout.NESTED) if file.agent else None
    state = (0, 0, file.size, file.changed_ns)
    return _Source(file.path, file.home, session.path.parent, session.session_id, agent, state, file.unpack)


def _write(
    store: IndexStore,
    stale: Sequence[_Source],
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

# In each home the one with the most tokens, else the original: not a copy, not a subagent's replay of it, the earliest, the first
# to be read. A home may be a copy of another: what is asked of one does not depend on the other.
_CHOOSE = (
    "UPDATE model_calls SET counted = 1 WHERE id IN (SELECT id FROM (SELECT model_calls.id, row_number() OVER ("
    "PARTITION BY key, home ORDER BY input + output + cache_read + cache_write_5m + cache_write_1h DESC,"
    f" flags & {COPY}, flags & {SIDECHAIN}, model_calls.time IS NULL, model_calls.time, model_calls.file) AS place"
    " FROM model_calls JOIN usage_sessions s ON s.id = session WHERE key IN (SELECT key FROM touched)) WHERE place = 1)"
)


class _Writing:
    """One transaction."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db
        self._names: dict[str, int] = {}
        self._named: dict[tuple[str, ...], tuple[int, ...]] = {}
        self._rows: list[tuple[object, ...]] = []
        self._has_written = False
        self._touched: set[int] = set()
        #: Of calls that are gone.
        self._times: set[int | None] = set()

    def forget(self, path: bytes) -> None:
        for file, session in self._db.execute("SELECT id, session FROM usage_files WHERE path = ?", (path,)).fetchall():
            self._forget_calls(file, 0)
            self._db.execute("DELETE FROM usage_files WHERE id = ?", (file,))
            self._db.execute(
                "DELETE FROM usage_sessions WHERE id = ? AND NOT EXISTS (SELECT 1 FROM usage_files WHERE session = ?)",
                (session, session),
            )

    def read(self, source: _Source, ahead: ScannedCalls | None = None) -> None:
        """Read what is new in a file; `ahead` is all of it, where another process has read it."""
        path = os.fsencode(source.path)
        known = self._db.execute(
            "SELECT id, offset, fingerprint, client_total, device, inode, size, changed_ns FROM usage_files WHERE path = ?",
            (path,),
        ).fetchone()
        if known and known[4:] == source.state:
            return  # another process was quicker
        start = known[1] if known and known[1] <= source.size and fingerprint(source.place, known[1]) == known[2] else 0
        scanned = ahead if ahead is not None and not start else scan_calls(source.place, start, _named_after(source))
        session = self._session(source, scanned.cwd)
        total = scanned.total if scanned.total is not None or not start else known[3]
        state = (session, *source.state, scanned.end, scanned.fingerprint or fingerprint(source.place, scanned.end), total)
        if known:
            file = known[0]
            self._forget_calls(file, start)
            self._db.execute(
                "UPDATE usage_files SET session = ?, device = ?, inode = ?, size = ?, changed_ns = ?, offset = ?,"
                " fingerprint = ?, client_total = ? WHERE id = ?",
                (*state, file),
            )
        else:
            file = self._db.execute(
                "INSERT INTO usage_files (session, device, inode, size, changed_ns, offset, fingerprint, client_total, path,"
                " agent) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (*state, path, source.agent.agent_id if source.agent else None),
            ).lastrowid
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

    def _session(self, source: _Source, cwd: str | None) -> int:
        name = source.session or (named_owner(source.path) or "")
        folder = os.fsencode(source.folder)
        row = self._db.execute("SELECT id, project FROM usage_sessions WHERE folder = ? AND name = ?", (folder, name)).fetchone()
        if row is None:
            inserted = self._db.execute(
                "INSERT INTO usage_sessions (home, folder, name, project) VALUES (?, ?, ?, ?)",
                (os.fsencode(source.home), folder, name, cwd),
            )
            return int(inserted.lastrowid or 0)
        if cwd and (row[1] is None or (source.agent is None and row[1] != cwd)):
            self._db.execute("UPDATE usage_sessions SET project = ? WHERE id = ?", (cwd, row[0]))
        return int(row[0])

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


def _next_batch(stale: Sequence[_Source], count: int) -> list[_Source]:
    size = 0
    found = []
    for source in stale[count:]:
        if size >= _BATCH_BYTES:
            break
        size += source.size
        found.append(source)
    return found


Take = Callable[[_Source], ScannedCalls | None]


@contextlib.contextmanager
def _scan_beside(sources: Sequence[_Source]) -> Iterator[Take]:
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
                for source in shared:
                    data = _scanned(source)
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

        def take(source: _Source) -> ScannedCalls | None:
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


def _later(sources: Sequence[_Source]) -> list[_Source]:
    """What the second process reads: this one has to write too."""
    total = sum(source.size for source in sources)
    before, found = 0, []
    for source in sources if total >= _MUCH else ():
        if before >= _OWN_SHARE * total:
            found.append(source)
        before += source.size
    return found


def _scanned(source: _Source) -> bytes:
    """The calls of a file, encoded; nothing where it cannot be read, which is said when it is read again."""
    try:
        return msgspec.msgpack.encode(scan_calls(source.place, 0, _named_after(source)))
    except UnreadableError:
        return b""


def _named_after(source: _Source) -> str:
    """The session that a file is named after; empty for a subagent's file."""
    return source.session if source.agent is None else ""
