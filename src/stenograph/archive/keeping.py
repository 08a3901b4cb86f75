"""Sessions in homes -> the store of kept files, in proportion to what changed.

A file whose state is as it was kept is not opened. One that grew is read from where it ended. One that was kept piece by piece is
read once more as a whole when it has been at rest for an hour, so that a change in its middle is not missed. What clients delete
stays kept.
"""

from __future__ import annotations

import json
import os
import stat
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from pathlib import Path

import msgspec

from stenograph.archive.kept import SEGMENT, KeptFile, KeptStore, fingerprint, open_kept
from stenograph.disk import Finding, read_slice
from stenograph.errors import BusyError, DiskError, UnreadableError
from stenograph.family import LINES_SUFFIX, ProjectListing, SessionFile, find_family, is_session_id, list_contents, named_owner
from stenograph.records import ChainedRecord, read_records
from stenograph.sessions import SessionInfo, describe, find_projects, with_turns

#: Called with the bytes read and the bytes to read.
Progress = Callable[[int, int], None]

# A transaction ends after so many bytes.
_BATCH = 16_000_000
# A file that was kept piece by piece is read as a whole after so many seconds without a change.
_AT_REST = 3600.0
_HEAD = 4096
_END = 1 << 16


class KeepReport(msgspec.Struct, frozen=True):
    """What was kept, and what was left for the next time."""

    #: Sessions of which something was kept now, and those that were looked at.
    kept: int
    sessions: int
    files: int
    #: Bytes that were read.
    read: int
    #: Sessions that are left for the next time.
    pending: int
    findings: tuple[Finding, ...] = ()


class _Source(msgspec.Struct, frozen=True):
    """A file on disk, beside what is kept of it."""

    path: Path
    state: os.stat_result
    known: KeptFile | None

    @property
    def changed_ns(self) -> int:
        return max(self.state.st_ctime_ns, self.state.st_mtime_ns)

    @property
    def is_unchanged(self) -> bool:
        known, state = self.known, self.state
        return known is not None and (known.device, known.inode, known.size, known.changed_ns) == (
            state.st_dev,
            state.st_ino,
            state.st_size,
            self.changed_ns,
        )

    def needs_work(self, now: float) -> bool:
        known = self.known
        return not self.is_unchanged or (known is not None and not known.is_whole and now - known.mtime_ns / 1e9 > _AT_REST)


class _Work(msgspec.Struct, frozen=True):
    """A session with files to keep."""

    session: SessionFile
    home: Path
    sources: tuple[_Source, ...]
    size: int


def keep_sessions(
    folder: Path,
    homes: Sequence[Path],
    *,
    only: Collection[Path] | None = None,
    seconds: float | None = None,
    patience: float = 30.0,
    progress: Progress | None = None,
    clock: Callable[[], float] = time.time,
) -> KeepReport:
    """Keep the sessions of some homes in the archive in a directory, those that clients delete first before the others.

    `only` are the session files to keep; with `seconds`, for about that long. Raises BusyError where another process keeps
    something for longer than `patience` seconds, UnwritableError.
    """
    deadline = None if seconds is None else time.monotonic() + seconds
    listings, findings = find_projects(homes)
    if not any(listing.sessions or listing.session_folders or listing.loose_agents for listing in listings):
        return KeepReport(0, 0, 0, 0, 0, tuple(findings))
    store = open_kept(folder, create=True, patience=patience)
    assert store is not None
    try:
        known = {os.fspath(file.path): file for file in store.files()}
        names = {session.id: session.name for session in store.sessions()}
        now = clock()
        work, sessions = [], 0
        for listing in listings:
            for file, sources in _families(listing, known, names, findings):
                if only is not None and file.path not in only:
                    continue
                sessions += 1
                changed = tuple(source for source in sources if source.needs_work(now))
                if changed:
                    home = listing.folder.parent.parent
                    work.append(_Work(file, home, changed, sum(source.state.st_size for source in changed)))
        work.sort(key=lambda each: each.session.mtime_ns)
        keeping = _Keeping(store, now, findings)
        total, done, count = sum(each.size for each in work), 0, 0

        def is_time_up() -> bool:  # never before something was done
            return deadline is not None and count > 0 and time.monotonic() >= deadline

        while count < len(work) and not is_time_up():
            with store.writing():
                batch = 0
                while count < len(work) and batch < _BATCH and not is_time_up():
                    keeping.keep(work[count])
                    batch += work[count].size
                    done += work[count].size
                    count += 1
                    if progress is not None:
                        progress(done, total)
        return KeepReport(keeping.sessions, sessions, keeping.files, keeping.read, len(work) - count, tuple(findings))
    finally:
        store.close()


