"""Sessions that no hook told of: all history on request (backfill), and what was left behind (sweep).

In: homes and filters. Out: the files that are behind for a destination, and what was sent of them. A turn that is not over is
left to its hook, unless its file was not written for so long that nothing will come.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from msgspec import Struct

from stenograph.disk import list_project, projects_folder
from stenograph.errors import DeliveryError, DiskError
from stenograph.redact import Masker
from stenograph.traces.config import Destination, TraceConfig, with_keys
from stenograph.traces.delivery import Sender
from stenograph.traces.folder import mask_key
from stenograph.traces.reading import Closing
from stenograph.traces.sending import Sent, SessionSender, resource_of
from stenograph.traces.state import TraceState


class Candidate(Struct, frozen=True):
    """A session file that may have something to tell."""

    path: Path
    session_id: str
    size: int
    #: Seconds since 1970.
    modified: float


class Filters(Struct, frozen=True):
    """Which sessions are meant; what is given must all hold."""

    since: float | None = None
    until: float | None = None
    #: A word in the project folder's name.
    project: str = ""
    session_ids: frozenset[str] = frozenset()


class Failure(Struct, frozen=True):
    path: Path
    reason: str


class Report(Struct, frozen=True):
    sent: Sent
    sessions: int
    failures: tuple[Failure, ...]


def find_sessions(homes: Iterable[Path], filters: Filters | None = None) -> list[Candidate]:
    """The session files of some homes, the one that was written first first: originals come before their forks."""
    chosen = filters or Filters()
    found = []
    for home in homes:
        for folder in _folders(projects_folder(home)):
            if chosen.project and chosen.project not in folder.name:
                continue
            try:
                listing = list_project(folder)
            except DiskError:
                continue
            found += [Candidate(file.path, file.session_id, file.size, file.mtime_ns / 1e9) for file in listing.sessions]
    return sorted((each for each in found if _is_meant(each, chosen)), key=lambda each: (each.modified, str(each.path)))


def is_behind(candidate: Candidate, destination: str, state: TraceState) -> bool:
    cursor = state.cursor(destination, candidate.path)
    return cursor is None or cursor.place.offset < candidate.size or bool(state.waiting(destination, candidate.path))


def send_history(
    candidates: Sequence[Candidate],
    destination: Destination,
    config: TraceConfig,
    state: TraceState,
    folder: Path,
    *,
    patience_seconds: float = 60.0,
    progress: Callable[[Candidate, Sent], None] = lambda _, __: None,
    clock: Callable[[], float] = time.time,
) -> Report:
    """Send what is behind of some sessions, a receiver that fails for a moment tried again.

    A file that can't be read is reported and does not stop the others. Raises DeliveryError, UnwritableError.
    """
    masker = Masker(key=mask_key(folder)) if config.redact else None
    total, sessions = Sent(), 0
    failures: list[Failure] = []
    with Sender(with_keys(destination, os.environ), resource_of(config), patience_seconds=patience_seconds) as sender:
        sending = SessionSender(destination, config, state, sender, masker, clock)
        for candidate in candidates:
            is_quiet = clock() - candidate.modified >= config.quiet_seconds
            try:
                sent = sending.send(candidate.path, Closing.ENDED if is_quiet else Closing.UNKNOWN)
            except DeliveryError as error:
                state.note_failure(destination.name, str(error), 0.0, clock())
                raise
            except DiskError as error:
                failures.append(Failure(candidate.path, str(error)))
                sent = Sent()
            sessions += bool(sent.turns)
            total += sent
            progress(candidate, sent)
    return Report(total, sessions, tuple(failures))


def _folders(projects: Path) -> list[Path]:
    try:
        return [path for path in projects.iterdir() if path.is_dir()]
    except OSError:
        return []


def _is_meant(candidate: Candidate, filters: Filters) -> bool:
    return (
        (filters.since is None or candidate.modified >= filters.since)
        and (filters.until is None or candidate.modified < filters.until)
        and (not filters.session_ids or candidate.session_id in filters.session_ids)
    )
