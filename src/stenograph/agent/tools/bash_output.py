"""BashOutput: a background command's output since the last look. Never waits."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Annotated

from msgspec import Meta

from stenograph.agent.engine.background import BackgroundShell
from stenograph.agent.tools.base import Tool, ToolContext, ToolInput, ToolOutput, failed_use
from stenograph.agent.tools.spill import LIMIT, without_middle


class BashOutputInput(ToolInput):
    bash_id: Annotated[str, Meta(description="The id of the command")]
    filter: Annotated[str | None, Meta(description="A regular expression: only lines that it matches are shown")] = None


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
            raise failed_use(f"`filter` is no regular expression: {error}") from None
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
