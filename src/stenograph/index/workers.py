"""Files -> their rows, read by other processes while this one writes: one core parses about 25 MB of sessions a second.

A file's rows are handed over together, so that whoever writes them can end a transaction between any two files.
"""

from __future__ import annotations

import contextlib
import io
import os
import pickle
import selectors
import signal
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Generator, Iterable, Iterator, Sequence
from typing import IO, Any

from msgspec import Struct

from stenograph.errors import UnreadableError
from stenograph.index.reading import Emit, FileReading, FileRows, ReadTask, read_here

#: Other processes take longer to start than they save where there is less to read, in bytes.
MUCH = 24_000_000
_MOST = 4
# Tasks that a worker has waiting, so that it never waits itself: more where they are small, but never more than fit into a pipe.
_AHEAD = range(3, 16)
_BYTES_AHEAD = 8_000_000
# A longer file is handed over while it is read, in characters: nobody holds a gigabyte.
_HELD = 8_000_000
_LENGTH = 8
_PIPE = 1 << 20


def read_beside(tasks: Iterable[ReadTask]) -> Generator[FileReading, None, None]:
    """Each file in some other process, in any order; in this one where none can be started."""
    workers = list(_start(min(_MOST, _cores())))
    if not workers:
        yield from read_here(tasks)
        return
    try:
        yield from _Workers(workers, iter(tasks)).readings()
    finally:
        for worker in workers:
            worker.end()


def can_read_beside() -> bool:
    """Whether there is a second core, and a system where one can wait for several pipes."""
    return os.name == "posix" and _cores() > 1


def pack(value: object) -> bytes:
    """A value as it is sent."""
    data = pickle.dumps(value, protocol=pickle.HIGHEST_PROTOCOL)
    return len(data).to_bytes(_LENGTH, "big") + data


def write_all(pipe: IO[bytes], data: bytes) -> None:
    rest = memoryview(data)
    while rest:  # a pipe takes what fits
        rest = rest[pipe.write(rest) :]
    pipe.flush()


def receive(pipe: IO[bytes]) -> Any:
    """The next value that was sent; None at the end."""
    head = _read(pipe, _LENGTH)
    data = _read(pipe, int.from_bytes(head, "big")) if head else b""
    return pickle.loads(data) if data else None


def _read(pipe: IO[bytes], size: int) -> bytes | bytearray:
    """So many bytes; none where fewer come."""
    data = bytearray(size)
    rest = memoryview(data)
    while rest and (count := pipe.readinto(rest)):  # type: ignore[attr-defined]
        rest = rest[count:]
    return b"" if rest else data


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class _Process(Struct):
    """Another process that reads files: a copy of this one where that is safe, for it has imported everything already."""

    id: int
    tasks: IO[bytes]
    rows: IO[bytes]
    #: Where it was not copied.
    started: subprocess.Popen[bytes] | None = None

    def end(self) -> None:
        if self.started is not None:
            self.started.kill()
            self.started.wait()
        else:
            # Whoever started this process may have it ignore the ends of others: then nothing is left to wait for.
            with contextlib.suppress(ProcessLookupError, ChildProcessError):
                os.kill(self.id, signal.SIGKILL)
                os.waitpid(self.id, 0)
        self.tasks.close()
        self.rows.close()


def _start(count: int) -> Iterator[_Process]:
    begin = _copy if _can_copy() else _run
    started: list[_Process] = []
    for _ in range(count):
        try:
            process = begin(started)
        except OSError:
            return
        _widen(process.rows)
        _widen(process.tasks)
        started.append(process)
        yield process


def _can_copy() -> bool:
    """Whether this process can be copied: a lock that another thread holds would stay locked forever in the copy."""
    return sys.platform == "linux" and threading.active_count() == 1


