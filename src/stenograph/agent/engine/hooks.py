"""Where others may look into a session and change its course. The engine calls these; it does not know what runs behind them."""

from __future__ import annotations

from typing import Protocol

from msgspec import Struct, field

from stenograph.agent.engine.asides import Aside
from stenograph.agent.engine.calls import Call, CallResult
from stenograph.agent.permissions.live_policy import Behavior
from stenograph.records import Json


class HookOutcome(Struct, frozen=True, kw_only=True):
    """What hooks say, joined by the rule that the strictest wins."""

    #: Before a tool: allow, ask or deny. None leaves it to the policy.
    behavior: Behavior | None = None
    #: Why; for the model. Of a block, an allowance or a denial.
    reason: str = ""
    updated_input: Json | None = None
    #: For the one who summarizes, before a compaction.
    context: list[str] = field(default_factory=list)
    #: A prompt that is not sent, a result with an objection, a stop that is not accepted; `reason` says why.
    is_blocked: bool = False
    #: The session must not continue; the words are for the user. None if it may.
    stop_reason: str | None = None
    #: One line each for the user.
    notices: list[str] = field(default_factory=list)
    #: Lines for the session file (`hook_success` and other attachments), in order; those with a text are sent.
    asides: list[Aside] = field(default_factory=list)
    #: Further lines, which come behind the result of a call that was not made yet.
    asides_behind: list[Aside] = field(default_factory=list)
    #: Some of them are words for the model, which make a turn continue that was about to stop (2.1.325).
    has_context: bool = False
    #: Members of the line that says which hooks ran at a stop; empty if none did.
    summary: Json = {}


class Hooks(Protocol):
    #: Of the turn under way, as its lines have it.
    prompt_id: str

    async def before_tool(self, call: Call, agent_id: str | None) -> HookOutcome: ...

    async def after_tool(self, result: CallResult, agent_id: str | None) -> HookOutcome: ...

    async def on_prompt(self, prompt: str) -> HookOutcome: ...

    async def on_stop(self, text: str, *, is_continued: bool, agent_id: str | None) -> HookOutcome:
        """`text`: the last answer. `is_continued`: a hook has already made this turn continue."""
        ...

    async def on_session_start(self, source: str) -> HookOutcome:
        """`source`: startup, resume, clear or compact."""
        ...

    async def on_session_end(self, reason: str) -> HookOutcome: ...

    async def before_compaction(self, trigger: str, instructions: str) -> HookOutcome: ...

    async def on_notification(self, message: str, kind: str) -> HookOutcome:
        """`kind`: permission_prompt, idle_prompt, and so on."""
        ...
