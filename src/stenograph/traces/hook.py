"""What a client runs at the end of each turn: write the event into the spool, make sure a worker runs, exit.

Silent and always exits with 0: exit code 2 would keep the client from stopping, any other shows an error. Keeps no word of the
conversation, only the sha256 of the last answer. Never opens a transcript, so its time does not depend on the size.

A standalone script for `python -I -S hook.py`: it imports nothing of this package and no slow module (`subprocess` 13 ms,
`signal` 5 ms; `json` takes 8 ms).

A worker holds a lock on `WORKER_LOCK`. It must read the spool once more after releasing the lock: an event that came in between
found the lock held and started no worker.
"""

# pathlib takes longer to import than everything here takes to run.
# ruff: noqa: PTH100, PTH102, PTH104, PTH108, PTH111, PTH112, PTH117, PTH118, PTH120, PTH208

from __future__ import annotations

import os
import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any, NoReturn

#: Bytes; clients send a few kB, the last answer included.
LARGEST_EVENT = 10_000_000
LONGEST_INPUT_SECONDS = 1.0
#: Beyond this many files nobody reads the spool, and events are dropped.
LARGEST_SPOOL = 10_000
SPOOL = "spool"
WORKER_LOCK = "worker.lock"

# The longest value of each field that is kept; `worker.HookEvent` reads them.
_KEPT = {"hook_event_name": 100, "transcript_path": 32_768}
_NO = ("", "0", "false", "no", "off")
# Last on the path, for a package that is run from its directory.
_WORK = (
    "import runpy, sys; sys.path.append(sys.argv.pop(1)); "
    "runpy.run_module('stenograph.traces.worker', run_name='__main__', alter_sys=True)"
)


def main() -> NoReturn:
    try:
        _be_silent()
        _report(os.environ)
    except BaseException:  # noqa: BLE001, S110 - the edge: nothing may reach the user's session, a MemoryError neither
        pass
    os._exit(0)


def _report(environ: Mapping[str, str]) -> None:
    if is_off(environ):
        return
    event = event_of(_read_input())
    folder = trace_folder(environ)
    if event is None or folder is None:
        return
    try:
        note_event(folder, event)
    finally:  # also when the spool is full: a worker empties it
        if not is_worker_running(folder):
            _start_worker()


def is_off(environ: Mapping[str, str]) -> bool:
    return environ.get("STENO_TRACE_OFF", "").strip().lower() not in _NO


def trace_folder(environ: Mapping[str, str]) -> str | None:
    """Where spool, state and locks are, as `config.trace_folder` has it; a relative path would differ per session."""
    base = environ.get("XDG_STATE_HOME", "")
    if not os.path.isabs(base) and sys.platform == "win32":
        base = environ.get("LOCALAPPDATA", "")
    if not os.path.isabs(base):
        user = environ.get("HOME") or os.path.expanduser("~")
        base = os.path.join(user, ".local", "state")
    return os.path.join(base, "stenograph", "traces") if os.path.isabs(base) else None


def event_of(data: bytes) -> dict[str, Any] | None:
    """What is kept of an event; None for anything else."""
    import json

    try:
        given = json.loads(data.decode("utf-8", "replace"))
    except (ValueError, RecursionError):
        return None
    if not isinstance(given, dict) or not isinstance(given.get("hook_event_name"), str):
        return None
    event: dict[str, Any] = {"received_ns": time.time_ns()}
    for name, longest in _KEPT.items():
        value = given.get(name)
        if isinstance(value, str) and len(value) <= longest:
            event[name] = value
    answer = given.get("last_assistant_message")
    if isinstance(answer, str):
        import hashlib

        event["answer_sha256"] = hashlib.sha256(answer.encode("utf-8", "surrogatepass")).hexdigest()
    return event


def note_event(folder: str, event: dict[str, Any]) -> None:
    """Write an event into the spool atomically, unless the spool is full. Raises OSError."""
    import json

    spool = os.path.join(folder, SPOOL)
    _make_private(spool)
    if len(os.listdir(spool)) >= LARGEST_SPOOL:
        return
    # Names sort by time.
    name = f"{event['received_ns']:020d}-{os.getpid()}-{os.urandom(4).hex()}"
    unfinished = os.path.join(spool, f".{name}.tmp")
    rest = json.dumps(event).encode()
    descriptor = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o600)
    try:
        try:
            while rest:
                rest = rest[os.write(descriptor, rest) :]
        finally:
            os.close(descriptor)
        os.rename(unfinished, os.path.join(spool, f"{name}.json"))
    except BaseException:
        os.unlink(unfinished)
        raise


