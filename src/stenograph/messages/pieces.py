"""One record of the chain -> what it adds to the conversation, if anything.

In: a record and the habits of a release. Out: a piece with a role and blocks of plain JSON, or the rule by which the record adds
nothing. Does not look at its neighbours.
"""

from __future__ import annotations

import json
from enum import Enum
from typing import Any

from msgspec import Struct, field

from stenograph.messages.habits import MessageHabits
from stenograph.records import (
    SYNTHETIC,
    AssistantRecord,
    AttachmentRecord,
    CompactBoundaryRecord,
    FileAttachment,
    LocalCommandRecord,
    QueuedCommandAttachment,
    Record,
    UnknownAttachment,
    UserRecord,
    plain_message,
    rebuild,
)

Block = dict[str, Any]

#: The type of a block that stands for a reminder in the release's own words. It keeps its place until the messages are done.
OWN_WORDS = "own-words"
#: The rule by which such a reminder is not shown.
OWN_RULE = "37: in the release's own words, as a reminder"

# Kinds whose words are the user's where nothing else is said, and kinds that no recorded session holds.
_THE_USERS = ("session_context", "remote_session_change")
_KNOWN_BESIDES = (
    "todo_reminder",
    "critical_system_reminder",
    "nested_memory",
    "task_status",
    "output_style",
    "compact_file_reference",
    "mcp_resource",
    "agent_mention",
    "invoked_skills",
    "hook_blocking_error",
)
_PROMPT_HOOKS = ("SessionStart", "UserPromptSubmit")
_MALFORMED = "47: no block that this release can read"
_OPEN, _CLOSE = "<system-reminder>", "</system-reminder>"


class PiecePlace(Enum):
    """Where a piece goes among its neighbours (rule 37)."""

    IN_TURN = "where it stands"
    # Attachments go up to the answer or the tool result before them …
    ASIDE = "glued to a tool result, else before what the person said"
    BESIDE = "the same, but never glued"
    FILE = "beside a tool result, else before what the person said"
    # … and words that the person queued come behind the others.
    QUEUED = "behind other attachments"


class Piece(Struct):
    """What one record adds: a message, or the part of one that its neighbours belong to as well."""

    node: int
    role: str
    blocks: list[Block]
    # Of an assistant's lines: the response they belong to, and who gave it.
    message_id: str = ""
    model: str = ""
    place: PiecePlace = PiecePlace.IN_TURN
    # Words that an attachment has besides: each would be a message of its own.
    more: list[list[Block]] = field(default_factory=list)
    # The record's content was a string.
    is_string: bool = False
    # A system line: nobody said it, so that it hides no call that was cut off.
    is_note: bool = False
    # An answer that is not sent, but that attachments do not pass.
    is_unsent: bool = False

    @property
    def begins_with_result(self) -> bool:
        return self.has_result and self.blocks[0].get("type") == "tool_result"

    @property
    def has_result(self) -> bool:
        return self.role == "user" and not self.is_string and any(block.get("type") == "tool_result" for block in self.blocks)


class Omission(Struct, frozen=True):
    """A record that adds nothing, by which rule."""

    node: int
    rule: str
    # Whether the release gives up on the whole session because of it.
    refuses: bool = False
    # Whether the release does not count it when it looks at what the conversation ends in.
    is_skipped: bool = False


def text_block(text: str) -> Block:
    return {"type": "text", "text": text}


def is_thinking(block: Block) -> bool:
    kind = block.get("type")  # anything at all, also what no set can be asked for
    return kind == "thinking" or kind == "redacted_thinking"


def piece_of(node: int, record: Record, habits: MessageHabits, *, as_system: bool) -> Piece | Omission:
    """What a record adds to the conversation; `as_system` says whether the model called takes messages of the role `system`."""
    if isinstance(record, UserRecord):
        return _user(node, record, habits)
    if isinstance(record, AssistantRecord):
        return _assistant(node, record, habits)
    if isinstance(record, AttachmentRecord):
        return _attachment(node, record, habits, as_system=as_system)
    if isinstance(record, LocalCommandRecord) and habits.sends_local_commands and isinstance(record.content, str):
        if record.isDisplayOnly:
            return Omission(node, "34: only for the screen")
        return Piece(node, "user", [text_block(record.content)], is_string=True, is_note=True)
    if isinstance(record, CompactBoundaryRecord):
        return Omission(node, "48: a boundary is not sent")
    return Omission(node, "34: a record of this kind is not sent")


def _user(node: int, record: UserRecord, habits: MessageHabits) -> Piece | Omission:
    content = plain_message(record).content
    if habits.sends_rendered and record.origin and record.origin.get("kind") == "task-notification":
        return Piece(node, "user", [{"type": OWN_WORDS}])
    if isinstance(content, str):
        return Piece(node, "user", [text_block(content)], is_string=True)
    if isinstance(content, list):
        blocks = _blocks(content, habits)
        if content and not blocks and habits.drops_malformed:
            return Omission(node, _MALFORMED, is_skipped=True)
        if habits.results_first:
            blocks.sort(key=lambda block: block.get("type") != "tool_result")
        if habits.replaces_images:
            blocks = [text_block("[image]") if block.get("type") == "image" else block for block in blocks]
        return Piece(node, "user", blocks)
    return Omission(node, "47: without content that this release can read", refuses=not habits.takes_strings)


