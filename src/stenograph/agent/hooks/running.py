"""One hook: a command that gets JSON and answers by its exit code and by what it prints."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import time
from collections.abc import Mapping
from pathlib import Path

import msgspec
from msgspec import Struct

from stenograph.client_settings import HookCommand
from stenograph.records import Json

#: Its stderr is an objection.
BLOCKS = 2


class HookRun(Struct, frozen=True, kw_only=True):
    hook: HookCommand
    exit_code: int = 0
    stdout: str = ""
    stderr: str = ""
    duration_ms: int = 0
    has_timed_out: bool = False
    #: What it printed, if that is a JSON object.
    answer: Json | None = None

    @property
    def objection(self) -> str:
        return f"[{self.hook.command}]: {self.stderr}"

    def member(self, name: str) -> str:
        value = (self.answer or {}).get(name)
        return value if isinstance(value, str) else ""

    def special(self, event: str) -> Json:
        """What it says to this event alone."""
        value = (self.answer or {}).get("hookSpecificOutput")
        return value if isinstance(value, dict) and value.get("hookEventName") == event else {}


async def run_hook(hook: HookCommand, given: bytes, *, cwd: Path, environ: Mapping[str, str]) -> HookRun:
    """To its end or its timeout, which ends all that it started."""
    began = time.monotonic()
    try:
        process = await asyncio.create_subprocess_exec(
            *("/bin/sh", "-c", hook.command),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            cwd=cwd,
            env=dict(environ),
            start_new_session=True,
        )
    except (OSError, ValueError) as error:
        return HookRun(hook=hook, exit_code=1, stderr=f"it could not be started: {type(error).__name__}")
    try:
        out, err = await asyncio.wait_for(process.communicate(given), hook.timeout)
    except TimeoutError:
        return HookRun(hook=hook, exit_code=-1, duration_ms=_since(began), has_timed_out=True)
    finally:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
        if process.returncode is None:
            await process.wait()
    text = out.decode("utf-8", "replace")
    return HookRun(
        hook=hook,
        exit_code=process.returncode or 0,
        stdout=text,
        stderr=err.decode("utf-8", "replace"),
        duration_ms=_since(began),
        answer=_object(text),
    )


def _object(text: str) -> Json | None:
    if not text.lstrip().startswith("{"):
        return None
    try:
        value = msgspec.json.decode(text)
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


def _since(began: float) -> int:
    return round((time.monotonic() - began) * 1000)
