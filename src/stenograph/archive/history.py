"""The edits of a session or of some homes, and undoing the last of them. A session may be gone: its edits are found by its id."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct

from stenograph.archive.archive import Archive
from stenograph.archive.change import Recovery
from stenograph.archive.journal import Entry
from stenograph.disk import Finding, absolute_path
from stenograph.errors import SessionNotFoundError, UsageError, in_quotes
from stenograph.sessions import ACTIVE_SECONDS, SHORTEST_PREFIX, resolve


class Undone(Struct, frozen=True):
    """What an undo did."""

    #: The undo's own entry; None where only edits that were stopped midway were settled.
    entry: Entry | None
    recovered: tuple[Recovery, ...]
    #: What failed when the edit was undone already.
    findings: tuple[Finding, ...] = ()


def find_edits(archive: Archive, session: str | None, homes: Sequence[Path], *, only_homes: bool) -> list[Entry]:
    """The edits of a session, or of all of them, oldest first; with `only_homes` those in these homes.

    Raises SessionNotFoundError, UsageError where several sessions are meant.
    """
    entries = archive.entries()
    if only_homes:
        known_homes = {os.path.realpath(home) for home in homes}
        entries = [entry for entry in entries if entry.home is None or os.path.realpath(entry.home) in known_homes]
    if session is None:
        return entries
    wanted = session.casefold()
    known = {entry.session_id for entry in entries}
    matching = {name for name in known if name.casefold() == wanted} or {
        name for name in known if len(wanted) >= SHORTEST_PREFIX and name.casefold().startswith(wanted)
    }
    if len(matching) != 1:
        try:
            matching = {resolve(session, homes).session_id}
        except SessionNotFoundError:
            if not matching:
                raise
            raise UsageError(f"{in_quotes(session)} matches {len(matching)} sessions with edits; use the full id") from None
    return [entry for entry in entries if entry.session_id in matching]


def plan_undo(archive: Archive, edits: Sequence[Entry], number: int | None = None) -> Entry | None:
    """The edit that `undo_edit` would undo; None where there is none. Raises as `Archive.undo`, and writes nothing."""
    chosen = {edit.number: edit for edit in edits}
    if number is None:
        number = next((entry.number for entry in reversed(edits) if entry.is_standing), None)
        if number is None:
            return None
    archive.refuse_undo(number)
    return chosen[number]


def undo_edit(
    archive: Archive, edits: Sequence[Entry], number: int | None = None, *, active_seconds: float = ACTIVE_SECONDS
) -> Undone | None:
    """Undo one of the edits, by default the last that can be; None where there is none.

    Edits that were stopped midway are settled first; then only an edit given by its number is undone. Raises as `Archive.undo`.
    """
    recovered = tuple(archive.recover())
    if number is None and not recovered:
        number = next((entry.number for entry in reversed(edits) if entry.is_standing), None)
        if number is None:
            return None
    findings: list[Finding] = []
    entry = None if number is None else archive.undo(number, active_seconds=active_seconds, findings=findings)
    return Undone(entry, recovered, tuple(findings))


def removed_title(entry: Entry) -> str | None:
    """What a removed session was called in lists; None if the entry is not a removal, or it had no title."""
    command = entry.command if isinstance(entry.command, dict) else {}
    title = command.get("title") if command.get("command") == "rm" else None
    return title if isinstance(title, str) else None


def find_removal(archive: Archive, reference: str) -> Entry | None:
    """The removal by `steno rm` of the session that a reference means, if it can be undone; the newest, of several."""
    wanted = reference.casefold()
    path = absolute_path(reference) if os.sep in reference else None
    for entry in reversed(archive.entries()):
        if not entry.is_standing or not isinstance(entry.command, dict) or entry.command.get("command") != "rm":
            continue
        is_named = len(wanted) >= SHORTEST_PREFIX and entry.session_id.casefold().startswith(wanted)
        is_titled = bool(wanted) and (removed_title(entry) or "").casefold() == wanted
        if is_named or is_titled or any(file.path == path for file in entry.files):
            return entry
    return None
