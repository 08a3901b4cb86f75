"""Tools for background tasks and agents: TaskOutput, BashOutput, TaskStop, SendMessage."""

from __future__ import annotations

import asyncio
import re
from datetime import UTC, datetime
from typing import Annotated

import msgspec
from msgspec import Meta, field

from stenograph.agent.engine.background import BackgroundAgent, BackgroundShell, BackgroundTask
from stenograph.agent.tools.agent import DEFAULT_TYPE
from stenograph.agent.tools.base import Json, Tool, ToolContext, ToolInput, ToolOutput, failed_use
from stenograph.agent.tools.spill import LIMIT, stub, without_middle

LONGEST_WAIT = 600_000


class TaskOutputInput(ToolInput):
    task_id: Annotated[str, Meta(description="The id of the task")]
    block: Annotated[bool, Meta(description="Wait until it ends")] = True
    timeout: Annotated[int | float, Meta(description="How long to wait, in milliseconds; at most 600000")] = 30_000


class TaskOutput(Tool[TaskOutputInput]):
    name = "TaskOutput"
    also_called = ("AgentOutputTool",)
    also_spelled = {"agentId": "task_id", "agent_id": "task_id", "bash_id": "task_id", "shell_id": "task_id"}  # noqa: RUF012
    input_type = TaskOutputInput
    is_read_only = True

    async def run(self, given: TaskOutputInput, context: ToolContext) -> ToolOutput:
        task = found_task(context, given.task_id)
        if given.block and task.is_running:
            context.progress({"type": "waiting_for_task", "taskDescription": task.description, "taskType": task.kind})
            waiting = asyncio.ensure_future(task.over.wait())
            try:
                await asyncio.wait([waiting], timeout=max(0, min(given.timeout, LONGEST_WAIT)) / 1000)
            finally:
                waiting.cancel()
        status = "success" if not task.is_running else "timeout" if given.block else "not_ready"
        # No further notification.
        task.is_told = task.is_told or not task.is_running
        output = task.output()
        shown = output.rstrip()
        if len(shown) > LIMIT:
            shown = stub(shown, task.output_file, len(output.encode()))
            output = output[:LIMIT]
        described = _described(task, output)
        parts = {
            "retrieval_status": status,
            "task_id": task.task_id,
            "task_type": task.kind,
            "status": task.status.value,
            "exit_code": described.get("exitCode"),
        }
        texts = [f"<{name}>{value}</{name}>" for name, value in parts.items() if value is not None]
        if shown:
            texts.append(f"<output>\n{shown}\n</output>")
        return ToolOutput(content="\n\n".join(texts), structured={"retrieval_status": status, "task": described})


def found_task(context: ToolContext, task_id: str) -> BackgroundTask:
    """Raises ToolFailed in the client's words."""
    task = context.background.find(task_id)
    if task is None:
        raise failed_use(f"No task found with ID: {task_id}")
    return task


def _described(task: BackgroundTask, output: str) -> Json:
    described: Json = {
        "task_id": task.task_id,
        "task_type": task.kind,
        "status": task.status.value,
        "description": task.description,
        "output": output,
    }
    if isinstance(task, BackgroundShell):
        described["exitCode"] = task.exit_code
    if isinstance(task, BackgroundAgent):
        described |= {"prompt": task.prompt, "result": output}
    return described


class BashOutputInput(ToolInput):
    bash_id: Annotated[str, Meta(description="The id of the command")]
    filter: Annotated[str | None, Meta(description="A regular expression; only matching lines are returned")] = None


