"""Agent, formerly Task: a task for a subagent, and the kinds of subagents."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Mapping
from typing import Annotated, Any

import msgspec
from msgspec import Meta, Struct

from stenograph.agent.tools.base import Json, SubagentResult, Tool, ToolContext, ToolInput, ToolOutput

READING_TOOLS = ("Read", "Glob", "Grep", "WebFetch", "WebSearch", "TodoWrite", "TaskOutput", "BashOutput")


class AgentType(Struct, frozen=True):
    name: str
    #: For the model that may start it.
    description: str
    #: Only `READING_TOOLS`; others have all of their parents' tools.
    reads_only: bool = False
    #: Names or patterns of the only tools it has; None for all.
    tools: tuple[str, ...] | None = None
    #: Tools that it does not have.
    without: tuple[str, ...] = ()
    #: Empty for its parent's.
    model: str = ""
    #: Its own instructions, besides those of every subagent.
    prompt: str = ""

    @property
    def line(self) -> str:
        """For the model that may start it."""
        if self.tools is not None:
            tools = ", ".join(self.tools)
        elif self.without:
            tools = f"All tools except {', '.join(self.without)}"
        else:
            tools = "All tools" if not self.reads_only else ", ".join(READING_TOOLS)
        return f"- {self.name}: {self.description} (Tools: {tools})"


DEFAULT_TYPE = "general-purpose"
TYPES = {
    one.name: one
    for one in (
        AgentType(DEFAULT_TYPE, "any task of several steps; has all tools"),
        AgentType("Explore", "finding things out; reads and searches, changes nothing", reads_only=True),
        AgentType("Plan", "working out how to do something; reads and searches, changes nothing", reads_only=True),
    )
}


_SEARCHES = ("Grep", "Glob")
_EDITS = ("Edit", "Write")
#: Not in results of 2.0.76.
_NEWER = frozenset({"agentType", "resolvedModel", "toolStats", "canReadOutputFile"})


class AgentInput(ToolInput):
    description: Annotated[str, Meta(description="The task in three to five words")]
    prompt: Annotated[str, Meta(description="The task, with everything the agent needs to know")]
    subagent_type: Annotated[str, Meta(description="The type of agent")] = DEFAULT_TYPE
    model: Annotated[str | None, Meta(description="Another model for this agent: sonnet, opus or haiku")] = None
    run_in_background: Annotated[bool, Meta(description="Return at once; you are notified when the agent is done")] = False


class TaskInput(AgentInput):
    resume: Annotated[str | None, Meta(description="The id of an agent that has answered: it continues with what it knows")] = (
        None
    )


class AgentTool(Tool[AgentInput]):
    name = "Agent"
    also_called = ("Task",)
    input_type = AgentInput
    # Each of the agent's own calls is checked.
    is_read_only = True
    runs_in_parallel = True

    #: By name.
    types: Mapping[str, AgentType] = TYPES

    def description(self) -> str:
        kinds = "\n".join(kind.line for kind in self.types.values())
        return f"{super().description()}\n\nKinds of agents:\n{kinds}"

    async def run(self, given: AgentInput, context: ToolContext) -> ToolOutput:
        resumed = given.resume if isinstance(given, TaskInput) else None
        agent_id = resumed or context.new_agent_id()
        work = context.run_agent(
            prompt=given.prompt,
            description=given.description,
            agent_type=given.subagent_type,
            model=given.model,
            agent_id=agent_id,
            tool_use_id=context.tool_use_id,
            # It outlives the call; clients write no progress either.
            progress=_in_silence if given.run_in_background else context.progress,
            resume=resumed is not None,
        )
        if given.run_in_background:
            return await _launched(given, context, agent_id, work)
        return _completed(given, await work)


class TaskTool(AgentTool):
    """In the shapes of 2.0, which resumes an agent by the same tool."""

    name = "Task"
    also_called = ("Agent",)
    input_type = TaskInput

    async def run(self, given: AgentInput, context: ToolContext) -> ToolOutput:
        output = await super().run(given, context)
        kept = {name: value for name, value in output.structured.items() if name not in _NEWER}
        return msgspec.structs.replace(output, structured=kept)


def _in_silence(data: Json) -> None:
    pass


def _completed(given: AgentInput, result: SubagentResult) -> ToolOutput:
    used = result.tools_used
    structured: Json = {
        "status": "completed",
        "prompt": given.prompt,
        "agentId": result.agent_id,
        "agentType": given.subagent_type,
        "content": result.content,
        "resolvedModel": result.model,
        "totalDurationMs": result.duration_ms,
        "totalTokens": result.total_tokens,
        "totalToolUseCount": result.tool_use_count,
        "usage": result.usage,
        "toolStats": {
            "readCount": used.count("Read"),
            "searchCount": sum(map(used.count, _SEARCHES)),
            "bashCount": used.count("Bash"),
            "editFileCount": sum(map(used.count, _EDITS)),
            "linesAdded": result.lines_added,
            "linesRemoved": result.lines_removed,
            "otherToolCount": sum(name not in ("Read", "Bash", *_SEARCHES, *_EDITS) for name in used),
        },
    }
    how = "give it as `resume`" if isinstance(given, TaskInput) else "write to it with SendMessage"
    note = f"agentId: {result.agent_id} ({how} to continue this agent)"
    return ToolOutput(content=[*result.content, {"type": "text", "text": note}], structured=structured)


async def _launched(
    given: AgentInput, context: ToolContext, agent_id: str, work: Coroutine[Any, Any, SubagentResult]
) -> ToolOutput:
    output = context.background.start_agent(
        work,
        agent_id=agent_id,
        description=given.description,
        tool_use_id=context.tool_use_id,
        prompt=given.prompt,
    )
    try:
        # The agent's prompt must be in its file before the session names it, even if we are killed in between.
        await asyncio.sleep(0)
    except asyncio.CancelledError:
        if (task := context.background.find(agent_id)) is not None:
            await task.stop()
        raise
    words = (
        f"Async agent launched successfully.\nagentId: {agent_id}\n"
        f"You will be notified when it is done; until then, continue with something else. Its output so far: {output}"
    )
    structured: Json = {
        "isAsync": True,
        "status": "async_launched",
        "agentId": agent_id,
        "description": given.description,
        "prompt": given.prompt,
        "outputFile": str(output),
        "canReadOutputFile": True,
    }
    return ToolOutput(content=[{"type": "text", "text": words}], structured=structured)
