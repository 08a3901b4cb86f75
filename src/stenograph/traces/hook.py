"""What a client runs at the end of each turn: note that something happened, see that a worker runs, be gone.

In: the event, as JSON on standard input. Out: a small file in the spool, and a worker on its own. Says nothing and ends with 0,
whatever happens: an exit code of 2 would keep the client from stopping, and any other shows an error to its user. Holds no word
of the conversation: of the last answer only its sha256 is noted. Never opens a transcript, so that it takes as long for a large
one as for a small one.

A plain script of the standard library alone, for `python -I -S hook.py`: it imports nothing of this package, and no module
that takes long to import (measured: `subprocess` 13 ms and `signal` 5 ms are not used; `json` takes 8 ms).

A worker holds a lock on `WORKER_LOCK` as long as it works. It has to look into the spool once more after it let go of the lock:
an event that came in between found the lock held, and started nobody.
"""

# pathlib takes longer to import than all that is done here.
# ruff: noqa: PTH100, PTH102, PTH104, PTH108, PTH111, PTH112, PTH117, PTH118, PTH120, PTH208

from __future__ import annotations

import os
import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any, NoReturn

#: Bytes of an event that are read; clients send a few kB, the last answer included.
LARGEST_EVENT = 10_000_000
#: Seconds to wait for an input that does not end.
LONGEST_INPUT_SECONDS = 1.0
#: Files in the spool beyond which events are no longer noted: nobody is taking them out.
LARGEST_SPOOL = 10_000
#: In the trace folder: the folder of events that no worker has taken out yet, and the file that a worker holds a lock on.
SPOOL = "spool"
WORKER_LOCK = "worker.lock"

# What is kept of an event as it came, with the longest value. `worker.Event` reads these, when it came and the answer's digest.
_KEPT = {"hook_event_name": 100, "transcript_path": 32_768}
_NO = ("", "0", "false", "no", "off")
# Behind everything else on the path, where the package is not installed for the interpreter but run from its folder.
_WORK = (
    "import runpy, sys; sys.path.append(sys.argv.pop(1)); "
    "runpy.run_module('stenograph.traces.worker', run_name='__main__', alter_sys=True)"
)


def main() -> NoReturn:
    """Note the event on standard input, and end the process with 0."""
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
    finally:  # also where the spool is full: a worker empties it
        if not is_worker_running(folder):
            _start_worker()


def is_off(environ: Mapping[str, str]) -> bool:
    return environ.get("STENO_TRACE_OFF", "").strip().lower() not in _NO


def trace_folder(environ: Mapping[str, str]) -> str | None:
    """Where spool, state and locks are; None where there is no user's folder.

    `$XDG_STATE_HOME/stenograph/traces`, else below `%LOCALAPPDATA%` on Windows and `~/.local/state` elsewhere. A relative path in
    a variable is passed over: it would mean another folder for each session.
    """
    base = environ.get("XDG_STATE_HOME", "")
    if not os.path.isabs(base) and sys.platform == "win32":
        base = environ.get("LOCALAPPDATA", "")
    if not os.path.isabs(base):
        user = environ.get("HOME") or os.path.expanduser("~")
        base = os.path.join(user, ".local", "state")
    return os.path.join(base, "stenograph", "traces") if os.path.isabs(base) else None


def event_of(data: bytes) -> dict[str, Any] | None:
    """What is kept of an event; None where it is none."""
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
    """Write an event into the spool, as a whole or not at all; not where the spool is full. Raises OSError."""
    import json

    spool = os.path.join(folder, SPOOL)
    _make_private(spool)
    if len(os.listdir(spool)) >= LARGEST_SPOOL:
        return
    # Sorted by name they are in the order in which they came, as far as the clock goes.
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
    """Whether somebody holds the worker's lock. Raises OSError."""
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
        """All of standard input, as far as it comes in time and is not too long. Raises OSError."""
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
            os.chdir("/")  # the working folder may go, or be on a disk that somebody wants to unmount
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
        """Nothing to stdout nor stderr, the interpreter's own words included; and no Ctrl-C in the middle."""
        nowhere = os.open(os.devnull, os.O_RDWR)
        os.dup2(nowhere, 1)
        os.dup2(nowhere, 2)
        # A Ctrl-C in the terminal reaches the client's children too; what is done here takes a second at most.
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
    # Not -I: the package may be installed for the user alone. PYTHON* variables are those of the user's project.
    package = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    return [sys.executable, "-E", "-P", "-c", _WORK, os.path.dirname(package)]


def _make_private(folder: str) -> None:
    """Make a folder, for its owner alone, with those above it. Raises OSError."""
    if not os.path.isdir(folder):
        _make_private(os.path.dirname(folder))
        try:
            os.mkdir(folder, 0o700)
        except FileExistsError:  # another hook was faster
            if not os.path.isdir(folder):
                raise


if __name__ == "__main__":
    main()
