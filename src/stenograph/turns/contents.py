"""What the nodes of a turn hold: calls, interjections, compactions, events; and how the turn ended."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from stenograph.disk import Finding
from stenograph.graph import NOWHERE
from stenograph.inputs import InputKind, Status, classify_local, is_note
from stenograph.records import (
    SYNTHETIC,
    ApiErrorRecord,
    AssistantRecord,
    AttachmentRecord,
    AwaySummaryRecord,
    ChainedRecord,
    CompactBoundaryRecord,
    LocalCommandRecord,
    ProgressRecord,
    QueuedCommandAttachment,
    QueueOperationRecord,
    Record,
    RedactedThinkingBlock,
    StopHookSummaryRecord,
    ThinkingBlock,
    ToolUseBlock,
    TurnDurationRecord,
    UserRecord,
    text_of,
    time_of,
)
from stenograph.turns.context import Context
from stenograph.turns.values import ApiCall, CallPart, Compaction, Event, Interjection, ToolCall

# A year in milliseconds: anything longer was not measured.
_LONGEST_TURN = 366 * 86_400_000
_THOUGHTS = (ThinkingBlock, RedactedThinkingBlock)


def calls_of(context: Context, nodes: Sequence[int]) -> tuple[ApiCall, ...]:
    """The API responses among some nodes, one per `message.id`."""
    records = context.graph.records
    groups: dict[str, list[int]] = {}
    without_id = ""
    for node in nodes:
        record = records[node]
        if isinstance(record, AssistantRecord):
            if is_note(record):
                continue
            message = record.message
            message_id = message.id if message else None
            if message_id.__class__ is str and message_id:
                without_id = ""
                key = message_id
            else:
                # Rule 27: neighboring lines without an id are one response.
                key = without_id = without_id or f" {node}"
            if key in groups:
                groups[key].append(node)
            else:
                groups[key] = [node]
        elif without_id and isinstance(record, UserRecord):
            without_id = ""
    own = set(nodes)
    return tuple([_call(context, own, key, group) for key, group in groups.items()])


def _call(context: Context, own: set[int], message_id: str, nodes: list[int]) -> ApiCall:
    records: Any = context.graph.records
    uses_at = context.uses_at
    tools = tuple([_tool_call(context, own, node, use) for node in nodes if node in uses_at for use in uses_at[node]])
    first = nodes[0]
    part = CallPart.WHOLE
    if context.first_of_call.get(message_id, first) != first:
        # A history written twice repeats itself; a response split by a prompt continues.
        part = CallPart.COPY if context.first_to_say(message_id, first) != first else CallPart.REST
    lines = tuple([records[node] for node in nodes])
    return ApiCall(tuple(nodes), lines, tools, context, context.graph.before[first], part)


def _tool_call(context: Context, own: set[int], node: int, use: ToolUseBlock) -> ToolCall:
    answers = context.results.get(use.id) if isinstance(use.id, str) else None
    if not answers:
        return ToolCall(use, node, context)
    found = answers[0] if answers[0][0] in own else None
    if found is None:
        # A history written twice holds every result twice: take the one in the same turn.
        found = next((answer for answer in answers if answer[0] in own), None)
    if found is None:
        # An agent's file may hold a fork of the conversation, with results that the session never got (2.1.29).
        file = context.graph.file_of(node)
        found = next((answer for answer in answers if file.first <= answer[0] < file.last), None)
    return ToolCall(use, node, context, found[1], found[0]) if found else ToolCall(use, node, context)


def interjections_of(context: Context, nodes: Sequence[int]) -> Iterator[Interjection]:
    """Prompts that reached the model in the middle of a turn."""
    waiting: list[tuple[int, str]] = []
    attached = [found.prompt for node in nodes if (found := _queued_command(context.graph.records[node]))]
    for node in nodes:
        record = context.graph.records[node]
        understood = context.inputs.get(node)
        if understood is not None:
            if understood.kind is InputKind.TOOL_RESULT and understood.text:
                yield Interjection(understood.text, node, "beside-result")
        elif isinstance(record, QueueOperationRecord):
            yield from _absorbed(record, node, waiting, attached)
        elif (found := _queued_command(record)) and found.commandMode != "task-notification":
            yield Interjection(_prompt_text(found.prompt), node, "attachment")


def _queued_command(record: Record) -> QueuedCommandAttachment | None:
    found = record.attachment if isinstance(record, AttachmentRecord) else None
    return found if isinstance(found, QueuedCommandAttachment) else None


def _absorbed(
    record: QueueOperationRecord, node: int, waiting: list[tuple[int, str]], attached: list[Any]
) -> Iterator[Interjection]:
    """A queued prompt taken in mid-turn; old releases only write the queue's lines."""
    if record.operation == "enqueue":
        waiting.append((node, text_of(record.content)))
    elif record.operation == "popAll":
        waiting.clear()  # back into the input field: never sent
    elif waiting and record.operation in ("dequeue", "remove"):
        where, text = waiting.pop(0)
        typed = bool(text) and not text.lstrip().startswith(("<", "{"))
        if record.operation == "remove" and typed and text not in attached:
            yield Interjection(text, where, "queue")


def _prompt_text(prompt: object) -> str:
    if isinstance(prompt, str):
        return prompt
    blocks = prompt if isinstance(prompt, list) else []
    return "\n\n".join(block["text"] for block in blocks if isinstance(block, dict) and isinstance(block.get("text"), str))


