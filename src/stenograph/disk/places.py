"""Names of files made whole, and where our own folders are.

In: paths as they were named, and the environment. Out: paths, which need not exist. `hook` has rules of its own for the state
folder: it has to work without this package.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path


def whole_path(path: Path | str) -> Path:
    """From the root, without `..`. Links in it stay: they are a part of the name."""
    return Path(os.path.abspath(path))  # noqa: PTH100 - `resolve` would follow links


def file_itself(path: Path) -> Path:
    """The file that is meant, whole: where the name is a link what it leads to, because a link is written through."""
    return Path(os.path.realpath(path)) if path.is_symlink() else whole_path(path)


def own_folder(environ: Mapping[str, str], variable: str, windows: str, below_home: str) -> Path | None:
    """Our folder below what a variable of XDG names, else on Windows another variable, else a folder in the user's own.

    None where there is no user's folder.
    """
    base = environ.get(variable, "") or (environ.get(windows, "") if sys.platform == "win32" else "")
    if base:
        return Path(base) / "stenograph"
    user = environ.get("HOME") or os.path.expanduser("~")  # noqa: PTH111 - Path.home raises
    return None if user == "~" else Path(user) / below_home / "stenograph"
