"""The edits of a session or of some homes, and undoing the last of them. A session may be gone: its edits are found by its id."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct

from stenograph.archive.archive import Archive
from stenograph.archive.change import Recovery
from stenograph.archive.journal import Entry
from stenograph.errors import SessionNotFoundError, UsageError, in_quotes
from stenograph.sessions import ACTIVE_SECONDS, SHORTEST_PREFIX, resolve


class Undone(Struct, frozen=True):
    """What an undo did."""

    #: The undo's own entry; None where only edits that were stopped midway were settled.
    entry: Entry | None
    recovered: tuple[Recovery, ...]


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
    return Undone(None if number is None else archive.undo(number, active_seconds=active_seconds), recovered)
