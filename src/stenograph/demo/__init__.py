"""The demo sessions: one archive, made by scripts/make_demo.py and unpacked into our cache directory when first shown."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from zlib import crc32

from stenograph.config import cache_folder
from stenograph.disk import make_folder, write_atomically
from stenograph.errors import UsageError

__all__ = ["demo_home", "unpack_demo"]

_ARCHIVE = Path(__file__).parent / "demo.tar.xz"
#: Written last.
_COMPLETE = "complete"


def demo_home(environ: Mapping[str, str]) -> Path:
    """Where the demo is once unpacked; its content is part of the name, so that releases do not share it. Raises UsageError."""
    folder = cache_folder(environ)
    if folder is None:
        raise UsageError("no user directory to unpack the demo in: set HOME or XDG_CACHE_HOME")
    return folder / f"demo-{crc32(_ARCHIVE.read_bytes()):08x}"


def unpack_demo(home: Path) -> Path:
    """Unpack the demo into a directory, unless it is there; returns the directory. Raises UnwritableError."""
    if (home / _COMPLETE).exists():
        return home
    import tarfile  # with lzma 15 ms, paid once

    with tarfile.open(name=_ARCHIVE, mode="r") as archive:
        for member in archive:
            content = archive.extractfile(member)
            if content is None or ".." in member.name:  # only files, and only below `home`
                continue
            path = home / member.name.lstrip("/")
            make_folder(path.parent)
            write_atomically(path, content.read(), sync=False)
            os.utime(path, (member.mtime, member.mtime))
    write_atomically(home / _COMPLETE, b"", sync=False)
    return home
