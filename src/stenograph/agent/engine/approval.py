"""Questions to the user about calls that no rule decides, one at a time.

An answer may change the policy, which settles the questions that wait behind it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeAlias

from msgspec import Struct, field

from stenograph.agent.permissions.live_policy import PermissionUpdate
from stenograph.records import Json


class PermissionQuestion(Struct, frozen=True, kw_only=True):
    tool_use_id: str
    tool: str
    given: Json
    #: Why it is asked, in words for the model.
    reason: str
    suggestions: list[PermissionUpdate] = []
    #: The subagent's; None in the main conversation.
    agent_id: str | None = None
    #: The path outside the working directories, if that is why.
    blocked_path: str = ""


class Approval(Struct, frozen=True, kw_only=True):
    is_allowed: bool
    #: The input to use instead.
    updated_input: Json | None = None
    #: Changes of the policy, applied before anything else is decided.
    updates: list[PermissionUpdate] = field(default_factory=list)
    #: For the model, of a denial.
    message: str = ""
    #: A denial that also ends the turn.
    interrupt: bool = False
    #: Who answered: user, hook, or the prompt tool.
    source: str = "user"
    #: The record's `reasonCode`; empty: of the question.
    reason_code: str = ""
    #: False: whoever was asked did not answer in a known form, which denies.
    is_answer: bool = True


Approver: TypeAlias = Callable[[PermissionQuestion], Awaitable[Approval]]
