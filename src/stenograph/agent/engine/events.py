"""What happens in a conversation, as one typed event after the other. Every face consumes only this.

The order that a face may rely on:

    SessionBegin                              once, before anything else
    (TurnBegin                                a prompt was recorded
      (Retry* ResponseBegin
         (BlockBegin, (TextPart | ThinkingPart | InputPart)*, BlockEnd)*
       ResponseEnd                            its lines are in the file
       (ToolBegin (Asked Answered)? ToolProgress* ToolEnd)*  of one call in this order; of parallel ones interleaved;
      )*                                      each ToolEnd after its result is in the file
      (CompactionBegin (CompactionEnd | CompactionFailed))*      never inside a response, never between ToolBegin and ToolEnd
     TurnEnd)*                                says how the turn ended; the session on disk is whole and valid
    SessionEnd                                once, the last

A `Retry` takes back what came of the response that it repeats; it may come in the middle of it. A turn that is interrupted,
withdrawn or fails may end in the middle of a response: a ResponseEnd holds what is kept of it, without the block that was cut
off; calls that never ran are told to begin and to end; a question that nobody answered any more has no Answered. Notice,
ModeChanged, ModelChanged, ModelFallback, Queued, TaskBegin and TaskEnd may come anywhere; Delivered comes between the last
ToolEnd and the next response. `seq` numbers all events from 1.

Events of a subagent come with its `agent_id`, between the ToolBegin and ToolEnd of the call that started it; those without
belong to the main conversation. Of an agent in the background, which outlives its call, they come at any time before SessionEnd.

What fails is a TurnEnd, not an exception: only a file that can't be written any more (DiskError) ends the stream, because no
turn can be ended without it.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Any, TypeAlias

from msgspec import Struct

Json: TypeAlias = dict[str, Any]


class Outcome(StrEnum):
    DONE = "done"  # end_turn, stop_sequence
    OUT_OF_TOKENS = "out_of_tokens"  # max_tokens
    OUT_OF_WINDOW = "out_of_window"  # too long for the window, and compaction failed
    REFUSED = "refused"
    OUT_OF_TURNS = "out_of_turns"  # --max-turns
    OUT_OF_BUDGET = "out_of_budget"  # --max-budget-usd
    OUT_OF_ATTEMPTS = "out_of_attempts"  # at an answer in the form of --json-schema
    INTERRUPTED = "interrupted"
    WITHDRAWN = "withdrawn"  # interrupted before anything was answered: the conversation is as it was before the prompt
    NOT_RESTORED = "not_restored"  # a rewind whose files could not be restored
    FAILED = "failed"  # the endpoint after all retries, or a requested compaction


class AgentEvent(Struct, frozen=True, kw_only=True, tag=True):
    #: The subagent's; None in the main conversation.
    agent_id: str | None = None
    #: From 1 on, without gaps: the same for every face.
    seq: int = 0


class SessionBegin(AgentEvent, frozen=True, kw_only=True):
    session_id: str
    path: str
    cwd: str
    model: str
    tools: list[str]
    permission_mode: str
    #: Name, status and source of each.
    mcp_servers: list[Json] = []
    #: Slash commands by name, without the slash.
    commands: list[str] = []
    #: Kinds of subagents.
    agents: list[str] = []
    skills: list[str] = []


class TurnBegin(AgentEvent, frozen=True, kw_only=True):
    prompt: str | list[Json]
    #: Of the prompt's record; a rewind names it. Empty for a command.
    uuid: str


class Retry(AgentEvent, frozen=True, kw_only=True):
    attempt: int
    max_retries: int
    #: Seconds.
    wait: float
    reason: str
    status: int


class ResponseBegin(AgentEvent, frozen=True, kw_only=True):
    message_id: str
    model: str
    usage: Json


class BlockBegin(AgentEvent, frozen=True, kw_only=True):
    index: int
    #: text, thinking, tool_use, or another.
    kind: str
    tool: str = ""
    tool_use_id: str = ""


class TextChunk(AgentEvent, frozen=True, kw_only=True):
    index: int
    text: str


class ThinkingChunk(AgentEvent, frozen=True, kw_only=True):
    index: int
    text: str


class InputChunk(AgentEvent, frozen=True, kw_only=True):
    index: int
    partial_json: str


class BlockEnd(AgentEvent, frozen=True, kw_only=True):
    index: int
    block: Json


class ResponseEnd(AgentEvent, frozen=True, kw_only=True):
    #: The message as the API gives it without streaming.
    message: Json
    #: Of each block's record, or of the note that replaces them.
    uuids: list[str]
    stop_reason: str
    usage: Json


class ToolBegin(AgentEvent, frozen=True, kw_only=True):
    tool_use_id: str
    tool: str
    given: Json


class Asked(AgentEvent, frozen=True, kw_only=True):
    """The user has to decide about a call that has begun."""

    tool_use_id: str
    tool: str
    given: Json
    reason: str


class Answered(AgentEvent, frozen=True, kw_only=True):
    tool_use_id: str
    is_allowed: bool
    message: str = ""
    #: A denial that ends the turn.
    interrupts: bool = False


class ToolProgress(AgentEvent, frozen=True, kw_only=True):
    tool_use_id: str
    #: The `data` of a progress record.
    data: Json


class ToolEnd(AgentEvent, frozen=True, kw_only=True):
    tool_use_id: str
    tool: str
    #: The tool_result block as recorded and sent.
    result: Json
    #: The record's toolUseResult.
    structured: Any
    uuid: str
    is_error: bool
    is_denied: bool = False
    #: The record's `toolDenialKind`, also of stopped calls.
    denied_by: str = ""
    duration_ms: int = 0


class CompactionBegin(AgentEvent, frozen=True, kw_only=True):
    #: manual or auto.
    trigger: str
    tokens: int


class CompactionEnd(AgentEvent, frozen=True, kw_only=True):
    trigger: str
    tokens_before: int
    tokens_after: int


class CompactionFailed(AgentEvent, frozen=True, kw_only=True):
    """The conversation stays as it was."""

    trigger: str
    reason: str


class ModeChanged(AgentEvent, frozen=True, kw_only=True):
    mode: str


class ModelChanged(AgentEvent, frozen=True, kw_only=True):
    model: str


class ModelFallback(AgentEvent, frozen=True, kw_only=True):
    """Another model answers for the rest of the turn."""

    model: str
    fallback: str
    #: overloaded or model_not_found.
    trigger: str
    text: str


class Queued(AgentEvent, frozen=True, kw_only=True):
    """A prompt that came during a turn: it goes in at the next tool boundary, or begins the next turn."""

    prompt: str | list[Json]
    uuid: str = ""


class Delivered(AgentEvent, frozen=True, kw_only=True):
    """What went into the turn under way: a queued prompt, or the end of background work."""

    prompt: str | list[Json]
    #: Of its record.
    uuid: str
    is_notification: bool = False


class TaskBegin(AgentEvent, frozen=True, kw_only=True):
    """A command or an agent runs in the background."""

    task_id: str
    #: local_bash or local_agent.
    kind: str
    description: str
    tool_use_id: str
    run_id: str = ""
    command: str = ""


class TaskEnd(AgentEvent, frozen=True, kw_only=True):
    task_id: str
    kind: str
    description: str
    tool_use_id: str
    #: completed, failed or killed.
    status: str
    run_id: str = ""
    summary: str = ""
    output_file: str = ""


class Notice(AgentEvent, frozen=True, kw_only=True):
    """One line for the user."""

    text: str


class TurnEnd(AgentEvent, frozen=True, kw_only=True):
    outcome: Outcome
    #: The text of the last response.
    text: str
    #: Why the turn failed, in one line, in the endpoint's words if it has any.
    error: str = ""
    #: Of HTTP; 0 without an answer.
    status: int = 0
    stop_reason: str = ""
    #: Of this turn.
    responses: int = 0
    duration_ms: int = 0
    api_duration_ms: int = 0
    #: Of the session so far, as in SessionEnd.
    session_usage: dict[str, dict[str, int]] = {}
    #: The answer in the form of --json-schema; None without one.
    structured_output: Any = None


class SessionEnd(AgentEvent, frozen=True, kw_only=True):
    session_id: str
    turns: int
    responses: int
    duration_ms: int
    api_duration_ms: int
    #: Model -> token counts, subagents included.
    usage: dict[str, dict[str, int]]
    #: Calls that were not allowed: {tool_name, tool_use_id, tool_input}.
    denials: list[Json]


Event: TypeAlias = (
    SessionBegin
    | TurnBegin
    | Retry
    | ResponseBegin
    | BlockBegin
    | TextChunk
    | ThinkingChunk
    | InputChunk
    | BlockEnd
    | ResponseEnd
    | ToolBegin
    | Asked
    | Answered
    | ToolProgress
    | ToolEnd
    | CompactionBegin
    | CompactionEnd
    | CompactionFailed
    | ModeChanged
    | ModelChanged
    | ModelFallback
    | Queued
    | Delivered
    | TaskBegin
    | TaskEnd
    | Notice
    | TurnEnd
    | SessionEnd
)
