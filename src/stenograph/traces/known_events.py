"""Which events a user's clients know: older clients take no notice of a settings file that names another.

In: the client's program and the newest session of a home. Out: the oldest release that is in use there, and the events it knows.
Nothing is run: a release stands in the package beside the program, or in the program's own path.

Asked in print mode, with an `env` in the same file: 2.0.76, 2.1.45, 2.1.75, 2.1.76 and 2.1.77 ignore a file with an event that
they do not know as a whole, `env` included, and say nothing; 2.1.325 tells on stderr and takes the rest.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Mapping
from pathlib import Path

import msgspec

from stenograph.errors import DiskError, UsageError
from stenograph.releases import release_numbers
from stenograph.sessions.find import find_sessions, newest_first
from stenograph.sessions.glance import glance

#: The events that are reported, with the seconds after which a client gives a hook up. What a hook may take at the end of a
#: session adds up to what the user waits for (docs of 2026-08: 1.5 s, more only where a settings file asks for it).
EVENTS = {"Stop": 10, "StopFailure": 10, "SubagentStop": 10, "SessionStart": 10, "SessionEnd": 2, "PostCompact": 10}

#: The first release that knows an event; those of the others are older than any that can be asked.
KNOWN_SINCE = {"PostCompact": "2.1.76", "StopFailure": "2.1.78"}

_PACKAGE = "@anthropic-ai/claude-code"
_RELEASE = re.compile(r"\d+\.\d+\.\d+")


class _Package(msgspec.Struct):
    name: str = ""
    version: str = ""


def events_known_to(release: str | None) -> dict[str, int]:
    """The events that a client of this release knows; where it is None, those that every client knows."""
    numbers = release_numbers(release) if release else ()
    return {
        event: seconds
        for event, seconds in EVENTS.items()
        if event not in KNOWN_SINCE or numbers >= release_numbers(KNOWN_SINCE[event])
    }


def oldest_release(home: Path, environ: Mapping[str, str]) -> str | None:
    """The older of the client on the path and the one that wrote the newest session of a home.

    None where neither is known, and where the release of the one on the path can't be told: a session was perhaps written by
    another.
    """
    if program_of_unknown_release(environ) is not None:
        return None
    program = _program(environ)
    found = [release for release in (program and _release_of(program), _of_newest_session(home)) if release]
    return min(found, key=release_numbers, default=None)


def program_of_unknown_release(environ: Mapping[str, str]) -> Path | None:
    """The client on the path where its release can't be told, such as a script that starts it; None where it can, or is none."""
    program = _program(environ)
    return program if program is not None and _release_of(program) is None else None


def _program(environ: Mapping[str, str]) -> Path | None:
    found = shutil.which("claude", path=environ.get("PATH"))
    return Path(found) if found is not None else None


def _release_of(found: Path) -> str | None:
    """Installed by npm it has its package beside it; by the client's own installer its release is the name of a file."""
    program = Path(os.path.realpath(found))
    for folder in list(program.parents)[:3]:
        try:
            package = msgspec.json.decode((folder / "package.json").read_bytes(), type=_Package)
        except (OSError, ValueError):  # msgspec's errors are ValueErrors
            continue
        if package.name == _PACKAGE and _RELEASE.match(package.version):
            return package.version
    return next((part for part in reversed(program.parts[-3:]) if _RELEASE.fullmatch(part)), None)


def _of_newest_session(home: Path) -> str | None:
    try:
        for file in newest_first(find_sessions([home]))[:5]:
            release = glance(file.path).release
            if release and _RELEASE.match(release):
                return release
    except (DiskError, UsageError):
        return None
    return None
