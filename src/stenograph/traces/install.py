"""Hooks into a client's settings, and out again.

In: a settings file of a client, and which hooks it is to hold. Out: a change that can be shown before it is made. It is made
through the archive: the original is kept and `steno undo` brings it back. Taken out again, the file is what it was before, byte
for byte, where nobody changed it in between; where somebody did, only our hooks go. Never touches a file that is no JSON.
"""

from __future__ import annotations

import difflib
import hashlib
import os
import re
import shlex
import stat
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from stenograph.archive import Archive, Entry, FileChange
from stenograph.disk import FileState, state_of
from stenograph.disk.quiet import quiet
from stenograph.errors import BusyError, DiskError, FieldError, UnreadableError, UsageError
from stenograph.traces import hook as hook_script
from stenograph.traces.settings_text import Hook, add_hooks, hooks_in, parse_settings, remove_hooks

_INSTALL, _UNINSTALL = {"command": "trace install"}, {"command": "trace uninstall"}
#: What the journal has in the place of a session's id.
_JOURNAL_NAME = "settings"
_OURS = re.compile(r"stenograph[/\\]+traces[/\\]+hook\.py|\bsteno trace hook\b")
_OTHER_TRACERS = re.compile(r"langfuse|langsmith|mlflow|braintrust|\bopik\b|\bweave\b|arize|phoenix", re.IGNORECASE)


@quiet
class SettingsChange(msgspec.Struct, frozen=True):
    """What is to become of a settings file. Its repr says nothing: settings may hold keys."""

    path: Path
    #: None: there is no file.
    before: bytes | None
    after: bytes | None
    state: FileState | None
    command: dict[str, str]
    warnings: tuple[str, ...] = ()
    #: Folders that our install made and that go with the file.
    folders: tuple[Path, ...] = ()

    @property
    def is_empty(self) -> bool:
        return self.before == self.after

    def diff(self) -> list[str]:
        """A unified diff, a line each."""
        old, new = (str(self.path) if data is not None else os.devnull for data in (self.before, self.after))
        return list(difflib.unified_diff(_lines(self.before), _lines(self.after), old, new, lineterm=""))


def hook_command() -> str:
    """What the client's shell runs: this interpreter with our script. Silent also where both are gone."""
    words = [sys.executable, "-I", "-S", str(Path(hook_script.__file__).resolve())]
    if not sys.executable or not all(_can_be_written(word) for word in words):
        raise UsageError("the path of this Python can't be written into settings; install it elsewhere")
    return f"{' '.join(map(shlex.quote, words))} >/dev/null 2>&1 || true"


def shared_hook_command() -> str:
    """The same for settings that others share: whatever `steno` is on the path, and nothing where there is none."""
    return "sh -c 'if command -v steno; then steno trace hook; fi; exit 0' >/dev/null 2>&1 || true"


def hooks_for(command: str, events: Mapping[str, int]) -> dict[str, Hook]:
    """The hook of each event; `events` are those that the clients know, with the seconds that a hook may take."""
    return {event: {"type": "command", "command": command, "timeout": seconds} for event, seconds in events.items()}


def plan_install(path: Path, wanted: Mapping[str, Hook], environ: Mapping[str, str]) -> SettingsChange:
    """Our hooks in a settings file, in the place of those of an older install. Raises DiskError, UsageError."""
    before, state = _read(path)
    text = _text(path, before)
    try:
        settings = parse_settings(text)
        ours = [(event, dict(hook)) for event, hook in hooks_in(settings) if is_ours(hook)]
        is_there = sorted(ours, key=repr) == sorted([(event, dict(hook)) for event, hook in wanted.items()], key=repr)
        after = before if is_there else add_hooks(remove_hooks(text, is_ours) if ours else text, wanted).encode()
    except FieldError as error:
        raise UsageError(f"{path} is left as it is: {error}") from error
    return SettingsChange(path, before, after, state, _INSTALL, tuple(_warnings(settings, environ)))


def plan_uninstall(path: Path, archive: Archive) -> SettingsChange:
    """A settings file without our hooks. Raises DiskError, UsageError."""
    before, state = _read(path)
    if before is None:
        return SettingsChange(path, None, None, None, _UNINSTALL)
    text = _text(path, before)
    try:
        if not _holds_ours(text):
            return SettingsChange(path, before, before, state, _UNINSTALL)
        without = remove_hooks(text, is_ours)
        if _holds_ours(without):
            raise FieldError("our hooks can't be taken out of it")
        is_bare = not parse_settings(without)
    except FieldError as error:
        raise UsageError(f"{path} is left as it is: {error}") from error
    installs = _installs(path, archive)
    after: bytes | None = without.encode()
    folders: tuple[Path, ...] = ()
    if (original := _original(installs, before, archive)) is not None:
        after = original
    elif installs and installs[-1].before is None and is_bare:
        after, folders = None, _folders_that_go(path, archive)
    return SettingsChange(path, before, after, state, _UNINSTALL, folders=folders)


def make_change(change: SettingsChange, archive: Archive) -> Entry | None:
    """Carry a change out; None when there is nothing to do. Raises BusyError where the file was changed since, DiskError."""
    if change.is_empty:
        return None
    target = Path(os.path.realpath(change.path))
    mode = stat.S_IMODE(target.stat().st_mode) if change.state is not None else None
    with archive.transaction(_JOURNAL_NAME, command=change.command) as edit:
        if change.state is None and os.path.lexists(target):
            raise BusyError(f"{change.path} changed since it was read; try again", path=change.path)
        if change.after is None:
            edit.delete(target, expect=change.state)
            for folder in change.folders:
                edit.remove_folder(folder)
        else:
            edit.write(target, change.after, expect=change.state)
    if mode is not None and change.after is not None:
        # Settings are often in a repository, or read by others; those that clients make are not private either.
        target.chmod(mode)
    return edit.entry


