"""`python -m stenograph.index.worker`: reads files for a process that writes a store.

In: tasks on stdin. Out: for each its rows on stdout, in pieces, or why it can't be read. Ends with its input.
"""

from __future__ import annotations

import gc
import sys
from functools import partial
from typing import IO, Any

from stenograph.errors import UnreadableError
from stenograph.index.reading import ReadTask, read_file
from stenograph.index.workers import receive, send


def main() -> None:
    serve(sys.stdin.buffer, sys.stdout.buffer)


def serve(tasks: IO[bytes], rows: IO[bytes]) -> None:
    gc.disable()  # what is made of a line is gone with the next one
    while (task := receive(tasks)) is not None:
        _read(task, rows)


def _read(task: ReadTask, rows: IO[bytes]) -> None:
    emit: Any = partial(send, rows)
    try:
        read_file(task, emit)
    except UnreadableError as error:
        emit(error)
    gc.collect(0)


if __name__ == "__main__":
    main()
