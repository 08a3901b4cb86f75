"""Whether a call may run, and with which input: hooks, then the policy, then the user.

Questions are asked one at a time, and a question is decided again when its turn comes: an answer before it may have settled it.
"""

from __future__ import annotations

import asyncio
import time

import msgspec
from msgspec import Struct

from stenograph.agent.engine import events
from stenograph.agent.engine.approval import Approval, PermissionQuestion
from stenograph.agent.engine.calls import Call, Passage
from stenograph.agent.engine.hooks import HookOutcome
from stenograph.agent.engine.shared import Shared
from stenograph.agent.permissions.live_policy import Behavior, Decision, RuleDestination
from stenograph.agent.permissions.policy import BY_RULE, NOT_GRANTED, Permissions
from stenograph.agent.tools.base import ToolContext, ToolFailed, ToolInput
from stenograph.agent.tools.toolbox import AnyTool

#: Seconds without an answer before hooks are notified of a question, as by 2.1.325.
UNANSWERED = 6.0


class _Ruling(Struct):
    call: Call
    given: ToolInput
    decision: Decision
    #: Seconds spent on a question.
    waited: float = 0.0


class Gate:
    def __init__(self, shared: Shared, permissions: Permissions, agent_id: str | None) -> None:
        self._shared = shared
        self._permissions = permissions
        self._agent_id = agent_id
        self._notified: asyncio.Future[HookOutcome] | None = None

    async def decide(self, call: Call, tool: AnyTool, given: ToolInput, context: ToolContext) -> Passage:
        """Raises ToolFailed if a hook's or the user's input is not one, and for a call that would fail before anyone is asked."""
        said = await self._shared.hooks.before_tool(call, self._agent_id) if self._shared.hooks else HookOutcome()
        ruling = _Ruling(call, given, self._permissions.decide(tool, given, call.given))
        if said.updated_input is not None:
            self._change_input(ruling, tool, said.updated_input)
        ruling.decision = _with_hook(ruling.decision, said)
        if ruling.decision.behavior is Behavior.ASK and self._shared.approver is not None:
            tool.foresee(ruling.given, context)
            await self._ask(ruling, tool, is_forced=said.behavior is Behavior.ASK)
        return Passage(call=ruling.call, given=ruling.given, decision=ruling.decision, waited=ruling.waited, said=said)

    def _change_input(self, ruling: _Ruling, tool: AnyTool, changed: events.Json) -> None:
        ruling.call = msgspec.structs.replace(ruling.call, given=changed)
        ruling.given = tool.check(changed)
        ruling.decision = self._permissions.decide(tool, ruling.given, changed)

    async def _ask(self, ruling: _Ruling, tool: AnyTool, *, is_forced: bool) -> None:
        began = time.monotonic()
        try:
            async with self._shared.asking:
                if not is_forced:
                    ruling.decision = self._permissions.decide(tool, ruling.given, ruling.call.given)
                if ruling.decision.behavior is Behavior.ASK:
                    await self._put_question(ruling, tool)
        finally:
            ruling.waited = time.monotonic() - began

    def _notify(self) -> None:
        """Nobody waits for it."""
        if (hooks := self._shared.hooks) is not None:
            self._notified = asyncio.ensure_future(hooks.on_notification("Claude needs your permission", "permission_prompt"))

    async def _put_question(self, ruling: _Ruling, tool: AnyTool) -> None:
        call, decision, shared = ruling.call, ruling.decision, self._shared
        assert shared.approver is not None
        question = PermissionQuestion(
            tool_use_id=call.id,
            tool=tool.name,
            given=call.given,
            reason=decision.reason,
            suggestions=decision.suggestions or self._permissions.suggest(tool, ruling.given, call.given),
            agent_id=self._agent_id,
            blocked_path=str(self._permissions.outside(tool, ruling.given) or ""),
        )
        shared.emit(
            events.Asked(tool_use_id=call.id, tool=tool.name, given=call.given, reason=decision.reason, agent_id=self._agent_id)
        )
        later = asyncio.get_running_loop().call_later(UNANSWERED, self._notify)
        try:
            approval = await shared.approver(question)
        finally:
            later.cancel()
        for update in approval.updates:
            shared.policy.apply(update)
        shared.emit(
            events.Answered(
                tool_use_id=call.id,
                is_allowed=approval.is_allowed,
                message=approval.message,
                interrupts=approval.interrupt,
                agent_id=self._agent_id,
            )
        )
        if approval.is_allowed and approval.updated_input is not None:
            ruling.call = msgspec.structs.replace(call, given=approval.updated_input)
            ruling.given = _checked(tool, approval.updated_input)
        ruling.decision = _answered(decision, approval, is_command=tool.name == "Bash")
        if approval.interrupt:
            shared.interrupt()
            await asyncio.sleep(0)  # the turn is cancelled here


