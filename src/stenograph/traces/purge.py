"""A session deleted for good, with everything that we keep of it, and what of it has left the machine.

Beside the archive's part: events in the spool, the state of sending by path, and the index. What stays are digests of message ids
in the state, by which copies of the same turns in forks are not sent again.
"""

from __future__ import annotations

import contextlib
import json
import os
import tempfile
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

from msgspec import Struct

from stenograph.archive import Archive, ArchivePurge, find_edits, find_kept, open_kept_to_restore
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
    archived = archive.plan_purge(session_id, path, homes)
    session = _load(path, archived, archive)
    with _state(folder) as state:
        entries = state.entries_of(partial(_is_own, archived)) if state else 0
        sent = _sent(state, session) if state and session else {}
    return Purge(
        archived,
        path,
        tuple(event for event in waiting_events(folder) if _is_of(event, archived)),
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
                state.forget_session(partial(_is_own, plan.archived))
    if plan.index is not None:
        discard_store(plan.index)


def _find(name: str, homes: Sequence[Path], archive: Archive) -> tuple[Path | None, str]:
    try:
        file = resolve(name, homes, exact=True)
    except SessionNotFoundError:
        for only_homes in (True, False):
            with contextlib.suppress(SessionNotFoundError):
                if edits := find_edits(archive, name, homes, only_homes=only_homes):
                    return None, edits[0].session_id
            with contextlib.suppress(SessionNotFoundError):
                store, sessions = open_kept_to_restore(archive.folder, homes if only_homes else None)
                store.close()
                return None, find_kept(sessions, name).name
        raise
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


def _is_own(archived: ArchivePurge, path: Path) -> bool:
    name = archived.session_id
    is_named = name in os.fspath(path) if is_session_id(name) else path.name == name + LINES_SUFFIX
    return is_named and archived.place.has(path)


def _is_of(event: Path, archived: ArchivePurge) -> bool:
    with contextlib.suppress(DiskError, ValueError):
        given = json.loads(read_whole(event))
        if isinstance(given, dict):
            path = Path(str(given.get("transcript_path") or ""))
            is_named = archived.session_id in (given.get("session_id"), path.stem)
            # Without a path, nothing can be sent.
            return is_named and (not path.is_absolute() or archived.place.has(path))
    return False
