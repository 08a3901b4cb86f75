"""A context for tools that need no conversation around them."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from stenograph.agent.engine.background import BackgroundTasks
from stenograph.agent.engine.options import AgentOptions
from stenograph.agent.permissions.live_policy import policy_from
from stenograph.agent.permissions.policy import Permissions
from stenograph.agent.tools.base import Json, SubagentResult, Tool, ToolContext, ToolFailed, ToolOutput, Workspace
from stenograph.agent.tools.changing import ReadState
from stenograph.errors import ModelError


async def no_agent(**_: object) -> SubagentResult:
    raise ToolFailed("no agents here")


async def no_model(_system: str, _prompt: str) -> str:
    raise AssertionError("no model was to be asked")


def denying(rules: str, workspace: Workspace, tool: str) -> Callable[[Path], bool] | None:
    """What a call of the tool may show under rules that deny."""
    options = AgentOptions(cwd=workspace.project, home=workspace.project / "home", disallowed=[rules])
    return Permissions(policy_from(options), workspace).read_filter(tool)


class Desk:
    """A project folder, and a context for calls in it."""

    def __init__(self, folder: Path, ask: Callable[[str, str], Awaitable[str]] = no_model) -> None:
        self.project = folder / "project"
        self.project.mkdir()
        self.spilled = folder / "session" / "tool-results"
        self.tasks = folder / "session" / "tasks"
        self.progress: list[Json] = []
        self.workspace = Workspace(cwd=self.project, project=self.project)
        self.background = BackgroundTasks(self.tasks)
        #: What the endpoint's own tool answers, and what it was asked.
        self.blocks: list[Json] | ModelError = []
        self.asked: list[tuple[str, Json]] = []
        self.context = ToolContext(
            tool_use_id="toolu_1",
            workspace=self.workspace,
            read_state=ReadState(),
            history=None,
            background=self.background,
            spill_folder=self.spilled,
            progress=self.progress.append,
            run_agent=no_agent,
            new_agent_id=lambda: "a0123456789abcdef",
            ask_small_model=ask,
            ask_with_tool=self.ask_with_tool,
            todos=[],
            environ=os.environ,
        )

    async def ask_with_tool(self, prompt: str, server_tool: Json) -> list[Json]:
        self.asked.append((prompt, server_tool))
        if isinstance(self.blocks, ModelError):
            raise self.blocks
        return self.blocks

    async def call(self, tool: Tool[Any], **given: object) -> ToolOutput:
        """As a model calls it: the input is checked first."""
        return await tool.run(tool.check(given), self.context)

    async def fail(self, tool: Tool[Any], **given: object) -> str:
        """The words of a call that fails."""
        try:
            output = await self.call(tool, **given)
        except ToolFailed as failure:
            return failure.words
        raise AssertionError(f"it did not fail: {output.content!r}")
