"""A server program of a test: started at a free port, awaited, and killed in the end."""

from __future__ import annotations

import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

#: Seconds that a program has to listen.
_PATIENCE = 20.0


@contextmanager
def serving(command: Callable[[int], Sequence[str]]) -> Iterator[int]:
    """Its port on loopback, for which `command` says what to run. Raises AssertionError if nothing listens there."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    with tempfile.TemporaryFile() as errors:
        process = subprocess.Popen(command(port), stdout=subprocess.DEVNULL, stderr=errors)
        try:
            deadline = time.monotonic() + _PATIENCE
            while not _is_listening(port):
                if process.poll() is not None or time.monotonic() >= deadline:
                    errors.seek(0)
                    raise AssertionError(f"no server at port {port}: {errors.read().decode()[-2000:]}")
                time.sleep(0.05)
            yield port
        finally:
            process.kill()
            process.wait()


def _is_listening(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0
