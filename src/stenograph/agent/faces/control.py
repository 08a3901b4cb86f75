"""The control protocol of the client's SDKs: requests and answers in both directions, between the JSON lines of a conversation.

They interrupt, change the mode and the model, and register hooks; we ask them about calls, call their hooks, and reach the MCP
servers in their process. The words and shapes are those of 2.1.325.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeAlias
from uuid import uuid4

import msgspec

from stenograph.agent.engine.approval import Approval, PermissionQuestion
from stenograph.agent.engine.options import PermissionMode
from stenograph.agent.permissions.live_policy import Behavior, PermissionUpdate, RuleDestination
from stenograph.agent.permissions.rules import PermissionRule

if TYPE_CHECKING:
    from stenograph.agent.engine.session import Agent

Json: TypeAlias = dict[str, Any]

_UNSUPPORTED = "unsupported_request"
_INVALID_MODE = "invalid_mode"


class ControlFailed(Exception):  # noqa: N818 - the other side's words
    """A request that was refused."""

    def __init__(self, words: str, code: str = "") -> None:
        super().__init__(words)
        self.code = code


class ControlChannel:
    def __init__(self, write: Callable[[Json], None], *, key_source: str = "none") -> None:
        """`write` puts a message on standard output."""
        self._write = write
        self._key_source = key_source
        self._agent: asyncio.Future[Agent] = asyncio.get_running_loop().create_future()
        #: Our requests, by id.
        self._asked: dict[str, asyncio.Future[Json]] = {}
        self._answering: set[asyncio.Task[None]] = set()

    def serve(self, agent: Agent) -> None:
        """Requests that came before are answered now."""
        self._agent.set_result(agent)

    def take(self, line: Json) -> None:
        """A line of the type control_request, control_response or control_cancel_request."""
        match line:
            case {"type": "control_request", "request_id": str(number), "request": dict(request)}:
                task = asyncio.create_task(self._answer(number, request))
                self._answering.add(task)
                task.add_done_callback(self._answering.discard)
            case {"type": "control_response", "response": {"request_id": str(number), **response}}:
                waiting = self._asked.get(number)
                if waiting is None or waiting.done():
                    return
                if response.get("subtype") == "success":
                    value = response.get("response")
                    waiting.set_result(value if isinstance(value, dict) else {})
                else:
                    waiting.set_exception(ControlFailed(str(response.get("error", "the request failed"))))

    def close(self) -> None:
        """The other side is gone: nothing will be answered any more."""
        for waiting in self._asked.values():
            if not waiting.done():
                waiting.set_exception(ControlFailed("Stream closed"))

    # Requests to us

    async def _answer(self, number: str, request: Json) -> None:
        response: Json
        try:
            response = {"subtype": "success", "request_id": number, "response": await self._do(request)}
        except ControlFailed as refused:
            code = {"error_code": refused.code} if refused.code else {}
            response = {"subtype": "error", "request_id": number, "error": str(refused), **code}
        except Exception as error:  # noqa: BLE001 - whatever it is, the other side waits for an answer
            response = {"subtype": "error", "request_id": number, "error": f"the request failed: {type(error).__name__}"}
        self._write({"type": "control_response", "response": response})

    async def _do(self, request: Json) -> Json:
        agent = await self._agent
        match request:
            case {"subtype": "initialize"}:
                return self._initialize(agent, request)
            case {"subtype": "interrupt"}:
                agent.interrupt()
                return {"still_queued": [prompt.uuid for prompt in agent.inbox.prompts]}
            case {"subtype": "set_permission_mode", "mode": mode}:
                if not isinstance(mode, str) or mode not in set(PermissionMode):
                    known = ", ".join(sorted(PermissionMode))
                    raise ControlFailed(f"Cannot set permission mode: must be one of {known}", _INVALID_MODE)
                if mode == PermissionMode.BYPASS and agent.forbids_bypass:
                    raise ControlFailed("Cannot set permission mode: bypassPermissions is disabled by settings", _INVALID_MODE)
                agent.policy.set_mode(PermissionMode(mode))
                return {"mode": mode}
            case {"subtype": "set_model"}:
                name = request.get("model")
                agent.set_model(name if isinstance(name, str) else "default")
                return {"model": agent.model}
            case {"subtype": "mcp_status"}:
                return {"mcpServers": agent.server_states}
            case {"subtype": "stop_task", "task_id": str(task)}:
                if not await agent.stop_task(task):
                    raise ControlFailed(f"No task found with ID: {task}")
                return {}
        raise ControlFailed(f"Unsupported control request subtype: {request.get('subtype')}", _UNSUPPORTED)

    def _initialize(self, agent: Agent, request: Json) -> Json:
        from stenograph.agent.hooks.client_hooks import HookCallbacks  # few sessions have some

        try:
            hooks = msgspec.convert(request.get("hooks") or {}, dict[str, list[HookCallbacks]])
        except msgspec.ValidationError as error:
            # Not without them: a hook may be there to deny something.
            raise ControlFailed(f"Cannot register hooks: {error}") from error
        if hooks:
            agent.add_hook_callbacks(hooks, self.call_hook)
        return {
            "commands": [
                {"name": command.name, "description": command.description, "argumentHint": command.argument_hint}
                for command in agent.commands
            ],
            "agents": [{"name": kind.name, "description": kind.description} for kind in agent.agent_types.values()],
            "output_style": "default",
            "available_output_styles": ["default"],
            "models": [{"value": agent.model, "displayName": agent.model, "description": ""}],
            "account": {"apiKeySource": self._key_source},
            "pid": os.getpid(),
        }

    # Requests of ours

    async def ask(self, **request: Any) -> Json:
        """Raises ControlFailed. Cancelling it takes the request back."""
        number = str(uuid4())
        waiting: asyncio.Future[Json] = asyncio.get_running_loop().create_future()
        self._asked[number] = waiting
        self._write({"type": "control_request", "request_id": number, "request": request})
        try:
            return await waiting
        except asyncio.CancelledError:
            self._write({"type": "control_cancel_request", "request_id": number})
            raise
        finally:
            del self._asked[number]

    async def approve(self, question: PermissionQuestion) -> Approval:
        """The `Approver` of a session."""
        request: Json = {
            "subtype": "can_use_tool",
            "tool_name": question.tool,
            "display_name": question.tool,
            "input": question.given,
            "permission_suggestions": [as_json(update) for update in question.suggestions],
            "tool_use_id": question.tool_use_id,
        }
        if isinstance(said := question.given.get("description"), str):
            request["description"] = said
        if question.blocked_path:
            request["blocked_path"] = question.blocked_path
        if question.agent_id:
            request["agent_id"] = question.agent_id
        try:
            answer = await self.ask(**request)
        except ControlFailed as failed:
            return Approval(is_allowed=False, message=f"Tool permission request failed: {failed}")
        given, updates = answer.get("updatedInput"), answer.get("updatedPermissions")
        return Approval(
            is_allowed=answer.get("behavior") == Behavior.ALLOW,
            updated_input=given if isinstance(given, dict) and given != question.given else None,
            updates=[update for one in updates if (update := read_update(one)) is not None] if isinstance(updates, list) else [],
            message=str(answer.get("message") or ""),
            interrupt=answer.get("interrupt") is True,
            reason_code="unknown",
        )

    async def call_hook(self, callback: str, given: Json, tool_use_id: str | None) -> Json:
        """Raises ControlFailed."""
        return await self.ask(subtype="hook_callback", callback_id=callback, input=given, tool_use_id=tool_use_id)

    async def exchange(self, server: str, message: Json) -> Json:
        """A message to an MCP server in the other process; its answer. Raises ControlFailed."""
        answer = (await self.ask(subtype="mcp_message", server_name=server, message=message)).get("mcp_response")
        return answer if isinstance(answer, dict) else {}


def as_json(update: PermissionUpdate) -> Json:
    """In the protocol's members."""
    value: Json = {"type": update.kind}
    if update.rules:
        value["rules"] = [{"toolName": rule.tool, **({"ruleContent": rule.spec} if rule.spec else {})} for rule in update.rules]
        value["behavior"] = update.behavior.value
    if update.mode is not None:
        value["mode"] = update.mode.value
    if update.directories:
        value["directories"] = update.directories
    return {**value, "destination": update.destination.value}


class _Rule(msgspec.Struct, rename="camel"):
    tool_name: str
    rule_content: str | None = None


class _Update(msgspec.Struct):
    type: str
    rules: list[_Rule] = []
    behavior: Behavior = Behavior.ALLOW
    mode: PermissionMode | None = None
    directories: list[str] = []
    destination: RuleDestination = RuleDestination.SESSION


def read_update(value: Any) -> PermissionUpdate | None:
    """None for what is not understood: an allowance must not be guessed."""
    try:
        read = msgspec.convert(value, _Update)
    except msgspec.ValidationError:
        return None
    return PermissionUpdate(
        kind=read.type,
        rules=[PermissionRule(rule.tool_name, rule.rule_content or "") for rule in read.rules],
        behavior=read.behavior,
        mode=read.mode,
        directories=read.directories,
        destination=read.destination,
    )
