"""Seed 004's rounds: which round a user message belongs to, what kind of input it is, what marks its round.

In: a user record and the message before it. Out: the document's names for it. It takes `permissionMode` for the surest sign of
a new session, so on releases that write it on every prompt every prompt is one; `round_types` reports that beside our turns.
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Any

from msgspec import UNSET, Struct

from stenograph.records import (
    AssistantRecord,
    ChainedRecord,
    Content,
    Record,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
    UserRecord,
    rebuild,
)
from stenograph.records.times import moment

if TYPE_CHECKING:
    from stenograph.turns.model import Session

THRESHOLD_MINUTES = 5.0
# The document's typical words of a round that only goes on.
CONTINUING_WORDS = ("继续", "下一步")


class RoundType(StrEnum):
    NEW_SESSION = "new_session"
    CONTINUE = "continue"
    NEW_ROUND = "new_round"
    RESUME = "resume"


class InputType(StrEnum):
    IDE_SELECTION = "ide_selection"
    IDE_OPENED_FILE = "ide_opened_file"
    TOOL_RESULT = "tool_result"
    TEXT = "text"


class RoundFeatures(Struct, frozen=True):
    """A row of the document's table of rounds; None where no row fits."""

    # `first`, `continue`, `resume`, `tool_result`.
    round: str | None
    has_parent: bool
    input_type: InputType | None
    # `high`, `medium`, `low`; None for tool results too.
    complexity: str | None


def determine_round_type(
    message: Record, previous: Record | None = None, threshold_minutes: float = THRESHOLD_MINUTES
) -> RoundType:
    """The document's simplified algorithm, in its order: permissionMode, no parent, a tool result, a long silence."""
    if _has_permission_mode(message):
        return RoundType.NEW_SESSION
    if not _has_parent(message):
        return RoundType.NEW_SESSION
    if _has_tool_result(message):
        return RoundType.CONTINUE
    if previous is not None and _is_gap_large(previous, message, threshold_minutes):
        return RoundType.RESUME
    return RoundType.NEW_ROUND


def starts_round(message: Record) -> bool:
    """The three rules of rounds: `permissionMode` begins one, without it a tool result goes on, anything else begins one."""
    return _has_permission_mode(message) or not _has_tool_result(message)


def input_type(message: Record) -> InputType | None:
    """What kind of input a user message is, by its first fitting sign; None for one that is not only text."""
    content = _content(message)
    text = content if isinstance(content, str) else "\n".join(_texts(content))
    if "<ide_selection>" in text:
        return InputType.IDE_SELECTION
    if "<ide_opened_file>" in text:
        return InputType.IDE_OPENED_FILE
    if _has_tool_result(message):
        return InputType.TOOL_RESULT
    only_text = isinstance(content, str) or (content and all(isinstance(block, TextBlock) for block in content))
    return InputType.TEXT if only_text else None


def round_features(message: Record) -> RoundFeatures:
    """Which row of the table of rounds a user message is in."""
    parent, kind = _has_parent(message), input_type(message)
    if kind is InputType.TOOL_RESULT:
        return RoundFeatures("tool_result" if parent else None, parent, kind, None)
    if not parent:
        return RoundFeatures("first", parent, kind, "high")
    if kind is not InputType.IDE_OPENED_FILE:
        return RoundFeatures(None, parent, kind, None)
    words = [text.strip() for text in _texts(_content(message))]
    if any(word in CONTINUING_WORDS for word in words):
        return RoundFeatures("continue", parent, kind, "low")
    return RoundFeatures("resume", parent, kind, "medium")


def parse_content_blocks(message: Record) -> list[dict[str, Any]]:
    """The blocks of a message, empty texts and thoughts kept: leaving them out breaks the chain. A string has none."""
    content = _content(message)
    blocks = content if isinstance(content, tuple) else ()
    return [parsed for block in blocks if (parsed := _parse_block(block))]


def _parse_block(block: object) -> dict[str, Any] | None:
    match block:
        case TextBlock():
            return {"type": "text", "text": block.text or ""}
        case ThinkingBlock():
            return {"type": "thinking", "thinking": block.thinking or ""}
        case ToolUseBlock():
            return {
                "type": "tool_use",
                "tool_name": block.name or "",
                "tool_input": block.input or {},
                "tool_use_id": block.id or "",
            }
        case ToolResultBlock():
            return {
                "type": "tool_result",
                "tool_use_id": block.tool_use_id or "",
                "content": rebuild(block.content or ""),
                "is_error": bool(block.is_error),
            }
    return None


def round_types(session: Session, threshold_minutes: float = THRESHOLD_MINUTES) -> dict[int, RoundType]:
    """For each turn, by the node that opened it, its round type; the message before is what was last said before it."""
    graph = session.graph
    found: dict[int, RoundType] = {}
    for turn in session.all_turns:
        before = graph.before[turn.node]
        while before >= 0 and not isinstance(graph.records[before], UserRecord | AssistantRecord):
            before = graph.before[before]
        previous = graph.records[before] if before >= 0 else None
        found[turn.node] = determine_round_type(graph.records[turn.node], previous, threshold_minutes)
    return found


def _has_permission_mode(message: Record) -> bool:
    mode = message.permissionMode if isinstance(message, UserRecord) else UNSET
    return (message.extra.get("permissionMode") if mode is UNSET else mode) is not None


def _has_parent(message: Record) -> bool:
    parent = message.parentUuid if isinstance(message, ChainedRecord) else UNSET
    return (message.extra.get("parentUuid") if parent is UNSET else parent) is not None


def _content(message: Record) -> Content:
    # Not a flat line's content: the document looks inside `message` only.
    inside = message.message if isinstance(message, UserRecord | AssistantRecord) else None
    content = inside.content if inside else None
    return content if isinstance(content, str | tuple) else ()


def _texts(content: Content) -> list[str]:
    blocks = content if isinstance(content, tuple) else ()
    return [block.text for block in blocks if isinstance(block, TextBlock) and isinstance(block.text, str)]


def _has_tool_result(message: Record) -> bool:
    return any(isinstance(block, ToolResultBlock) for block in _content(message))


def _is_gap_large(previous: Record, message: Record, threshold_minutes: float) -> bool:
    """The document leaves this to the reader; a time that can't be read makes no gap."""
    before = moment(previous.timestamp) if isinstance(previous, ChainedRecord) else None
    now = moment(message.timestamp) if isinstance(message, ChainedRecord) else None
    return before is not None and now is not None and (now - before).total_seconds() > threshold_minutes * 60
