"""Sessions that hooks did not report: all history on request (backfill), and what was left behind (sweep).

An unfinished turn is left to its hook, unless its file has been quiet for long or the hook reported its end. Originals are sent
before their forks, whose copies have the same ids but not all lines, and name another session. An error of one destination is in
its report and does not stop the others.
"""

from __future__ import annotations

import contextlib
import os
import stat
import time
from collections.abc import Callable, Iterable, Sequence
from itertools import islice
from pathlib import Path
from typing import NamedTuple, TypeAlias, TypeVar

from msgspec import Struct

from stenograph.config import Destination, TraceConfig
from stenograph.errors import ConfigError, DeliveryError, DiskError, UnreadableError, UsageError, in_quotes
from stenograph.family import is_session_id
from stenograph.records import moment, read_records
from stenograph.redact import Masker
from stenograph.sessions import find_projects
from stenograph.traces.delivery import Sender
from stenograph.traces.folder import alone, mask_key
from stenograph.traces.keys import with_keys
from stenograph.traces.reading import Closing, ReadFailure
from stenograph.traces.sending import Sent, SessionSender, resource_of
from stenograph.traces.state import Cursor, TraceState

#: An answered turn whose file was quiet this long is over: even the longest tool input has been streamed by then.
ANSWERED_SECONDS = 120.0
#: A session that was not written after another had begun, but for so long, was left for that one.
_LAST_WORDS_SECONDS = 5.0
#: How long to wait for another worker.
BUSY_SECONDS = 60.0
#: The first lines of a file, which hold copies.
_FIRST_LINES = 60

#: Called with the bytes done and the bytes in total.
Progress: TypeAlias = Callable[[int, int], None]
T = TypeVar("T")


class Candidate(Struct, frozen=True):
    """A session file that may have something to send."""

    path: Path
    session_id: str
    size: int
    modified: float


class Filters(Struct, frozen=True):
    """Which sessions to select; all given filters must match."""

    since: float | None = None
    until: float | None = None
    #: Part of the project directory's name.
    project: str = ""
    session_ids: frozenset[str] = frozenset()


class BackfillReport(Struct, frozen=True):
    sent: Sent
    #: Those of which a turn was sent.
    sessions: int
    #: Why the rest was not sent: the receiver, or a missing key.
    error: str | None = None

    @property
    def failures(self) -> tuple[ReadFailure, ...]:
        return self.sent.failures


def find_sessions(homes: Iterable[Path], filters: Filters | None = None) -> list[Candidate]:
    """The session files of some homes, least recently written first."""
    chosen = filters or Filters()
    found = [
        Candidate(file.path, file.session_id, file.size, file.mtime_ns / 1e9)
        for project in find_projects(homes)[0]
        if chosen.project in project.folder.name
        for file in project.sessions
    ]
    return sorted((each for each in found if _is_meant(each, chosen)), key=_by_age)


def followed_sessions(
    found: Iterable[Candidate], destination: str, state: TraceState, *, elsewhere: bool = True
) -> list[Candidate]:
    """The sessions that a destination is to have: written since the first hook event, due, or sent in part before.

    Unless `elsewhere` is False, those due or sent in part need not be among `found`.
    """
    known = {*state.cursors(destination), *(due.path for due in state.due(destination))}
    first = state.first_event()
    chosen = []
    for each in found:
        if each.path in known or (first is not None and each.modified >= first):
            chosen.append(each)
        known.discard(each.path)
    if elsewhere:
        chosen += [candidate for path in known if (candidate := candidate_of(path))]
    return sorted(chosen, key=_by_age)


def bytes_behind(candidate: Candidate, cursor: Cursor | None) -> int:
    """How many bytes of a file a destination has not acknowledged."""
    return max(0, candidate.size - (cursor.place.offset if cursor else 0))


