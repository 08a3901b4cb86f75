"""TaskOutput, formerly AgentOutputTool: a background task's output, waiting for its end or not."""

from __future__ import annotations

import asyncio
from typing import Annotated

from msgspec import Meta

from stenograph.agent.engine.background import BackgroundAgent, BackgroundShell, BackgroundTask
from stenograph.agent.tools.base import Json, Tool, ToolContext, ToolInput, ToolOutput, failed_use
from stenograph.agent.tools.spill import LIMIT, stub

LONGEST_WAIT = 600_000


class TaskOutputInput(ToolInput):
    task_id: Annotated[str, Meta(description="The id of the task")]
    block: Annotated[bool, Meta(description="Wait for its end")] = True
    timeout: Annotated[int, Meta(description="Milliseconds to wait at most; 600000 at most")] = 30_000


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
