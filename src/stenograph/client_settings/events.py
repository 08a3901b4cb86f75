"""Which events a client knows: older clients take no notice of a settings file that names another.

In: a release, or the client's program. Out: the events that it knows, and its release. Nothing is run: a release stands in the
package beside the program, or in the program's own path.

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

from stenograph.releases import first_with, release_numbers

_PACKAGE = "@anthropic-ai/claude-code"
_RELEASE = re.compile(r"\d+\.\d+\.\d+")


class _Package(msgspec.Struct):
    name: str = ""
    version: str = ""


#: The first release that knows a hook event; those of the others are older than any that can be asked.
HOOK_EVENT_SINCE = {"PostCompact": first_with("knows_post_compact"), "StopFailure": first_with("knows_stop_failure")}


def events_known_to(release: str | None, events: Mapping[str, int]) -> dict[str, int]:
    """Those of some events that a client of this release knows; where it is None, those that every client knows."""
    numbers = release_numbers(release) if release else ()
    return {
        event: seconds
        for event, seconds in events.items()
        if event not in HOOK_EVENT_SINCE or numbers >= release_numbers(HOOK_EVENT_SINCE[event])
    }


def release_on_path(environ: Mapping[str, str]) -> str | None:
    """The release of the client on the path; None where there is none, or it can't be told."""
    program = _program(environ)
    return None if program is None else _release_of(program)


def client_of_unknown_release(environ: Mapping[str, str]) -> Path | None:
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
