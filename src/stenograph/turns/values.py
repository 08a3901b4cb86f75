"""What turns are made of: calls, tool calls, interjections, compactions, events, token counts.

Frozen views of the records they were made from. `node` fields are indexes into the session's graph.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import datetime
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from stenograph.disk import redacted_repr
from stenograph.family import RESULTS_FOLDER
from stenograph.graph import Graph
from stenograph.records import (
    SYNTHETIC,
    AssistantRecord,
    CompactBoundaryRecord,
    TextBlock,
    ThinkingBlock,
    TokenCounts,
    ToolResult,
    ToolResultBlock,
    ToolUseBlock,
    Usage,
    UserRecord,
    is_aborted,
    moment,
    once,
    text_of,
    time_of,
)
from stenograph.releases import writes_stop_reasons
from stenograph.turns.context import Context

if TYPE_CHECKING:
    from stenograph.turns.model import AgentRun

_SPILLED_WITHIN = 2000
_SPILLED = re.compile(rf"[\\/]{RESULTS_FOLDER}[\\/]([^\\/\n\"]+)")


def spilled_name(result: str) -> str | None:
    """The name of the file with the whole output, where a result says that it was too long for its line."""
    if result.find(RESULTS_FOLDER, 0, _SPILLED_WITHIN) < 0:
        return None  # ten times as fast as the pattern, and so it is nearly always
    found = _SPILLED.search(result, 0, _SPILLED_WITHIN)
    return found[1] if found else None


#: Tokens of calls, each call once.
Tokens = TokenCounts


@redacted_repr
class ToolCall(Struct, frozen=True):
    """One use of a tool and its result."""

    use: ToolUseBlock
    use_node: int
    context: Context
    # The first result with its id in its file, preferably of the same turn.
    result_block: ToolResultBlock | None = None
    result_node: int = -1

    @property
    def id(self) -> str:
        return self.use.id or ""

    @property
    def name(self) -> str:
        return self.use.name or ""

    @property
    def input(self) -> dict[str, Any]:
        return self.use.input or {}

    @property
    def answered(self) -> bool:
        """Whether there is a result, even an error."""
        return self.result_block is not None

    @property
    def result(self) -> str:
        """The result's text as the model got it; empty for images alone."""
        return text_of(self.result_block.content) if self.result_block else ""

    @property
    def is_error(self) -> bool:
        return bool(self.result_block and self.result_block.is_error)

    @property
    def structured(self) -> ToolResult | str | tuple[Any, ...] | None:
        """The result as the client stores it for display; a string for errors."""
        record = self.context.graph.records[self.result_node] if self.answered else None
        return (record.toolUseResult or None) if isinstance(record, UserRecord) else None

    @property
    def spilled(self) -> Path | None:
        """The file with the whole output, if it was too long for its line and still exists."""
        if not self.result_block or not self.context.spilled:
            return None
        return self.context.spilled.get(spilled_name(self.result) or "")

    def read_output(self) -> str:
        """The whole output: the spilled file if there is one, else the result."""
        path = self.spilled
        return path.read_text(encoding="utf-8", errors="replace") if path else self.result

    @property
    def agent(self) -> AgentRun | None:
        return self.context.agents.get(self.id)

    @property
    def started(self) -> datetime | None:
        return moment_of(self.context.graph, self.use_node)

    @property
    def ended(self) -> datetime | None:
        return moment_of(self.context.graph, self.result_node) if self.answered else None

    @property
    def duration_ms(self) -> int | None:
        """From the call to its result, with any wait for permission; None without a result."""
        started, ended = self.started, self.ended
        return max(0, round((ended - started).total_seconds() * 1000)) if started and ended else None


def moment_of(graph: Graph, node: int) -> datetime | None:
    return time_of(graph.records[node])


class CallPart(StrEnum):
    """What part of a response a call is: a response may be in two turns."""

    # All of it, or its beginning.
    WHOLE = "whole"
    # The rest of a response that began in the turn before: a prompt came in between.
    REST = "rest"
    # A copy: a history written twice, or a replay.
    COPY = "copy"