def _run(_: Sequence[_Process]) -> _Process:
    command = [sys.executable, "-m", "stenograph.index.worker"]
    # Without buffers: what waits in one would not be seen by a selector.
    run = subprocess.Popen(command, bufsize=0, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    assert run.stdin is not None
    assert run.stdout is not None
    return _Process(run.pid, run.stdin, run.stdout, run)


def _copy(others: Sequence[_Process]) -> _Process:
    from stenograph import sessions, turns  # noqa: F401 - so that no copy has to import them
    from stenograph.index.worker import serve

    tasks, rows = os.pipe(), os.pipe()
    child = os.fork()
    if child:
        os.close(tasks[0])
        os.close(rows[1])
        return _Process(child, io.FileIO(tasks[1], "wb"), io.FileIO(rows[0], "rb"))
    try:
        # What only the other process may hold open: the end of a pipe is seen once all have closed it.
        for other in others:
            other.tasks.close()
            other.rows.close()
        os.close(tasks[1])
        os.close(rows[0])
        serve(io.FileIO(tasks[0], "rb"), io.FileIO(rows[1], "wb"))
    finally:
        os._exit(0)  # nothing of the other process is this one's to clean up


def _widen(pipe: Any) -> None:
    """Let more wait in a pipe, where the system can."""
    import fcntl

    if hasattr(fcntl, "F_SETPIPE_SZ"):
        try:
            fcntl.fcntl(pipe.fileno(), fcntl.F_SETPIPE_SZ, _PIPE)
        except OSError:
            return  # a limit of the system


class _Worker(Struct):
    process: _Process
    waiting: deque[ReadTask]
    #: Rows of the first task in `waiting` that came so far.
    rows: list[FileRows]
    characters: int = 0


class _Workers:
    def __init__(self, processes: list[_Process], tasks: Iterator[ReadTask]) -> None:
        self._tasks = tasks
        self._workers = [_Worker(process, deque(), []) for process in processes]

    def readings(self) -> Iterator[FileReading]:
        left: list[ReadTask] = []
        with selectors.DefaultSelector() as selector:
            for worker in self._workers:
                selector.register(worker.process.rows, selectors.EVENT_READ, worker)
                self._fill(worker)
            while any(worker.waiting for worker in self._workers):
                for key, _ in selector.select():
                    worker = key.data
                    value = receive(worker.process.rows)
                    if value is None:  # it died: what it had is read here
                        selector.unregister(key.fileobj)
                        left += worker.waiting
                        worker.waiting.clear()
                        continue
                    yield from self._take(worker, value)
        left += self._tasks
        yield from read_here(left)

    def _take(self, worker: _Worker, value: FileRows | UnreadableError) -> Iterator[FileReading]:
        if isinstance(value, FileRows):
            worker.rows.append(value)
            worker.characters += value.size
            if value.end is None and worker.characters < _HELD:
                return
        task, rows = worker.waiting.popleft(), worker.rows
        worker.rows, worker.characters = [], 0
        is_taken = False

        def read(emit: Emit) -> None:
            nonlocal is_taken
            is_taken = True
            for each in rows:
                emit(each)
            found: Any = value
            while isinstance(found, FileRows) and found.end is None:
                found = receive(worker.process.rows)
                if found is None:
                    raise UnreadableError(f"cannot read {task.path}: the process that read it ended", path=task.path)
                if isinstance(found, FileRows):
                    emit(found)
            if isinstance(found, UnreadableError):
                raise found

        if isinstance(value, FileRows) and value.end is not None:
            self._fill(worker)
        yield FileReading(task, read)
        if not is_taken:
            read(lambda _: None)
        self._fill(worker)

    def _wants_more(self, worker: _Worker) -> bool:
        count = len(worker.waiting)
        return count < _AHEAD.start or (count < _AHEAD.stop and sum(task.size for task in worker.waiting) < _BYTES_AHEAD)

    def _fill(self, worker: _Worker) -> None:
        while self._wants_more(worker) and (task := next(self._tasks, None)) is not None:
            worker.waiting.append(task)
            try:
                write_all(worker.process.tasks, pack(task))
            except BrokenPipeError:
                return  # its end is seen when it is read from