def is_behind(candidate: Candidate, destination: str, state: TraceState) -> bool:
    """Whether a destination lacks bytes of a session, a subagent that was running, or a reported event."""
    return (
        bytes_behind(candidate, state.cursor(destination, candidate.path)) > 0
        or bool(state.waiting(destination, candidate.path))
        or state.is_due(destination, candidate.path)
    )


def send_history(
    candidates: Sequence[Candidate],
    destination: Destination,
    config: TraceConfig,
    state: TraceState,
    folder: Path,
    *,
    patience_seconds: float = 60.0,
    progress: Callable[[Candidate], None] = lambda _: None,
    clock: Callable[[], float] = time.time,
) -> BackfillReport:
    """Send what a destination lacks of some sessions. Raises UnwritableError.

    An unreadable file is reported and skipped; a receiver that keeps failing, or a missing key, ends the run.
    """
    masker = Masker(key=mask_key(folder)) if config.redact else None
    total, sessions, error = Sent(), 0, None
    all_due = {due.path: due for due in state.due(destination.name)}
    try:
        with Sender(with_keys(destination, os.environ), resource_of(config), patience_seconds=patience_seconds) as sender:
            sending = SessionSender(destination, config, state, sender, masker, clock)
            for candidate in originals_first(candidates, lambda each: each.path):
                due = all_due.get(candidate.path)
                closing = _closing(clock() - candidate.modified, due.closing if due else Closing.UNKNOWN, config)
                try:
                    sent = sending.send(candidate.path, closing)
                    if due:
                        state.settle(due)
                except UnreadableError as unreadable:
                    sent = Sent(failures=(ReadFailure(candidate.path, str(unreadable)),))
                    state.note_unread(destination.name, candidate.path, sent.failures)
                sessions += bool(sent.turns)
                total += sent
                progress(candidate)
    except (ConfigError, DeliveryError) as failure:
        error = str(failure)
        state.note_failure(destination.name, error, 0.0, clock())
    return BackfillReport(total, sessions, error)


def _closing(quiet: float, told: Closing, config: TraceConfig) -> Closing:
    if quiet >= config.quiet_seconds:
        return Closing.ENDED
    return Closing.STOPPED if told is Closing.UNKNOWN and quiet >= ANSWERED_SECONDS else told


def _by_age(candidate: Candidate) -> tuple[float, str]:
    return candidate.modified, str(candidate.path)


def candidate_of(path: Path) -> Candidate | None:
    """None if it is not a file any more."""
    try:
        status = path.stat()
    except (OSError, ValueError):  # ValueError: a NUL in the name
        return None
    if not stat.S_ISREG(status.st_mode):
        return None
    return Candidate(path, path.stem, status.st_size, status.st_mtime)


def _is_meant(candidate: Candidate, filters: Filters) -> bool:
    return (
        (filters.since is None or candidate.modified >= filters.since)
        and (filters.until is None or candidate.modified < filters.until)
        and (not filters.session_ids or candidate.session_id in filters.session_ids)
    )


class Beginning(NamedTuple):
    #: The first timestamp. Forks of 2.1.325 name no other session, but begin with a later line of their own.
    at: str
    #: Other sessions that the first lines name: copies of older releases keep the original's id.
    others: frozenset[str]


def originals_first(files: Sequence[T], path_of: Callable[[T], Path]) -> list[T]:
    """By the time of the first line, but each after the sessions that its first lines name."""
    beginnings = {path_of(file).stem: beginning_of(path_of(file)) for file in files}
    by_id = {path_of(file).stem: file for file in files}
    ordered: dict[str, T] = {}
    opened: set[str] = set()
    waiting = sorted(by_id, key=lambda name: beginnings[name].at, reverse=True)
    while waiting:
        name = waiting.pop()
        before = [other for other in beginnings[name].others if other in by_id and other not in opened]
        if name not in opened and before:
            waiting += [name, *before]
        elif name not in ordered:
            ordered[name] = by_id[name]
        opened.add(name)
    return list(ordered.values())


