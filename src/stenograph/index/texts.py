"""A record -> the texts in it that can be searched, each with what it is.

Only what a person wrote, a model said or a tool was given or returned; never ids, signatures or images. The client's own lists
and reminders count as notes, which search ranks last.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from stenograph.index.kinds import TextKind
from stenograph.inputs import HUMAN, Input, InputKind
from stenograph.records import (
    AgentNameRecord,
    AiTitleRecord,
    AssistantRecord,
    AttachmentRecord,
    CustomTitleRecord,
    PrLinkRecord,
    QueuedCommandAttachment,
    Record,
    ServerToolUseBlock,
    SummaryRecord,
    TagRecord,
    TextBlock,
    ThinkingBlock,
    ToolUseBlock,
    UserRecord,
    rebuild,
    text_of,
)
from stenograph.redact import mask_json

_TYPED = HUMAN | {InputKind.COMMAND, InputKind.BASH}
_TITLES: dict[type[Record], str] = {
    SummaryRecord: "summary",
    CustomTitleRecord: "customTitle",
    AiTitleRecord: "aiTitle",
    AgentNameRecord: "agentName",
    TagRecord: "tag",
    PrLinkRecord: "prUrl",
}


def texts_of(record: Record, understood: Input | None) -> Iterator[tuple[TextKind, str]]:
    """The texts of a record. `understood` is what `InputReader` makes of it."""
    if isinstance(record, AssistantRecord):
        yield from _answer_texts(record.content)
    elif isinstance(record, UserRecord):
        yield from _user_texts(record, understood)
    elif isinstance(record, AttachmentRecord):
        attachment = record.attachment
        if isinstance(attachment, QueuedCommandAttachment):
            yield TextKind.PROMPT, "\n".join(_strings(attachment.prompt))
        elif attachment:
            yield TextKind.NOTE, "\n".join(_strings(rebuild(attachment)))
    elif name := _TITLES.get(type(record)):
        value = getattr(record, name)
        if isinstance(value, str):
            yield TextKind.TITLE, value


def named_values_of(record: Record) -> list[tuple[str, str]]:
    """The strings in the JSON values of a record whose names may make them secrets, with those names: texts go without names."""
    values: list[Any] = []
    if isinstance(record, AssistantRecord) and isinstance(record.content, tuple):
        values = [block.input for block in record.content if isinstance(block, ToolUseBlock | ServerToolUseBlock)]
    elif isinstance(record, AttachmentRecord) and record.attachment:
        values = [rebuild(record.attachment)]
    found: list[tuple[str, str]] = []

    def note(text: str, name: str = "", /) -> str:
        if name and text:
            found.append((name, text))
        return text

    for value in values:
        mask_json(value, note)
    return found


def _answer_texts(content: Any) -> Iterator[tuple[TextKind, str]]:
    if isinstance(content, str):
        yield TextKind.ANSWER, content
        return
    for block in content if isinstance(content, tuple) else ():
        if isinstance(block, TextBlock):
            if isinstance(block.text, str):
                yield TextKind.ANSWER, block.text
        elif isinstance(block, ToolUseBlock | ServerToolUseBlock):
            yield TextKind.INPUT, "\n".join([block.name if isinstance(block.name, str) else "", *_strings(block.input)])
        elif isinstance(block, ThinkingBlock) and isinstance(block.thinking, str) and block.thinking:
            yield TextKind.THINKING, block.thinking


def _user_texts(record: UserRecord, understood: Input | None) -> Iterator[tuple[TextKind, str]]:
    """Whole, with the client's tags: what is typed and what is wrapped around it can both be searched."""
    if understood is None:
        return
    for result in understood.results:
        yield TextKind.OUTPUT, text_of(result.content)
    is_typed = understood.kind in _TYPED or bool(understood.results and understood.text)
    if text := text_of(record.content):
        yield TextKind.PROMPT if is_typed else TextKind.NOTE, text


def _strings(value: Any) -> Iterator[str]:
    """Every string in a JSON value, with a stack of its own: values may be nested to any depth."""
    waiting = [value]
    while waiting:
        item = waiting.pop()
        if isinstance(item, str):
            yield item
        elif isinstance(item, dict):
            waiting += reversed(item.values())
        elif isinstance(item, list | tuple):
            waiting += reversed(item)
