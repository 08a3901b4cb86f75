"""Where a client's settings are, and the JSON object that such a file holds."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from stenograph.errors import FieldError
from stenograph.records import parse

_SETTINGS, _LOCAL_SETTINGS = "settings.json", "settings.local.json"
_BYTE_ORDER_MARK = "\ufeff"


def home_settings(home: Path) -> Path:
    """The settings of a client's home, or of its `projects` directory."""
    return (home.parent if home.name == "projects" else home) / _SETTINGS


def project_settings(folder: Path) -> tuple[Path, Path]:
    """A project's settings: the shared ones, and the user's own."""
    return folder / ".claude" / _SETTINGS, folder / ".claude" / _LOCAL_SETTINGS


def settings_files(homes: Iterable[Path], folder: Path) -> list[Path]:
    """The settings that a client in a directory reads, each file once."""
    found = [*map(home_settings, homes), *project_settings(folder)]
    return list({os.path.realpath(path): path for path in reversed(found)}.values())[::-1]


def managed_settings(folder: Path | None = None) -> list[Path]:
    """Those of the machine, in the order in which they apply."""
    folder = folder or _managed_folder()
    try:
        parts = sorted(path for path in (folder / "managed-settings.d").iterdir() if path.suffix == ".json")
    except OSError:
        parts = []
    return [folder / "managed-settings.json", *parts]


def _managed_folder() -> Path:
    match sys.platform:
        case "darwin":
            return Path("/Library/Application Support/ClaudeCode")
        case "win32":
            return Path(r"C:\Program Files\ClaudeCode")
    return Path("/etc/claude-code")


def parse_object(text: str) -> dict[str, Any]:
    """The members of a settings file; empty for a blank one. Raises FieldError."""
    if not text.removeprefix(_BYTE_ORDER_MARK).strip():
        return {}
    try:
        settings = parse(text.encode())
    except (ValueError, RecursionError) as error:
        raise FieldError("it is not valid JSON") from error
    if not isinstance(settings, dict):
        raise FieldError("it is not a JSON object")
    return settings
