"""A live session as lines: each record when it comes, in short.

In: records one by one, the session's own and its sub-agents'. Out: lines like those of `render_turn`, with less of every
output. Knows no graph: a tool's result is shown under the use with its id, wherever that stood.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from stenograph.inputs import InputKind, classify, command_as_typed
from stenograph.records import (
    ApiErrorRecord,
    AssistantRecord,
    AttachmentRecord,
    CompactBoundaryRecord,
    LocalCommandRecord,
    Record,
    TextBlock,
    ThinkingBlock,
    ToolResult,
    ToolResultBlock,
    ToolUseBlock,
    UserRecord,
    text_of,
)
from stenograph.records.attachments import QueuedCommandAttachment
from stenograph.records.markers import SYNTHETIC
from stenograph.turns import Compaction
from stenograph.views.masking import Mask, as_is, mask_page
from stenograph.views.pages.transcript import Fact, NotePart, Output, Part, PromptPart, TextPart, ThoughtPart, ToolPart
from stenograph.views.pages.turn_parts import compaction_note, event_line, is_local_command, local_output_note, notification_note
from stenograph.views.terminal.options import DIM, RenderOptions
from stenograph.views.terminal.transcript import render_bodies, render_part
from stenograph.views.text import cut, one_line
from stenograph.views.tools import ToolFacts, tool_part


def _number(value: object) -> str:
    return str(value) if isinstance(value, int) and 0 < value < 2**53 else "?"


class LiveView:
    """Turns records into lines; remembers the tool uses that wait for their results, and who spoke last."""

    def __init__(self, options: RenderOptions, mask: Mask = as_is) -> None:
        options = options.masking(mask)
        self._options = options
        self._inside = options.narrower(4)
        self._mask = mask
        self._uses: dict[str, tuple[ToolUseBlock, str]] = {}
        self._speaker = ""

    def lines(self, record: Record, agent_id: str = "") -> Iterator[str]:
        """The lines for one record; none for what is not told."""
        options = self._inside if agent_id else self._options
        edge = options.paint("  │ ", DIM) if agent_id else ""
        for line in self._told(record, options):
            if agent_id != self._speaker:
                self._speaker = agent_id
                if agent_id:
                    yield options.paint(f"  ┌ sub-agent {one_line(agent_id)}", DIM)
            yield f"{edge}{line}".rstrip()

    def notice(self, text: str) -> str:
        """A line of our own."""
        return self._options.paint(cut(f"── {one_line(text)} ──", self._options.width), DIM)

    def _told(self, record: Record, options: RenderOptions) -> Iterator[str]:
        if isinstance(record, UserRecord):
            yield from self._from_user(record, options)
        elif isinstance(record, AssistantRecord):
            content = record.content
            for block in (
                (TextBlock(text=content),) if isinstance(content, str) else content if isinstance(content, tuple) else ()
            ):
                if (part := self._from_model(record, block)) is not None:
                    if isinstance(part, TextPart):
                        yield ""
                    yield from self._shown(part, options)
        elif (other := self._beside(record)) is not None:
            yield from self._shown(other, options)

    def _shown(self, part: Part, options: RenderOptions) -> Iterator[str]:
        return render_part(mask_page(part, self._mask), options)

    def _from_user(self, record: UserRecord, options: RenderOptions) -> Iterator[str]:
        said = classify(record)
        for result in said.results:
            yield from self._result(record, result, options)
        if said.is_human or (said.kind is InputKind.TOOL_RESULT and said.text):
            yield ""
            yield from self._shown(PromptPart(said.text, said.images, interjected=bool(said.results)), options)
        elif said.kind is InputKind.INTERRUPT:
            yield from self._shown(NotePart("interrupt", event_line("interrupt", "")), options)
        elif said.kind in (InputKind.COMMAND, InputKind.BASH):
            if line := event_line("local-command", said.text):
                yield from self._shown(NotePart("local-command", line), options)
        elif said.kind is InputKind.LOCAL_OUTPUT:
            if (note := local_output_note(said.text)) is not None:
                yield from self._shown(note, options)
        elif said.kind is InputKind.NOTIFICATION:
            yield from self._shown(notification_note(said.text), options)

    def _from_model(self, record: AssistantRecord, block: Any) -> Part | None:
        if isinstance(block, TextBlock) and isinstance(block.text, str) and block.text.strip():
            synthetic = bool(record.message and record.message.model == SYNTHETIC)
            return TextPart(block.text, "error" if record.isApiErrorMessage else "client" if synthetic else "")
        if isinstance(block, ThinkingBlock) and isinstance(block.thinking, str) and block.thinking.strip():
            return ThoughtPart(block.thinking)
        if isinstance(block, ToolUseBlock):
            cwd = record.cwd if isinstance(record.cwd, str) else ""
            self._uses[block.id or ""] = (block, cwd)
            part = tool_part(block.id or "", ToolFacts(block.name or "", block.input or {}, cwd))
            return ToolPart(part.id, part.name, part.title, "running")
        return None

    def _result(self, record: UserRecord, result: ToolResultBlock, options: RenderOptions) -> Iterator[str]:
        use, cwd = self._uses.pop(result.tool_use_id or "", (ToolUseBlock(), ""))
        found = record.toolUseResult
        structured = found if isinstance(found, ToolResult | str | tuple) else None
        facts = ToolFacts(use.name or "", use.input or {}, cwd, True, text_of(result.content), bool(result.is_error), structured)
        part = mask_page(tool_part("", facts), self._mask)
        told = [body for body in part.bodies if not isinstance(body, Fact)]
        facts_told = ", ".join(body.text for body in part.bodies if isinstance(body, Fact))
        if facts_told:
            yield options.paint(cut(f"  {one_line(facts_told)}", options.width), DIM)
        if options.results or any(isinstance(body, Output) and body.is_error for body in told):
            yield from render_bodies(told, options)

    def _beside(self, record: Record) -> Part | None:
        if isinstance(record, CompactBoundaryRecord):
            return compaction_note(Compaction(-1, record))
        if isinstance(record, ApiErrorRecord):
            return NotePart("retry", f"the API failed: retry {_number(record.retryAttempt)} of {_number(record.maxRetries)}")
        if isinstance(record, LocalCommandRecord):
            if is_local_command(record):
                return NotePart("local-command", event_line("local-command", command_as_typed(record.content or "")))
            return local_output_note(record.content or "")
        if isinstance(record, AttachmentRecord) and isinstance(record.attachment, QueuedCommandAttachment):
            prompt = record.attachment.prompt
            typed = isinstance(prompt, str) and record.attachment.commandMode != "task-notification"
            return PromptPart(str(prompt), interjected=True) if typed else None
        return None
