"""Bash: a command in a new shell, to its end or in the background.

Only the working directory survives a successful command, if it is inside the project. Notices are the clients' (2.0.76, 2.1.325).
"""

from __future__ import annotations

import asyncio
import os
import re
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar

from msgspec import Meta

from stenograph.agent.tools.base import Json, Tool, ToolContext, ToolFailed, ToolInput, ToolOutput, Workspace
from stenograph.agent.tools.shell import ENDLESS, CommandNotStarted, Shell, command_environment, start_shell
from stenograph.agent.tools.spill import LIMIT, spill, without_middle

if TYPE_CHECKING:
    from stenograph.agent.engine.background import BackgroundShell
    from stenograph.agent.permissions.shell_parts import Part

DEFAULT_TIMEOUT = 120_000
LONGEST_TIMEOUT = 600_000
#: Seconds: before the first progress, between two, between two that are equal.
_QUIET = 2.0
_BETWEEN = 1.0
_UNCHANGED = 5.0
#: Of the output that progress shows: last lines, lines, characters (2.1.14, 2.1.45).
_SHOWN = (5, 100, 10_000)
_BRACKET = re.compile(r"(\A|[;&|\n])\s*\[ ")
_LEADING_BLANK = re.compile(r"\A(?:[^\S\n]*\n)+")
#: Their exit code 1 is an answer.
_ANSWERS = {
    "grep": "No matches found",
    "egrep": "No matches found",
    "fgrep": "No matches found",
    "rg": "No matches found",
    "git grep": "No matches found",
    "diff": "Files differ",
    "git diff": "Files differ",
    "find": "Some directories were inaccessible",
    "test": "Condition is false",
}
#: Silent on success.
_SILENT = frozenset({"cd", "mkdir", "rmdir", "touch", "mv", "cp", "rm", "ln", "chmod", "chown", "chgrp", "export", "unset"})


class BashInput(ToolInput):
    command: Annotated[str, Meta(description="The command")]
    timeout: Annotated[int | float | None, Meta(description="Timeout in milliseconds; 120000 by default, at most 600000")] = None
    description: Annotated[str | None, Meta(description="What it does, in five to ten words")] = None
    run_in_background: Annotated[bool, Meta(description="Return at once; you are notified when the command ends")] = False


class _Detached(Exception):  # noqa: N818 - it is a way out, not an error
    """The user moved the command to the background."""

    def __init__(self, task: BackgroundShell) -> None:
        super().__init__(task.task_id)
        self.task = task


class Bash(Tool[BashInput]):
    name = "Bash"
    input_type = BashInput
    #: Long output goes to a file, and empty output is reported; 2.0 does neither.
    _spills: ClassVar[bool] = True

    def is_safe_beside_others(self, given: Json) -> bool:
        """Commands that only read are, as in the client."""
        from stenograph.agent.permissions.reading_commands import only_reads  # not before the first request

        command = given.get("command")
        return isinstance(command, str) and only_reads(command)

    async def run(self, given: BashInput, context: ToolContext) -> ToolOutput:
        notice = _found_folder(context.workspace)
        untrusted = context.workspace.folders if context.is_unruled else ()
        environment = command_environment(context.environ, context.environment, untrusted=untrusted)
        try:
            if given.run_in_background:
                return await self._start(given, context, environment)
            shell, timed_out, folder = await _run(given, context, environment)
        except _Detached as moved:
            return self._in_background(moved.task, "Command was manually backgrounded by user with ID", backgroundedByUser=True)
        except CommandNotStarted as reason:
            raise ToolFailed(str(reason)) from None
        except OSError as error:
            raise ToolFailed(f"The command could not be run: {error.strerror}") from None
        data = shell.output.read()
        text = _trimmed(data)
        code = shell.exit_code or 0
        if timed_out:
            raise _failed(143, f"Command timed out after {_duration(timed_out)}", text)
        if shell.is_endless:
            raise _failed(code, f"Command was ended: it wrote more than {ENDLESS // 1024**3} GB", text)
        from stenograph.agent.permissions.shell_parts import split_command  # not before the first request

        # To the reader of commands a bracket may be a pattern; at the start it is `test`.
        parts = split_command(_BRACKET.sub(r"\1test ", given.command))
        meaning = _meaning(parts[-1]) if code == 1 and parts else ""
        if code and not meaning:
            raise _failed(code, "", text)
        notice = notice or (_moved(context.workspace, folder) if folder else "")
        return self._done(data, text, context, notice=notice, meaning=meaning, is_silent=_is_silent(parts))

    async def _start(self, given: BashInput, context: ToolContext, environment: dict[str, str]) -> ToolOutput:
        task = await context.background.start_command(
            given.command,
            description=given.description or given.command,
            tool_use_id=context.tool_use_id,
            cwd=context.workspace.cwd,
            environment=environment,
            within=context.sandbox(),
        )
        return self._in_background(task, "Command running in background with ID")

    def _in_background(self, task: BackgroundShell, words: str, **more: bool) -> ToolOutput:
        words = f"{words}: {task.task_id}. Output is being written to: {task.output_file}."
        structured = {**self._structured(""), "backgroundTaskId": task.task_id, **more}
        if not self._spills:
            return ToolOutput(content=words.removesuffix("."), structured=structured, is_error=False)
        words += " You will be notified when it completes. To check interim output, use Read on that file path."
        return ToolOutput(content=words, structured=structured, is_error=False)

    def _done(self, data: bytes, text: str, context: ToolContext, *, notice: str, meaning: str, is_silent: bool) -> ToolOutput:
        shown, more = text, {}
        if len(text) > LIMIT:
            cut = text.count("\n", LIMIT) + 1
            text = text[:LIMIT]
            # As 2.0 does, and the fallback if the folder can't be written.
            shown = f"{text}\n\n... [{cut} lines truncated] ..."
            spilled = spill(data, text, context.spill_folder, context.background.new_id()) if self._spills else None
            if spilled is None:
                text = shown
            else:
                shown = spilled.stub
                more = {"persistedOutputPath": str(spilled.path), "persistedOutputSize": spilled.size}
        structured = {**self._structured(text, notice=notice, meaning=meaning, is_silent=is_silent), **more}
        content = "\n".join(part for part in (shown, notice.strip()) if part)
        if not content and self._spills:
            content = "(Bash completed with no output)"
        return ToolOutput(content=content, structured=structured, is_error=False)

    def _structured(self, text: str, *, notice: str = "", meaning: str = "", is_silent: bool = False) -> Json:
        result: Json = {"stdout": text, "stderr": notice, "interrupted": False, "isImage": False}
        if meaning:
            result["returnCodeInterpretation"] = meaning
        if self._spills:
            result["noOutputExpected"] = is_silent
        return result


