"""A kept session brought back to where clients resume it: planned, then written as one edit, which can be undone.

A file that is there and has other bytes is never overwritten. Files get their own mode and time; one that a client would delete
again within a week gets the current time instead, because clients go by it.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from stenograph.archive.archive import Archive
from stenograph.archive.journal import Entry
from stenograph.archive.keeping import read_facts
from stenograph.archive.kept import KeptFile, KeptSession, KeptStore, open_kept
from stenograph.archive.retention import SOON, retention_of
from stenograph.disk import absolute_path, make_folder, put_in_place, read_slice, stage_file, unfinished_beside
from stenograph.errors import BusyError, DiskError, SessionNotFoundError, UnwritableError, UsageError, in_quotes

_NAMED_BY = 13
_MATCHES_NAMED = 5


class RestorableFile(msgspec.Struct, frozen=True):
    file: KeptFile
    #: There is a file with the same bytes; None: there is none.
    is_same: bool | None
    #: It gets the current time.
    is_renewed: bool


class RestorePlan(msgspec.Struct, frozen=True):
    session: KeptSession
    files: tuple[RestorableFile, ...]

    @property
    def missing(self) -> list[RestorableFile]:
        return [each for each in self.files if each.is_same is None]

    @property
    def different(self) -> list[RestorableFile]:
        """Files that stand in the way."""
        return [each for each in self.files if each.is_same is False]

    @property
    def size(self) -> int:
        return sum(each.file.size for each in self.missing)


def kept_title(session: KeptSession) -> str | None:
    """What a list called it when it was last kept."""
    facts = read_facts(session.facts)
    return facts.title if facts else None


def find_kept(sessions: Sequence[KeptSession], reference: str) -> KeptSession:
    """The kept session that a reference means: an id, a prefix of one, its path or its title.

    Raises SessionNotFoundError, UsageError where several are meant.
    """
    wanted = reference.casefold()
    path = os.fspath(absolute_path(reference)) if os.sep in reference else None
    tests = (
        lambda each: each.name.casefold() == wanted or os.fspath(each.path) == path,
        lambda each: each.name.casefold().startswith(wanted),
        lambda each: (kept_title(each) or "").casefold() == wanted,
    )
    for test in tests if wanted else ():
        found = [each for each in sessions if test(each)]
        if len(found) == 1:
            return found[0]
        if found:
            names = [each.name[:_NAMED_BY] if len({other.name for other in found}) > 1 else str(each.path) for each in found]
            raise UsageError(
                f"{in_quotes(reference)} matches {len(found)} kept sessions",
                why=f"{', '.join(names[:_MATCHES_NAMED])}{', …' if len(names) > _MATCHES_NAMED else ''}",
                hint="use a longer prefix, the full id or a path",
            )
    raise SessionNotFoundError(f"no kept session matches {in_quotes(reference)}", reference=reference, hint="steno archive")


def plan_restore(
    store: KeptStore, session: KeptSession, *, as_of: float | None = None, now: datetime | None = None
) -> RestorePlan:
    """With `as_of`, in seconds since 1970, files that were rewritten since are those from before. Raises UnreadableError."""
    period = retention_of(session.home)
    soon = (now or datetime.now(UTC)) + SOON
    files = []
    for file in store.files(session.id) if as_of is None else store.files_before(session.id, as_of):
        end = period.end_of(file.mtime_ns)
        is_same = _is_same(file.path, store, file) if os.path.lexists(file.path) else None
        files.append(RestorableFile(file, is_same, is_renewed=end is not None and end <= soon))
    return RestorePlan(session, tuple(files))


def restore_session(archive: Archive, store: KeptStore, plan: RestorePlan) -> Entry | None:
    """Write what is missing of a session; None where nothing is. Raises BusyError where a file is in the way, DiskError."""
    if plan.different:
        path = plan.different[0].file.path
        raise BusyError(
            f"{path} exists with other contents; nothing was written",
            path=path,
            hint=f"steno restore {plan.session.name} --to DIR",
        )
    with archive.transaction(plan.session.name, command={"command": "restore"}) as change:
        for each in plan.missing:
            file = each.file
            modified = None if each.is_renewed else file.mtime_ns
            change.write(file.path, store.stream(file), modified_ns=modified, mode=file.mode, is_new=True)
    return change.entry


def restore_to(store: KeptStore, plan: RestorePlan, to: Path) -> list[Path]:
    """Write a session below another directory, as below its home. Raises UnwritableError where a file exists, DiskError."""
    to = absolute_path(to)
    places = {each.file.path: to / _below(each.file.path, plan.session.home) for each in plan.files}
    for place in places.values():
        if os.path.lexists(place):
            raise UnwritableError(f"{place} already exists", path=place, hint="use another directory")
    for each in plan.files:
        file, place = each.file, places[each.file.path]
        make_folder(place.parent)
        unfinished = unfinished_beside(place)
        staged = stage_file(place, store.stream(file), unfinished=unfinished, modified_ns=file.mtime_ns, mode=file.mode)
        put_in_place(staged, expect=None)
    return list(places.values())


def open_kept_to_restore(folder: Path, homes: Iterable[Path] | None) -> tuple[KeptStore, list[KeptSession]]:
    """The store and its sessions, of some homes or all. Raises SessionNotFoundError where nothing is kept."""
    store = open_kept(folder)
    if store is None:
        raise SessionNotFoundError("no sessions are kept", hint="steno archive keep")
    return store, store.sessions(homes)


def _below(path: Path, home: Path) -> Path:
    return path.relative_to(home) if path.is_relative_to(home) else Path(path.name)


def _is_same(path: Path, store: KeptStore, file: KeptFile) -> bool:
    try:
        if not path.is_file() or path.stat().st_size != file.size:
            return False
        at = 0
        for piece in store.stream(file):
            if read_slice(path, at, at + len(piece)) != piece:
                return False
            at += len(piece)
    except (OSError, DiskError):
        return False
    return True
