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
#: Bytes of each of its outputs that are kept.
_MOST_OUTPUT = 4 * 1024 * 1024
#: Seconds for its outputs to close once it was killed: something it started may have left its process group.
_TO_CLOSE = 1.0


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
    talking = asyncio.ensure_future(_communicate(process, given))
    try:
        # Not wait_for: it would leave output unread, and then the end of the process goes unnoticed.
        await asyncio.wait({talking}, timeout=hook.timeout)
        has_timed_out = not talking.done()
    finally:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
        await asyncio.wait({talking}, timeout=_TO_CLOSE)
        talking.cancel()
    if has_timed_out:
        return HookRun(hook=hook, exit_code=-1, duration_ms=_since(began), has_timed_out=True)
    out, err = talking.result()
    text = out.decode("utf-8", "replace")
    return HookRun(
        hook=hook,
        exit_code=process.returncode or 0,
        stdout=text,
        stderr=err.decode("utf-8", "replace"),
        duration_ms=_since(began),
        answer=_object(text),
    )


async def _communicate(process: asyncio.subprocess.Process, given: bytes) -> tuple[bytes, bytes]:
    """As the process's own, but what is beyond a bound is read and forgotten: a hook may print without end."""
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stderr is not None
    _, out, err = await asyncio.gather(
        _write(process.stdin, given), _read_beginning(process.stdout), _read_beginning(process.stderr)
    )
    await process.wait()
    return out, err


async def _write(stream: asyncio.StreamWriter, given: bytes) -> None:
    with contextlib.suppress(BrokenPipeError, ConnectionResetError):
        stream.write(given)
        await stream.drain()
    stream.close()


async def _read_beginning(stream: asyncio.StreamReader) -> bytes:
    kept = bytearray()
    while piece := await stream.read(65_536):
        kept += piece[: _MOST_OUTPUT - len(kept)]
    return bytes(kept)


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
