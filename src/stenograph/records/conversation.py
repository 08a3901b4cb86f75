"""What the person, the client and the model said: user and assistant records, flat lines among them."""

from __future__ import annotations

from msgspec import UNSET

from stenograph.records.blocks import Block, Content, read_content
from stenograph.records.envelope import ChainedRecord, Record
from stenograph.records.messages import (
    AssistantMessage,
    PlainMessage,
    RecordMessage,
    read_assistant_message,
    read_message,
    read_plain_message,
)
from stenograph.records.shape import Json, Later, Opt, keep, later, once, read_later, rebuild
from stenograph.records.tool_results import ToolResult, read_tool_result


class UserRecord(ChainedRecord, tag_field="type", tag="user"):
    """A prompt, a tool result, or a text that the client put in as if the user had said it."""

    message_raw: Later = later("message")
    # Flat lines of other tools hold the content here, without a message.
    flat_content_raw: Later = later("content")
    toolUseResult_raw: Later = later("toolUseResult")
    # The assistant line with the tool use (from 2.1.1 on); with parallel calls not the parent.
    sourceToolAssistantUUID: Opt[str] = UNSET
    # The tool use that made the client insert this text (a skill's body).
    sourceToolUseID: Opt[str] = UNSET
    promptId: Opt[str] = UNSET
    # `typed`, `queued`, `system`, `sdk`, …
    promptSource: Opt[str] = UNSET
    permissionMode: Opt[str] = UNSET
    isCompactSummary: Opt[bool] = UNSET
    isVisibleInTranscriptOnly: Opt[bool] = UNSET
    origin: Opt[dict[str, Json]] = UNSET
    turnOrigin: Opt[str] = UNSET
    turnPosition: Opt[dict[str, Json]] = UNSET
    turnCompanion: Opt[bool] = UNSET
    thinkingMetadata: Opt[dict[str, Json]] = UNSET
    todos: Opt[list[Json]] = UNSET
    imagePasteIds: Opt[list[Json]] = UNSET
    interruptedMessageId: Opt[str] = UNSET
    refusedMessageId: Opt[str] = UNSET
    planContent: Opt[str] = UNSET
    permissionDecision: Opt[dict[str, Json]] = UNSET
    toolDenialKind: Opt[str] = UNSET
    userFeedback: Opt[str] = UNSET
    sandboxed: Opt[bool] = UNSET
    queueSkipAttachments: Opt[bool] = UNSET
    summarizedTurnPromptUuids: Opt[list[str]] = UNSET
    holdsPersonsWords: Opt[bool] = UNSET
    classifierMetaLines: Opt[str] = UNSET
    # What an MCP server answered beside its content.
    mcpMeta: Opt[dict[str, Json]] = UNSET
    # Why the call of an MCP tool counts as one that changes something: `no_hint`, …
    mcpCallNotReadOnly: Opt[str] = UNSET
    toolEndsTurn: Opt[bool] = UNSET
    repeatsCompactSummary: Opt[bool] = UNSET

    @once
    def message(self) -> Opt[RecordMessage]:
        return read_later(self.message_raw, read_message)

    @once
    def flat_content(self) -> Opt[Content]:
        return read_later(self.flat_content_raw, read_content)

    @once
    def toolUseResult(self) -> Opt[ToolResult | str | tuple[Block | Json, ...]]:  # noqa: N802 - the file's own spelling
        return read_later(self.toolUseResult_raw, read_tool_result)

    @property
    def content(self) -> Opt[Content]:
        """What was said: the message's content, or a flat line's own."""
        return self.message.content if self.message else self.flat_content


class AssistantRecord(ChainedRecord, tag_field="type", tag="assistant"):
    """One API response or, mostly, one block of it: lines with the same `message.id` are one response."""

    message_raw: Later = later("message")
    flat_content_raw: Later = later("content")
    # Absent with other providers; shared by a synthetic error.
    requestId: Opt[str] = UNSET
    isApiErrorMessage: Opt[bool] = UNSET
    error: Json = UNSET
    apiErrorStatus: Opt[int] = UNSET
    apiErrorType: Opt[str] = UNSET
    # `max_output_tokens`, …; 2.1.9 to 2.1.62.
    apiError: Opt[str] = UNSET
    errorDetails: Opt[str] = UNSET
    resendCannotCure: Opt[bool] = UNSET
    healsDistinctCarrier: Opt[bool] = UNSET
    effort: Opt[str] = UNSET
    perTurnEffort: Opt[str] = UNSET
    requestedModel: Opt[str] = UNSET
    madeBy: Opt[str] = UNSET
    apiBlockIndex: Opt[int] = UNSET
    requestRef: Opt[str] = UNSET
    promptCacheRequested: Opt[str] = UNSET
    toolInputStreamMs: Opt[int | float] = UNSET
    thinkingDurationMs: Opt[int | float] = UNSET
    thinkingDisplay: Opt[str] = UNSET
    serverClassifierRequest: Opt[str] = UNSET
    attributionAgent: Opt[str] = UNSET
    attributionSkill: Opt[str] = UNSET
    attributionPlugin: Opt[str] = UNSET
    attributionMcpServer: Opt[str] = UNSET
    attributionMcpTool: Opt[str] = UNSET
    failedResponseHadNoToolCall: Opt[bool] = UNSET

    @once
    def message(self) -> Opt[AssistantMessage]:
        return read_later(self.message_raw, read_assistant_message)

    @once
    def flat_content(self) -> Opt[Content]:
        return read_later(self.flat_content_raw, read_content)

    @property
    def content(self) -> Opt[Content]:
        """What was said: the message's content, or a flat line's own."""
        return self.message.content if self.message else self.flat_content


def plain_message(record: UserRecord | AssistantRecord) -> PlainMessage:
    """What was said as plain JSON, made anew each time: a quarter of what `rebuild(record.content)` costs."""
    found = read_plain_message(record.message_raw)
    if found is not None:
        return found
    message = record.message
    if isinstance(message, AssistantMessage):
        return PlainMessage(rebuild(message.content), message.id, message.model)
    return PlainMessage(rebuild(record.content))


def strip(record: UserRecord | AssistantRecord, message: Opt[RecordMessage]) -> None:
    """Put another message in the place of a record's own, and drop its line: for whoever made the record and keeps many.

    Nothing is left of what it said; its other members stay.
    """
    keep(record, "_source", None)
    keep(record, "message_raw", UNSET)
    keep(record, "flat_content_raw", UNSET)
    if isinstance(record, UserRecord):
        keep(record, "toolUseResult_raw", UNSET)
    made = record.__dict__
    made.clear()
    made["message"] = message


class FlatUserRecord(UserRecord, tag_field=None, tag=False):
    """A user line without a `type`, known by its role."""

    role: Opt[str] = UNSET

    @property
    def kind(self) -> str:
        return "user"


class FlatAssistantRecord(AssistantRecord, tag_field=None, tag=False):
    """An assistant line without a `type`, known by its role."""

    role: Opt[str] = UNSET

    @property
    def kind(self) -> str:
        return "assistant"


def message_id_of(record: Record) -> str:
    """The id of the response that a line is part of; empty for a line of anybody else, or without one."""
    if isinstance(record, AssistantRecord) and record.message and isinstance(record.message.id, str):
        return record.message.id
    return ""