def is_worker_running(folder: str) -> bool:
    """Raises OSError."""
    descriptor = os.open(os.path.join(folder, WORKER_LOCK), os.O_RDWR | os.O_CREAT, 0o600)
    try:
        _try_lock(descriptor)
    except (BlockingIOError, PermissionError):
        return True
    finally:
        os.close(descriptor)
    return False


if sys.platform == "win32":

    def _try_lock(descriptor: int) -> None:
        import msvcrt

        msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)

    def _read_input() -> bytes:
        import threading

        parts: list[bytes] = []

        def read() -> None:
            while sum(map(len, parts)) < LARGEST_EVENT and (part := os.read(0, 1 << 16)):
                parts.append(part)

        reading = threading.Thread(target=read, daemon=True)
        reading.start()
        reading.join(LONGEST_INPUT_SECONDS)
        return b"".join(parts)

    def _start_worker() -> None:
        import subprocess

        flags = subprocess.DETACHED_PROCESS | subprocess.CREATE_NEW_PROCESS_GROUP | subprocess.BELOW_NORMAL_PRIORITY_CLASS
        nowhere = subprocess.DEVNULL
        subprocess.Popen(_worker_command(), stdin=nowhere, stdout=nowhere, stderr=nowhere, creationflags=flags, cwd="\\")

    def _be_silent() -> None:
        nowhere = os.open(os.devnull, os.O_RDWR)
        os.dup2(nowhere, 1)
        os.dup2(nowhere, 2)

else:

    def _try_lock(descriptor: int) -> None:
        import fcntl

        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)

    def _read_input() -> bytes:
        """Standard input, as far as it arrives in time and is not too long. Raises OSError."""
        import select

        deadline = time.monotonic() + LONGEST_INPUT_SECONDS
        data = bytearray()
        while len(data) < LARGEST_EVENT:
            left = deadline - time.monotonic()
            if left <= 0 or not select.select([0], [], [], left)[0]:
                break
            part = os.read(0, min(1 << 16, LARGEST_EVENT - len(data)))
            if not part:
                break
            data += part
        return bytes(data)

    def _start_worker() -> None:
        """Start a worker that outlives the client, its terminal and this process. Raises OSError."""
        command = _worker_command()
        if os.fork():
            return
        try:
            os.setsid()
            os.chdir("/")  # the directory may go, or its disk be unmounted
            os.nice(10)
            nowhere = os.open(os.devnull, os.O_RDWR)
            for descriptor in (0, 1, 2):
                os.dup2(nowhere, descriptor)
            os.closerange(3, 4096)
            _let_signals_through()
            os.execv(command[0], command)
        finally:
            os._exit(0)

    def _be_silent() -> None:
        nowhere = os.open(os.devnull, os.O_RDWR)
        os.dup2(nowhere, 1)
        os.dup2(nowhere, 2)
        # A Ctrl-C in the terminal reaches the client's children too.
        for number in (_signal.SIGINT, _signal.SIGTERM, _signal.SIGHUP):
            _signal.signal(number, _signal.SIG_IGN)
        os.umask(0o077)

    def _let_signals_through() -> None:
        for number in (_signal.SIGINT, _signal.SIGTERM, _signal.SIGHUP):
            _signal.signal(number, _signal.SIG_DFL)

    if TYPE_CHECKING:
        import signal as _signal
    else:
        try:
            import _signal  # without the enums that `signal` makes of it
        except ImportError:
            import signal as _signal


def _worker_command() -> list[str]:
    # Not -I: the package may be in the user's site directory. PYTHON* variables belong to the user's project.
    package = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    return [sys.executable, "-E", "-P", "-c", _WORK, os.path.dirname(package)]


def _make_private(folder: str) -> None:
    """Make a directory and its parents, for the owner alone. Raises OSError."""
    if not os.path.isdir(folder):
        _make_private(os.path.dirname(folder))
        try:
            os.mkdir(folder, 0o700)
        except FileExistsError:  # another hook was faster
            if not os.path.isdir(folder):
                raise


if __name__ == "__main__":
    main()
