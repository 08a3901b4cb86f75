"""How traces are set up, what was sent to each destination, and changes of the client's settings."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path

from msgspec.structs import asdict

from stenograph.archive import Entry
from stenograph.client_settings import SettingsChange
from stenograph.config import Content, Destination, TraceConfig
from stenograph.redact import Masker
from stenograph.traces import (
    Backfill,
    BackfillReport,
    Candidate,
    Probe,
    ReadFailure,
    TraceState,
    bytes_behind,
    find_sessions,
    followed_sessions,
    is_behind,
    is_held,
    notes_on,
    waiting_events,
)
from stenograph.views.pages.page import CommandLine, Document, FindingPage, Page


class DestinationPage(Page, frozen=True):
    """A receiver of traces."""

    name: str
    kind: str
    endpoint: str


class TraceSettingsPage(Page, frozen=True):
    """What traces contain."""

    project: str
    """The project's name at the receiver."""
    environment: str | None
    user: str | None
    tags: tuple[str, ...]
    redact: bool
    """Secrets are masked."""
    shape: str
    content: dict[str, int]
    """Maximum number of characters of each kind of text; 0: none of it is sent."""
    changed_content: tuple[str, ...]
    """The members of `content` that differ from the default."""


class TracePage(Document, frozen=True, tag="trace/1"):
    """`steno trace`: where the hooks are installed, where traces go, and what they contain."""

    config_file: str | None
    directory: str
    """The directory with our tracing state."""
    is_off: bool
    """`$STENO_TRACE_OFF` is set."""
    installed: tuple[str, ...]
    """The client's settings that hold the hooks."""
    destinations: tuple[DestinationPage, ...]
    settings: TraceSettingsPage | None
    """Null while everything is off."""
    problem: str | None
    """Why nothing is sent."""
    notes: tuple[str, ...]


class SettingsChangePage(Document, frozen=True, tag="trace-install/1"):
    """`steno trace install` and `uninstall`: the change to Claude Code's settings."""

    action: str
    """`install` or `uninstall`."""
    path: str
    changed: bool
    """False if there is nothing to do."""
    applied: bool
    diff: tuple[str, ...]
    """Lines of a unified diff, secrets masked."""
    warnings: tuple[str, ...]
    entry: int | None
    """Its number in the journal; null if nothing was written."""
    next: tuple[str, ...]
    """What is left to do, as lines for a person."""
    undo: str | None
    """The command that undoes it."""


def trace_page(
    config: TraceConfig, config_file: Path | None, folder: Path, *, installed: Sequence[Path], notes: Sequence[str], missing: str
) -> TracePage:
    """`missing`: what to say where there is no destination."""
    return TracePage(
        config_file=None if config_file is None else str(config_file),
        directory=str(folder),
        is_off=config.is_off,
        installed=tuple(map(str, installed)),
        destinations=tuple(DestinationPage(each.name, each.kind.value, each.endpoint) for each in config.destinations),
        settings=None if config.is_off else _trace_settings(config),
        problem="tracing is disabled (STENO_TRACE_OFF is set)" if config.is_off else None if config.destinations else missing,
        notes=tuple(notes),
    )


def settings_change_page(
    action: str, change: SettingsChange, steps: Sequence[str], again: CommandLine, *, entry: Entry | None, applied: bool
) -> SettingsChangePage:
    mask = Masker().mask  # settings may hold keys beside what is changed
    return SettingsChangePage(
        action=action,
        path=str(change.path),
        changed=not change.is_empty,
        applied=applied,
        diff=tuple(mask("\n".join(lines)).split("\n")) if (lines := change.diff()) else (),
        warnings=change.warnings,
        entry=entry.number if entry else None,
        next=tuple(steps),
        undo=again("undo", "--entry", str(entry.number)) if entry else None,
    )


def _trace_settings(config: TraceConfig) -> TraceSettingsPage:
    content, usual = asdict(config.content), asdict(Content())
    return TraceSettingsPage(
        project=config.project,
        environment=config.environment or None,
        user=config.user or None,
        tags=config.tags,
        redact=config.redact,
        shape=config.shape.value,
        content=content,
        changed_content=tuple(name for name, length in content.items() if length != usual[name]),
    )


class BehindPage(Page, frozen=True):
    """What a destination has not acknowledged of the sessions meant for it."""

    sessions: int
    size: int


class SkippedLinesPage(Page, frozen=True):
    """Lines of a session that are not JSON objects."""

    path: str
    lines: int


class DestinationStatusPage(Page, frozen=True):
    """What a destination has, what it lacks, and what failed."""

    name: str
    kind: str
    endpoint: str
    turns: int
    spans: int
    posts: int
    """Requests that it accepted."""
    refused: int
    """Spans that it refused for good."""
    last_success: datetime | None
    last_failure: datetime | None
    last_error: str | None
    """Null if nothing has failed since the last success."""
    retry_at: datetime | None
    due: int
    """Sessions that a hook reported and that are to be sent."""
    behind: BehindPage
    failures: tuple[FindingPage, ...]
    """Files that could not be read."""
    skipped: tuple[SkippedLinesPage, ...]
    """Sessions with lines that could not be sent, because they are not valid JSON."""
    notes: tuple[str, ...]


