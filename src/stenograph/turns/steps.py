"""Steps: each user and assistant line of the main conversation, on its own; described in docs/seeds.md."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import datetime
from enum import StrEnum
from typing import Any

from msgspec import Struct

from stenograph.records import AssistantRecord, Content, Opt, Record, ToolResultBlock, ToolUseBlock, UserRecord, moment, text_of

SUMMARY_LENGTH = 200


class StepType(StrEnum):
    USER_MESSAGE = "user_message"
    TOOL_RESULT = "tool_result"
    ASSISTANT_MESSAGE = "assistant_message"
    TOOL_CALL = "tool_call"


class ToolCallRecord(Struct, frozen=True):
    tool_use_id: str
    tool_name: str
    input: dict[str, Any]


class Step(Struct, frozen=True):
    type: StepType
    # The line's text, or its result's; empty for a tool use alone.
    content_summary: str
    raw_uuid: str
    parent_uuid: str | None
    timestamp: datetime | None
    tool_calls: tuple[ToolCallRecord, ...] = ()


def steps(records: Iterable[Record], mask: Callable[[str], str] = str) -> list[Step]:
    """The steps of a session, in file order; `mask` sees a text before it is cut, so that no half of a secret is left."""
    return [
        _step(record, mask) for record in records if isinstance(record, UserRecord | AssistantRecord) and not record.isSidechain
    ]


def _step(record: UserRecord | AssistantRecord, mask: Callable[[str], str]) -> Step:
    content = record.content
    uses = _uses(content) if isinstance(record, AssistantRecord) else ()
    if isinstance(record, AssistantRecord):
        kind = StepType.TOOL_CALL if uses else StepType.ASSISTANT_MESSAGE
    else:
        kind = StepType.TOOL_RESULT if _results(content) else StepType.USER_MESSAGE
    return Step(
        type=kind,
        content_summary=mask(_text(content))[:SUMMARY_LENGTH],
        raw_uuid=record.uuid or "",
        parent_uuid=record.parentUuid or None,
        timestamp=moment(record.timestamp),
        tool_calls=uses,
    )


def _uses(content: Opt[Content]) -> tuple[ToolCallRecord, ...]:
    blocks = content if isinstance(content, tuple) else ()
    return tuple(ToolCallRecord(b.id or "", b.name or "", b.input or {}) for b in blocks if isinstance(b, ToolUseBlock))


def _results(content: Opt[Content]) -> list[ToolResultBlock]:
    blocks = content if isinstance(content, tuple) else ()
    return [block for block in blocks if isinstance(block, ToolResultBlock)]


def _text(content: Opt[Content]) -> str:
    return text_of(content) or "\n\n".join(text_of(result.content) for result in _results(content))
