"""When clients delete sessions, and which of them are kept.

A client deletes a session file, some minutes after it was started in a terminal, that has not changed for `cleanupPeriodDays`; 30
where the settings do not say. With 0 releases from 2.1 on delete nothing, and older ones write no sessions.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import msgspec

from stenograph.archive.kept import KeptFile, open_kept
from stenograph.client_settings import USUAL_DAYS, cleanup_days
from stenograph.disk import projects_folder
from stenograph.family import SessionFile
from stenograph.sessions import find_sessions

SOON = timedelta(days=7)


class Retention(msgspec.Struct, frozen=True):
    """How long the clients of a home keep sessions."""

    home: Path
    #: None: they delete nothing.
    days: int | None
    #: The home's settings say so; otherwise it is the clients' default.
    is_set: bool

    def end_of(self, mtime_ns: int) -> datetime | None:
        """When a file that was last changed then may be deleted; None: never."""
        if self.days is None:
            return None
        try:
            return datetime.fromtimestamp(mtime_ns / 1e9, UTC) + timedelta(days=self.days)
        except (OverflowError, OSError, ValueError):  # the first and the last day there is
            return None


class ExpiringSession(msgspec.Struct, frozen=True):
    file: SessionFile
    #: From then on a client may delete it; in the past: when a client next runs.
    deleted: datetime
    is_kept: bool


def _here() -> Path | None:
    try:
        return Path.cwd()
    except OSError:  # it was deleted
        return None


def retention_of(home: Path) -> Retention:
    days = cleanup_days(home, _here())
    return Retention(home, USUAL_DAYS if days is None else days or None, days is not None)


def expiring_sessions(
    folder: Path,
    homes: Iterable[Path],
    *,
    within: timedelta = SOON,
    now: datetime | None = None,
    files: Sequence[SessionFile] | None = None,
) -> list[ExpiringSession]:
    """The sessions of some homes that clients delete soon, the first first. `folder` is that of the archive.

    `files` are the sessions of the homes where they were just listed.
    """
    until = (now or datetime.now(UTC)) + within
    kept = kept_states(folder)
    found = []
    for home in homes:
        period = retention_of(home)
        for file in find_sessions([home]) if files is None else _below(home, files):
            end = period.end_of(file.mtime_ns)
            if end is not None and end <= until and file.size:
                found.append(ExpiringSession(file, end, _is_as_kept(file, kept.get(os.fspath(file.path)))))
    return sorted(found, key=lambda each: (each.deleted, each.file.path))


def _below(home: Path, files: Sequence[SessionFile]) -> list[SessionFile]:
    folder = os.path.join(projects_folder(home), "")  # noqa: PTH118 - with a slash at its end
    return [file for file in files if os.fspath(file.path).startswith(folder)]


def kept_states(folder: Path) -> dict[str, KeptFile]:
    """What is kept, by path. Raises UnreadableError."""
    store = open_kept(folder)
    if store is None:
        return {}
    try:
        return {os.fspath(file.path): file for file in store.files()}
    finally:
        store.close()


def _is_as_kept(file: SessionFile, kept: KeptFile | None) -> bool:
    return kept is not None and (kept.size, kept.mtime_ns) == (file.size, file.mtime_ns)


def overdue(sessions: Sequence[ExpiringSession], now: datetime | None = None) -> list[ExpiringSession]:
    """Those whose time is over: clients delete them when one starts."""
    now = now or datetime.now(UTC)
    return [each for each in sessions if each.deleted <= now]


def unkept(sessions: Sequence[ExpiringSession]) -> list[ExpiringSession]:
    return [each for each in sessions if not each.is_kept]