@redacted_repr
class ApiCall(Struct, frozen=True, dict=True):
    """One API response: all lines with one `message.id`, their blocks in file order."""

    nodes: tuple[int, ...]
    records: tuple[AssistantRecord, ...]
    tool_calls: tuple[ToolCall, ...]
    context: Context
    # The node that it answers: the prompt or the last result before it.
    input_node: int = -1
    part: CallPart = CallPart.WHOLE

    def _first(self, name: str) -> Any:
        for record in self.records:
            value = getattr(record.message, name, None) if record.message else None
            if value:
                return value
        return None

    @property
    def message_id(self) -> str:
        """Empty if the provider sends none."""
        return self._first("id") or ""

    @property
    def request_id(self) -> str:
        """Empty if the provider sends none."""
        return next((record.requestId for record in self.records if record.requestId), "")

    @property
    def model(self) -> str:
        """`<synthetic>` is the client itself."""
        return self._first("model") or ""

    @property
    def is_synthetic(self) -> bool:
        """Written by the client, not by the model."""
        return self.model == SYNTHETIC

    @property
    def is_api_error(self) -> bool:
        """Whether it is an error that the client wrote instead of an answer."""
        return any(record.isApiErrorMessage for record in self.records)

    @property
    def blocks(self) -> tuple[Any, ...]:
        """The content of all its lines."""
        found: list[Any] = []
        for record in self.records:
            content = record.content
            if isinstance(content, str):
                found.append(TextBlock(text=content))
            elif isinstance(content, tuple):
                found += content
        return tuple(found)

    @property
    def text(self) -> str:
        """What it said, without thinking and tool uses."""
        return "\n\n".join(b.text for b in self.blocks if isinstance(b, TextBlock) and isinstance(b.text, str) and b.text)

    @property
    def thinking(self) -> str:
        """Empty from 2.1.78 on, where only signatures are kept."""
        return "\n\n".join(b.thinking for b in self.blocks if isinstance(b, ThinkingBlock) and b.thinking)

    @property
    def stop_reason(self) -> str | None:
        """The last line's, if the release writes one. Does not mark the end of a turn."""
        for record in reversed(self.records):
            if record.message and isinstance(record.message.stop_reason, str):
                return record.message.stop_reason
        return None

    @property
    def replayed(self) -> bool:
        """Whether it is a copy of a response that the session already has."""
        return self.part is CallPart.COPY

    @once
    def tokens(self) -> Tokens:
        """Those of its line with the most tokens. Zero for a copy, and for the rest of a response of the previous turn."""
        most = Tokens()
        for record in self.records if self.part is CallPart.WHOLE else ():
            usage = record.message.usage if record.message else None
            # Of lines with as many, the last: only it may say how long what was written to the cache is kept.
            if isinstance(usage, Usage) and (counts := usage.counts()).total >= most.total:
                most = counts
        return most

    @once
    def is_interrupted(self) -> bool:
        """Whether it was interrupted while it streamed: then no client charges it."""
        name, graph = self.message_id, self.context.graph
        # A prompt may have split it.
        nodes = self.context.lines_of_call(name, self.nodes[0]) if name else self.nodes
        lines = [record for node in nodes if isinstance(record := graph.records[node], AssistantRecord)]
        if any(map(is_aborted, lines)):
            return True
        # 2.1.114 wrote why a subagent's response stopped only on its last line.
        is_finished = any(line.message and isinstance(line.message.stop_reason, str) for line in lines)
        return not is_finished and any(writes_stop_reasons(line.version or "") for line in lines)

    @property
    def started(self) -> datetime | None:
        """When its input was complete: its own lines are too late, because each is written only after a whole block."""
        found = moment_of(self.context.graph, self.input_node) if self.input_node >= 0 else None
        return found or moment(self.records[0].timestamp)

    @property
    def ended(self) -> datetime | None:
        return moment(self.records[-1].timestamp)


@redacted_repr
class Interjection(Struct, frozen=True):
    """A prompt that reached the model in the middle of a turn."""

    text: str
    node: int
    # `attachment` (2.1.101 on), `beside-result` (2.1.19 to 2.1.37), or `queue`: only the enqueue line has it.
    evidence: str


@redacted_repr
class Event(Struct, frozen=True):
    """Something that happened alongside the conversation."""

    # `retry`, `api-error`, `interrupt`, `hook`, `local-command`, `permission-mode`, `model`, `away-summary`, …
    kind: str
    node: int
    what: str = ""
    at: datetime | None = None


@redacted_repr
class Compaction(Struct, frozen=True):
    """Where older messages were replaced by a summary."""

    node: int
    record: CompactBoundaryRecord
    # The user record that holds the summary.
    summary_node: int = -1
    summary: str = ""

    @property
    def preserved(self) -> tuple[str, ...]:
        """The uuids of older records that stay in the context behind the summary (rule 50)."""
        metadata = self.record.compactMetadata
        messages = metadata.preservedMessages if metadata else None
        return tuple(messages.uuids or ()) if messages else ()

    @property
    def trigger(self) -> str:
        """`manual` or `auto`."""
        return (self.record.compactMetadata.trigger or "") if self.record.compactMetadata else ""

    @property
    def tokens_before(self) -> int | None:
        """Of the context; None where the release does not say."""
        return (self.record.compactMetadata.preTokens or None) if self.record.compactMetadata else None

    @property
    def tokens_after(self) -> int | None:
        """Of the context; None where the release does not say."""
        return (self.record.compactMetadata.postTokens or None) if self.record.compactMetadata else None

    @property
    def at(self) -> datetime | None:
        return moment(self.record.timestamp)


def sum_tokens(tokens: Iterable[Tokens]) -> Tokens:
    return sum(tokens, start=Tokens())
