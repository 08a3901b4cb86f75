"""Sessions and answers about them, kept while their files do not change: many readers of one session cost one reading."""

from __future__ import annotations

import gc
import os
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable, Sequence
from pathlib import Path
from typing import Generic, TypeVar

from msgspec import Struct

from stenograph.errors import StenographError
from stenograph.family import Family, read_family
from stenograph.sessions import load_file
from stenograph.turns import Session

#: Bytes of files whose sessions are kept; the newest one is kept whatever its size.
_KEPT_BYTES = 64 << 20
#: Bytes of answers that are kept.
_ANSWER_BYTES = 16 << 20
#: Sessions of which it is kept what was found.
_MOST_VERDICTS = 1000
#: What a page was made of is cyclic garbage once it is rendered: large, but too few objects to trigger a collection. One is
#: started after so many answers.
_ANSWERS_PER_COLLECTION = 50
#: A live session changes faster than it can be drawn: an answer is good for so many times as long as it took, and for so many
#: seconds at most. Pages ask later than that after they heard of a change.
_FRESH = 9.0
_LONGEST_FRESH = 0.3

#: Of each file: path, inode, size and time.
Stamp = tuple[tuple[str, int, int, int], ...]
T = TypeVar("T")


class _Kept(Struct):
    stamp: Stamp
    session: Session
    size: int


class SessionCache:
    """Sessions by their files. One thread loads a session while others wait for it."""

    def __init__(self, kept_bytes: int = _KEPT_BYTES, family: Callable[[Path], Family] = read_family) -> None:
        """`family`: the files of a session that may be read."""
        self._kept_bytes = kept_bytes
        self._family = family
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
            before = kept.session if kept is not None and _only_grew(kept.stamp, stamp) else None
            session = load_file(path, before, self._family(path))
            del kept, before
            with self._lock:
                self._keep(path, _Kept(stamp, session, sum(size for _, _, size, _ in stamp)))
        return session

    def has(self, path: Path) -> bool:
        """Whether a session is kept; its files may have changed since."""
        with self._lock:
            return path in self._sessions

    def _keep(self, path: Path, kept: _Kept) -> None:
        self._sessions[path] = kept
        while len(self._sessions) > 1 and sum(each.size for each in self._sessions.values()) > self._kept_bytes:
            oldest, _ = self._sessions.popitem(last=False)
            self._loading.pop(oldest, None)


class VerdictCache(Generic[T]):
    """What takes long to find out about a session, kept while its files are the same."""

    def __init__(self, find: Callable[[Path], T]) -> None:
        self._find = find
        self._kept: OrderedDict[Path, tuple[Stamp, T]] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, paths: Sequence[Path], seconds: float) -> dict[Path, T]:
        """What is known of some sessions, and of as many others as can be looked at in so many seconds, but one at least."""
        found: dict[Path, T] = {}
        until = None
        for path in paths:
            try:
                stamp = stamp_of(path)
            except StenographError:
                stamp = None
            with self._lock:
                kept = self._kept.get(path)
            if kept is not None and kept[0] == stamp:
                found[path] = kept[1]
            elif until is None or time.monotonic() < until:
                until = until or time.monotonic() + seconds
                found[path] = self._find(path)
                if stamp is not None:
                    self._keep(path, stamp, found[path])
        return found

    def _keep(self, path: Path, stamp: Stamp, verdict: T) -> None:
        with self._lock:
            self._kept[path] = stamp, verdict
            self._kept.move_to_end(path)
            while len(self._kept) > _MOST_VERDICTS:
                self._kept.popitem(last=False)


def stamp_of(path: Path) -> Stamp:
    """What changes when a file of a session's family does. Raises UnreadableError."""
    family = read_family(path)
    paths = [path, *(agent.path for agent in family.agents), *(agent.meta for agent in family.agents if agent.meta)]
    return tuple(_state(each) for each in paths)


def _only_grew(before: Stamp, now: Stamp) -> bool:
    """Whether the files are the same ones, each as it was or longer: lines of one that was edited may be others."""
    known = {name: state for name, *state in before}
    return all(
        name not in known or [inode, size, changed] == known[name] or (inode == known[name][0] and size > known[name][1])
        for name, inode, size, changed in now
    )


def _state(path: Path) -> tuple[str, int, int, int]:
    try:
        found = os.stat(path)  # noqa: PTH116
    except OSError:
        return os.fspath(path), 0, -1, 0
    return os.fspath(path), found.st_ino, found.st_size, found.st_mtime_ns


class _Answer(Struct):
    state: Hashable
    body: bytes
    #: Until then it is sent although the session has changed.
    fresh_until: float


class AnswerCache:
    """Answers about sessions, as they were sent. One thread makes an answer while others wait for it."""

    def __init__(self, kept_bytes: int = _ANSWER_BYTES) -> None:
        self._kept_bytes = kept_bytes
        self._size = 0
        self._answers: OrderedDict[Hashable, _Answer] = OrderedDict()
        self._lock = threading.Lock()
        self._making: dict[Hashable, threading.Lock] = {}
        self._made = 0

    def get(self, key: Hashable, state: Hashable, make: Callable[[], bytes]) -> bytes:
        """The answer for a key, made anew where it was made in another state."""
        with self._lock:
            making = self._making.setdefault(key, threading.Lock())
        try:
            with making:
                with self._lock:
                    known = self._answers.get(key)
                    if known is not None and (known.state == state or time.monotonic() < known.fresh_until):
                        self._answers.move_to_end(key)
                        return known.body
                begun = time.monotonic()
                body = make()
                ended = time.monotonic()
                with self._lock:
                    self._keep(key, _Answer(state, body, ended + min(_LONGEST_FRESH, _FRESH * (ended - begun))))
                    self._made += 1
                    is_due = not self._made % _ANSWERS_PER_COLLECTION
        finally:
            with self._lock:
                self._making.pop(key, None)
        if is_due:  # who waits for the same answer has it by now
            gc.collect()
        return body

    def clear(self) -> None:
        """Forget all: something was changed by who asks next."""
        with self._lock:
            self._answers.clear()
            self._size = 0

    def _keep(self, key: Hashable, answer: _Answer) -> None:
        self._forget(key)
        if len(answer.body) > self._kept_bytes // 4:
            return
        self._answers[key] = answer
        self._size += len(answer.body)
        while self._size > self._kept_bytes:
            self._forget(next(iter(self._answers)))

    def _forget(self, key: Hashable) -> None:
        if (old := self._answers.pop(key, None)) is not None:
            self._size -= len(old.body)
