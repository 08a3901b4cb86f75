"""Garbage collection while many lines are read."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def gc_paused() -> Iterator[None]:
    """Hundreds of thousands of values are made and all kept: looking for garbage among them costs a quarter more."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            if not gc.get_freeze_count():
                # Makes them old, so that the next young collection does not go through all of them.
                gc.freeze()
                gc.unfreeze()
            gc.enable()
