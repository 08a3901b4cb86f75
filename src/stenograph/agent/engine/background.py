"""Commands and subagents in the background.

A task that ends by itself gives one notification in the client's words (2.1.325), unless it was stopped or its end was shown.
`close` ends everything that still runs.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable, Coroutine, Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Any

from stenograph.agent.tools.base import Json, SubagentResult, ToolFailed
from stenograph.agent.tools.shell import Shell, start_shell

_ALPHABET = "0123456789abcdefghijklmnopqrstuvwxyz"
_NOTE = (
    "A task-notification fires each time this agent stops with no live background children of its own. The user can send it"
    " another message and resume it, so the same task-id may notify more than once."
)


class TaskStatus(StrEnum):
    RUNNING = "running"
    COMPLETED = "completed"
    FAILED = "failed"
    KILLED = "killed"


class BackgroundTask:
    #: The client's word.
    kind = ""

    def __init__(self, *, task_id: str, description: str, tool_use_id: str, output_file: Path) -> None:
        self.task_id = task_id
        self.description = description
        self.tool_use_id = tool_use_id
        self.output_file = output_file
        self.status = TaskStatus.RUNNING
        #: In the client's form: when it began, and a random part (2.1.325).
        self.run_id = f"0{_base36(time.time_ns() // 1_000_000)}-{os.urandom(4).hex()}"
        #: The model knows that it ended.
        self.is_told = False
        self.over = asyncio.Event()
        #: Called once, when it has ended.
        self.on_end: Callable[[BackgroundTask], None] | None = None

    @property
    def is_running(self) -> bool:
        return self.status is TaskStatus.RUNNING

    @property
    def command(self) -> str:
        return self.description

    def output(self) -> str:
        raise NotImplementedError

    def notification(self) -> str:
        lines = [
            "<task-notification>",
            f"<task-id>{self.task_id}</task-id>",
            f"<tool-use-id>{self.tool_use_id}</tool-use-id>",
            f"<output-file>{self.output_file}</output-file>",
            f"<status>{self.status}</status>",
            f"<summary>{self.summary()}</summary>",
            *self._details(),
            "</task-notification>",
        ]
        return "\n".join(lines)

    async def stop(self) -> None:
        """End it without a notification."""
        raise NotImplementedError

    def summary(self) -> str:
        raise NotImplementedError

    def usage(self) -> Json | None:
        """Of an agent that has ended."""
        return None

    def _details(self) -> list[str]:
        return []

    def _end(self, status: TaskStatus) -> None:
        if self.is_running:
            self.status = status
        if not self.over.is_set():
            self.over.set()
            if self.on_end is not None:
                self.on_end(self)


class BackgroundShell(BackgroundTask):
    kind = "local_bash"

    def __init__(self, shell: Shell, command: str, **named: Any) -> None:
        super().__init__(**named)
        self._shell = shell
        self._command = command
        #: Characters that BashOutput has shown.
        self.shown = 0
        shell.over.add_done_callback(lambda _: self._ended())

    @property
    def command(self) -> str:
        return self._command

    @property
    def exit_code(self) -> int | None:
        """None while it runs, and of a stopped one, as in 2.0.76."""
        return None if self.status is TaskStatus.KILLED else self._shell.exit_code

    def output(self) -> str:
        return self._shell.output.read().decode("utf-8", "replace")

    async def stop(self) -> None:
        self.status, self.is_told = TaskStatus.KILLED, True
        await self._shell.end()
        self._shell.close()

    def close(self) -> None:
        self._shell.close()

    def _ended(self) -> None:
        if not self._shell.is_held_open:
            self._shell.close()
        self._end(TaskStatus.FAILED if self._shell.exit_code else TaskStatus.COMPLETED)

    def summary(self) -> str:
        named = f'Background command "{self.description}"'
        if self.status is TaskStatus.FAILED:
            return f"{named} failed with exit code {self.exit_code}"
        if self.status is TaskStatus.KILLED:
            return f"{named} was stopped"
        return f"{named} completed (exit code {self.exit_code})"


class BackgroundAgent(BackgroundTask):
    kind = "local_agent"

    def __init__(self, work: Coroutine[Any, Any, SubagentResult], prompt: str, **named: Any) -> None:
        super().__init__(**named)
        self.prompt = prompt
        self.result: SubagentResult | None = None
        #: Empty unless it failed.
        self.failure = ""
        self._work = asyncio.ensure_future(work)
        self._work.add_done_callback(self._ended)

    def output(self) -> str:
        """Its last words."""
        if self.result is None:
            return self.failure
        return "\n".join(str(block["text"]) for block in self.result.content if block.get("type") == "text")

    async def stop(self) -> None:
        self.status, self.is_told = TaskStatus.KILLED, True
        self._work.cancel()
        await asyncio.wait([self._work])

    def _ended(self, work: asyncio.Future[SubagentResult]) -> None:
        if work.cancelled():
            self._end(TaskStatus.KILLED)
            return
        # Nobody awaits this work: no error may be lost.
        error = work.exception()
        if error is None:
            self.result = work.result()
        else:
            self.failure = error.words if isinstance(error, ToolFailed) else f"{type(error).__name__}: {error}"
        write_output(self.output_file, self.output())
        self._end(TaskStatus.FAILED if error else TaskStatus.COMPLETED)

    def summary(self) -> str:
        named = f'Agent "{self.description}"'
        if self.status is TaskStatus.FAILED:
            return f"{named} failed: {self.failure}"
        return f"{named} was stopped" if self.status is TaskStatus.KILLED else f"{named} finished"

    def usage(self) -> Json | None:
        if self.result is None:
            return None
        counts = self.result
        return {"totalTokens": counts.total_tokens, "toolUses": counts.tool_use_count, "durationMs": counts.duration_ms}

    def _details(self) -> list[str]:
        if self.result is None:
            return []
        counts = {
            "subagent_tokens": self.result.total_tokens,
            "tool_uses": self.result.tool_use_count,
            "duration_ms": self.result.duration_ms,
        }
        usage = "".join(f"<{name}>{count}</{name}>" for name, count in counts.items())
        return [f"<note>{_NOTE}</note>", f"<result>{self.output()}</result>", f"<usage>{usage}</usage>"]


class BackgroundTasks:
    """All tasks of a session. `folder` gets their output; it is created with the first task."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.on_begin: Callable[[BackgroundTask], None] | None = None
        self.on_end: Callable[[BackgroundTask], None] | None = None
        self._tasks: dict[str, BackgroundTask] = {}
        #: Finished commands with children that may still write.
        self._held_open: list[Shell] = []
        #: Commands in the foreground that may be moved here, by their calls.
        self._offered: dict[str, asyncio.Future[None]] = {}

    def offer(self, tool_use_id: str) -> asyncio.Future[None]:
        """A command runs in the foreground: the future is done when the user moves it to the background."""
        self._offered[tool_use_id] = asked = asyncio.get_running_loop().create_future()
        return asked

    def withdraw(self, tool_use_id: str) -> None:
        self._offered.pop(tool_use_id, None)

    def detach(self) -> bool:
        """Move what runs in the foreground to the background; False if nothing does."""
        asked = [future for future in self._offered.values() if not future.done()]
        for future in asked:
            future.set_result(None)
        return bool(asked)

    def adopt(self, shell: Shell, command: str, *, description: str, tool_use_id: str) -> BackgroundShell:
        """A command that was started in the foreground. Raises OSError where its output can't be stored."""
        task_id = self.new_id()
        path = self._folder / f"{task_id}.output"
        shell.output.to_file(path)
        task = BackgroundShell(
            shell, command, task_id=task_id, description=description, tool_use_id=tool_use_id, output_file=path
        )
        self._add(task)
        return task

    def find(self, task_id: str) -> BackgroundTask | None:
        return self._tasks.get(task_id)

    @property
    def running(self) -> list[BackgroundTask]:
        return [task for task in self._tasks.values() if task.is_running]

    async def start_command(
        self,
        command: str,
        *,
        description: str,
        tool_use_id: str,
        cwd: Path,
        environment: Mapping[str, str],
        within: Sequence[str] = (),
    ) -> BackgroundShell:
        """Raises CommandNotStarted, and OSError where its output can't be stored."""
        shell = await start_shell(command, cwd=cwd, environment=environment, within=within)
        try:
            return self.adopt(shell, command, description=description, tool_use_id=tool_use_id)
        except BaseException:
            await shell.end()
            shell.close()
            raise

    def start_agent(
        self, work: Coroutine[Any, Any, SubagentResult], *, agent_id: str, description: str, tool_use_id: str, prompt: str = ""
    ) -> Path:
        """Returns the file for the agent's last words. Raises ToolFailed if it still runs."""
        if (known := self.find(agent_id)) is not None and known.is_running:
            work.close()
            raise ToolFailed(f"Agent {agent_id} is still running")
        path = self._folder / f"{agent_id}.output"
        write_output(path, "")
        self._add(
            BackgroundAgent(work, prompt, task_id=agent_id, description=description, tool_use_id=tool_use_id, output_file=path)
        )
        return path

    def _add(self, task: BackgroundTask) -> None:
        self._tasks[task.task_id] = task
        if self.on_begin is not None:
            self.on_begin(task)
        task.on_end = self.on_end
        if task.over.is_set() and self.on_end is not None:
            self.on_end(task)

    def leave_open(self, shell: Shell) -> None:
        """Keep reading what the children of a finished command write, so that they don't block."""
        self._held_open = [one for one in self._held_open if one.is_held_open]
        self._held_open.append(shell)

    def next_notification(self) -> str | None:
        """Each once, in starting order."""
        for task in self._tasks.values():
            if not task.is_running and not task.is_told:
                task.is_told = True
                return task.notification()
        return None

    async def wait_for_agents(self) -> str | None:
        """The notification of the next agent that ends; None if none runs. Commands are not awaited: a server never ends."""
        while (said := self.next_notification()) is None:
            agents = [task for task in self.running if isinstance(task, BackgroundAgent)]
            if not agents:
                return None
            await self.first_end(agents)
        return said

    async def first_end(self, tasks: Sequence[BackgroundTask] | None = None) -> None:
        """Returns when one of the tasks ends, by default of all; never, if there are none."""
        waits = [asyncio.ensure_future(task.over.wait()) for task in (self.running if tasks is None else tasks)]
        try:
            await asyncio.wait(waits or [asyncio.get_running_loop().create_future()], return_when=asyncio.FIRST_COMPLETED)
        finally:
            for wait in waits:
                wait.cancel()

    async def close(self) -> None:
        """Await it before the loop ends."""
        await asyncio.gather(*(task.stop() for task in self.running))
        for task in self._tasks.values():
            if isinstance(task, BackgroundShell):
                task.close()
        for shell in self._held_open:
            shell.close()
        self._held_open.clear()

    def new_id(self) -> str:
        """As the client makes them: `b43u7qv4e` (2.1.325)."""
        # Not `secrets`, which loads a dozen modules.
        while (made := "b" + "".join(_ALPHABET[byte % 36] for byte in os.urandom(8))) in self._tasks:
            pass
        return made


def _base36(number: int) -> str:
    digits = ""
    while number:
        number, digit = divmod(number, 36)
        digits = _ALPHABET[digit] + digits
    return digits


def write_output(path: Path, text: str) -> None:
    """Best effort: the model gets the words anyway."""
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8", errors="replace") as file:
            file.write(text)
    except OSError:
        return
