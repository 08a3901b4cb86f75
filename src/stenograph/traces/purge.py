"""A session deleted for good, with everything that we keep of it, and what of it has left the machine.

Beside the archive's part: events in the spool, the state of sending by path, and the index. What stays are digests of message ids
in the state, by which copies of the same turns in forks are not sent again.
"""

from __future__ import annotations

import contextlib
import json
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from msgspec import Struct

from stenograph.archive import Archive, ArchivePurge, find_edits, find_kept, open_kept
from stenograph.disk import read_whole, remove_file, write_atomically
from stenograph.errors import DiskError, SessionNotFoundError
from stenograph.family import LINES_SUFFIX, is_session_id
from stenograph.index import discard_store
from stenograph.sessions import ACTIVE_SECONDS, load_file, resolve
from stenograph.traces.folder import alone, waiting_events
from stenograph.traces.mapping import seed_of
from stenograph.traces.spans import trace_id_of
from stenograph.traces.state import TraceState
from stenograph.turns import Session

#: A worker sends in the background; seconds to wait for it.
_PATIENCE = 10.0


class Purge(Struct, frozen=True):
    archived: ArchivePurge
    #: The session's file where it is still in its home.
    path: Path | None
    #: Events of the session that no worker has read yet.
    events: tuple[Path, ...]
    #: Entries in the state of sending.
    state_entries: int
    #: The index, where there is one: it is made anew when it is next needed.
    index: Path | None
    #: Destination -> numbers of the turns that it acknowledged.
    sent: dict[str, tuple[int, ...]]
    #: False: what was sent is not known, because no copy of the session can be read.
    is_sent_known: bool

    @property
    def session_id(self) -> str:
        return self.archived.session_id


def plan_purge(name: str, homes: Sequence[Path], archive: Archive, folder: Path, index: Path | None) -> Purge:
    """`folder` is the directory of traces. Raises SessionNotFoundError, UsageError, UnreadableError."""
    path, session_id = _find(name, homes, archive)
    archived = archive.plan_purge(session_id, path)
    session = _load(path, archived, archive)
    with _state(folder) as state:
        entries = state.entries_of(_needle(session_id)) if state else 0
        sent = _sent(state, session) if state and session else {}
    return Purge(
        archived,
        path,
        tuple(event for event in waiting_events(folder) if _is_of(event, session_id)),
        entries,
        index if index is not None and index.exists() else None,
        sent,
        session is not None,
    )


def purge_session(plan: Purge, archive: Archive, folder: Path, *, active_seconds: float = ACTIVE_SECONDS) -> None:
    """Delete it. Raises BusyError where the session or the worker is at work, DiskError; then it can be repeated."""
    with alone(folder, _PATIENCE) if folder.is_dir() else contextlib.nullcontext():
        archive.purge(plan.archived, active_seconds=active_seconds)
        for event in plan.events:
            remove_file(event)
        with _state(folder) as state:
            if state:
                state.forget_session(_needle(plan.session_id))
    if plan.index is not None:
        discard_store(plan.index)


def _find(name: str, homes: Sequence[Path], archive: Archive) -> tuple[Path | None, str]:
    try:
        file = resolve(name, homes, exact=True)
    except SessionNotFoundError:
        with contextlib.suppress(SessionNotFoundError):
            if edits := find_edits(archive, name, homes, only_homes=False):
                return None, edits[0].session_id
        store = open_kept(archive.folder)
        if store is None:
            raise
        try:
            return None, find_kept(store.sessions(), name).name
        finally:
            store.close()
    return file.path, file.session_id


def _load(path: Path | None, archived: ArchivePurge, archive: Archive) -> Session | None:
    with contextlib.suppress(DiskError):
        if path is not None:
            return load_file(path)
        if (data := archive.last_copy(archived)) is not None:
            with tempfile.TemporaryDirectory(prefix="steno-") as scratch:
                copy = Path(scratch) / (archived.session_id + LINES_SUFFIX)
                write_atomically(copy, data, mode=0o600, sync=False)
                return load_file(copy)
    return None


@contextlib.contextmanager
def _state(folder: Path) -> Iterator[TraceState | None]:
    """The state of sending; None where nothing was ever sent."""
    if not (folder / "traces.db").exists():
        yield None
        return
    with TraceState(folder) as state:
        yield state


def _sent(state: TraceState, session: Session) -> dict[str, tuple[int, ...]]:
    traces = [(turn.number, trace_id_of(seed_of(turn))) for turn in session.all_turns]
    found = {
        destination: tuple(sorted({number for number, trace in traces if state.is_sent(destination, trace)}))
        for destination in state.destinations()
    }
    return {destination: numbers for destination, numbers in found.items() if numbers}


def _needle(session_id: str) -> str:
    """What paths of the session's files hold, and no others."""
    return session_id if is_session_id(session_id) else f"/{session_id}{LINES_SUFFIX}"


def _is_of(event: Path, session_id: str) -> bool:
    with contextlib.suppress(DiskError, ValueError):
        given = json.loads(read_whole(event))
        return isinstance(given, dict) and session_id in (given.get("session_id"), Path(str(given.get("transcript_path"))).stem)
    return False
