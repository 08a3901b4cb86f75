"""A progress bar on stderr for work that takes longer than a second; nothing where stderr is no terminal."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Callable, Iterator

PATIENCE = 1.0
_REDRAW = 0.1
_COLUMNS = 30


@contextlib.contextmanager
def progress(label: str) -> Iterator[Callable[[int, int], None] | None]:
    """A function to call with the work done and the work there is, or None where nobody would see it."""
    if not sys.stderr.isatty():
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
