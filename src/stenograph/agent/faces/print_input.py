"""Prompts in print mode: an argument, text on stdin, or JSON lines on stdin."""

from __future__ import annotations

import asyncio
import os
import re
import threading
from collections.abc import AsyncIterator, Callable, Collection
from typing import Any, TypeAlias

import msgspec

from stenograph.errors import UsageError

Json: TypeAlias = dict[str, Any]
Prompt: TypeAlias = str | list[Json]

#: Seconds that a prompt waits for more on stdin: scripts leave it open and write nothing.
PATIENCE = 3.0
_CHUNK = 65536
_COMMAND = r"(?s)(/[A-Za-z][A-Za-z-]*)(?:\s+(.*))?"
_COMPACT = "/compact"


class _Message(msgspec.Struct):
    content: str | list[Json]
    role: str = "user"


class _Line(msgspec.Struct):
    type: str
    message: _Message | None = None


def whole_prompt(argument: str | None, descriptor: int | None, patience: float = PATIENCE, *, known: Collection[str] = ()) -> str:
    """The argument and stdin, joined by a newline as the client does. Raises UsageError without either.

    `descriptor` is None when stdin is a terminal.
    """
    piped = ""
    if descriptor is not None and (not argument or _has_something(descriptor, patience)):
        piped = _read_all(descriptor).decode("utf-8", errors="replace")
    prompt = "\n".join(part for part in (argument or "", piped) if part.strip())
    if not prompt:
        raise UsageError("no prompt; give one as an argument or on stdin")
    return command_in(prompt, known) or prompt


def command_in(prompt: str, known: Collection[str] = ()) -> str:
    """A prompt that is a command, as sessions spell it; empty for any other. `known`: the user's own commands.

    Raises UsageError for an unknown one.
    2.1.325 sends unknown commands to the model, which can do nothing with them and costs money. "/api returns 500" is a prompt.
    """
    found = re.fullmatch(_COMMAND, prompt.strip())
    if found is not None and found[1].removeprefix("/") in known:
        return prompt.strip()
    if found is None or (found[1] != _COMPACT and (found[2] or os.path.lexists(found[1]))):
        return ""
    if found[1] != _COMPACT:
        raise UsageError(f"unknown command {found[1]}; with -p, only {_COMPACT} and your own commands work")
    return f"{_COMPACT} {found[2] or ''}".strip()


async def one_prompt(prompt: Prompt) -> AsyncIterator[Prompt]:
    yield prompt


class LinePrompts:
    """Prompts from JSON lines: {"type": "user", "message": {"role": "user", "content": …}}. Other types are skipped.

    Lines of the control protocol go to `on_control` as they come, during a turn too. A malformed line ends the prompts, and
    `problem` says so without quoting it; earlier prompts are still answered.
    """

    def __init__(self, descriptor: int, known: Collection[str] = ()) -> None:
        """`known`: the user's own commands."""
        self._descriptor = descriptor
        self._known = known
        self.problem = ""
        self.on_control: Callable[[Json], None] | None = None
        self.on_end: Callable[[], None] | None = None
        self._lines: asyncio.Queue[bytes | None] = asyncio.Queue()
        self._count = 0

    def stop(self) -> None:
        while not self._lines.empty():
            self._lines.get_nowait()
        self._lines.put_nowait(None)

    def __aiter__(self) -> AsyncIterator[Prompt]:
        return self._prompts()

    async def _prompts(self) -> AsyncIterator[Prompt]:
        # A blocking read can't be cancelled, so a daemon thread does it: prompts arrive during a turn.
        threading.Thread(target=self._pump, args=(asyncio.get_running_loop(),), daemon=True).start()
        try:
            while (line := await self._lines.get()) is not None:
                self._count += 1
                prompt = self._read(line)
                if self.problem:
                    return
                if prompt is not None:
                    yield prompt
        finally:
            if self.on_end is not None:
                self.on_end()

    def _read(self, line: bytes) -> Prompt | None:
        if not line.strip():
            return None
        try:
            read = msgspec.json.decode(line, type=_Line)
        except (msgspec.DecodeError, UnicodeDecodeError):
            self.problem = f"line {self._count} on stdin is not a message: each must be a JSON object with `type` and `message`"
            return None
        if read.type.startswith("control_") and self.on_control is not None:
            self.on_control(msgspec.json.decode(line))
        if read.type != "user":
            return None
        if read.message is None or not _is_content(read.message.content):
            blocks = "a list of text, image and document blocks"
            self.problem = f"line {self._count} on stdin has no content: `message.content` must be a string, or {blocks}"
            return None
        if read.message.role != "user":
            self.problem = f"line {self._count} on stdin is not a prompt: the `role` of its message must be user"
            return None
        try:
            return _as_prompt(read.message.content, self._known)
        except UsageError as error:
            self.problem = f"line {self._count} on stdin cannot be sent: {error}"
            return None

    def _pump(self, loop: asyncio.AbstractEventLoop) -> None:
        begun: list[bytes] = []  # an unfinished line
        try:
            while data := os.read(self._descriptor, _CHUNK):
                *whole, rest = data.split(b"\n")
                for line in whole:
                    loop.call_soon_threadsafe(self._lines.put_nowait, b"".join([*begun, line]))
                    begun = []
                begun.append(rest)
            loop.call_soon_threadsafe(self._lines.put_nowait, b"".join(begun))
            loop.call_soon_threadsafe(self._lines.put_nowait, None)
        except OSError:  # stdin is closed
            loop.call_soon_threadsafe(self._lines.put_nowait, None)
        except RuntimeError:  # the session is over and its loop closed
            return


def _as_prompt(content: Prompt, known: Collection[str]) -> Prompt:
    """Raises UsageError for an unknown command."""
    if isinstance(content, str):
        return command_in(content, known) or content
    text = content[0].get("text") if len(content) == 1 else None
    return (isinstance(text, str) and command_in(text, known)) or content


def _is_content(content: str | list[Json]) -> bool:
    if isinstance(content, str):
        return bool(content.strip())
    return bool(content) and all(map(_is_said, content))


def _is_said(block: Json) -> bool:
    """Tool results, for one, are not for a user to give."""
    match block:
        case {"type": "text", "text": str(text)}:
            return bool(text.strip())
        case {"type": "image" | "document", "source": dict()}:
            return True
    return False


def _has_something(descriptor: int, patience: float) -> bool:
    import select

    try:
        return bool(select.select([descriptor], [], [], patience)[0])
    except (OSError, ValueError):  # Windows selects sockets only; a closed one has nothing
        return os.name == "nt"


def _read_all(descriptor: int) -> bytes:
    parts = []
    try:
        while data := os.read(descriptor, _CHUNK):
            parts.append(data)
    except OSError as error:
        raise UsageError(f"cannot read stdin: {error.strerror}") from error
    return b"".join(parts)
