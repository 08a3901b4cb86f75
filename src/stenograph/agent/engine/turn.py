"""A turn under way."""

from __future__ import annotations

from typing import Any

from msgspec import Struct, field

from stenograph.agent.engine.answering import Answer
from stenograph.agent.engine.calls import Call
from stenograph.agent.engine.hooks import HookOutcome
from stenograph.agent.tools.base import Companion
from stenograph.records import Json


class TurnInProgress(Struct):
    began: float
    responses: int = 0
    text: str = ""
    stop_reason: str = ""
    api_seconds: float = 0.0
    #: Calls of the last response without a recorded result.
    waiting: list[Call] = field(default_factory=list)
    #: Recorded results that the conversation does not hold yet, in file order.
    results: list[Json] = field(default_factory=list)
    #: With the id of the call; they come behind all results.
    companions: list[tuple[str, Companion]] = field(default_factory=list)
    #: A request of it was sent.
    is_begun: bool = False
    #: Announced calls.
    begun: set[str] = field(default_factory=set)
    answer: Answer | None = None
    #: The conversation before it was compacted is gone.
    is_compacted: bool = False
    #: The last call of an MCP tool in the last response.
    server_tool: str = ""
    tools_used: list[str] = field(default_factory=list)
    #: Models to call where the one asked for is overloaded or not there.
    fallbacks: list[str] = field(default_factory=list)
    #: A tool that ends the turn has succeeded.
    is_over: bool = False
    structured_output: Any = None
    #: Calls of StructuredOutput that were refused, and why the last one was.
    attempts: int = 0
    last_refusal: str = ""
    #: By hooks about calls, until all results are there; only in 2.0, which has no attachments.
    said: list[HookOutcome] = field(default_factory=list)
    #: A hook ended it.
    is_stopped: bool = False
    #: A hook made it go on.
    is_continued: bool = False

    @property
    def is_answered(self) -> bool:
        """Something of it can't be taken back: an answer that has begun, or a compaction. Thinking can."""
        is_answering = self.answer is not None and self.answer.is_answering
        return is_answering or self.is_compacted or self.responses > 0 or bool(self.waiting or self.results)
