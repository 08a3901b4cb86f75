"""Round types: whether a prompt opens a session, continues it, or resumes it after a silence.

In: a session. Out: one of four words for each turn. `permissionMode` counts as the surest sign of a new session, so with releases
that write it on every prompt every prompt is one; turns do not depend on it. Described in docs/seeds.md.
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

from msgspec import UNSET

from stenograph.records import AssistantRecord, ChainedRecord, Record, ToolResultBlock, UserRecord, moment

if TYPE_CHECKING:
    from stenograph.turns.model import Session

THRESHOLD_MINUTES = 5.0


class RoundType(StrEnum):
    NEW_SESSION = "new_session"
    CONTINUE = "continue"
    NEW_ROUND = "new_round"
    RESUME = "resume"


def round_types(session: Session, threshold_minutes: float = THRESHOLD_MINUTES) -> dict[int, RoundType]:
    """The round type of each turn, by the node that opened it."""
    graph = session.graph
    types: dict[int, RoundType] = {}
    for turn in session.all_turns:
        before = graph.before[turn.node]
        while before >= 0 and not isinstance(graph.records[before], UserRecord | AssistantRecord):
            before = graph.before[before]
        previous = graph.records[before] if before >= 0 else None
        types[turn.node] = round_type(graph.records[turn.node], previous, threshold_minutes)
    return types


def round_type(message: Record, previous: Record | None = None, threshold_minutes: float = THRESHOLD_MINUTES) -> RoundType:
    """The type of one user message; `previous` is the message before it, None when there is none."""
    if has_permission_mode(message) or not has_parent(message):
        return RoundType.NEW_SESSION
    if has_tool_result(message):
        return RoundType.CONTINUE
    if previous is not None and _is_gap_large(previous, message, threshold_minutes):
        return RoundType.RESUME
    return RoundType.NEW_ROUND


def has_permission_mode(message: Record) -> bool:
    mode = message.permissionMode if isinstance(message, UserRecord) else UNSET
    return (message.extra.get("permissionMode") if mode is UNSET else mode) is not None


def has_parent(message: Record) -> bool:
    parent = message.parentUuid if isinstance(message, ChainedRecord) else UNSET
    return (message.extra.get("parentUuid") if parent is UNSET else parent) is not None


def has_tool_result(message: Record) -> bool:
    # `message.content` only: a flat line's own content does not count.
    inside = message.message if isinstance(message, UserRecord | AssistantRecord) else None
    content = inside.content if inside else None
    return isinstance(content, tuple) and any(isinstance(block, ToolResultBlock) for block in content)


def _is_gap_large(previous: Record, message: Record, threshold_minutes: float) -> bool:
    """A time that cannot be read makes no gap."""
    before = moment(previous.timestamp) if isinstance(previous, ChainedRecord) else None
    now = moment(message.timestamp) if isinstance(message, ChainedRecord) else None
    return before is not None and now is not None and (now - before).total_seconds() > threshold_minutes * 60
