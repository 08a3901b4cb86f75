"""A record -> the texts in it that can be searched, each with what it is.

Only what a person wrote, a model said or a tool was given or returned; never ids, signatures or images. The client's own lists
and reminders count as notes, which search ranks last.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from stenograph.index.kinds import TextKind
from stenograph.inputs import HUMAN, Input, InputKind
from stenograph.records import (
    NOTIFICATION as NOTIFICATION_MODE,
)
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

_TAGS = re.compile(r"</?[a-z-]+>")
_TYPED = HUMAN | {InputKind.COMMAND, InputKind.BASH}
_TITLES: dict[type[Record], str] = {
    SummaryRecord: "summary",
    CustomTitleRecord: "customTitle",
    AiTitleRecord: "aiTitle",
    AgentNameRecord: "agentName",
    TagRecord: "tag",
    PrLinkRecord: "prUrl",
}


def texts_of(record: Record, understood: Input | None) -> list[tuple[TextKind, str]]:
    """The texts of a record. `understood` is what `InputReader` makes of it."""
    if isinstance(record, AssistantRecord):
        return _answer_texts(record.content)
    if isinstance(record, UserRecord):
        return _user_texts(record, understood)
    if isinstance(record, AttachmentRecord):
        attachment = record.attachment
        if isinstance(attachment, QueuedCommandAttachment):
            is_note = attachment.commandMode == NOTIFICATION_MODE
            said = "\n".join(_strings(attachment.prompt))
            return [(TextKind.NOTE, _untagged(said)) if is_note else (TextKind.PROMPT, said)]
        if attachment:
            return [(TextKind.NOTE, "\n".join(_strings(rebuild(attachment))))]
    elif name := _TITLES.get(type(record)):
        value = getattr(record, name)
        if isinstance(value, str):
            return [(TextKind.TITLE, value)]
    return []


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


def _answer_texts(content: Any) -> list[tuple[TextKind, str]]:
    if isinstance(content, str):
        return [(TextKind.ANSWER, content)]
    found: list[tuple[TextKind, str]] = []
    for block in content if isinstance(content, tuple) else ():
        if isinstance(block, TextBlock):
            if isinstance(block.text, str):
                found.append((TextKind.ANSWER, block.text))
        elif isinstance(block, ToolUseBlock | ServerToolUseBlock):
            name = block.name if isinstance(block.name, str) else ""
            found.append((TextKind.INPUT, "\n".join([name, *_strings(block.input)])))
        elif isinstance(block, ThinkingBlock) and isinstance(block.thinking, str) and block.thinking:
            found.append((TextKind.THINKING, block.thinking))
    return found


def _user_texts(record: UserRecord, understood: Input | None) -> list[tuple[TextKind, str]]:
    """Whole, with the client's tags around commands: what is typed and what is wrapped around it can both be searched."""
    if understood is None:
        return []
    found = [(TextKind.OUTPUT, text_of(result.content)) for result in understood.results]
    is_typed = understood.kind in _TYPED or bool(understood.results and understood.text)
    if text := text_of(record.content):
        if understood.kind is InputKind.NOTIFICATION:
            text = _untagged(text)
        found.append((TextKind.PROMPT if is_typed else TextKind.NOTE, text))
    return found


def _untagged(notification: str) -> str:
    """What a background task reported, without the client's tags around each part: nobody searches for these."""
    return _TAGS.sub(" ", notification).strip()


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
