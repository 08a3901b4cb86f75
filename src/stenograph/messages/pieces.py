"""One record of the chain -> what it adds to the conversation, if anything.

In: a record and the habits of a release. Out: a piece with a role and blocks of plain JSON, or the rule by which the record adds
nothing. Does not look at its neighbours.
"""

from __future__ import annotations

from enum import Enum
from typing import Any

from msgspec import Struct, field

from stenograph.messages.habits import MessageHabits
from stenograph.messages.reminders import file_called, notified, worded
from stenograph.records import (
    SYNTHETIC,
    AssistantRecord,
    AttachmentRecord,
    CompactBoundaryRecord,
    LocalCommandRecord,
    Record,
    UserRecord,
    plain_message,
    rebuild,
)
from stenograph.releases import KINDS

Block = dict[str, Any]

#: The type of a block that stands for a reminder in the release's own words. It keeps its place until the messages are done.
OWN_WORDS = "own-words"
#: The rule by which such a reminder is not shown.
OWN_RULE = "37: in words of the release's own, which no file holds"
#: The rule by which an attachment is not sent at all.
NOT_SENT = "37: this release does not send an attachment of this kind"

# Kinds whose words are the user's where the line does not say in which role they go.
_THE_USERS = ("instructions", "remote_session_change", "session_context", "unknown_command_fallback")
# Kinds that stay beside a tool's result in the role `user`.
_FILES = ("directory", "file", "nested_memory")
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


#: Most pieces by far; by a name of its own, because in Python 3.11 looking up a member of an enum takes as long as a short call.
IN_TURN = PiecePlace.IN_TURN


class Piece(Struct):
    """What one record adds: a message, or the part of one that its neighbours belong to as well."""

    node: int
    role: str
    blocks: list[Block]
    # Of an assistant's lines: the response they belong to, and who gave it.
    message_id: str = ""
    model: str = ""
    place: PiecePlace = IN_TURN
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
    if isinstance(content, str):
        if habits.sends_rendered and record.origin and record.origin.get("kind") == "task-notification":
            return Piece(node, "user", [text_block(wrapped(notified(content, habits.phrases)))], is_string=True)
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
    kind = record.kind.removeprefix("attachment/")
    body = rebuild(record.attachment)
    if not isinstance(body, dict) or kind in habits.never_sent:
        return Omission(node, NOT_SENT)
    stored = _stored(record) if habits.sends_rendered else []
    is_system = as_system and _role(record, kind, habits) == "system"
    if not stored:
        image = _image(body, habits) if kind == "file" else []
        if image:
            return Piece(node, "user", image[0], place=PiecePlace.ASIDE, more=image[1:])
        if kind == "queued_command" and (images := _queued_images(body)):
            return _queued(node, body, images, habits, as_system=as_system)
        parts = None if kind in habits.own_kinds else worded(body, habits.phrases)
        if parts is None:
            return _own_words(node, as_system=as_system)
        if not parts or (as_system and kind in habits.unsaid_to_system):
            return Omission(node, NOT_SENT)
        stored = [wrapped(part) for part in parts]
    if as_system and habits.sends_rendered and kind == "queued_command" and _is_persons(body):
        return Piece(node, "user", [text_block(_unwrapped(text)) for text in stored], place=PiecePlace.QUEUED)
    if is_system:
        words = "\n".join(_unwrapped(text) for text in stored)
        return Piece(node, "system", [text_block(words)], place=PiecePlace.ASIDE)
    blocks = [[text_block(text)] for text in stored]
    return Piece(node, "user", blocks[0], place=_place(kind, habits, as_system=as_system), more=blocks[1:])


def _queued(node: int, body: dict[str, Any], images: list[Block], habits: MessageHabits, *, as_system: bool) -> Piece | Omission:
    """A prompt with images that was queued: they are never the system's, whatever the line says."""
    words = [block for block in body["prompt"] if block not in images]
    if not habits.sends_queued_images:
        words, images = [text_block("") if block in images else block for block in body["prompt"]], []
    said = worded({**body, "prompt": words}, habits.phrases)
    if said is None:
        return _own_words(node, as_system=as_system)
    if as_system and habits.sends_rendered and _is_persons(body):
        return Piece(node, "user", [*map(text_block, said), *images], place=PiecePlace.QUEUED)
    place = PiecePlace.BESIDE if images else PiecePlace.ASIDE
    return Piece(node, "user", [*(text_block(wrapped(part)) for part in said), *images], place=place)


def _queued_images(body: dict[str, Any]) -> list[Block]:
    prompt = body.get("prompt")
    blocks = prompt if isinstance(prompt, list) else []
    return [block for block in blocks if isinstance(block, dict) and block.get("type") in ("image", "document")]


def _own_words(node: int, *, as_system: bool) -> Piece | Omission:
    """A reminder of which only the place is known."""
    if as_system:
        return Omission(node, OWN_RULE)
    return Piece(node, "user", [{"type": OWN_WORDS}], place=PiecePlace.ASIDE)


def _role(record: AttachmentRecord, kind: str, habits: MessageHabits) -> str:
    """In which role an attachment's words are sent, where the model takes both."""
    if habits.reads_rendered_role and isinstance(record.renderedRole, str):
        return record.renderedRole
    return "system" if kind in KINDS and kind not in _THE_USERS else "user"


def _place(kind: str, habits: MessageHabits, *, as_system: bool) -> PiecePlace:
    """Where words of the role `user` go."""
    return PiecePlace.FILE if habits.reads_rendered_role and as_system and kind in _FILES else PiecePlace.ASIDE


def _stored(record: AttachmentRecord) -> list[str]:
    """The words as they were sent; none when they are not in the form that the client writes."""
    parts = record.rendered or []
    texts = [part["content"] for part in parts if isinstance(part, dict) and part.keys() == {"content"}]
    return texts if len(texts) == len(parts) and all(isinstance(text, str) for text in texts) else []


def _image(body: dict[str, Any], habits: MessageHabits) -> list[list[Block]]:
    """An image that the person named, as if the model had read it."""
    content = body.get("content")
    file = content.get("file") if isinstance(content, dict) and content.get("type") == "image" else None
    if not isinstance(file, dict):
        return []
    source = {"type": "base64", "data": file.get("base64"), "media_type": file.get("type")}
    return [[text_block(wrapped(file_called(body, habits.phrases)))], [{"type": "image", "source": source}]]


def _is_persons(body: dict[str, Any]) -> bool:
    origin = body.get("origin")
    return bool(body.get("humanTurn")) and isinstance(origin, dict) and origin.get("kind") == "human"


def wrapped(text: str) -> str:
    return f"{_OPEN}\n{text}\n{_CLOSE}"


def _unwrapped(text: str) -> str:
    if text.startswith(_OPEN + "\n") and text.endswith("\n" + _CLOSE):
        return text[len(_OPEN) + 1 : -len(_CLOSE) - 1]
    return text
