"""Loaded sessions, kept while their files do not change: many readers of one session cost one reading."""

from __future__ import annotations

import os
import threading
from collections import OrderedDict
from pathlib import Path

from msgspec import Struct

from stenograph.family import read_family
from stenograph.sessions import load_file
from stenograph.turns import Session

#: Bytes of files whose sessions are kept; the newest one is kept whatever its size.
_KEPT_BYTES = 64 << 20

Stamp = tuple[tuple[str, int, int], ...]


class _Kept(Struct):
    stamp: Stamp
    session: Session
    size: int


class SessionCache:
    """Sessions by their files. One thread loads a session while others wait for it."""

    def __init__(self, kept_bytes: int = _KEPT_BYTES) -> None:
        self._kept_bytes = kept_bytes
        self._sessions: OrderedDict[Path, _Kept] = OrderedDict()
        self._lock = threading.Lock()
        self._loading: dict[Path, threading.Lock] = {}

    def get(self, path: Path) -> Session:
        """The session as its files are now. Raises UnreadableError."""
        with self._lock:
            loading = self._loading.setdefault(path, threading.Lock())
        with loading:
            stamp = stamp_of(path)
            with self._lock:
                kept = self._sessions.get(path)
                if kept is not None and kept.stamp == stamp:
                    self._sessions.move_to_end(path)
                    return kept.session
                self._sessions.pop(path, None)
            session = load_file(path)
            with self._lock:
                self._keep(path, _Kept(stamp, session, sum(size for _, size, _ in stamp)))
        return session

    def _keep(self, path: Path, kept: _Kept) -> None:
        self._sessions[path] = kept
        while len(self._sessions) > 1 and sum(each.size for each in self._sessions.values()) > self._kept_bytes:
            oldest, _ = self._sessions.popitem(last=False)
            self._loading.pop(oldest, None)


def stamp_of(path: Path) -> Stamp:
    """What changes when a file of a session's family does. Raises UnreadableError."""
    family = read_family(path)
    paths = [path, *(agent.path for agent in family.agents), *(agent.meta for agent in family.agents if agent.meta)]
    return tuple(_state(each) for each in paths)


def _state(path: Path) -> tuple[str, int, int]:
    try:
        found = os.stat(path)  # noqa: PTH116
    except OSError:
        return os.fspath(path), -1, 0
    return os.fspath(path), found.st_size, found.st_mtime_ns
