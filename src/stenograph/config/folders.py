"""Our own directories, by the XDG specification, and on Windows below the user's application data.

Paths need not exist; None if the user has no directory. Relative paths in variables are ignored, as the specification says.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path


def config_folder(environ: Mapping[str, str]) -> Path | None:
    return _own_folder(environ, "XDG_CONFIG_HOME", "APPDATA", ".config")


def data_folder(environ: Mapping[str, str]) -> Path | None:
    return _own_folder(environ, "XDG_DATA_HOME", "LOCALAPPDATA", ".local/share")


def state_folder(environ: Mapping[str, str]) -> Path | None:
    return _own_folder(environ, "XDG_STATE_HOME", "LOCALAPPDATA", ".local/state")


def cache_folder(environ: Mapping[str, str]) -> Path | None:
    return _own_folder(environ, "XDG_CACHE_HOME", "LOCALAPPDATA", ".cache")


def _own_folder(environ: Mapping[str, str], variable: str, windows: str, below_home: str) -> Path | None:
    named = [environ.get(variable, ""), environ.get(windows, "") if sys.platform == "win32" else ""]
    user = environ.get("HOME") or os.path.expanduser("~")  # noqa: PTH111 - Path.home raises
    for base in (*named, os.path.join(user, below_home)):  # noqa: PTH118 - text, as the variables are
        if os.path.isabs(base):  # noqa: PTH117 - text, as the variables are
            return Path(base) / "stenograph"
    return None
