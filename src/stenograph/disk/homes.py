"""Where clients keep their things: the config folders ("homes") and the `projects` folder in each.

In: the environment, and homes named by a user. Out: paths, which need not exist. Reads nothing but whether a folder is there.
"""

from __future__ import annotations

import os
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path


def default_homes(environ: Mapping[str, str]) -> list[Path]:
    """`$CLAUDE_CONFIG_DIR`, else those of `~/.claude` and `~/.config/claude` that exist, else `~/.claude`.

    The variable may hold several folders with commas between, as ccusage reads it. Clients take it as one folder and
    normalise it to NFC; so a folder that exists under the whole value wins over its parts.
    """
    if chosen := unicodedata.normalize("NFC", environ.get("CLAUDE_CONFIG_DIR", "")).strip():
        if Path(chosen).is_dir():
            return [Path(chosen)]
        if several := distinct_homes(Path(part.strip()) for part in chosen.split(",") if part.strip()):
            return several
    user = _user_folder(environ)
    usual = [user / ".claude", user / ".config" / "claude"]
    return distinct_homes(home for home in usual if home.is_dir()) or usual[:1]


def resolve_homes(explicit: Sequence[Path], environ: Mapping[str, str]) -> list[Path]:
    """The homes a user named, each once, or the default ones where none was named."""
    return distinct_homes(explicit) or default_homes(environ)


def projects_folder(home: Path) -> Path:
    """The folder that holds the project folders; `home` may be that folder itself."""
    projects = home / "projects"
    return home if home.name == "projects" and not projects.is_dir() else projects


def distinct_homes(homes: Iterable[Path]) -> list[Path]:
    """The homes, each once, as it was named first: a link to one, or its `projects` folder, is the same home."""
    found: dict[str, Path] = {}
    for home in homes:
        found.setdefault(os.path.realpath(projects_folder(home)), home)
    return list(found.values())


def _user_folder(environ: Mapping[str, str]) -> Path:
    # As the clients' runtime does: HOME everywhere but on Windows.
    named = environ.get("USERPROFILE" if os.name == "nt" else "HOME")
    return Path(named) if named else Path.home()