def _families(
    listing: ProjectListing, known: dict[str, KeptFile], names: dict[int, str], findings: list[Finding]
) -> Iterator[tuple[SessionFile, list[_Source]]]:
    """The sessions of a project, each with the files of its family; also those whose own file is gone.

    `names` are those of the kept sessions: whose agent a file is, is read only once.
    """
    files = {file.session_id: file for file in listing.sessions}
    loose: dict[str, list[Path]] = {}
    for agent in listing.loose_agents:
        seen = known.get(os.fspath(agent.path))
        owner = names.get(seen.session) if seen is not None else named_owner(agent.path)
        owner = owner or agent.path.name.removesuffix(LINES_SUFFIX)
        loose.setdefault(owner, []).extend(path for path in (agent.path, agent.meta) if path is not None)
    for name in dict.fromkeys([*files, *listing.session_folders, *loose]):
        own = listing.folder / (name + LINES_SUFFIX)
        family = find_family(listing.folder, name)
        paths = [own] if name in files else []
        paths += loose.get(name, ())
        for agent in family.agents:
            paths += [agent.path] if agent.meta is None else [agent.path, agent.meta]
        paths += [*family.tool_results, *family.others]
        if family.file_history is not None:
            paths += list_contents(family.file_history).files
        sources = []
        for path in dict.fromkeys(paths):
            try:
                sources.append(_Source(path, path.stat(), known.get(os.fspath(path))))
            except OSError as error:
                if not isinstance(error, FileNotFoundError):
                    findings.append(Finding("unreadable-file", path, detail=f"cannot read {path}: {error.strerror}"))
        if sources:
            newest = max(source.state.st_mtime_ns for source in sources)
            yield files.get(name) or SessionFile(name, own, 0, newest, is_session_id(name)), sources


class _Keeping:
    def __init__(self, store: KeptStore, now: float, findings: list[Finding]) -> None:
        self._store = store
        self._now = now
        self._findings = findings
        self.sessions = 0
        self.files = 0
        self.read = 0

    def keep(self, work: _Work) -> None:
        """Keep the files of a session, all that can be read."""
        files = 0
        facts = _facts(work.session) if any(each.path == work.session.path for each in work.sources) else None
        number = self._store.put_session(work.home, work.session.path, work.session.session_id, facts)
        for source in work.sources:
            try:
                with self._store.attempting():
                    files += self._keep_file(source, number, work.session.path.parent)
            except BusyError:
                continue  # it changed while it was read: next time
            except UnreadableError as error:
                self._findings.append(Finding("unreadable-file", source.path, detail=str(error)))
        if not files:
            self._store.drop_if_empty(number)
        self.sessions += files > 0
        self.files += files

    def _keep_file(self, source: _Source, session: int, folder: Path) -> bool:
        """False: another process was quicker. Raises UnreadableError, BusyError where the file changes meanwhile."""
        known, size = self._store.file_at(source.path), source.state.st_size
        if known != source.known and not msgspec.structs.replace(source, known=known).needs_work(self._now):
            return False
        file = self._as_kept(source, session)
        reading = _Reading(source.path, size)
        if known is None:
            self._store.put_new(file, reading, anchor=_anchor(source.path), folder=folder)
        elif reading.goes_on(source.state, known):
            self._store.put_tail(file, known, reading.end, reading)
        else:
            self._keep_again(file, known, folder, reading)
        self.read += reading.size
        state = source.path.stat()
        if (state.st_dev, state.st_ino) != (source.state.st_dev, source.state.st_ino) or state.st_size < size:
            raise BusyError(f"{source.path} changed while it was being read", hint="try again", path=source.path)
        if reading.at == size:
            self._store.note_fingerprint(source.path, reading.fingerprint())
        return True

    def _keep_again(self, file: KeptFile, known: KeptFile, folder: Path, reading: _Reading) -> None:
        """Keep a file that is read as a whole because it may have been rewritten, or grew piece by piece and is at rest."""
        anchor = _anchor(file.path)
        if known.size > file.size or not self._begins_with(file.path, known):
            self._store.put_other(file, known, reading, anchor=anchor, folder=folder)
        elif known.size == file.size and known.is_whole:
            self._store.note_state(msgspec.structs.replace(file, fingerprint=known.fingerprint), known)
        else:
            self._store.put_continued(file, known, reading, anchor=anchor, folder=folder)

    def _begins_with(self, path: Path, known: KeptFile) -> bool:
        at = 0
        for piece in self._store.stream(known):
            if read_slice(path, at, at + len(piece)) != piece:
                return False
            at += len(piece)
        return True

    def _as_kept(self, source: _Source, session: int) -> KeptFile:
        state = source.state
        return KeptFile(
            id=0,
            path=source.path,
            session=session,
            content=0,
            size=state.st_size,
            mode=stat.S_IMODE(state.st_mode),
            mtime_ns=state.st_mtime_ns,
            device=state.st_dev,
            inode=state.st_ino,
            changed_ns=source.changed_ns,
            fingerprint=b"",
            kept=self._now,
            sha256=None,
        )


