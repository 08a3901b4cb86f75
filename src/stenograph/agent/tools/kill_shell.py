"""TaskStop, formerly KillShell and KillBash."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta

from stenograph.agent.engine.background import BackgroundTask
from stenograph.agent.tools.base import Json, Tool, ToolContext, ToolInput, ToolOutput, failed_use


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


class KillShell(TaskStop):
    """In the shapes of 2.0."""

    name = "KillShell"
    also_called = ("TaskStop", "KillBash")

    def _told(self, task: BackgroundTask) -> Json:
        return {"message": f"Successfully killed shell: {task.task_id} ({task.command})", "shell_id": task.task_id}
