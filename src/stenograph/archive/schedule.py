"""Keeping without `steno`: a hook in the client's settings, or a timer of the system.

The hook starts `steno archive keep` in the background when a session begins, a turn ends and a session ends, so the client waits
for none of it. The timer is a systemd unit of the user that does the same once a day.
"""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from stenograph.archive.archive import Archive
from stenograph.archive.settings import as_before
from stenograph.client_settings import Hook, SettingsChange, hooks_of, plan_hooks, plan_removal
from stenograph.config import systemd_folder
from stenograph.disk import make_folder, read_whole, remove_file, write_atomically
from stenograph.errors import DiskError, UsageError

_INSTALL, _UNINSTALL = {"command": "archive install"}, {"command": "archive uninstall"}
_OURS = re.compile(r"\b(?:stenograph|steno)\b.* archive keep\b")
_EVENTS = ("SessionStart", "Stop", "SessionEnd")
_SECONDS = 10
_UNIT = "stenograph-archive"


def keep_command(homes: Sequence[Path] = ()) -> list[str]:
    """The words that keep all sessions, of these homes or of the usual ones."""
    words = [sys.executable, "-I", "-m", "stenograph", *(word for home in homes for word in ("--home", str(home.absolute())))]
    words += ["archive", "keep", "--quiet"]
    if not sys.executable or not all(word.isprintable() for word in words):
        raise UsageError("the path of this Python cannot be written to settings", hint="install steno elsewhere")
    return words


def plan_keep_hook(path: Path, homes: Sequence[Path] = ()) -> SettingsChange:
    """Add our hooks to a settings file, or replace them. Raises DiskError, UsageError."""
    # nohup: it may still run when the terminal is closed.
    command = f"(nohup {shlex.join(keep_command(homes))} </dev/null >/dev/null 2>&1 &) || true"
    hook = {"type": "command", "command": command, "timeout": _SECONDS}
    change = plan_hooks(path, dict.fromkeys(_EVENTS, hook), is_keep_hook, _INSTALL)
    if change.settings_before().get("disableAllHooks") is True:
        change = msgspec.structs.replace(change, warnings=("`disableAllHooks` is set, so no hook runs",))
    return change


def plan_keep_hook_removal(path: Path, archive: Archive) -> SettingsChange:
    """Remove our hooks; the original is restored if nobody changed the file since. Raises DiskError, UsageError."""
    return as_before(plan_removal(path, is_keep_hook, _UNINSTALL), archive, is_keep_hook, _INSTALL)


def is_keep_hook(hook: Hook) -> bool:
    command = hook.get("command")
    return isinstance(command, str) and _OURS.search(command) is not None


def has_keep_hook(path: Path) -> bool:
    """Whether a settings file has our hooks; False if it cannot be read."""
    return bool(hooks_of(path, is_keep_hook))


class Timer(msgspec.Struct, frozen=True):
    """The units of a systemd timer, by path."""

    units: dict[Path, str]

    @property
    def is_installed(self) -> bool:
        return any(path.is_file() for path in self.units)

    @property
    def is_current(self) -> bool:
        """Whether the units are there as they would be written now."""
        try:
            return all(read_whole(path) == text.encode() for path, text in self.units.items())
        except DiskError:
            return False


def plan_timer(environ: Mapping[str, str], homes: Sequence[Path] = ()) -> Timer:
    """Raises UsageError where the system has no systemd."""
    folder = systemd_folder(environ)
    if folder is None:
        raise UsageError("cannot find a directory for the timer", hint="set HOME or XDG_CONFIG_HOME")
    # systemd expands % and $ in its own way.
    command = " ".join(f'"{_escaped(word)}"' for word in keep_command(homes))
    service = f"[Unit]\nDescription=Keep Claude Code sessions (steno)\n\n[Service]\nType=oneshot\nNice=10\nExecStart={command}\n"
    timer = (
        "[Unit]\nDescription=Keep Claude Code sessions every day (steno)\n\n"
        "[Timer]\nOnCalendar=daily\nRandomizedDelaySec=1h\nPersistent=true\n\n[Install]\nWantedBy=timers.target\n"
    )
    return Timer({folder / f"{_UNIT}.service": service, folder / f"{_UNIT}.timer": timer})


def install_timer(timer: Timer, environ: Mapping[str, str]) -> None:
    """Write the units and start the timer. Raises UsageError where systemd refuses it, DiskError."""
    _find_systemctl(environ)
    for path, text in timer.units.items():
        make_folder(path.parent)
        write_atomically(path, text.encode(), mode=0o644)
    try:
        _systemctl(environ, "daemon-reload")
        _systemctl(environ, "enable", "--now", f"{_UNIT}.timer")
    except UsageError:
        for path in timer.units:
            remove_file(path)
        raise


def uninstall_timer(timer: Timer, environ: Mapping[str, str]) -> None:
    """Stop the timer and delete its units. Raises UsageError where systemd refuses it, DiskError."""
    _systemctl(environ, "disable", "--now", f"{_UNIT}.timer")
    for path in timer.units:
        remove_file(path)
    _systemctl(environ, "daemon-reload")


def crontab_line(homes: Sequence[Path] = ()) -> str:
    """What a crontab needs to do the same every day, for systems without systemd."""
    return f"17 3 * * * {shlex.join(keep_command(homes)).replace('%', chr(92) + '%')}"


def _find_systemctl(environ: Mapping[str, str]) -> str:
    program = shutil.which("systemctl", path=environ.get("PATH"))
    if program is None:
        raise UsageError("systemd is not available", hint=f"add this line with `crontab -e`: {crontab_line()}")
    return program


def _systemctl(environ: Mapping[str, str], *words: str) -> None:
    program = _find_systemctl(environ)
    done = subprocess.run([program, "--user", *words], env=dict(environ), capture_output=True, text=True, check=False, timeout=60)
    if done.returncode:
        raise UsageError(
            f"systemctl --user {words[0]} failed (exit code {done.returncode}); use the hook instead, without --timer"
        )


def _escaped(word: str) -> str:
    return word.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%").replace("$", "$$")
