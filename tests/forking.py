"""`steno` in a process of its own without the wait for its imports: forked from one that has done them.

In: arguments, an environment, a working directory, three descriptors. Out: the exit code, of a process that shares nothing with
the test's. What an interpreter reads only when it starts (`PYTHON*`, the locale) can't be given this way: `can_fork` says so.

Run as a program, this file is that first process: it waits for requests on the socket whose descriptor it is given.
"""

from __future__ import annotations

import atexit
import importlib
import json
import os
import pkgutil
import runpy
import select
import signal
import socket
import struct
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NoReturn

SOURCE = Path(__file__).resolve().parent.parent / "src"
_LENGTH = struct.Struct("!I")
#: Loaded by few commands, and slowly.
_NOT_LOADED = (
    "stenograph.web",
    "stenograph.lake",
    "stenograph.mcp",
    "stenograph.testing",
    "stenograph.demo",
    "stenograph.__main__",
)

_server: socket.socket | None = None
_lock = threading.Lock()


def can_fork(environment: Mapping[str, str]) -> bool:
    return not any(name.startswith(("PYTHON", "LC_", "LANG")) for name in environment)


class Forked:
    """One run: its process id, and its exit code once it is over."""

    def __init__(
        self,
        arguments: Sequence[str],
        environment: Mapping[str, str],
        descriptors: tuple[int, int, int],
        *,
        cwd: Path | None = None,
        nobody: bool = False,
    ) -> None:
        told, tell = os.pipe()
        request = json.dumps([list(arguments), dict(environment), str(Path.cwd() / (cwd or "")), nobody]).encode()
        with _lock:
            server = _running_server()
            socket.send_fds(server, [_LENGTH.pack(len(request))], [*descriptors, tell])
            server.sendall(request)
        os.close(tell)
        self._told = told
        self.pid = _LENGTH.unpack(os.read(told, _LENGTH.size))[0]

    def wait(self, timeout: float) -> int:
        if not select.select([self._told], [], [], timeout)[0]:
            os.kill(self.pid, signal.SIGKILL)
            raise TimeoutError(f"still running after {timeout:.0f} s")
        status = int(os.read(self._told, 16))
        os.close(self._told)
        return os.waitstatus_to_exitcode(status)


def run_forked(
    arguments: Sequence[str],
    environment: Mapping[str, str],
    *,
    said: bytes | None = None,
    cwd: Path | None = None,
    nobody: bool = False,
) -> tuple[int, bytes, bytes]:
    """Exit code, stdout and stderr of a run in pipes; `said` is its input, no more than fits into a pipe."""
    (output, their_output), (errors, their_errors) = os.pipe(), os.pipe()
    if said is not None:
        their_input, to_say = os.pipe()
        os.set_blocking(to_say, False)
        assert os.write(to_say, said) == len(said)
        os.close(to_say)
    else:
        their_input = os.open(os.devnull, os.O_RDONLY)
    theirs = their_input, their_output, their_errors
    try:
        run = Forked(arguments, environment, theirs, cwd=cwd, nobody=nobody)
    finally:
        for descriptor in theirs:
            os.close(descriptor)
    complaints: list[bytes] = []
    other = threading.Thread(target=lambda: complaints.append(_all_of(errors)))
    other.start()
    printed = _all_of(output)
    other.join()
    return run.wait(60), printed, complaints[0]


def _all_of(descriptor: int) -> bytes:
    with open(descriptor, "rb") as file:
        return file.read()


def _running_server() -> socket.socket:
    global _server
    if _server is None:
        ours, theirs = socket.socketpair()
        environment = {**os.environ, "PYTHONPATH": str(SOURCE)}
        process = subprocess.Popen(
            [sys.executable, __file__, str(theirs.fileno())],
            pass_fds=[theirs.fileno()],
            stdin=subprocess.DEVNULL,
            env=environment,
            start_new_session=True,
        )
        theirs.close()
        atexit.register(process.wait)
        atexit.register(ours.close)  # the last to be registered is the first to be called
        _server = ours
    return _server


