"""What is kept of sessions, what clients delete soon, what was kept now, and how keeping is installed."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

from stenograph.archive import ExpiringSession, KeepReport, KeptTotals, Retention, Timer
from stenograph.client_settings import SettingsChange
from stenograph.redact import Masker
from stenograph.sessions import SessionInfo
from stenograph.views.pages.page import CommandLine, Document, FindingPage, Page, finding_pages


class KeptPage(Page, frozen=True):
    """Sessions that are kept in the archive."""

    sessions: int
    files: int
    """With subagents, their metadata, spilled results and file history."""
    size: int
    """Of the originals, in bytes."""
    stored: int
    """Bytes that they take in the archive."""
    only_here: int
    """Sessions that are no longer in the Claude config directory."""
    last: datetime | None
    """When something was last kept."""


class EditedPage(Page, frozen=True):
    """Originals of edited and removed files."""

    edits: int
    originals: int
    stored: int


class RetentionPage(Page, frozen=True):
    """How long Claude Code keeps sessions."""

    home: str
    days: int | None
    """Null if it deletes none."""
    configured: bool
    """`cleanupPeriodDays` is set in settings.json; otherwise it is the default."""


class ArchivePage(Document, frozen=True, tag="archive/1"):
    """`steno archive`: what is kept and for how long."""

    directory: str
    kept: KeptPage
    edited: EditedPage
    automatic: bool
    """`archive.keep` is set in the config file: commands that search or add up all sessions keep them."""
    installed: tuple[str, ...]
    """Settings and timers that keep sessions in the background."""
    retention: tuple[RetentionPage, ...]
    expiring: int
    """Sessions that Claude Code will delete within `expiring_days` and whose current state is not kept."""
    expiring_days: int
    overdue: int
    """Those of them that Claude Code deletes the next time it starts."""


class ExpiringRow(Page, frozen=True):
    """A session that Claude Code deletes soon."""

    id: str
    path: str
    project: str
    title: str | None
    size: int
    modified: datetime
    deleted: datetime
    """Claude Code deletes it when it runs after this time."""
    kept: bool
    """The archive has its current state."""


class ExpiringPage(Document, frozen=True, tag="expiring/1"):
    """`steno archive --expiring`: sessions that Claude Code will soon delete, soonest first."""

    until: datetime
    sessions: tuple[ExpiringRow, ...]
    not_kept: int
    keep: str | None
    """The command that keeps them; null if all are kept."""


class KeepPage(Document, frozen=True, tag="keep/1"):
    """`steno archive keep`: what was copied to the archive."""

    kept: int
    """Sessions from which this run copied something."""
    unchanged: int
    files: int
    read: int
    """Bytes that were read."""
    pending: int
    """Sessions that are left for the next time."""
    stored: int
    """Bytes that all kept sessions take."""
    directory: str
    findings: tuple[FindingPage, ...]
    """Files that could not be read."""


class InstalledFilePage(Page, frozen=True):
    """A file that an install changes."""

    path: str
    diff: tuple[str, ...]
    """Lines of a unified diff, secrets masked."""


class ArchiveInstallPage(Document, frozen=True, tag="archive-install/1"):
    """`steno archive install` and `uninstall`: keeping sessions in the background."""

    action: str
    """`install` or `uninstall`."""
    way: str
    """`hook` or `timer`."""
    files: tuple[InstalledFilePage, ...]
    changed: bool
    """False if there is nothing to do."""
    applied: bool
    warnings: tuple[str, ...]
    undo: str | None
    """The command that undoes it."""
    apply: str | None
    """The command that applies it; null if it was applied, or there is nothing to do."""


def archive_page(
    folder: Path,
    totals: KeptTotals | None,
    only_here: int,
    edited: tuple[int, int, int],
    *,
    automatic: bool,
    installed: Sequence[Path],
    retention: Sequence[Retention],
    expiring: int,
    overdue: int,
    within: timedelta,
) -> ArchivePage:
    """`edited`: numbers of edits and originals, and the bytes that they take."""
    totals = totals or KeptTotals(0, 0, 0, 0, None)
    return ArchivePage(
        directory=str(folder),
        kept=KeptPage(
            totals.sessions,
            totals.files,
            totals.size,
            totals.stored,
            only_here,
            None if totals.last is None else datetime.fromtimestamp(totals.last, UTC),
        ),
        edited=EditedPage(*edited),
        automatic=automatic,
        installed=tuple(map(str, installed)),
        retention=tuple(RetentionPage(str(each.home), each.days, each.is_set) for each in retention),
        expiring=expiring,
        expiring_days=within.days,
        overdue=overdue,
    )


def expiring_page(sessions: Sequence[tuple[ExpiringSession, SessionInfo]], until: datetime, again: CommandLine) -> ExpiringPage:
    rows = tuple(
        ExpiringRow(
            id=info.id,
            path=str(info.path),
            project=info.project,
            title=info.title,
            size=info.size,
            modified=info.modified.astimezone(UTC),
            deleted=each.deleted,
            kept=each.is_kept,
        )
        for each, info in sessions
    )
    missing = sum(not row.kept for row in rows)
    return ExpiringPage(until, rows, missing, again("archive", "keep") if missing else None)


def keep_page(report: KeepReport, totals: KeptTotals | None, folder: Path) -> KeepPage:
    return KeepPage(
        kept=report.kept,
        unchanged=report.sessions - report.kept - report.pending,
        files=report.files,
        read=report.read,
        pending=report.pending,
        stored=totals.stored if totals else 0,
        directory=str(folder),
        findings=finding_pages(report.findings),
    )


def hook_page(action: str, change: SettingsChange, again: CommandLine, *, entry: int | None, applied: bool) -> ArchiveInstallPage:
    mask = Masker().mask  # settings may hold keys beside what is changed
    lines = change.diff()
    return ArchiveInstallPage(
        action=action,
        way="hook",
        files=(InstalledFilePage(str(change.path), tuple(mask("\n".join(lines)).split("\n")) if lines else ()),),
        changed=not change.is_empty,
        applied=applied,
        warnings=change.warnings,
        undo=None if entry is None else again("undo", "--entry", str(entry)),
        apply=None if applied or change.is_empty else again("archive", action, "--apply"),
    )


def timer_page(action: str, timer: Timer, again: CommandLine, *, applied: bool) -> ArchiveInstallPage:
    is_install = action == "install"
    sign = "+" if is_install else "-"
    changed = applied or (not timer.is_current if is_install else timer.is_installed)
    units = timer.units if changed else {}
    return ArchiveInstallPage(
        action=action,
        way="timer",
        files=tuple(
            InstalledFilePage(str(path), tuple(sign + line for line in text.splitlines())) for path, text in units.items()
        ),
        changed=changed,
        applied=applied,
        warnings=(),
        undo=again("archive", "uninstall" if is_install else "install", "--timer") if applied else None,
        apply=None if applied or not changed else again("archive", action, "--timer", "--apply"),
    )
