"""Names of files made whole.

In: paths as they were named. Out: paths, which need not exist.
"""

from __future__ import annotations

import os
from pathlib import Path


def absolute_path(path: Path | str) -> Path:
    """From the root, without `..`. Links in it stay: they are a part of the name."""
    return Path(os.path.abspath(path))  # noqa: PTH100 - `resolve` would follow links


def resolved_file(path: Path) -> Path:
    """The file that is meant, whole: where the name is a link what it leads to, because a link is written through."""
    return Path(os.path.realpath(path)) if path.is_symlink() else absolute_path(path)