def is_ours(hook: Hook) -> bool:
    """Whether a hook was written by us, of whatever release and place."""
    return isinstance(hook.get("command"), str) and _OURS.search(hook["command"]) is not None


def is_installed(path: Path) -> bool:
    """Whether a settings file holds our hooks; False for one that can't be read."""
    return bool(commands_in(path))


def commands_in(path: Path) -> set[str]:
    """What our hooks in a settings file run; nothing for one that can't be read."""
    try:
        before, _ = _read(path)
        return {hook["command"] for _, hook in hooks_in(parse_settings(_text(path, before))) if is_ours(hook)}
    except (DiskError, UsageError, FieldError):
        return set()


def settings_files(homes: Iterable[Path], folder: Path) -> list[Path]:
    """The settings that a client reads which works in a folder, each file once."""
    found = [(home.parent if home.name == "projects" else home) / "settings.json" for home in homes]
    found += [folder / ".claude" / "settings.json", folder / ".claude" / "settings.local.json"]
    return list({os.path.realpath(path): path for path in reversed(found)}.values())[::-1]


def _holds_ours(text: str) -> bool:
    return any(is_ours(hook) for _, hook in hooks_in(parse_settings(text)))


def _warnings(settings: Mapping[str, Any], environ: Mapping[str, str]) -> list[str]:
    """What else would trace the same sessions, or keep hooks from running. Names no value: there may be keys in them."""
    own = settings.get("env")
    variables = {**environ, **(own if isinstance(own, dict) else {})}
    warnings = []
    if _is_on(variables.get("CLAUDE_CODE_ENABLE_TELEMETRY")) and variables.get("OTEL_TRACES_EXPORTER", "none") not in (
        "",
        "none",
    ):
        warnings.append("the client's own tracing is on (OTEL_TRACES_EXPORTER): both would trace each turn")
    others = [
        event for event, hook in hooks_in(settings) if not is_ours(hook) and _OTHER_TRACERS.search(str(hook.get("command")))
    ]
    if others:
        warnings.append(f"another hook traces too ({', '.join(dict.fromkeys(others))}): both would trace each turn")
    plugins = settings.get("enabledPlugins")
    for name, is_on in plugins.items() if isinstance(plugins, dict) else ():
        if is_on and name.partition("@")[0] == "stenograph":
            warnings.append(f"the plugin {name} reports the same events; one of the two is enough")
        elif is_on and _OTHER_TRACERS.search(name):
            warnings.append(f"the plugin {name} traces too: both would trace each turn")
    if settings.get("disableAllHooks") is True:
        warnings.append("`disableAllHooks` is set: no hook runs")
    return warnings


def _is_on(value: object) -> bool:
    return str(value if value is not None else "").strip().lower() in ("1", "true", "yes", "on")


def _installs(path: Path, archive: Archive) -> list[FileChange]:
    """Our installs into a file since we last took them out, the newest first; others may have changed it in between."""
    target = Path(os.path.realpath(path))
    found: list[FileChange] = []
    for entry in reversed(archive.entries()):
        change = next((change for change in entry.files if Path(os.path.realpath(change.path)) == target), None)
        if change is None or not entry.is_standing:
            continue
        if entry.command != _INSTALL:
            break
        found.append(change)
    return found


def _folders_that_go(path: Path, archive: Archive) -> tuple[Path, ...]:
    """The folders around a file that an install made, of this file or of one beside it, and that hold nothing else."""
    made: set[Path] = set()
    for entry in archive.entries():
        if entry.is_standing and entry.command in (_INSTALL, _UNINSTALL):
            made = (made | {Path(os.path.realpath(folder)) for folder in entry.folders_made}) - set(entry.folders_removed)
    inner, found = Path(os.path.realpath(path)), []
    while inner.parent in made and _holds_only(inner.parent, inner.name):
        inner = inner.parent
        found.append(inner)
    return tuple(found)


def _holds_only(folder: Path, name: str) -> bool:
    try:
        return [path.name for path in folder.iterdir()] == [name]
    except OSError:  # a folder that can't be listed stays
        return False


def _original(installs: list[FileChange], before: bytes, archive: Archive) -> bytes | None:
    """What a file was before our installs, where it is still as they left it; None where it is not, or was none.

    Where it was changed between two installs, what was before the second mostly holds the hooks of the first: None as well.
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
        return None if _holds_ours(original.decode()) else original
    except UnreadableError:  # the archive was cleaned up: then only our hooks go
        return None


def _read(path: Path) -> tuple[bytes | None, FileState | None]:
    if not os.path.exists(path):  # noqa: PTH110 - never raises
        return None, None
    state = state_of(path)
    try:
        return path.read_bytes(), state
    except OSError as error:
        raise UnreadableError(f"{path} can't be read: {error.strerror}", path=path) from error


def _text(path: Path, data: bytes | None) -> str:
    try:
        return (data or b"").decode()
    except UnicodeDecodeError as error:
        raise UsageError(f"{path} is left as it is: it is no UTF-8") from error


def _lines(data: bytes | None) -> list[str]:
    return (data or b"").decode(errors="replace").splitlines()


def _can_be_written(word: str) -> bool:
    return word.isprintable()
