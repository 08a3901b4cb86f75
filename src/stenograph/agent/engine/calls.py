"""One call of a tool -> its result: found, checked, allowed, run. Only cancellation escapes."""

from __future__ import annotations

import re
import time
import traceback
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from msgspec import Struct

from stenograph.agent.permissions.live_policy import Decision
from stenograph.agent.tools.base import Companion, ToolContext, ToolFailed, ToolInput, failed_use
from stenograph.agent.tools.toolbox import AnyTool, Toolbox
from stenograph.config import is_debugging
from stenograph.records import Json

if TYPE_CHECKING:
    from stenograph.agent.engine.hooks import HookOutcome

#: For calls that a person stopped (2.1.325).
STOPPED = (
    "The user doesn't want to proceed with this tool use. The tool use was rejected (eg. if it was a file edit, the new_string"
    " was NOT written to the file). STOP what you are doing and wait for the user to tell you how to proceed."
)
STOPPED_STRUCTURED = "User rejected tool use"


class Call(Struct, frozen=True):
    id: str
    name: str
    given: Json
    #: Of its line.
    uuid: str
    #: An input that was not JSON.
    unparsed: str = ""


class CallResult(Struct, frozen=True, kw_only=True):
    call: Call
    block: Json
    structured: object
    #: The record's `toolDenialKind`.
    denied_by: str = ""
    #: The record's `permissionDecision`.
    permission: Json = {}
    #: Further members of the record.
    more: Json = {}
    companions: list[Companion] = []
    is_denied: bool = False
    #: Without the time that a question took.
    duration_ms: int = 0
    #: What hooks said before the call.
    said: HookOutcome | None = None

    @property
    def is_error(self) -> bool:
        return bool(self.block.get("is_error"))


class Passage(Struct, frozen=True, kw_only=True):
    """What became of a call on its way to its tool."""

    #: With the input that hooks or the user made of it.
    call: Call
    given: ToolInput
    decision: Decision
    #: Seconds spent on a question.
    waited: float = 0.0
    said: HookOutcome | None = None


#: (call, tool, checked input, what it may use). Raises ToolFailed.
Decide: TypeAlias = Callable[[Call, AnyTool, ToolInput, ToolContext], Awaitable[Passage]]


async def run_call(
    call: Call,
    toolbox: Toolbox,
    decide: Decide,
    context: ToolContext,
    report: Callable[[str], None],
    environ: Mapping[str, str],
) -> CallResult:
    """`report` gets a line where a tool failed unexpectedly."""
    began = time.monotonic()
    decision: Decision | None = None
    said: HookOutcome | None = None
    try:
        tool, given = _checked(call, toolbox)
        passage = await decide(call, tool, given, context)
        call, decision, said = passage.call, passage.decision, passage.said
        began += passage.waited
        if not decision.allowed:
            raise failed_use(decision.reason) if decision.is_tool_error else ToolFailed(decision.reason, denied_by=decision.kind)
        context.is_unruled = decision.is_unruled
        output = await tool.run(passage.given, context)
    except ToolFailed as failure:
        return _failed(call, failure, began, decision, said)
    except Exception as error:  # noqa: BLE001 - the outer edge of a tool: the conversation must go on
        where = traceback.extract_tb(error.__traceback__)[-1]
        place = f"{Path(where.filename).name}:{where.lineno}"
        report(f"{call.name} failed unexpectedly: {type(error).__name__} at {place}; STENO_DEBUG=1 shows more")
        if is_debugging(environ):
            report("".join(traceback.format_exception(error)))
        return _failed(call, ToolFailed(f"Error: {call.name} failed: {type(error).__name__}"), began, decision, said)
    block: Json = {"tool_use_id": call.id, "type": "tool_result", "content": output.content}
    if output.is_error is not None:
        block["is_error"] = output.is_error
    return CallResult(
        call=call,
        block=block,
        structured=output.structured,
        permission=decision.record,
        more=output.record,
        companions=output.companions,
        duration_ms=_since(began),
        said=said,
    )


def stopped(call: Call) -> CallResult:
    """The result of a call that was interrupted or never started."""
    return _failed(call, ToolFailed(STOPPED, structured=STOPPED_STRUCTURED, denied_by="user-rejected"), time.monotonic())


def refused(call: Call, words: str) -> CallResult:
    return _failed(call, ToolFailed(words), time.monotonic())


def _checked(call: Call, toolbox: Toolbox) -> tuple[AnyTool, ToolInput]:
    tool = toolbox.find(call.name)
    if call.unparsed:
        raise failed_use(
            f"InputValidationError: {call.name} failed: the input is not valid JSON; it may have been cut off. Send it whole."
        )
    return tool, tool.check(call.given)


def _failed(
    call: Call, failure: ToolFailed, began: float, decision: Decision | None = None, said: HookOutcome | None = None
) -> CallResult:
    structured = failure.structured if failure.structured is not None else f"Error: {failure.words}"
    block: Json = {"type": "tool_result", "content": failure.words, "is_error": True, "tool_use_id": call.id}
    return CallResult(
        call=call,
        block=block,
        structured=structured,
        denied_by=failure.denied_by,
        permission=decision.record if decision else failure.permission,
        more={"holdsPersonsWords": True} if decision is not None and decision.is_said else {},
        is_denied=decision is not None and not decision.allowed,
        duration_ms=_since(began),
        said=said,
    )


def _since(began: float) -> int:
    return round((time.monotonic() - began) * 1000)


_ADDRESS = r"https://github\.com/([\w.-]+/[\w.-]+)/pull/([0-9]+)"
_MAKES_ONE = r"\bgh\s+pr\s+create\b"


class PullRequest(Struct, frozen=True):
    number: int
    url: str
    repository: str


def pull_request_of(result: CallResult) -> PullRequest | None:
    """The pull request that a command has just created."""
    command, content = result.call.given.get("command"), result.block["content"]
    if result.is_error or not (isinstance(command, str) and isinstance(content, str) and re.search(_MAKES_ONE, command)):
        return None
    found = re.search(_ADDRESS, content)
    return PullRequest(int(found[2]), found[0], found[1]) if found else None


def changed_lines(result: CallResult) -> tuple[int, int]:
    """(added, removed)"""
    patch = result.structured.get("structuredPatch") if isinstance(result.structured, dict) else None
    lines = [line for hunk in patch or () for line in hunk["lines"]]
    return sum(line.startswith("+") for line in lines), sum(line.startswith("-") for line in lines)
