"""The directory of traces: spool, state, locks and the masking key."""

from __future__ import annotations

import contextlib
import secrets
from collections.abc import Iterator, Mapping
from pathlib import Path

from stenograph.config import trace_folder
from stenograph.disk import lock, make_folder, remove_file, write_atomically
from stenograph.errors import BusyError, UnwritableError, UsageError
from stenograph.traces.hook import SPOOL, WORKER_LOCK

_KEY_BYTES = 32
#: A hook takes a second at most.
_LEFTOVER_SECONDS = 3600.0


def default_trace_folder(environ: Mapping[str, str]) -> Path:
    """The directory of traces, which need not exist. Raises UsageError if the user has no directory."""
    folder = trace_folder(environ)
    if folder is None:
        raise UsageError("cannot find a directory for the tracing state; set HOME or XDG_STATE_HOME")
    return folder


def spool_folder(folder: Path) -> Path:
    return folder / SPOOL


def worker_lock(folder: Path) -> Path:
    return folder / WORKER_LOCK


def waiting_events(folder: Path) -> list[Path]:
    """Events that no worker has read yet, oldest first."""
    try:
        return sorted(path for path in spool_folder(folder).iterdir() if path.suffix == ".json" and path.is_file())
    except OSError:
        return []


def clear_leftovers(folder: Path, now: float) -> None:
    """Delete files that killed hooks left half written."""
    with contextlib.suppress(OSError, UnwritableError):
        for path in spool_folder(folder).glob(".*.tmp"):
            if now - path.stat().st_mtime > _LEFTOVER_SECONDS:
                remove_file(path)


@contextlib.contextmanager
def alone(folder: Path, timeout: float = 0.0) -> Iterator[None]:
    """Hold the worker's lock. Raises BusyError if another process holds it, UnwritableError."""
    with lock(worker_lock(folder), timeout=timeout, create=True):
        yield


def is_held(folder: Path) -> bool:
    """Whether a worker is running."""
    try:
        with alone(folder):
            return False
    except BusyError:
        return True


def mask_key(folder: Path) -> bytes:
    """The key that makes placeholders of secrets equal in all spans, and unguessable. Raises UnwritableError."""
    path = folder / "mask.key"
    make_folder(folder)
    try:
        with contextlib.suppress(FileNotFoundError):
            if len(key := path.read_bytes()) == _KEY_BYTES:
                return key
        # Atomically: with half a key placeholders could be guessed.
        write_atomically(path, secrets.token_bytes(_KEY_BYTES), mode=0o600)
        return path.read_bytes()
    except OSError as error:
        raise UnwritableError(f"cannot read {path}: {error.strerror}", path=path) from error
