"""Seed 002's grouping of lines into turns (§4, §5, §9), its reading position (§8) and its continuation sessions (§10).

In: records in file order. Out: the complete turns and how many of the records they used up, so that a later run can go on
from there. Everything is by adjacency in the file: parents, branches and sidechains are not looked at.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from stenograph.records import (
    AssistantRecord,
    Block,
    ChainedRecord,
    Content,
    DamagedRecord,
    Located,
    Record,
    SessionRecord,
    TextBlock,
    ToolResultBlock,
    ToolUseBlock,
    Usage,
    UserRecord,
)
from stenograph.records.times import moment


class MergedAssistant(Struct, frozen=True):
    """The parts of one response: all their blocks, and the first part's everything else."""

    parts: tuple[AssistantRecord, ...]
    content: tuple[Block | Any, ...]

    @property
    def first(self) -> AssistantRecord:
        return self.parts[0]

    @property
    def message_id(self) -> str | None:
        return _message_id(self.first)

    @property
    def model(self) -> str | None:
        return (self.first.message.model or None) if self.first.message else None

    @property
    def usage(self) -> Usage | None:
        return (self.first.message.usage or None) if self.first.message else None

    @property
    def timestamp(self) -> datetime | None:
        return timestamp_of(self.first)


class GroupedTurn(Struct, frozen=True):
    """A user message with at least one assistant message."""

    user: UserRecord
    assistants: tuple[MergedAssistant, ...]
    tool_results: tuple[UserRecord, ...]


class MatchedTool(Struct, frozen=True):
    use: ToolUseBlock
    # None when no result has the use's id.
    output: Content | None


def role_of(record: Record) -> str | None:
    """§4: `type`, else the message's role."""
    if isinstance(record, DamagedRecord):
        return None
    if isinstance(record.type, str):
        return record.type
    message = record.message if isinstance(record, UserRecord | AssistantRecord) else record.extra.get("message")
    role = message.get("role") if isinstance(message, dict) else getattr(message, "role", None)
    return role if isinstance(role, str) else None


def content_of(record: Record) -> Content | None:
    """§6: the message's content, else the line's own."""
    content = record.content if isinstance(record, UserRecord | AssistantRecord) else None
    return content if isinstance(content, str | tuple) else None


def timestamp_of(record: Record) -> datetime | None:
    """§6: the line's timestamp, else its message's; None when that is no string, or no time."""
    if not isinstance(record, ChainedRecord):
        return None
    if record.timestamp is msgspec.UNSET and record.extra.get("timestamp") is not None:
        return None  # there is one, but no string: the message's is not asked for
    message = record.message if isinstance(record, UserRecord | AssistantRecord) else None
    return moment(record.timestamp or (message.timestamp if message else None))


def is_tool_result(record: Record) -> bool:
    """§4: whether any block of an array is a tool result."""
    content = content_of(record)
    return isinstance(content, tuple) and any(isinstance(block, ToolResultBlock) for block in content)


def group_turns(records: Sequence[Record]) -> tuple[list[GroupedTurn], int]:
    """§5: the complete turns, and the index behind the last record of the last of them."""
    turns: list[GroupedTurn] = []
    consumed = 0
    grouping = _Grouping()
    for index, record in enumerate(records):
        if _is_meta(record):
            continue
        if isinstance(record, UserRecord) and role_of(record) == "user":
            if is_tool_result(record):
                grouping.tool_results.append(record)
            else:
                consumed = grouping.finish(turns, consumed)
                grouping = _Grouping(user=record)
        elif isinstance(record, AssistantRecord) and role_of(record) == "assistant":
            grouping.add(record)
        else:
            continue
        grouping.end = index + 1
    return turns, grouping.finish(turns, consumed)


class _Grouping(Struct):
    """A turn in the making, with the response in the making."""

    user: UserRecord | None = None
    assistants: list[MergedAssistant] = msgspec.field(default_factory=list)
    tool_results: list[UserRecord] = msgspec.field(default_factory=list)
    parts: list[AssistantRecord] = msgspec.field(default_factory=list)
    message_id: str | None = None
    end: int = 0

    def add(self, record: AssistantRecord) -> None:
        message_id = _message_id(record)
        if message_id is not None and message_id != self.message_id:
            self.finish_parts()
            self.message_id = message_id
        # Without an id it joins whatever is being put together, with an id or without.
        self.parts.append(record)

    def finish_parts(self) -> None:
        if self.parts:
            self.assistants.append(merge_assistant_parts(self.parts))
            self.parts = []

    def finish(self, turns: list[GroupedTurn], consumed: int) -> int:
        self.finish_parts()
        if self.user is None or not self.assistants:
            return consumed
        turns.append(GroupedTurn(self.user, tuple(self.assistants), tuple(self.tool_results)))
        return self.end


def merge_assistant_parts(parts: Sequence[AssistantRecord]) -> MergedAssistant:
    """§5, §9: one message of several lines: their contents one after the other; a string counts as a block of text."""
    blocks: list[Block | Any] = []
    for part in parts:
        content = content_of(part)
        if isinstance(content, str):
            blocks.append(TextBlock(text=content))
        elif content is not None:
            blocks += content
    return MergedAssistant(tuple(parts), tuple(blocks))


def match_tool_results(turn: GroupedTurn) -> list[MatchedTool]:
    """§9: each tool use of a turn with the content of the result that has its id; None where there is none."""
    outputs: dict[str, Content | None] = {}
    for record in turn.tool_results:
        for block in content_of(record) or ():
            if isinstance(block, ToolResultBlock) and isinstance(block.tool_use_id, str):
                content = block.content
                outputs[block.tool_use_id] = content if isinstance(content, str | tuple) else None
    uses = (block for assistant in turn.assistants for block in assistant.content if isinstance(block, ToolUseBlock))
    return [MatchedTool(use, outputs.get(use.id or "")) for use in uses]


def line_offsets(located: Iterable[Located], last_line: int = 0) -> tuple[list[Record], list[int]]:
    """§8: what can be parsed of the lines behind `last_line`, and the line number (from 1) of each."""
    records: list[Record] = []
    offsets: list[int] = []
    for each in located:
        if each.number <= last_line or _is_no_json(each.record):
            continue
        records.append(each.record)
        offsets.append(each.number)
    return records, offsets


def next_line(offsets: Sequence[int], consumed: int, last_line: int = 0) -> int:
    """§8: the `last_line` to remember: that of the last record consumed, or the old one when there was none."""
    return offsets[consumed - 1] if consumed else last_line


def find_previous_session(first: Record, session_id: str, directory: Path) -> Path | None:
    """§10: the transcript of the session that the first line names, if it is another one and its file is there."""
    previous = first.sessionId if isinstance(first, SessionRecord) else None
    # An id is used as a file's name: one that leads elsewhere is none.
    if not isinstance(previous, str) or not previous or previous == session_id or Path(previous).name != previous:
        return None
    transcript = directory / f"{previous}.jsonl"
    return transcript if transcript.is_file() else None


def _message_id(record: AssistantRecord) -> str | None:
    return (record.message.id or None) if record.message else None


def _is_meta(record: Record) -> bool:
    return isinstance(record, ChainedRecord) and record.isMeta is True


def _is_no_json(record: Record) -> bool:
    # An array or a number is no record, but it is JSON and counts as a message that is neither user nor assistant.
    return isinstance(record, DamagedRecord) and record.reason != "not-an-object"
