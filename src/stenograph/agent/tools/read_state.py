"""What the model has seen of which file, so that it can't overwrite what it has not."""

from __future__ import annotations

import os
from pathlib import Path

import msgspec


class Seen(msgspec.Struct, frozen=True):
    mtime_ns: int
    size: int
    #: None for images and the like.
    text: str | None
    #: A part does not count as having read the file.
    is_partial: bool = False
    #: (offset, limit)
    part: tuple[int, int | None] | None = None


class ReadState:
    """One a conversation; a sub-agent starts with an empty one."""

    def __init__(self) -> None:
        self._seen: dict[Path, Seen] = {}
        self._fresh: list[Path] = []

    def note(self, path: Path, text: str | None, *, is_partial: bool = False, part: tuple[int, int | None] | None = None) -> None:
        status = path.stat()
        self._seen[self._key(path)] = Seen(status.st_mtime_ns, status.st_size, text, is_partial, part)
        self._fresh.append(path)

    def take_fresh(self) -> list[Path]:
        """What was seen since the last call."""
        fresh, self._fresh = self._fresh, []
        return fresh

    def seen(self, path: Path) -> Seen | None:
        return self._seen.get(self._key(path))

    def is_stale(self, path: Path) -> bool:
        """Whether a seen file has changed by time or size, or is gone."""
        seen = self.seen(path)
        if seen is None:
            return False
        try:
            status = path.stat()
        except OSError:
            return True
        return (status.st_mtime_ns, status.st_size) != (seen.mtime_ns, seen.size)

    @staticmethod
    def _key(path: Path) -> Path:
        return Path(os.path.realpath(path))
