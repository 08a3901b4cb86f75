"""Changes of a client's settings, made through the archive, so that `steno undo` reverts them.

Uninstalling hooks restores the original file byte for byte where nothing else changed it in between.
"""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

from msgspec.structs import replace

from stenograph.archive.archive import Archive
from stenograph.archive.journal import Entry, JournaledFile
from stenograph.client_settings import IsOurs, SettingsChange, hooks_in, parse_settings
from stenograph.errors import BusyError, UnreadableError

#: In the journal instead of a session's id.
_JOURNAL_NAME = "settings"


def make_change(change: SettingsChange, archive: Archive) -> Entry | None:
    """Carry a change out; None when there is nothing to do. Raises BusyError where the file was changed since, DiskError."""
    if change.is_empty:
        return None
    target = Path(os.path.realpath(change.path))
    with archive.transaction(_JOURNAL_NAME, command=change.command) as edit:
        if change.state is None and os.path.lexists(target):
            raise BusyError(
                f"{change.path} changed after it was read; nothing was written", hint="run the command again", path=change.path
            )
        if change.after is None:
            edit.delete(target, expect=change.state)
            for folder in change.folders:
                edit.remove_folder(folder)
        else:
            edit.write(target, change.after, expect=change.state)
    return edit.entry


def as_before(change: SettingsChange, archive: Archive, is_ours: IsOurs, install: dict[str, str]) -> SettingsChange:
    """The removal of an installer's hooks, turned into the very file from before, where nothing else changed it.

    `install` is the journal's command for its installs.
    """
    if change.is_empty or change.before is None or change.after is None:
        return change
    installs = _installs(change.path, archive, install)
    if (original := _original(installs, change.before, archive, is_ours)) is not None:
        return replace(change, after=original)
    if installs and installs[-1].before is None and not parse_settings(change.after.decode()):
        folders = _folders_that_go(change.path, archive, (install, change.command))
        return replace(change, after=None, folders=folders)
    return change


def _installs(path: Path, archive: Archive, install: dict[str, str]) -> list[JournaledFile]:
    """Our installs into a file since we last removed them, the newest first."""
    target = Path(os.path.realpath(path))
    found: list[JournaledFile] = []
    for entry in reversed(archive.entries()):
        change = next((change for change in entry.files if Path(os.path.realpath(change.path)) == target), None)
        if change is None or not entry.is_standing:
            continue
        if entry.command != install:
            break
        found.append(change)
    return found


def _folders_that_go(path: Path, archive: Archive, commands: tuple[dict[str, str], ...]) -> tuple[Path, ...]:
    """The directories that an install made around a file, or around one beside it, and that hold nothing else."""
    made: set[Path] = set()
    for entry in archive.entries():
        if entry.is_standing and entry.command in commands:
            made = (made | {Path(os.path.realpath(folder)) for folder in entry.folders_made}) - set(entry.folders_removed)
    inner, found = Path(os.path.realpath(path)), []
    while inner.parent in made and _holds_only(inner.parent, inner.name):
        inner = inner.parent
        found.append(inner)
    return tuple(found)


def _holds_only(folder: Path, name: str) -> bool:
    try:
        return [path.name for path in folder.iterdir()] == [name]
    except OSError:  # a directory that can't be listed stays
        return False


def _original(installs: list[JournaledFile], before: bytes, archive: Archive, is_ours: IsOurs) -> bytes | None:
    """The file before our installs, where it is still as they left it; None otherwise.

    Where it was changed between two installs, the state before the second mostly holds the hooks of the first: None too.
    """
    now: str | None = hashlib.sha256(before).hexdigest()
    first: str | None = None
    for change in installs:
        if change.after != now:
            break
        now = first = change.before
    if first is None:
        return None
    try:
        original = archive.original(first)
    except UnreadableError:  # the archive was cleaned up: then only our hooks go
        return None
    return None if any(is_ours(hook) for _, hook in hooks_in(parse_settings(original.decode()))) else original