class OldBash(Bash):
    """In the shapes of 2.0."""

    _spills = False


async def _run(given: BashInput, context: ToolContext, environment: dict[str, str]) -> tuple[Shell, float, Path | None]:
    """The shell, the seconds after which it was ended (or 0), its last directory."""
    shell = await start_shell(
        given.command, cwd=context.workspace.cwd, environment=environment, tells_folder=True, within=context.sandbox()
    )
    asked = context.background.offer(context.tool_use_id)
    is_moved = False
    try:
        timed_out = await _to_its_end(shell, given, context, asked)
        if asked.done() and not shell.over.done():
            about = given.description or given.command
            task = context.background.adopt(shell, given.command, description=about, tool_use_id=context.tool_use_id)
            is_moved = True
            raise _Detached(task)
        return shell, timed_out, shell.final_folder()
    finally:
        context.background.withdraw(context.tool_use_id)
        if not is_moved:
            # If we were cancelled, this ends it.
            await shell.end()
            if shell.is_held_open:
                context.background.leave_open(shell)
            else:
                shell.close()


async def _to_its_end(shell: Shell, given: BashInput, context: ToolContext, moved: asyncio.Future[None]) -> float:
    """Returns the seconds after which it was ended; 0 if it ended by itself, or the user moved it to the background."""
    limit = min(given.timeout or 0, LONGEST_TIMEOUT) / 1000
    limit = limit if limit > 0 else DEFAULT_TIMEOUT / 1000
    told_at, told_size = -_UNCHANGED, -1
    while not shell.over.done() and not moved.done():
        elapsed = time.monotonic() - shell.began
        if elapsed >= limit:
            await shell.end()
            return limit
        if elapsed >= _QUIET and elapsed - told_at >= (_UNCHANGED if told_size == shell.output.size else _BETWEEN):
            told_at, told_size = elapsed, shell.output.size
            context.progress(_progress(shell, elapsed, given.timeout))
        until = _QUIET - elapsed if elapsed < _QUIET else _BETWEEN
        # `wait_for` would cancel it.
        await asyncio.wait(
            [shell.over, moved], timeout=max(min(until, limit - elapsed), 0.01), return_when=asyncio.FIRST_COMPLETED
        )
    return 0.0


def _progress(shell: Shell, elapsed: float, timeout: float | None) -> Json:
    last, most, characters = _SHOWN
    text = shell.output.tail(characters * 4).decode("utf-8", "replace")
    lines = text[-characters:].split("\n")[-most:]
    data: Json = {
        "type": "bash_progress",
        "output": "\n".join(lines[-last:]),
        "fullOutput": "\n".join(lines),
        "elapsedTimeSeconds": int(elapsed),
        "totalLines": shell.output.count_lines(),
    }
    if timeout:
        data["timeoutMs"] = timeout
    return data


def _found_folder(workspace: Workspace) -> str:
    """Back to the project if the working directory is gone; returns the notice."""
    if workspace.cwd.is_dir() or not workspace.project.is_dir():
        return ""
    workspace.cwd = workspace.project
    return _reset(workspace)


def _moved(workspace: Workspace, folder: Path) -> str:
    """Follow a command's `cd`, or go back to the project; returns the notice."""
    if folder == Path(os.path.realpath(workspace.cwd)):
        return ""
    for root in workspace.folders:
        # `pwd -P` resolves links; a linked root keeps its spelling.
        real = Path(os.path.realpath(root))
        if folder == real or real in folder.parents:
            workspace.cwd = root / folder.relative_to(real)
            return ""
    workspace.cwd = workspace.project
    return _reset(workspace)


def _reset(workspace: Workspace) -> str:
    return f"\nShell cwd was reset to {workspace.project}"


def _trimmed(data: bytes) -> str:
    """As clients show output."""
    return _LEADING_BLANK.sub("", data.decode("utf-8", "replace")).rstrip()


def _failed(code: int, why: str, text: str) -> ToolFailed:
    return ToolFailed(without_middle("\n".join(part for part in (f"Exit code {code}", why, text) if part)))


def _duration(seconds: float) -> str:
    """1.5 s are "1s" to the client, 61.5 s "1m 2s" (2.1.325)."""
    if seconds < 60:
        return f"{int(seconds)}s"
    whole = int(seconds + 0.5)
    return f"{whole // 60}m {whole % 60}s"


def _meaning(part: Part) -> str:
    """What exit code 1 means; empty for a failure."""
    words = [word for word in part.words if not re.match(r"[A-Za-z_]\w*=", word)]
    return _ANSWERS.get(" ".join(words[:2]), "") or _ANSWERS.get(words[0] if words else "", "")


def _is_silent(parts: list[Part] | None) -> bool:
    return bool(parts) and all(part.words[0] in _SILENT for part in parts or [])
