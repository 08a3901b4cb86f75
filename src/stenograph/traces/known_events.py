"""Which events are reported, and the oldest release in use, whose client has to know them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from stenograph.client_settings import client_of_unknown_release, release_on_path
from stenograph.errors import DiskError, UsageError
from stenograph.releases import release_numbers
from stenograph.sessions import find_sessions, glance, newest_first

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
        for file in newest_first(find_sessions([home]))[:5]:
            release = glance(file.path).release
            if release and _RELEASE.match(release):
                return release
    except (DiskError, UsageError):
        return None
    return None
