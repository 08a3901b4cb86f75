"""A shell command that the person runs with `!`: its output on the screen, and in the conversation as clients record it."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from collections.abc import Callable, Mapping
from pathlib import Path

from stenograph.records import write

#: Characters of an output that the model gets.
_LONGEST = 30_000


class ShellCommand:
    def __init__(self, command: str, cwd: Path, environment: Mapping[str, str]) -> None:
        self.command = command
        self._cwd = cwd
        self._environment = dict(environment)
        self.output = ""
        self.exit_code: int | None = None
        self.is_stopped = False
        self._process: asyncio.subprocess.Process | None = None

    async def run(self, grown: Callable[[], None]) -> None:
        """`grown` is called when there is more output."""
        self._process = await asyncio.create_subprocess_shell(
            self.command,
            cwd=self._cwd,
            env=self._environment,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
            start_new_session=True,
        )
        assert self._process.stdout is not None
        try:
            while data := await self._process.stdout.read(65536):
                self.output += data.decode("utf-8", "replace")
                grown()
            self.exit_code = await self._process.wait()
        finally:
            self.stop()

    def stop(self) -> None:
        if self._process is not None and self._process.returncode is None:
            self.is_stopped = True
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process.pid, signal.SIGTERM)

    def words(self) -> tuple[str, str, str]:
        """The lines that tell the model."""
        output = self.output if len(self.output) <= _LONGEST else f"{self.output[:_LONGEST]}\n… (cut off)"
        return write.shell_words(self.command, output.rstrip())
