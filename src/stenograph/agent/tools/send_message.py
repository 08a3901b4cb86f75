"""SendMessage: more for a finished agent."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from stenograph.agent.engine.agent_types import DEFAULT_TYPE
from stenograph.agent.tools.base import Json, Tool, ToolContext, ToolInput, ToolOutput


class SendMessageInput(ToolInput):
    to: Annotated[str, Meta(description="The agent's id")]
    message: Annotated[str, Meta(description="What it is to do or to answer")]
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
