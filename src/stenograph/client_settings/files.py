"""Settings files, and planned changes of their hooks."""

from __future__ import annotations

import difflib
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from stenograph.client_settings.places import home_settings, managed_settings, project_settings
from stenograph.client_settings.text import Hook, IsOurs, add_hooks, add_rules, hooks_in, parse_settings, remove_hooks
from stenograph.disk import FileState, read_whole, redacted_repr, state_of
from stenograph.errors import DiskError, FieldError, UsageError

#: After which a client deletes a session, where no settings say otherwise.
USUAL_DAYS = 30


@redacted_repr
class SettingsChange(msgspec.Struct, frozen=True):
    """A planned change of a settings file. Its repr is empty: settings may hold keys."""

    path: Path
    #: None: no file.
    before: bytes | None
    after: bytes | None
    state: FileState | None
    #: For the journal.
    command: dict[str, str]
    warnings: tuple[str, ...] = ()
    #: Directories that an install made and that go with the file.
    folders: tuple[Path, ...] = ()

    @property
    def is_empty(self) -> bool:
        return self.before == self.after

    def diff(self) -> list[str]:
        """A unified diff."""
        old, new = (str(self.path) if data is not None else os.devnull for data in (self.before, self.after))
        return list(difflib.unified_diff(_lines(self.before), _lines(self.after), old, new, lineterm=""))

    def settings_before(self) -> dict[str, Any]:
        return parse_settings((self.before or b"").decode())


def hooks_of(path: Path, is_ours: IsOurs) -> list[tuple[str, Hook]]:
    """Our hooks in a settings file with their events; none if it cannot be read."""
    try:
        before, _ = _read(path)
        return _ours(_text(path, before), is_ours)
    except (DiskError, UsageError, FieldError):
        return []


def cleanup_days(home: Path, folder: Path | None = None) -> int | None:
    """After how many days without a change clients delete a session; None where no settings say, 0 for never.

    What is managed overrides the rest. Otherwise a client that starts in `folder` goes by its settings, and one that starts
    elsewhere by the home's: both delete sessions of every project, so the shorter time counts.
    """
    managed = [days for path in managed_settings() if (days := _cleanup_days(path)) is not None]
    if managed:  # the last one applies
        return managed[-1]
    own = () if folder is None else reversed(project_settings(folder))
    of_project = next((days for path in own if (days := _cleanup_days(path)) is not None), None)
    of_home = _cleanup_days(home_settings(home))
    if of_project is None:
        return of_home
    return min((days for days in (of_project, USUAL_DAYS if of_home is None else of_home) if days), default=0)


def _cleanup_days(path: Path) -> int | None:
    try:
        before, _ = _read(path)
        days = parse_settings(_text(path, before)).get("cleanupPeriodDays")
    except (DiskError, UsageError, FieldError):
        return None
    return days if isinstance(days, int) and not isinstance(days, bool) and days >= 0 else None


def plan_hooks(path: Path, wanted: Mapping[str, Hook], is_ours: IsOurs, command: dict[str, str]) -> SettingsChange:
    """Replace our hooks in a settings file by these. Raises DiskError, UsageError."""
    before, state = _read(path)
    text = _text(path, before)
    try:
        ours = [(event, dict(hook)) for event, hook in _ours(text, is_ours)]
        is_there = sorted(ours, key=repr) == sorted([(event, dict(hook)) for event, hook in wanted.items()], key=repr)
        after = before if is_there else add_hooks(remove_hooks(text, is_ours) if ours else text, wanted).encode()
    except FieldError as error:
        raise UsageError(f"{path} was not changed: {error}") from error
    return SettingsChange(path, before, after, state, command)


def plan_rules(path: Path, behavior: str, rules: Sequence[str], command: dict[str, str]) -> SettingsChange:
    """Add permission rules, as the client does when a user allows a call for good. Raises DiskError, UsageError."""
    before, state = _read(path)
    try:
        after = add_rules(_text(path, before), behavior, rules).encode()
    except FieldError as error:
        raise UsageError(f"{path} was not changed: {error}") from error
    return SettingsChange(path, before, after, state, command)


def plan_removal(path: Path, is_ours: IsOurs, command: dict[str, str]) -> SettingsChange:
    """Remove our hooks from a settings file. Raises DiskError, UsageError."""
    before, state = _read(path)
    text = _text(path, before)
    try:
        if not _ours(text, is_ours):
            return SettingsChange(path, before, before, state, command)
        without = remove_hooks(text, is_ours)
        if _ours(without, is_ours):
            raise FieldError("cannot remove the hooks of steno")
    except FieldError as error:
        raise UsageError(f"{path} was not changed: {error}") from error
    return SettingsChange(path, before, without.encode(), state, command)


def _ours(text: str, is_ours: IsOurs) -> list[tuple[str, Hook]]:
    return [(event, hook) for event, hook in hooks_in(parse_settings(text)) if is_ours(hook)]


def _read(path: Path) -> tuple[bytes | None, FileState | None]:
    if not os.path.exists(path):  # noqa: PTH110 - never raises
        return None, None
    state = state_of(path)
    return read_whole(path), state


def _text(path: Path, data: bytes | None) -> str:
    try:
        return (data or b"").decode()
    except UnicodeDecodeError as error:
        raise UsageError(f"{path} was not changed: it is not UTF-8") from error


def _lines(data: bytes | None) -> list[str]:
    return (data or b"").decode(errors="replace").splitlines()
