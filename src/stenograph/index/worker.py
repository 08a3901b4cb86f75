"""`python -m stenograph.index.worker`: reads files for a process that writes a store.

In: tasks on stdin. Out: for each its rows on stdout, in pieces, or why it can't be read. Ends with its input.
"""

from __future__ import annotations

import gc
import os
import sys
import threading
from collections import deque
from typing import IO

from stenograph.errors import UnreadableError
from stenograph.index.reading import ReadTask, read_file
from stenograph.index.workers import pack, receive, write_all

# Rows that wait for the other process, in bytes: it takes none while it ends a transaction.
_HELD = 12_000_000


def main() -> None:
    serve(sys.stdin.buffer, sys.stdout.buffer)


def serve(tasks: IO[bytes], rows: IO[bytes]) -> None:
    gc.disable()  # what is made of a line is gone with the next one
    sender = _Sender(rows)
    while (task := receive(tasks)) is not None:
        _read(task, sender)
    sender.end()


def _read(task: ReadTask, sender: _Sender) -> None:
    try:
        read_file(task, sender.send)
    except UnreadableError as error:
        sender.send(error)
    gc.collect(0)


class _Sender:
    """Sends values while the next ones are made."""

    def __init__(self, pipe: IO[bytes]) -> None:
        self._pipe = pipe
        self._waiting: deque[bytes] = deque()
        self._size = 0
        self._change = threading.Condition()
        threading.Thread(target=self._write, daemon=True).start()

    def send(self, value: object) -> None:
        data = pack(value)
        with self._change:
            self._change.wait_for(lambda: self._size < _HELD)
            self._waiting.append(data)
            self._size += len(data)
            self._change.notify_all()

    def end(self) -> None:
        """Wait until all is sent."""
        with self._change:
            self._change.wait_for(lambda: not self._size)

    def _write(self) -> None:
        while True:
            with self._change:
                self._change.wait_for(lambda: self._waiting)
                data = self._waiting.popleft()
            try:
                write_all(self._pipe, data)
            except OSError:
                os._exit(1)  # nobody is left to send it to
            with self._change:
                self._size -= len(data)
                self._change.notify_all()


if __name__ == "__main__":
    main()
