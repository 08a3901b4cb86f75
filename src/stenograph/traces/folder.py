"""Where traces keep their spool, state and locks.

In: the environment. Out: paths, which need not exist, and what is done with the files there. The rules are those of `hook`,
which has to work without this package.
"""

from __future__ import annotations

import contextlib
import os
import secrets
from collections.abc import Iterator, Mapping
from pathlib import Path

from stenograph.disk import lock
from stenograph.errors import BusyError, UnwritableError, UsageError
from stenograph.traces.hook import SPOOL, WORKER_LOCK, trace_folder

_KEY_BYTES = 32
#: A hook takes a second at most.
_LEFTOVER_SECONDS = 3600.0


def default_trace_folder(environ: Mapping[str, str]) -> Path:
    """`$XDG_STATE_HOME/stenograph/traces`, else below `%LOCALAPPDATA%` on Windows and `~/.local/state` elsewhere.

    Raises UsageError where there is no user's folder.
    """
    folder = trace_folder(environ)
    if folder is None:
        raise UsageError("there is no user's folder to keep the state of traces in: set HOME or XDG_STATE_HOME")
    return Path(folder)


def spool_folder(folder: Path) -> Path:
    """Events that no worker has taken out yet, a JSON file each; sorted by name they are in the order in which they came."""
    return folder / SPOOL


def worker_lock(folder: Path) -> Path:
    """Whoever works holds a lock on this file."""
    return folder / WORKER_LOCK


def waiting_events(folder: Path) -> list[Path]:
    """What hooks noted and nobody has taken in yet, in the order in which it came."""
    try:
        return sorted(path for path in spool_folder(folder).iterdir() if path.suffix == ".json" and path.is_file())
    except OSError:
        return []


def clear_leftovers(folder: Path, now: float) -> None:
    """Delete what hooks that were killed left half written."""
    with contextlib.suppress(OSError):
        for path in spool_folder(folder).glob(".*.tmp"):
            if now - path.stat().st_mtime > _LEFTOVER_SECONDS:
                path.unlink(missing_ok=True)


def take_out(event: Path) -> None:
    """An event is seen to. Raises UnwritableError."""
    try:
        event.unlink(missing_ok=True)
    except OSError as error:
        raise UnwritableError(f"{event} can't be deleted: {error.strerror}", path=event) from error


@contextlib.contextmanager
def alone(folder: Path, timeout: float = 0.0) -> Iterator[None]:
    """Hold the worker's lock. Raises BusyError where another one does, UnwritableError."""
    path = worker_lock(folder)
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        path.touch(mode=0o600)
    except OSError as error:
        raise UnwritableError(f"{path} can't be written: {error.strerror}", path=path) from error
    with lock(path, timeout=timeout):
        yield


def is_held(folder: Path) -> bool:
    """Whether somebody is at work."""
    try:
        with alone(folder):
            return False
    except BusyError:
        return True


def mask_key(folder: Path) -> bytes:
    """What makes placeholders of secrets the same in every span and not to be guessed by a receiver; made when first asked for.

    Raises UnwritableError.
    """
    path = folder / "mask.key"
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with contextlib.suppress(FileNotFoundError):
            if len(key := path.read_bytes()) == _KEY_BYTES:
                return key
        # As a whole or not at all: with half a key placeholders could be guessed.
        unfinished = path.with_suffix(f".{os.getpid()}.tmp")
        unfinished.unlink(missing_ok=True)
        descriptor = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o600)
        try:
            os.write(descriptor, secrets.token_bytes(_KEY_BYTES))
        finally:
            os.close(descriptor)
        unfinished.replace(path)
        return path.read_bytes()
    except OSError as error:
        raise UnwritableError(f"{path} can't be written: {error.strerror}", path=path) from error