def compactions_of(context: Context, nodes: Iterable[int]) -> Iterator[Compaction]:
    for node in nodes:
        record = context.graph.records[node]
        if isinstance(record, CompactBoundaryRecord):
            summary = next((child for child in context.graph.children[node] if _is_summary(context, child)), NOWHERE)
            yield Compaction(node, record, summary, context.inputs[summary].text if summary >= 0 else "")


def _is_summary(context: Context, node: int) -> bool:
    understood = context.inputs.get(node)
    return understood is not None and understood.kind is InputKind.COMPACTION_SUMMARY


def ending_of(context: Context, opening: int, nodes: Sequence[int], calls: Sequence[ApiCall]) -> Status | None:
    """How a turn ended, by the last thing said in it; None while the model owes an answer."""
    for node in reversed(nodes):
        record = context.graph.records[node]
        if isinstance(record, AssistantRecord):
            if is_synthetic(record) or is_note(record):
                continue
            if record.isApiErrorMessage:
                return Status.FAILED
            # The model answers only with all results at hand: one of an earlier call that is not in the file was lost.
            is_answered = all(tool.answered for call in calls if node in call.nodes for tool in call.tool_calls)
            return Status.DONE if is_answered and not _thinks_alone(record) else None
        understood = context.inputs.get(node)
        if understood is not None and (node == opening or not understood.is_aside):
            return Status.INTERRUPTED if understood.kind is InputKind.INTERRUPT else None
    return None


def _thinks_alone(record: AssistantRecord) -> bool:
    """Only thinking: the answer is still to come."""
    content = record.content
    return isinstance(content, tuple) and bool(content) and all(isinstance(block, _THOUGHTS) for block in content)


def said_in(context: Context, nodes: Sequence[int]) -> Iterator[int]:
    """The nodes of a turn in which the person, the model or a tool says something."""
    for node in nodes:
        understood = context.inputs.get(node)
        if understood is not None:
            if node == nodes[0] or understood.kind in (InputKind.TOOL_RESULT, InputKind.INTERRUPT):
                yield node
        elif isinstance(record := context.graph.records[node], AssistantRecord) and not (is_synthetic(record) or is_note(record)):
            yield node


def is_synthetic(record: AssistantRecord) -> bool:
    return bool(record.message and record.message.model == SYNTHETIC and not record.isApiErrorMessage)


def events_of(context: Context, nodes: Iterable[int], opening: int = NOWHERE) -> Iterator[Event]:
    for node in nodes:
        record = context.graph.records[node]
        if node in context.changes:
            kind, what = context.changes[node]
            yield Event(kind, node, what, time_of(record))
        if node == opening:
            continue
        found = _input_event(context, node) if node in context.inputs else _record_event(record)
        if found is not None:
            kind, what = found
            yield Event(kind, node, what, time_of(record))


def _input_event(context: Context, node: int) -> tuple[str, str] | None:
    understood = context.inputs[node]
    if understood.kind is InputKind.INTERRUPT:
        return "interrupt", ""
    if understood.kind in (InputKind.COMMAND, InputKind.BASH):
        return "local-command", understood.text
    return None


def _record_event(record: Record) -> tuple[str, str] | None:
    match record:
        case TurnDurationRecord(durationMs=duration) if isinstance(duration, int | float) and 0 <= duration <= _LONGEST_TURN:
            return "turn-duration", str(duration)
        case ApiErrorRecord():
            return "retry", f"{record.retryAttempt or '?'} of {record.maxRetries or '?'}"
        case StopHookSummaryRecord():
            return "hook", "Stop"
        case LocalCommandRecord() if (local := classify_local(record)).kind is InputKind.COMMAND:
            return "local-command", local.text
        case AwaySummaryRecord():
            return "away-summary", record.content or ""
        case AssistantRecord(isApiErrorMessage=True):
            return "api-error", ""
        case AttachmentRecord() | ProgressRecord() if "/hook_" in record.kind:
            what = record.attachment if isinstance(record, AttachmentRecord) else record.data
            return "hook", str(getattr(what, "hookName", "") or "")
    return None


def unpaired(context: Context) -> Iterator[Finding]:
    """Tool uses and results without a partner, and repeated ones."""
    for tool_use_id, (node, _) in context.uses.items():
        if tool_use_id not in context.results:
            yield _finding(context, node, "unanswered-tool-use")
    for node in context.repeated_uses:
        yield _finding(context, node, "duplicate-tool-use")
    for tool_use_id, answers in context.results.items():
        if tool_use_id not in context.uses:
            yield _finding(context, answers[0][0], "orphan-tool-result")
        for node, _ in answers[1:]:
            yield _finding(context, node, "duplicate-tool-result")


def _finding(context: Context, node: int, code: str) -> Finding:
    located = context.graph.nodes[node]
    path = context.graph.file_of(node).path
    return Finding(code=code, path=path, line=located.number, offset=located.offset, length=located.length)


def links_of(context: Context, session_id: str) -> Iterator[tuple[str, str]]:
    """Other sessions that the main file's lines name, each once, and how."""
    if not context.graph.files:
        return
    seen = {session_id}
    main = context.graph.files[0]
    for node, record in enumerate(context.graph.records[main.first : main.last], main.first):
        if not isinstance(record, ChainedRecord):
            continue
        for other, how in (
            (record.sessionId, "first-line" if node == main.first else "copied-records"),
            (record.session_id, "session_id"),
        ):
            if isinstance(other, str) and other and other not in seen:
                seen.add(other)
                yield other, how
