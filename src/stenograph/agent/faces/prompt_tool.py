"""A tool of an MCP server that answers questions about calls (`--permission-prompt-tool`).

It gets the name and the input of a call and answers with JSON in one text: `{"behavior": "allow", "updatedInput": …}` or
`{"behavior": "deny", "message": …}`. The words about answers of another form are those of 2.1.325.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from stenograph.agent.engine.approval import Approval, PermissionQuestion
from stenograph.agent.faces.control import read_update
from stenograph.agent.tools.base import ToolFailed

if TYPE_CHECKING:
    from stenograph.agent.engine.session import Agent

_NO_TEXT = (
    'Permission prompt tool returned an invalid result. Expected a single text block param with type="text" and a string text'
    " value."
)
_NO_ANSWER = (
    "The permission prompt tool returned an invalid permission result. Expected {behavior: 'allow', updatedInput?: object} or"
    " {behavior: 'deny', message: string}. updatedPermissions may hold at most 4096 updates, rules and directories in all."
)


class PromptTool:
    def __init__(self) -> None:
        self._agent: Agent | None = None

    def serve(self, agent: Agent) -> None:
        """Before the first question."""
        self._agent = agent

    async def approve(self, question: PermissionQuestion) -> Approval:
        """The `Approver` of a session. Raises ToolFailed if the tool fails."""
        assert self._agent is not None
        arguments = {"tool_name": question.tool, "input": question.given, "tool_use_id": question.tool_use_id}
        try:
            answer = await self._agent.ask_prompt_tool(arguments, question.tool_use_id)
            match answer.get("content"):
                case [{"type": "text", "text": str(text)}, *_]:
                    return _approval(text, question)
            raise ToolFailed(_NO_TEXT)
        except ToolFailed as failed:
            words = f"Error calling tool ({question.tool}): {failed.words}"
            raise ToolFailed(f"<tool_use_error>{words}</tool_use_error>", structured=words) from None


def _approval(text: str, question: PermissionQuestion) -> Approval:
    try:
        answer: Any = msgspec.json.decode(text)
    except msgspec.DecodeError:
        answer = None
    match answer:
        case {"behavior": "allow"} if isinstance(answer.get("updatedInput", {}), dict):
            given = answer.get("updatedInput") or question.given
            updates = answer.get("updatedPermissions")
            return Approval(
                is_allowed=True,
                updated_input=given if given != question.given else None,
                updates=[update for one in updates or () if (update := read_update(one)) is not None],
                source="prompt tool",
                reason_code="unknown",
            )
        case {"behavior": "deny", "message": str(message)}:
            is_end = answer.get("interrupt") is True
            return Approval(is_allowed=False, message=message, interrupt=is_end, source="prompt tool", reason_code="unknown")
    return Approval(is_allowed=False, message=_NO_ANSWER, is_answer=False, source="prompt tool")