class BashOutput(Tool[BashOutputInput]):
    name = "BashOutput"
    also_called = ("BashOutputTool",)
    also_spelled = {"task_id": "bash_id", "shell_id": "bash_id"}  # noqa: RUF012
    input_type = BashOutputInput
    is_read_only = True

    async def run(self, given: BashOutputInput, context: ToolContext) -> ToolOutput:
        task = context.background.find(given.bash_id)
        if not isinstance(task, BackgroundShell):
            raise failed_use(f"No shell found with ID: {given.bash_id}")
        try:
            wanted = re.compile(given.filter or "")
        except re.error as error:
            raise failed_use(f"`filter` is not a valid regular expression: {error}") from None
        # The state first: later output is shown the next time.
        status, code = task.status, task.exit_code
        task.is_told = task.is_told or not task.is_running
        output = task.output()
        fresh, task.shown = output[task.shown :], len(output)
        lines = [line for line in fresh.rstrip().split("\n") if wanted.search(line)]
        shown = without_middle("\n".join(lines), LIMIT)
        now = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        parts = [f"<status>{status}</status>"]
        if code is not None:
            parts.append(f"<exit_code>{code}</exit_code>")
        if shown:
            parts.append(f"<stdout>\n{shown}\n</stdout>")
        parts.append(f"<timestamp>{now}</timestamp>")
        structured = {
            "shellId": task.task_id,
            "command": task.command,
            "status": status.value,
            "exitCode": code,
            "stdout": shown,
            "stderr": "",
            "stdoutLines": shown.count("\n") + 1,
            "stderrLines": 1,
            "timestamp": now,
        }
        return ToolOutput(content="\n\n".join(parts), structured=structured)


class TaskStopInput(ToolInput):
    task_id: Annotated[str, Meta(description="The id of the task")]


class TaskStop(Tool[TaskStopInput]):
    name = "TaskStop"
    also_called = ("KillShell", "KillBash")
    also_spelled = {"shell_id": "task_id"}  # noqa: RUF012
    input_type = TaskStopInput
    # It ends only what this conversation started.
    is_read_only = True

    async def run(self, given: TaskStopInput, context: ToolContext) -> ToolOutput:
        task = context.background.find(given.task_id)
        if task is None or not task.is_running:
            raise self._not_there(given.task_id, task)
        await task.stop()
        structured = self._told(task)
        return ToolOutput(content=msgspec.json.encode(structured).decode(), structured=structured)

    def _not_there(self, task_id: str, task: BackgroundTask | None) -> Exception:
        # 2.1.325 forgets a finished task; we report its state.
        if task is None:
            return failed_use(f"No task found with ID: {task_id}")
        return failed_use(f"Task {task_id} is not running, so cannot be stopped (status: {task.status})")

    def _told(self, task: BackgroundTask) -> Json:
        return {
            "message": f"Successfully stopped task: {task.task_id} ({task.command})",
            "task_id": task.task_id,
            "task_type": task.kind,
            "command": task.command,
        }


class KillShellInput(TaskStopInput):
    task_id: Annotated[str, Meta(description="The id of the shell")] = field(name="shell_id")


class KillShell(TaskStop):
    """In the shapes of 2.0."""

    name = "KillShell"
    input_type = KillShellInput
    also_spelled = {"task_id": "shell_id"}  # noqa: RUF012
    also_called = ("TaskStop", "KillBash")

    def _told(self, task: BackgroundTask) -> Json:
        return {"message": f"Successfully killed shell: {task.task_id} ({task.command})", "shell_id": task.task_id}


class SendMessageInput(ToolInput):
    to: Annotated[str, Meta(description="The agent's id")]
    message: Annotated[str, Meta(description="What it should do or answer")]
    summary: Annotated[str, Meta(description="The message in a few words")] = ""


class SendMessage(Tool[SendMessageInput]):
    name = "SendMessage"
    input_type = SendMessageInput
    # Each of the agent's own calls is checked.
    is_read_only = True
    runs_in_parallel = True

    async def run(self, given: SendMessageInput, context: ToolContext) -> ToolOutput:
        result = await context.run_agent(
            prompt=given.message,
            description=given.summary,
            agent_type=DEFAULT_TYPE,
            model=None,
            agent_id=given.to,
            tool_use_id=context.tool_use_id,
            progress=context.progress,
            resume=True,
        )
        words = "".join(block["text"] for block in result.content)
        structured: Json = {"success": True, "message": words, "resumedAgentId": result.agent_id}
        return ToolOutput(content=result.content, structured=structured)