def previous_sessions(path: Path) -> dict[Path, Closing]:
    """The sessions beside a session that it continues, oldest first, and what is known of their last turns.

    A client that changes to another session reports no end of the one before; the first lines of the new one name it.
    """
    found: dict[Path, Closing] = {}
    waiting = [path]
    while waiting:
        beginning = beginning_of(newer := waiting.pop())
        for other in beginning.others:
            candidate = candidate_of(newer.with_name(f"{other}.jsonl")) if is_session_id(other) else None
            if candidate and candidate.path not in found and candidate.path != path and not candidate.path.is_symlink():
                began = moment(beginning.at)
                is_ended = began is not None and candidate.modified <= began.timestamp() + _LAST_WORDS_SECONDS
                found[candidate.path] = Closing.ENDED if is_ended else Closing.STOPPED
                waiting.append(candidate.path)
    return {each: found[each] for each in originals_first([*found], lambda each: each)}


def beginning_of(path: Path) -> Beginning:
    at, others = "", set()
    try:
        for located in islice(read_records(path), _FIRST_LINES):
            record = located.record
            at = at or _text(record, "timestamp")
            others |= {_text(record, "sessionId"), _text(record, "session_id")}
    except (DiskError, ValueError):  # ValueError: a NUL in the name
        pass
    return Beginning(at, frozenset(others - {"", path.stem}))


def _text(record: object, name: str) -> str:
    value = getattr(record, name, None)
    return value if isinstance(value, str) else ""


class Backfill(Struct, frozen=True):
    #: Nothing was sent; reports hold the sessions and bytes that would be read.
    is_dry: bool
    reports: dict[str, BackfillReport]
    #: Sessions selected, whether a destination has them or not, and their size.
    candidates: int
    size: int


def select_destinations(config: TraceConfig, names: Sequence[str]) -> list[Destination]:
    """The destinations with these names, or all of them. Raises UsageError."""
    known = {destination.name: destination for destination in config.destinations}
    if unknown := [name for name in names if name not in known]:
        raise UsageError(f"unknown destination {in_quotes(unknown[0])}; configured: {', '.join(known)}")
    return [known[name] for name in names] if names else list(known.values())


def backfill(
    candidates_for: Callable[[str, TraceState], list[Candidate]],
    destinations: Sequence[Destination],
    config: TraceConfig,
    folder: Path,
    *,
    dry_run: bool = False,
    waiting: Callable[[], contextlib.AbstractContextManager[None]] = contextlib.nullcontext,
    progress: Callable[[str], contextlib.AbstractContextManager[Progress | None]] = lambda _: contextlib.nullcontext(),
) -> Backfill:
    """Send what each destination lacks of its candidates.

    `waiting` surrounds the wait for another worker, `progress` the work for one destination. Raises BusyError, UnwritableError.
    """
    with contextlib.ExitStack() as stack:
        if not dry_run:
            with waiting():
                stack.enter_context(alone(folder, timeout=BUSY_SECONDS))
        state = stack.enter_context(TraceState(folder))
        candidates = {each.name: candidates_for(each.name, state) for each in destinations}
        reports = {}
        for destination in destinations:
            behind = [one for one in candidates[destination.name] if is_behind(one, destination.name, state)]
            if dry_run:
                reports[destination.name] = BackfillReport(Sent(read=sum(one.size for one in behind)), len(behind))
                continue
            with progress(destination.name) as show:
                reports[destination.name] = send_history(
                    behind, destination, config, state, folder, progress=_counting(behind, show)
                )
    sizes = {one.path: one.size for each in candidates.values() for one in each}
    return Backfill(dry_run, reports, len(sizes), sum(sizes.values()))


def _counting(candidates: Sequence[Candidate], show: Progress | None) -> Callable[[Candidate], None]:
    total, done = sum(one.size for one in candidates), 0

    def note(candidate: Candidate) -> None:
        nonlocal done
        done += candidate.size
        if show:
            show(done, total)

    return note
