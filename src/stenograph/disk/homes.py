"""Where clients keep things: the config directories ("homes") and `projects` in each. Paths need not exist."""

from __future__ import annotations

import os
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path


def default_homes(environ: Mapping[str, str]) -> list[Path]:
    """`$CLAUDE_CONFIG_DIR`, else those of `~/.claude` and `~/.config/claude` that exist, else `~/.claude`.

    The variable may list several directories with commas, as ccusage reads it. Clients take it as one directory, normalized to
    NFC, so a directory that exists under the whole value wins.
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
    """The homes a user named, each once, or the default ones."""
    return distinct_homes(explicit) or default_homes(environ)


def projects_folder(home: Path) -> Path:
    """The directory that holds the project directories; `home` may be that directory itself."""
    projects = home / "projects"
    return home if home.name == "projects" and not projects.is_dir() else projects


def distinct_homes(homes: Iterable[Path]) -> list[Path]:
    """The homes, each once, as first named: a link to one, or its `projects` directory, is the same home."""
    found: dict[str, Path] = {}
    for home in homes:
        found.setdefault(os.path.realpath(projects_folder(home)), home)
    return list(found.values())


def _user_folder(environ: Mapping[str, str]) -> Path:
    # As the clients' runtime does: HOME everywhere but on Windows.
    named = environ.get("USERPROFILE" if os.name == "nt" else "HOME")
    return Path(named) if named else Path.home()


def absolute_path(path: Path | str) -> Path:
    """From the root, without `..`. Links stay: they are part of the name."""
    return Path(os.path.abspath(path))  # noqa: PTH100 - `resolve` would follow links


def resolved_file(path: Path) -> Path:
    """The file that is meant: links are written through."""
    return Path(os.path.realpath(path)) if path.is_symlink() else absolute_path(path)
