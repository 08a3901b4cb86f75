"""TodoWrite: the model's own task list."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from stenograph.agent.tools.base import Tool, ToolContext, ToolInput, ToolOutput

_DONE = (
    "Todos have been modified successfully. Ensure that you continue to use the todo list to track your progress. Please proceed"
    " with the current tasks if applicable"
)


class Todo(msgspec.Struct, kw_only=True):
    content: Annotated[str, Meta(min_length=1, description="What to do: Fix the parser")]
    status: Literal["pending", "in_progress", "completed"]
    activeForm: Annotated[str, Meta(min_length=1, description="The same while it is done: Fixing the parser")]  # noqa: N815


class TodoWriteInput(ToolInput):
    todos: Annotated[list[Todo], Meta(description="The whole list, which replaces the previous one")]


class TodoWrite(Tool[TodoWriteInput]):
    name = "TodoWrite"
    input_type = TodoWriteInput
    # Nothing outside the conversation changes.
    is_read_only = True

    async def run(self, given: TodoWriteInput, context: ToolContext) -> ToolOutput:
        before = list(context.todos)
        after = [msgspec.to_builtins(todo) for todo in given.todos]
        # A finished list is replaced by an empty one (1.0.98 to 2.1.14, in public sessions).
        is_done = all(todo["status"] == "completed" for todo in after)
        context.todos[:] = [] if is_done else after
        return ToolOutput(content=_DONE, structured={"oldTodos": before, "newTodos": after})