class _Reading:
    """The bytes of a file up to a place, in segments; knows how they begin and end."""

    def __init__(self, path: Path, stop: int) -> None:
        self._path = path
        self._stop = stop
        self._head = b""
        #: The last bytes before `at`.
        self.end = b""
        self.at = 0
        #: Bytes that were read.
        self.size = 0

    def goes_on(self, state: os.stat_result, known: KeptFile) -> bool:
        """Whether the file is the one that is kept, with more at its end; then what is kept is not read."""
        is_longer = state.st_size > known.size > 0 and (state.st_dev, state.st_ino) == (known.device, known.inode)
        if not is_longer:
            return False
        head = read_slice(self._path, 0, min(_HEAD, known.size))
        end = read_slice(self._path, max(0, known.size - _END), known.size)
        if fingerprint(head, end) != known.fingerprint:
            return False
        self._head, self.end, self.at = head, end, known.size
        return True

    def fingerprint(self) -> bytes:
        return fingerprint(self._head, self.end)

    def __iter__(self) -> Iterator[bytes]:
        while self.at < self._stop:
            piece = read_slice(self._path, self.at, min(self.at + SEGMENT, self._stop))
            if not piece:
                raise BusyError(f"{self._path} changed while it was being read", hint="try again", path=self._path)
            yield piece
            self._head += piece[: max(0, _HEAD - len(self._head))]
            self.end = (self.end + piece)[-_END:]
            self.at += len(piece)
            self.size += len(piece)


def _anchor(path: Path) -> str | None:
    """The uuid of a file's first record, which a fork keeps."""
    if path.suffix != LINES_SUFFIX:
        return None
    try:
        for located in read_records(path):
            record = located.record
            if isinstance(record, ChainedRecord) and isinstance(record.uuid, str):
                return record.uuid.encode(errors="replace").decode()
    except DiskError:
        return None
    return None


def _facts(file: SessionFile) -> str:
    """What a list says of a session, for when its file is gone."""
    try:
        info = describe(file, written=set())
    except DiskError:
        return "{}"
    return json.dumps(msgspec.to_builtins(with_turns([info])[0], enc_hook=str))


def read_facts(facts: str) -> SessionInfo | None:
    """What a list says of a kept session; None where it could not be read when it was kept."""
    try:
        return msgspec.convert(json.loads(facts), SessionInfo, dec_hook=lambda _, value: Path(value))
    except ValueError:  # msgspec's ValidationError is one
        return None
