"""Signs of life on stderr for what takes longer than a second; nothing where stderr is no terminal that can redraw a line."""

from __future__ import annotations

import contextlib
import os
import sys
import time
from collections.abc import Callable, Iterator

PATIENCE = 1.0
_REDRAW = 0.1
_COLUMNS = 30


@contextlib.contextmanager
def progress(label: str) -> Iterator[Callable[[int, int], None] | None]:
    """A function to call with the work done and the work there is, or None where nobody would see it."""
    if not _is_watched() or os.environ.get("TERM") == "dumb":
        yield None
        return
    started = time.monotonic()
    drawn = 0.0

    def show(done: int, total: int) -> None:
        nonlocal drawn
        now = time.monotonic()
        if now - started < PATIENCE or now - drawn < _REDRAW:
            return
        drawn = now
        share = min(1.0, done / total) if total else 1.0
        filled = int(share * _COLUMNS)
        sys.stderr.write(f"\r{label} [{'#' * filled}{'-' * (_COLUMNS - filled)}] {share:4.0%}")
        sys.stderr.flush()

    try:
        yield show
    finally:
        if drawn:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()


@contextlib.contextmanager
def waiting(for_what: str) -> Iterator[None]:
    """Says `waiting for ...` once, where what is done inside takes longer than a second."""
    if not _is_watched():
        yield
        return
    import threading

    def say() -> None:
        sys.stderr.write(f"waiting for {for_what}\n")
        sys.stderr.flush()

    timer = threading.Timer(PATIENCE, say)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def _is_watched() -> bool:
    return sys.stderr is not None and sys.stderr.isatty()
