"""Which hook events a client knows, and the release of the client on the path, read from its package or its path.

Measured in print mode: 2.0.76, 2.1.45, 2.1.75, 2.1.76 and 2.1.77 silently ignore a whole settings file, `env` included, if it
names an unknown event; 2.1.325 warns on stderr and uses the rest.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Mapping
from pathlib import Path

import msgspec

from stenograph.releases import first_with, release_numbers

_PACKAGE = "@anthropic-ai/claude-code"
_RELEASE = re.compile(r"\d+\.\d+\.\d+")


class _Package(msgspec.Struct):
    name: str = ""
    version: str = ""


#: The first release that knows an event; all others are older than any release that can be tested.
HOOK_EVENT_SINCE = {"PostCompact": first_with("knows_post_compact"), "StopFailure": first_with("knows_stop_failure")}


def events_known_to(release: str | None, events: Mapping[str, int]) -> dict[str, int]:
    """The events that a client of this release knows; None: those that every client knows."""
    numbers = release_numbers(release) if release else ()
    return {
        event: seconds
        for event, seconds in events.items()
        if event not in HOOK_EVENT_SINCE or numbers >= release_numbers(HOOK_EVENT_SINCE[event])
    }


def release_on_path(environ: Mapping[str, str]) -> str | None:
    """The release of the client on the path; None if there is none or it is unknown."""
    program = _program(environ)
    return None if program is None else _release_of(program)


def client_of_unknown_release(environ: Mapping[str, str]) -> Path | None:
    """The client on the path if its release is unknown, such as a wrapper script."""
    program = _program(environ)
    return program if program is not None and _release_of(program) is None else None


def _program(environ: Mapping[str, str]) -> Path | None:
    found = shutil.which("claude", path=environ.get("PATH"))
    return Path(found) if found is not None else None


def _release_of(found: Path) -> str | None:
    """npm puts a package beside the program; the client's own installer names a file by the release."""
    program = Path(os.path.realpath(found))
    for folder in list(program.parents)[:3]:
        try:
            package = msgspec.json.decode((folder / "package.json").read_bytes(), type=_Package)
        except (OSError, ValueError):  # msgspec's errors are ValueErrors
            continue
        if package.name == _PACKAGE and _RELEASE.match(package.version):
            return package.version
    return next((part for part in reversed(program.parts[-3:]) if _RELEASE.fullmatch(part)), None)
