"""Our hooks in a client's settings: planned as changes, with warnings about whatever else traces the same sessions."""

from __future__ import annotations

import re
import shlex
import sys
from collections.abc import Mapping
from itertools import islice
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from stenograph.archive import Archive, as_before
from stenograph.client_settings import (
    Hook,
    SettingsChange,
    client_of_unknown_release,
    hooks_in,
    hooks_of,
    plan_hooks,
    plan_removal,
    release_on_path,
)
from stenograph.errors import DiskError, UsageError
from stenograph.releases import release_numbers
from stenograph.sessions import find_sessions, newest_record_first
from stenograph.traces import hook as hook_script

_INSTALL, _UNINSTALL = {"command": "trace install"}, {"command": "trace uninstall"}
_OURS = re.compile(r"stenograph[/\\]+traces[/\\]+hook\.py|\bsteno trace hook\b")
_OTHER_TRACERS = re.compile(r"langfuse|langsmith|mlflow|braintrust|\bopik\b|\bweave\b|arize|phoenix", re.IGNORECASE)


def hook_command() -> str:
    """What the client's shell runs: this interpreter with our script; silent even if both are gone."""
    words = [sys.executable, "-I", "-S", str(Path(hook_script.__file__).resolve())]
    if not sys.executable or not all(_can_be_written(word) for word in words):
        raise UsageError("the path of this Python cannot be written to settings; install steno elsewhere")
    return f"{' '.join(map(shlex.quote, words))} >/dev/null 2>&1 || true"


def shared_hook_command() -> str:
    """The same for settings that others share: any `steno` on the path, or nothing."""
    return "sh -c 'if command -v steno; then steno trace hook; fi; exit 0' >/dev/null 2>&1 || true"


def hooks_for(command: str, events: Mapping[str, int]) -> dict[str, Hook]:
    """The hook of each event, from the seconds that it may take."""
    return {event: {"type": "command", "command": command, "timeout": seconds} for event, seconds in events.items()}


def plan_install(path: Path, wanted: Mapping[str, Hook], environ: Mapping[str, str]) -> SettingsChange:
    """Replace our hooks in a settings file, or add them. Raises DiskError, UsageError."""
    change = plan_hooks(path, wanted, is_ours, _INSTALL)
    return replace(change, warnings=tuple(_warnings(change.settings_before(), environ)))


def plan_uninstall(path: Path, archive: Archive) -> SettingsChange:
    """Remove our hooks; the original is restored if nobody changed the file since. Raises DiskError, UsageError."""
    return as_before(plan_removal(path, is_ours, _UNINSTALL), archive, is_ours, _INSTALL)


def is_ours(hook: Hook) -> bool:
    """Whether a hook is ours, of any release and place."""
    return isinstance(hook.get("command"), str) and _OURS.search(hook["command"]) is not None


def is_installed(path: Path) -> bool:
    """Whether a settings file has our hooks; False if it cannot be read."""
    return bool(commands_in(path))


def commands_in(path: Path) -> set[str]:
    """What our hooks in a settings file run; nothing if it cannot be read."""
    return {hook["command"] for _, hook in hooks_of(path, is_ours)}


def _warnings(settings: Mapping[str, Any], environ: Mapping[str, str]) -> list[str]:
    """Names no value: it may be a key."""
    own = settings.get("env")
    variables = {**environ, **(own if isinstance(own, dict) else {})}
    warnings = []
    if _is_on(variables.get("CLAUDE_CODE_ENABLE_TELEMETRY")) and variables.get("OTEL_TRACES_EXPORTER", "none") not in (
        "",
        "none",
    ):
        warnings.append("Claude Code's own tracing is on (OTEL_TRACES_EXPORTER), so each turn would be traced twice")
    others = [
        event for event, hook in hooks_in(settings) if not is_ours(hook) and _OTHER_TRACERS.search(str(hook.get("command")))
    ]
    if others:
        warnings.append(f"another hook traces too ({', '.join(dict.fromkeys(others))}), so each turn would be traced twice")
    plugins = settings.get("enabledPlugins")
    for name, is_on in plugins.items() if isinstance(plugins, dict) else ():
        if is_on and name.partition("@")[0] == "stenograph":
            warnings.append(f"the plugin {name} reports the same events; use only one of them")
        elif is_on and _OTHER_TRACERS.search(name):
            warnings.append(f"the plugin {name} traces too, so each turn would be traced twice")
    if settings.get("disableAllHooks") is True:
        warnings.append("`disableAllHooks` is set, so no hook runs")
    return warnings


def _is_on(value: object) -> bool:
    return str(value if value is not None else "").strip().lower() in ("1", "true", "yes", "on")


def _can_be_written(word: str) -> bool:
    return word.isprintable()


#: Events with the timeout of their hooks in seconds. At the end of a session hooks add to what the user waits for.
EVENTS = {"Stop": 10, "StopFailure": 10, "SubagentStop": 10, "SessionStart": 10, "SessionEnd": 2, "PostCompact": 10}

_RELEASE = re.compile(r"\d+\.\d+\.\d+")


def oldest_release(home: Path, environ: Mapping[str, str]) -> str | None:
    """The older of the client on the path and the one that wrote the newest session of a home.

    None if neither is known, or if the release of the client on the path cannot be determined.
    """
    if client_of_unknown_release(environ) is not None:
        return None
    found = [release for release in (release_on_path(environ), _of_newest_session(home)) if release]
    return min(found, key=release_numbers, default=None)


def _of_newest_session(home: Path) -> str | None:
    try:
        for _, seen in islice(newest_record_first(find_sessions([home])), 5):
            if seen.release and _RELEASE.match(seen.release):
                return seen.release
    except (DiskError, UsageError):
        return None
    return None
