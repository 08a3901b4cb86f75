"""Seed 001's algorithms: turns (§4), tool pairs (§5), one entry for each response (§6), no synthetic messages (§7.1).

In: records in file order. Out: its own values, by uuid. They see string content as a person's words and a non-null
`stop_reason` as the end of a response, whatever release wrote the line. Where the document's code would fail for want of a
message, the record is passed over.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import msgspec
from msgspec import Struct

from stenograph.records import (
    AssistantRecord,
    Block,
    Content,
    Record,
    ToolResult,
    ToolResultBlock,
    ToolUseBlock,
    Usage,
    UserRecord,
)
from stenograph.records.shape import Opt


class ToolCallPair(Struct, frozen=True):
    tool_use_id: str
    tool_name: str
    assistant_entry_uuid: str
    # None until a result comes.
    result_entry_uuid: str | None = None


class DetectedTurn(Struct, frozen=True):
    """A string said by the user, and what came before the next one."""

    start_entry_uuid: str
    user_message: str
    # The uuids of the final lines of responses.
    assistant_responses: tuple[str, ...] = ()
    tool_calls: tuple[ToolCallPair, ...] = ()


class ToolCallMatch(Struct, frozen=True):
    tool_use_id: str
    tool_name: str
    input: dict[str, Any]
    tool_use_entry_uuid: str
    tool_result_entry_uuid: str
    result: Content | None
    result_metadata: ToolResult | str | tuple[Any, ...] | None = None


class DedupedMessage(Struct, frozen=True):
    """One response by its final line alone."""

    # None for the responses without an id, which are all one.
    message_id: str | None
    final_entry_uuid: str
    # The lines that are left out.
    streaming_entry_uuids: tuple[str, ...]
    content_blocks: tuple[Block | Any, ...]
    usage: Usage | None


def is_final_message(record: AssistantRecord) -> bool:
    """`stop_reason !== null`: in the document's language an absent one is not null either."""
    return bool(record.message) and record.message.stop_reason is not None  # type: ignore[union-attr]


def detect_turns(records: Iterable[Record]) -> list[DetectedTurn]:
    """§4: a string opens a turn, an array goes on with it, final lines are its responses."""
    turns: list[_OpenTurn] = []
    for record in records:
        if isinstance(record, UserRecord) and record.type == "user":
            content = record.message.content if record.message else None
            if isinstance(content, str):
                turns.append(_OpenTurn(record.uuid or "", content))
            elif turns:
                turns[-1].take_results(record.uuid or "", content)
        elif isinstance(record, AssistantRecord) and record.type == "assistant" and turns and is_final_message(record):
            turns[-1].take_response(record)
    return [turn.close() for turn in turns]


class _OpenTurn(Struct):
    start: str
    user_message: str
    responses: list[str] = msgspec.field(default_factory=list)
    calls: list[ToolCallPair] = msgspec.field(default_factory=list)

    def take_response(self, record: AssistantRecord) -> None:
        uuid = record.uuid or ""
        self.responses.append(uuid)
        self.calls += [ToolCallPair(use.id or "", use.name or "", uuid) for use in _uses(record)]

    def take_results(self, uuid: str, content: Opt[Content]) -> None:
        for result in _results(content):
            for index, call in enumerate(self.calls):
                if call.tool_use_id == result.tool_use_id and call.result_entry_uuid is None:
                    self.calls[index] = msgspec.structs.replace(call, result_entry_uuid=uuid)
                    break

    def close(self) -> DetectedTurn:
        return DetectedTurn(self.start, self.user_message, tuple(self.responses), tuple(self.calls))


def pair_tool_calls(records: Iterable[Record]) -> list[ToolCallMatch]:
    """§5: uses of final lines with the first result that follows; what has none is not in the answer."""
    pending: dict[str, tuple[ToolUseBlock, str]] = {}
    matches: list[ToolCallMatch] = []
    for record in records:
        if isinstance(record, AssistantRecord) and record.type == "assistant" and is_final_message(record):
            for use in _uses(record):
                pending[use.id or ""] = (use, record.uuid or "")
        elif isinstance(record, UserRecord) and record.type == "user" and record.message:
            for result in _results(record.message.content):
                found = pending.pop(result.tool_use_id or "", None)
                if found:
                    matches.append(_match(*found, record, result))
    return matches


def _match(use: ToolUseBlock, use_uuid: str, record: UserRecord, result: ToolResultBlock) -> ToolCallMatch:
    return ToolCallMatch(
        tool_use_id=use.id or "",
        tool_name=use.name or "",
        input=use.input or {},
        tool_use_entry_uuid=use_uuid,
        tool_result_entry_uuid=record.uuid or "",
        result=result.content or None,
        result_metadata=record.toolUseResult or None,
    )


def deduplicate_messages(records: Iterable[Record]) -> dict[str | None, DedupedMessage]:
    """§6: of the lines with one `message.id` the first with a stop_reason, else the first with the most output tokens."""
    groups: dict[str | None, list[AssistantRecord]] = {}
    for record in records:
        if isinstance(record, AssistantRecord) and record.type == "assistant" and record.message:
            groups.setdefault(record.message.id or None, []).append(record)
    return {message_id: _deduplicate(message_id, group) for message_id, group in groups.items()}


def _deduplicate(message_id: str | None, group: list[AssistantRecord]) -> DedupedMessage:
    # max() gives the first of equals, as the document's reduce does.
    final = next(filter(is_final_message, group), None) or max(group, key=_output_tokens)
    content = final.message.content if final.message else None
    return DedupedMessage(
        message_id=message_id,
        final_entry_uuid=final.uuid or "",
        streaming_entry_uuids=tuple(line.uuid or "" for line in group if line.uuid != final.uuid),
        content_blocks=content if isinstance(content, tuple) else (),
        usage=(final.message.usage or None) if final.message else None,
    )


def _output_tokens(record: AssistantRecord) -> int:
    usage = record.message.usage if record.message else None
    return (usage.output_tokens or 0) if usage else 0


def without_synthetic(records: Iterable[Record]) -> Iterator[Record]:
    """§7.1: the records without those that the client made up in the model's place."""
    for record in records:
        if not (isinstance(record, AssistantRecord) and record.message and record.message.model == "<synthetic>"):
            yield record


def _uses(record: AssistantRecord) -> list[ToolUseBlock]:
    content = record.message.content if record.message else None
    return [block for block in content if isinstance(block, ToolUseBlock)] if isinstance(content, tuple) else []


def _results(content: Opt[Content]) -> list[ToolResultBlock]:
    return [block for block in content if isinstance(block, ToolResultBlock)] if isinstance(content, tuple) else []
