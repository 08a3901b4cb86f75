"""A live session, event by event: what a `Follower` reports -> one page each. A result is shown with the use that has its id."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from msgspec import UNSET

from stenograph.inputs import Input, InputKind, InputReader, classify_local
from stenograph.records import (
    SYNTHETIC,
    ApiErrorRecord,
    AssistantRecord,
    AttachmentRecord,
    CompactBoundaryRecord,
    LocalCommandRecord,
    QueuedCommandAttachment,
    Record,
    TextBlock,
    ThinkingBlock,
    ToolResult,
    ToolResultBlock,
    ToolUseBlock,
    UserRecord,
    encode,
    parse_or_unset,
    text_of,
)
from stenograph.turns import Compaction
from stenograph.views.pages.page import Document
from stenograph.views.pages.transcript import NotePart, Part, PromptPart, TextPart, ThoughtPart, ToolPart
from stenograph.views.pages.turn_parts import (
    compaction_note,
    event_line,
    local_output_note,
    notification_note,
)
from stenograph.views.tools import ToolFacts, tool_part

if TYPE_CHECKING:
    from stenograph.sessions import Update


class UpdatePage(Document, frozen=True, tag="update/1"):
    """`steno tail`, one per line: something happened in a session."""

    event: str
    """`record`, `damaged` (an invalid line), `cut` (the file was cut or rewritten), `agent` (a subagent began),
    `cleared` (it continues in another session), `returned` (another client ran that `/clear`, so the first session is followed
    again) or `gone`."""
    path: str
    """The file; with `cleared` and `returned`, that of the session that is followed from now on."""
    agent_id: str | None
    """The subagent whose file it is; null for the session's own."""
    record: Any
    """The record as it is in the file; null for other events."""
    parts: tuple[Part, ...]
    """The record in readable form. A tool call comes twice: `running`, then with its result."""


class UpdateReader:
    """Makes pages of updates; remembers the tool uses that wait for their results."""

    def __init__(self) -> None:
        self._uses: dict[str, tuple[ToolUseBlock, str]] = {}
        self._inputs = InputReader()

    def page(self, update: Update) -> UpdatePage:
        record = update.record if update.kind == "record" else None
        plain = UNSET if record is None else parse_or_unset(encode(record))
        return UpdatePage(
            event=update.kind,
            path=str(update.path),
            agent_id=update.agent_id or None,
            record=None if plain is UNSET else plain,
            parts=() if record is None else tuple(self.parts(record)),
        )

    def parts(self, record: Record) -> Iterator[Part]:
        """The parts of one record; none for what is not told."""
        said = self._inputs.read(record)
        if said is not None and isinstance(record, UserRecord):
            yield from self._from_user(record, said)
        elif isinstance(record, AssistantRecord):
            content = record.content
            blocks = (TextBlock(text=content),) if isinstance(content, str) else content if isinstance(content, tuple) else ()
            for block in blocks:
                if (part := self._from_model(record, block)) is not None:
                    yield part
        elif (other := _beside(record)) is not None:
            yield other

    def _from_user(self, record: UserRecord, said: Input) -> Iterator[Part]:
        yield from (self._result(record, result) for result in said.results)
        if said.is_human or (said.kind is InputKind.TOOL_RESULT and said.text):
            yield PromptPart(said.text, said.images, interjected=bool(said.results))
        elif said.kind is InputKind.INTERRUPT:
            yield NotePart("interrupt", event_line("interrupt", ""))
        elif said.kind in (InputKind.COMMAND, InputKind.BASH):
            if line := event_line("local-command", said.text):
                yield NotePart("local-command", line)
        elif said.kind is InputKind.LOCAL_OUTPUT:
            if (note := local_output_note(said.text)) is not None:
                yield note
        elif said.kind is InputKind.NOTIFICATION:
            yield notification_note(said.text)

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

    def _result(self, record: UserRecord, result: ToolResultBlock) -> ToolPart:
        identity = result.tool_use_id or ""
        use, cwd = self._uses.pop(identity, (ToolUseBlock(), ""))
        found = record.toolUseResult
        structured = found if isinstance(found, ToolResult | str | tuple) else None
        facts = ToolFacts(use.name or "", use.input or {}, cwd, True, text_of(result.content), bool(result.is_error), structured)
        return tool_part(identity, facts)


def _beside(record: Record) -> Part | None:
    if isinstance(record, CompactBoundaryRecord):
        return compaction_note(Compaction(-1, record))
    if isinstance(record, ApiErrorRecord):
        return NotePart("retry", f"the API failed: retry {_number(record.retryAttempt)} of {_number(record.maxRetries)}")
    if isinstance(record, LocalCommandRecord):
        local = classify_local(record)
        is_command = local.kind is InputKind.COMMAND
        return NotePart("local-command", event_line("local-command", local.text)) if is_command else local_output_note(local.text)
    if isinstance(record, AttachmentRecord) and isinstance(record.attachment, QueuedCommandAttachment):
        prompt = record.attachment.prompt
        typed = isinstance(prompt, str) and record.attachment.commandMode != "task-notification"
        return PromptPart(str(prompt), interjected=True) if typed else None
    return None


def _number(value: object) -> str:
    return str(value) if isinstance(value, int) and 0 < value < 2**53 else "?"
