"""A lock that the system drops when its holder dies.

In: a path. Out: nobody else is inside at the same time. Windows has no such lock: there everybody gets in.
"""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Iterator
from pathlib import Path


@contextlib.contextmanager
def one_at_a_time(path: Path, timeout: float) -> Iterator[None]:
    """Holds the file at `path`, which stays. Raises TimeoutError when others do for longer than `timeout` seconds."""
    with path.open("a") as file:
        if sys.platform != "win32":
            import fcntl

            deadline = time.monotonic() + timeout
            while True:
                try:
                    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    break
                except BlockingIOError:
                    if time.monotonic() > deadline:
                        raise TimeoutError(f"{path.name} is held by another process") from None
                    time.sleep(0.05)
        yield
