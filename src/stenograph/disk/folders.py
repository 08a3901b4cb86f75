"""Directories: made for their owner alone, synced, removed when empty."""

from __future__ import annotations

import contextlib
import os
import sys
from pathlib import Path

from stenograph.disk.file_state import unwritable
from stenograph.errors import UnwritableError

_PRIVATE = 0o700


def missing_folders(folder: Path) -> list[Path]:
    """The directories that `make_folder` would make, the uppermost first."""
    missing: list[Path] = []
    while not os.path.lexists(folder):
        missing.insert(0, folder)
        folder = folder.parent
    return missing


def make_folder(folder: Path) -> None:
    """Make a directory, for its owner alone, with those above it. Raises UnwritableError."""
    for missing in missing_folders(folder):
        try:
            missing.mkdir(_PRIVATE, exist_ok=True)
            if (owner := owner_of(missing)) is not None:
                os.chown(missing, owner.st_uid, owner.st_gid)
        except OSError as error:
            raise unwritable(missing, error) from error
    if not os.path.isdir(folder):  # noqa: PTH112 - never raises
        raise UnwritableError(f"{folder} is not a directory", path=folder)


def remove_empty_folder(folder: Path) -> bool:
    """Remove an empty directory; False where it stays, for whatever reason."""
    try:
        folder.rmdir()
    except OSError:
        return False
    sync_folder(folder.parent)
    return True


def sync_folder(folder: Path) -> None:
    """Make new names in a directory last. The files are in place already, so a file system that can't is not a failure."""
    with contextlib.suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY | getattr(os, "O_CLOEXEC", 0))
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def owner_of(path: Path) -> os.stat_result | None:
    """Whose a new file is: the old one's owner; what root makes anew belongs to the owner of the directory."""
    if sys.platform == "win32":
        return None
    with contextlib.suppress(OSError):
        if path.is_file():
            return os.stat(path)  # noqa: PTH116
        if os.geteuid() == 0:
            return os.stat(path.parent)  # noqa: PTH116
    return None