class TraceStatusPage(Document, frozen=True, tag="trace-status/1"):
    """`steno trace status`: what was sent, what is behind, and what failed last."""

    worker: str
    """`running` or `none`."""
    events_waiting: int
    """Events of hooks that no worker has seen yet."""
    damaged: tuple[str, ...]
    """Files of our state that were damaged and replaced."""
    destinations: tuple[DestinationStatusPage, ...]
    installed: tuple[str, ...]
    """Settings files with our hooks."""
    redact: bool
    """Whether secrets are masked before anything is sent."""


class BackfillRow(Page, frozen=True):
    """What was sent to a destination."""

    name: str
    sessions: int
    """Sessions of which a turn was sent; in a dry run, those that would be looked at."""
    turns: int
    spans: int
    copies: int
    """Turns that it already has: copies in forks and clones."""
    refused: int
    """Spans that it refused for good."""
    size: int
    """Bytes of the sessions that were read; in a dry run, of those that would be looked at."""
    skipped: int
    """Lines that are not valid JSON."""
    failures: tuple[FindingPage, ...]
    """Files that could not be read."""
    error: str | None
    """What kept the rest from being sent."""


class BackfillPage(Document, frozen=True, tag="trace-backfill/1"):
    """`steno trace backfill` and `sweep`: what was sent to each destination."""

    dry_run: bool
    destinations: tuple[BackfillRow, ...]
    candidates: int
    """Sessions that were selected, whether destinations have them or not."""
    size: int
    """Of the sessions that were selected."""


class ProbePage(Page, frozen=True):
    """Whether a destination accepted a span."""

    name: str
    endpoint: str
    accepted: bool
    duration_ms: int
    error: str | None
    notes: tuple[str, ...]


class TraceTestPage(Document, frozen=True, tag="trace-test/1"):
    """`steno trace test`: whether each destination accepted a span."""

    destinations: tuple[ProbePage, ...]


def trace_status_page(
    config: TraceConfig, folder: Path, homes: Iterable[Path], *, elsewhere: bool, installed: Sequence[Path] = ()
) -> TraceStatusPage:
    """`elsewhere`: also sessions outside these homes that were sent in part. Raises UnwritableError."""
    sessions = find_sessions(homes)
    with TraceState(folder) as state:
        rows = tuple(_status(each, sessions, state, elsewhere=elsewhere) for each in config.destinations)
        damaged = tuple(map(str, state.damaged()))
    return TraceStatusPage(
        worker="running" if is_held(folder) else "none",
        events_waiting=len(waiting_events(folder)),
        damaged=damaged,
        destinations=rows,
        installed=tuple(map(str, installed)),
        redact=config.redact,
    )


def backfill_page(done: Backfill) -> BackfillPage:
    rows = tuple(_row(name, report) for name, report in done.reports.items())
    return BackfillPage(done.is_dry, rows, done.candidates, done.size)


def trace_test_page(probes: Sequence[Probe]) -> TraceTestPage:
    return TraceTestPage(
        tuple(
            ProbePage(
                name=probe.destination.name,
                endpoint=probe.destination.endpoint,
                accepted=probe.error is None,
                duration_ms=probe.duration_ms,
                error=probe.error,
                notes=tuple(notes_on(probe.destination)),
            )
            for probe in probes
        )
    )


def _row(name: str, report: BackfillReport) -> BackfillRow:
    sent = report.sent
    return BackfillRow(
        name=name,
        sessions=report.sessions,
        turns=sent.turns,
        spans=sent.spans,
        copies=sent.copies,
        refused=sent.refused,
        size=sent.read,
        skipped=sent.skipped,
        failures=_failures(report.failures),
        error=report.error,
    )


def _status(destination: Destination, sessions: list[Candidate], state: TraceState, *, elsewhere: bool) -> DestinationStatusPage:
    name, health = destination.name, state.health(destination.name)
    followed = followed_sessions(sessions, name, state, elsewhere=elsewhere)
    behind = [bytes_behind(one, state.cursor(name, one.path)) for one in followed if is_behind(one, name, state)]
    return DestinationStatusPage(
        name=name,
        kind=destination.kind.value,
        endpoint=destination.endpoint,
        turns=health.turns,
        spans=health.spans,
        posts=health.posts,
        refused=health.refused,
        last_success=_moment(health.last_success),
        last_failure=_moment(health.last_failure),
        last_error=health.last_error or None,
        retry_at=_moment(health.retry_at),
        due=len(state.due(name)),
        behind=BehindPage(len(behind), sum(behind)),
        failures=_failures(failure for failure in state.unread(name) if not _is_gone(failure.path)),
        skipped=tuple(SkippedLinesPage(str(path), lines) for path, lines in state.skipped(name).items() if not _is_gone(path)),
        notes=(*notes_on(destination), *_takeovers(name, state)),
    )


def _takeovers(name: str, state: TraceState) -> Iterator[str]:
    if sessions := len(state.taken_over(name)):
        what = f"{sessions} session{'' if sessions == 1 else 's'}"
        yield f"{name}: {what} continued after cc-langfuse; turns that it sent, whole or in part, are not sent again"


def _failures(failures: Iterable[ReadFailure]) -> tuple[FindingPage, ...]:
    return tuple(FindingPage("unreadable", str(failure.path), None, failure.reason) for failure in failures)


def _moment(seconds: float | None) -> datetime | None:
    return datetime.fromtimestamp(seconds, UTC) if seconds else None


def _is_gone(path: Path) -> bool:
    """A file that was deleted is not reported any more; one in a directory that can't be read is not gone."""
    try:
        path.lstat()
    except FileNotFoundError:
        return True
    except OSError:
        return False
    return False
