"""A client in print mode that takes one prompt after another: messages go in, its stream of JSON lines comes out.

In: a command, an environment, prompts. Out: the client's lines, read until the one that ends a turn. Every wait has an end.
Knows of the stream only that a line of type `result` ends a turn.
"""

from __future__ import annotations

import contextlib
import json
import os
import queue
import signal
import subprocess
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType

from stenograph.testing.scripted_api import Json

ARGUMENTS = ("-p", "--input-format", "stream-json", "--output-format", "stream-json", "--verbose")


class NoAnswerError(AssertionError):
    """A turn did not end in time, or the client ended first."""


class Talk:
    """A context manager; leaving it closes the client's input and waits for its end."""

    def __init__(
        self, program: Path, *, cwd: Path, environment: Mapping[str, str], args: Sequence[str] = (), farewell: float = 10.0
    ) -> None:
        self._command = [str(program), *ARGUMENTS, *args]
        self._cwd, self._environment, self._farewell = cwd, dict(environment), farewell
        self._lines: queue.Queue[Json | None] = queue.Queue()

    def __enter__(self) -> Talk:
        self._process = subprocess.Popen(
            self._command,
            cwd=self._cwd,
            env=self._environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        assert self._process.stdin is not None
        with contextlib.suppress(OSError):
            self._process.stdin.close()
        try:
            self._process.wait(self._farewell)
        except subprocess.TimeoutExpired:
            pass
        finally:
            # What a client started in the background is in its group.
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
        self._reader.join()
        assert self._process.stdout is not None
        self._process.stdout.close()

    def tell(self, content: str | list[Json], timeout: float = 30.0) -> Json:
        """Send a prompt; the `result` line that ends its turn. Raises NoAnswerError."""
        self.send({"type": "user", "message": {"role": "user", "content": content}})
        return self.wait_for("result", timeout)

    def send(self, message: Json) -> None:
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(json.dumps(message).encode() + b"\n")
            self._process.stdin.flush()
        except OSError:
            raise NoAnswerError("the client ended before it was told") from None

    def wait_for(self, kind: str, timeout: float = 30.0) -> Json:
        """The next line of a type."""
        deadline = time.monotonic() + timeout
        while True:
            try:
                line = self._lines.get(timeout=max(0.0, deadline - time.monotonic()))
            except queue.Empty:
                raise NoAnswerError(f"no {kind} line in {timeout:.0f} s") from None
            if line is None:
                raise NoAnswerError(f"the client ended before a {kind} line")
            if line.get("type") == kind:
                return line

    def _read(self) -> None:
        assert self._process.stdout is not None
        for raw in self._process.stdout:
            with contextlib.suppress(ValueError):
                line = json.loads(raw)
                if isinstance(line, dict):
                    self._lines.put(line)
        self._lines.put(None)