def _with_hook(decision: Decision, said: HookOutcome) -> Decision:
    """A rule's denial outranks a hook's allowance; everything else is the hook's to say."""
    match said.behavior:
        case Behavior.DENY:
            record = _record("reject", "hook") | {"reasonType": "hook", "reasonCode": "hook:PreToolUse"}
            return Decision(Behavior.DENY, said.reason, "hook", BY_RULE, record=record)
        case Behavior.ASK if decision.behavior is not Behavior.DENY:
            record = _record("reject", "config") | {"reasonCode": "hook:PreToolUse"}
            words = said.reason or decision.reason
            return msgspec.structs.replace(decision, behavior=Behavior.ASK, reason=words, kind=NOT_GRANTED, record=record)
        case Behavior.ALLOW if decision.behavior is not Behavior.DENY:
            return Decision(Behavior.ALLOW, "", "hook", record=_record("accept", "hook") | {"reasonType": "hook"})
    return decision


def _answered(decision: Decision, approval: Approval, *, is_command: bool) -> Decision:
    """With the record of 2.1.325."""
    code = "bashMiss:no-rule-match" if is_command else str(decision.record.get("reasonCode", "unknown"))
    code = approval.reason_code or code
    if not approval.is_answer:
        record = _record("reject", "config") | {"reasonType": "other", "reasonCode": "unknown"}
        return Decision(Behavior.DENY, approval.message, approval.source, BY_RULE, record=record)
    if not approval.is_allowed:
        record = {"decision": "reject", "source": "user_reject", "reasonCode": code}
        words, is_said = approval.message or decision.reason, bool(approval.message)
        return Decision(Behavior.DENY, words, approval.source, BY_RULE, record=record, is_said=is_said)
    record = {"decision": "accept", "source": "user_temporary"}
    if not approval.updates:
        record["grantScope"] = "once"
    elif all(update.destination is RuleDestination.SESSION for update in approval.updates):
        record["grantScope"] = "session"
    return Decision(Behavior.ALLOW, "", approval.source, record={**record, "reasonCode": code})


def _checked(tool: AnyTool, given: events.Json) -> ToolInput:
    """An input of whoever was asked. Raises ToolFailed in the words of 2.1.325: the model is not to blame."""
    try:
        checked: ToolInput = tool.check(given)
    except ToolFailed as failed:
        found = failed.words.removeprefix("<tool_use_error>").removesuffix("</tool_use_error>")
        words = (
            f"<tool_use_error>The permission handler returned updatedInput for {tool.name} that failed schema validation:"
            f" {found.removeprefix('InputValidationError: ')}\nThis is a configuration issue in your canUseTool callback,"
            " PermissionRequest hook, or permission-prompt tool — updatedInput must satisfy the tool's input schema. The tool"
            " input from the model was valid.</tool_use_error>"
        )
        structured = f"InputValidationError: permission handler updatedInput failed schema for {tool.name}"
        record = _record("reject", "permission_updated_input_invalid")
        raise ToolFailed(words, structured=structured, permission=record) from None
    return checked


def _record(decision: str, source: str) -> events.Json:
    return {"decision": decision, "source": source}