def _assistant(node: int, record: AssistantRecord, habits: MessageHabits) -> Piece | Omission:
    message = plain_message(record)
    content = message.content
    if isinstance(content, str) and habits.takes_strings:
        content = [text_block(content)]
    if not isinstance(content, list):
        return Omission(node, "47: without content that this release can read", refuses=not habits.takes_strings)
    model = message.model if isinstance(message.model, str) else ""
    message_id = message.id if isinstance(message.id, str) else ""
    blocks = _blocks(content, habits)
    if content and not blocks and habits.drops_malformed:
        return Omission(node, _MALFORMED, is_skipped=True)
    return Piece(node, "assistant", blocks, message_id, model, is_unsent=bool(record.isApiErrorMessage) and model == SYNTHETIC)


def _blocks(content: list[Any], habits: MessageHabits) -> list[Block]:
    if habits.drops_malformed:
        return [block for block in content if block.__class__ is dict and _is_sound(block)]
    return [block for block in content if isinstance(block, dict)]


def _is_sound(block: Block) -> bool:
    kind = block.get("type")
    return kind.__class__ is str and (kind != "text" or block.get("text").__class__ is str)


def _attachment(node: int, record: AttachmentRecord, habits: MessageHabits, *, as_system: bool) -> Piece | Omission:
    """Rule 37: newer releases send what they stored, word for word; for the rest every release has its own wording."""
    attachment = record.attachment
    stored = _stored(record) if habits.sends_rendered else []
    is_system = as_system and _role(record) == "system"
    if isinstance(attachment, FileAttachment) and not is_system:
        parts = [[text_block(text)] for text in stored] or _read_by_hand(attachment)
        place = PiecePlace.FILE if as_system else PiecePlace.ASIDE
        return (
            Piece(node, "user", parts[0], place=place, more=parts[1:]) if parts else Omission(node, "37: a file without content")
        )
    if not stored:
        if not as_system and _is_worded(record, habits):
            return Piece(node, "user", [{"type": OWN_WORDS}], place=PiecePlace.ASIDE)
        return Omission(node, OWN_RULE)
    if isinstance(attachment, QueuedCommandAttachment) and as_system and _is_persons(attachment):
        return Piece(node, "user", [text_block(_unwrapped(text)) for text in stored], place=PiecePlace.QUEUED)
    if is_system:
        words = "\n".join(_unwrapped(text) for text in stored)
        return Piece(node, "system", [text_block(words)], place=PiecePlace.ASIDE)
    parts = [[text_block(text)] for text in stored]
    return Piece(node, "user", parts[0], place=PiecePlace.ASIDE, more=parts[1:])


def _is_worded(record: AttachmentRecord, habits: MessageHabits) -> bool:
    """Whether the release says something of its own about an attachment; of a hook only what goes with a prompt."""
    kind = record.kind.removeprefix("attachment/")
    if kind not in habits.worded or kind != "hook_success":
        return kind in habits.worded
    made = rebuild(record.attachment)
    return made.get("hookEvent") in _PROMPT_HOOKS and bool(made.get("content"))


def _role(record: AttachmentRecord) -> str:
    """In which role an attachment's words are sent, where the model takes both; all kinds that 2.1.325 knows were asked."""
    if isinstance(record.renderedRole, str):
        return record.renderedRole
    kind = record.kind.removeprefix("attachment/")
    is_known = not isinstance(record.attachment, UnknownAttachment) or kind in _KNOWN_BESIDES
    return "system" if is_known and kind not in _THE_USERS else "user"


def _stored(record: AttachmentRecord) -> list[str]:
    """The words as they were sent; none when they are not in the form that the client writes."""
    parts = record.rendered or []
    texts = [part["content"] for part in parts if isinstance(part, dict) and part.keys() == {"content"}]
    return texts if len(texts) == len(parts) and all(isinstance(text, str) for text in texts) else []


def _read_by_hand(attachment: FileAttachment) -> list[list[Block]]:
    """A file that the person named, as if the model had read it. What is in it every release words on its own."""
    content = rebuild(attachment.content)
    file = content.get("file") if isinstance(content, dict) else None
    if not isinstance(content, dict) or not isinstance(file, dict):
        return []
    call = json.dumps({"file_path": attachment.filename}, ensure_ascii=False, separators=(",", ":"))
    called = f"{_OPEN}\nCalled the Read tool with the following input: {call}\n{_CLOSE}"
    if content.get("type") != "image":
        return [[text_block(called)], [{"type": OWN_WORDS}]]
    source = {"type": "base64", "data": file.get("base64"), "media_type": file.get("type")}
    return [[text_block(called)], [{"type": "image", "source": source}]]


def _is_persons(attachment: QueuedCommandAttachment) -> bool:
    made = rebuild(attachment)
    origin = made.get("origin")
    return bool(made.get("humanTurn")) and isinstance(origin, dict) and origin.get("kind") == "human"


def wrapped(text: str) -> str:
    return f"{_OPEN}\n{text}\n{_CLOSE}"


def _unwrapped(text: str) -> str:
    if text.startswith(_OPEN + "\n") and text.rstrip().endswith("\n" + _CLOSE):
        return text.rstrip()[len(_OPEN) + 1 : -len(_CLOSE) - 1]
    return text