def _serve(requests: socket.socket) -> NoReturn:
    _load()
    wake, waker = os.pipe()
    os.set_blocking(waker, False)
    signal.set_wakeup_fd(waker, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    running: dict[int, int] = {}
    while True:
        ready, _, _ = select.select([requests.fileno(), wake], [], [])
        if wake in ready:
            os.read(wake, 4096)
            _tell_ends(running)
        if requests.fileno() in ready:
            head, descriptors, _, _ = socket.recv_fds(requests, _LENGTH.size, 4)
            if not head:
                os._exit(0)
            request = json.loads(_exactly(requests, _LENGTH.unpack(head)[0]))
            tell = descriptors.pop()
            child = os.fork()
            if not child:
                os.close(tell)
                requests.close()
                for descriptor in (*running.values(), wake, waker):
                    os.close(descriptor)
                _become(descriptors, *request)
            for descriptor in descriptors:
                os.close(descriptor)
            os.write(tell, _LENGTH.pack(child))
            running[child] = tell


def _tell_ends(running: dict[int, int]) -> None:
    while running:
        child, status = os.waitpid(-1, os.WNOHANG)
        if not child:
            break
        tell = running.pop(child)
        os.write(tell, b"%d" % status)
        os.close(tell)


def _exactly(requests: socket.socket, size: int) -> bytes:
    with requests.makefile("rb", buffering=0) as file:
        read = b""
        while len(read) < size:
            read += file.read(size - len(read))
        return read


def _load() -> None:
    import gc

    import stenograph.drift

    for module in pkgutil.walk_packages(stenograph.__path__, "stenograph.", onerror=lambda _: None):
        if not module.name.startswith(_NOT_LOADED):
            importlib.import_module(module.name)
    # What commands import while they run. As nobody, a test's process may be unable to read the interpreter's own files.
    for name in (
        "rich.console",
        "rich.table",
        "rich.markdown",
        "rich.syntax",
        "sqlite3",
        "difflib",
        "platform",
        "shutil",
        "tomllib",
    ):
        importlib.import_module(name)
    stenograph.drift.load_registry()
    gc.collect()
    gc.freeze()


def _become(descriptors: Sequence[int], arguments: Sequence[str], environment: dict[str, str], cwd: str, nobody: bool) -> None:
    """Be `python -m stenograph` with these arguments, as far as it can see."""
    import tempfile
    import time

    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    for number, descriptor in enumerate(descriptors):
        os.dup2(descriptor, number)
        os.close(descriptor)
    errors = (sys.stdin.errors, sys.stdout.errors, sys.stderr.errors)
    for name, number, mode in (("stdin", 0, "r"), ("stdout", 1, "w"), ("stderr", 2, "w")):
        stream = open(number, mode, encoding=sys.stdout.encoding, errors=errors[number], closefd=False)  # noqa: SIM115
        setattr(sys, name, stream)
        setattr(sys, f"__{name}__", stream)
    os.environ.clear()
    os.environ.update(environment)
    time.tzset()
    tempfile.tempdir = None
    os.chdir(cwd)
    if nobody and os.geteuid() == 0:
        os.setgroups([])
        os.setegid(65534)
        os.seteuid(65534)
    sys.argv = ["steno", *arguments]
    os._exit(_ended(lambda: runpy.run_module("stenograph", run_name="__main__", alter_sys=True)))


def _ended(program: Callable[[], object]) -> int:
    """The exit code of a program, everything done that an interpreter does at its end but taking its modules down: that would
    copy every page that is shared with the first process."""
    code: object = 0
    try:
        program()
    except SystemExit as exit_:
        code = exit_.code
    except BaseException:  # noqa: BLE001
        sys.excepthook(*sys.exc_info())
        code = 1
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    if not isinstance(code, int | None):
        sys.stderr.write(f"{code}\n")
        code = 1
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except OSError:
        code = 120
    return code or 0


if __name__ == "__main__":
    # Only what `-m` would find; not the directory of this file.
    del sys.path[0]
    _serve(socket.socket(fileno=int(sys.argv[1])))
