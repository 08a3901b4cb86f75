"""What the turns of a session share, from one look at every line."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct, field

from stenograph.disk import redacted_repr
from stenograph.graph import Graph
from stenograph.inputs import Input, InputReader
from stenograph.records import (
    SYNTHETIC,
    AssistantRecord,
    PermissionModeRecord,
    Record,
    ToolResultBlock,
    ToolUseBlock,
    UserRecord,
    once,
    rebuild,
    to_text,
)

if TYPE_CHECKING:
    from stenograph.turns.model import AgentRun


@redacted_repr
class Context(Struct, dict=True):
    graph: Graph
    inputs: dict[int, Input] = field(default_factory=dict)
    # By tool use id, in file order.
    results: dict[str, list[tuple[int, ToolResultBlock]]] = field(default_factory=dict)
    # By id, the first of each.
    uses: dict[str, tuple[int, ToolUseBlock]] = field(default_factory=dict)
    uses_at: dict[int, list[ToolUseBlock]] = field(default_factory=dict)
    repeated_uses: list[int] = field(default_factory=list)
    # By `message.id`: its first node.
    first_of_call: dict[str, int] = field(default_factory=dict)
    # By tool use id. Filled in last.
    agents: dict[str, AgentRun] = field(default_factory=dict)
    spilled: dict[str, Path] = field(default_factory=dict)
    # Whether a client is writing to the session's file.
    is_live: bool = False
    # By `message.id` and content: the first such line.
    _said: dict[str, dict[bytes, int]] = field(default_factory=dict)

    @once
    def changes(self) -> dict[int, tuple[str, str]]:
        """By node: where the model or the permission mode changes."""
        found: dict[int, tuple[str, str]] = {}
        model = mode = ""
        for node, record in enumerate(self.graph.records):
            if isinstance(record, AssistantRecord) and not record.isSidechain and record.message:
                named = record.message.model or ""
                if named and named != SYNTHETIC:
                    if model and named != model:
                        found[node] = ("model", named)
                    model = named
            elif isinstance(record, UserRecord | PermissionModeRecord) and isinstance(record.permissionMode, str):
                if mode and record.permissionMode != mode:
                    found[node] = ("permission-mode", record.permissionMode)
                mode = record.permissionMode
        return found

    @once
    def _lines_of_call(self) -> dict[str, list[int]]:
        lines: dict[str, list[int]] = {}
        for node, record in enumerate(self.graph.records):
            if isinstance(record, AssistantRecord) and record.message and isinstance(record.message.id, str):
                lines.setdefault(record.message.id, []).append(node)
        return lines

    def lines_of_call(self, message_id: str, node: int) -> list[int]:
        """The lines of a response in the file that one of them is in, in whichever turns."""
        file = self.graph.file_of(node)
        return [line for line in self._lines_of_call.get(message_id, ()) if file.first <= line < file.last]

    def first_to_say(self, message_id: str, node: int) -> int:
        """The first line of a response with the content of `node`. Needed only for a response in two turns."""
        known = self._said.get(message_id)
        if known is None:
            known = self._said[message_id] = {}
            for line in self._lines_of_call.get(message_id, ()):
                known.setdefault(_content(self.graph.records[line]), line)
        return known.get(_content(self.graph.records[node]), node)


def _content(record: Record) -> bytes:
    return to_text(rebuild(record.content)) if isinstance(record, AssistantRecord) and record.content else b""


def read_context(graph: Graph, spilled: Iterable[Path] = ()) -> Context:
    context = Context(graph, spilled={path.name: path for path in spilled})
    inputs, results, uses, first_of_call = context.inputs, context.results, context.uses, context.first_of_call
    reader = InputReader()
    for node, record in enumerate(graph.records):
        understood = reader.read(record)
        if isinstance(record, AssistantRecord):
            message = record.message
            if message and isinstance(message.id, str):
                first_of_call.setdefault(message.id, node)
            content = record.content
            if isinstance(content, tuple):
                for block in content:
                    if isinstance(block, ToolUseBlock):
                        context.uses_at.setdefault(node, []).append(block)
                        if not isinstance(block.id, str):
                            continue
                        if block.id in uses:
                            context.repeated_uses.append(node)
                        else:
                            uses[block.id] = (node, block)
        elif understood is not None:
            inputs[node] = understood
            for result in understood.results:
                if isinstance(result.tool_use_id, str):
                    results.setdefault(result.tool_use_id, []).append((node, result))
    return context
