"""What a release changes inside messages before it sends them: thinking, blanks, tool uses and results (rules 32 to 46)."""

from __future__ import annotations

from typing import Any

from stenograph.messages.habits import MessageHabits
from stenograph.messages.merge import Message
from stenograph.messages.models import bare_model
from stenograph.messages.pieces import OWN_WORDS, Block, Omission, Piece, is_thinking, text_block
from stenograph.messages.tools import NO_CONTENT
from stenograph.records import SYNTHETIC

#: The rule by which an answer of blank text is left out.
BLANK = "46: a blank answer"

_TOOL_USE = ("type", "id", "name", "input")
# What releases before named the same things.
_OLD_SEND_MESSAGE = ("type", "recipient", "content")
_REMOVED = "[Tool references removed - tool search not enabled]"
_LOADED = "Tool loaded."
_GONE = "[Tool references removed - tools no longer available]"


def drop_empty_answers(pieces: list[Piece], habits: MessageHabits, left: list[Omission]) -> list[Piece]:
    """Rules 32 and 46: responses that say nothing."""
    answers = [piece for piece in pieces if piece.role == "assistant"]
    silent = {piece.message_id for piece in answers if _is_thinking(piece)}
    if silent:
        silent -= {piece.message_id for piece in answers if not _is_thinking(piece)}
    kept: list[Piece] = []
    for piece in pieces:
        rule = _says_nothing(piece, habits, silent) if piece.role == "assistant" and not piece.is_unsent else ""
        if rule:
            left.append(Omission(piece.node, rule))
        else:
            kept.append(piece)
    return kept


def _says_nothing(piece: Piece, habits: MessageHabits, silent: set[str]) -> str:
    if not piece.blocks:
        return "" if habits.fills_empty_answers else "46: an empty answer"
    if habits.drops_thinking_only and piece.message_id in silent and _is_thinking(piece):
        return "32: a response of thinking alone"
    if not _is_blank(piece.blocks[-1]):
        return ""
    if habits.drops_blank_answers and all(_is_blank(block) for block in piece.blocks):
        return BLANK
    # Thinking does not save an answer that ends in blank text.
    blank_or_thought = all(_is_blank(block) or is_thinking(block) for block in piece.blocks)
    return BLANK if habits.drops_blank_text and blank_or_thought else ""


def _is_thinking(piece: Piece) -> bool:
    return bool(piece.blocks) and all(map(is_thinking, piece.blocks))


def _is_blank(block: Block) -> bool:
    if block.get("type") != "text":
        return False
    text = str(block.get("text", ""))
    return not text or text.isspace()


def tidy(messages: list[Message], habits: MessageHabits, model: str) -> list[Message]:
    for message in messages:
        if message.role == "assistant":
            message.content = _answer(message, habits, model)
        elif message.role == "user":
            message.content = _words(message, habits)
    return [message for message in messages if message.content]


def _answer(message: Message, habits: MessageHabits, model: str) -> list[Block]:
    if len(message.content) == 1 and message.content[0].get("type") == "text" and message.content[0].get("text"):
        return message.content
    blocks = [_tool_use(block, habits) if block.get("type") == "tool_use" else block for block in message.content]
    if habits.drops_foreign_thinking and bare_model(message.model) not in ("", SYNTHETIC, model):
        blocks = [block for block in blocks if not _is_signed(block)]
    if habits.drops_blank_text:
        blocks = [block for block in blocks if block.get("text") != "" or block.get("type") != "text"]
    return blocks or [{**text_block(NO_CONTENT), "citations": []}]


def _is_signed(block: Block) -> bool:
    """Thinking that only the model that gave it can read; what was never signed may stay."""
    return block.get("type") == "redacted_thinking" or (block.get("type") == "thinking" and bool(block.get("signature")))


def _tool_use(block: Block, habits: MessageHabits) -> Block:
    if habits.strips_tool_use:
        block = {key: block[key] for key in _TOOL_USE if key in block}
    if habits.drops_plan and block.get("name") == "ExitPlanMode" and isinstance(block.get("input"), dict):
        block["input"] = {key: value for key, value in block["input"].items() if key != "plan"}
    given = block.get("input")
    if habits.trims_send_message and block.get("name") == "SendMessage" and isinstance(given, dict) and "to" in given:
        block["input"] = {key: value for key, value in given.items() if key not in _OLD_SEND_MESSAGE}
    if habits.renames_task and block.get("name") == "Task":
        block["name"] = "Agent"
    return block


def _words(message: Message, habits: MessageHabits) -> list[Block]:
    blocks = message.content
    if message.is_string or (len(blocks) == 1 and _is_common(blocks[0])):
        return blocks
    if not habits.loads_tools and any(_has_reference(block) for block in blocks):
        blocks = _without_all(blocks, frozenset(), _REMOVED, habits)
    if habits.errors_in_text and any(_parts(block) for block in blocks):
        blocks = [_error_in_text(block) for block in blocks]
    if habits.drops_blank_words and any(_is_blank(block) for block in blocks):
        blocks = [block for block in blocks if not _is_blank(block)] or [text_block(NO_CONTENT)]
    return [block for block in blocks if block.get("type") != OWN_WORDS]


def _is_common(block: Block) -> bool:
    """A result that is a string, or words: most messages of a long session are one such block, and nothing is done to them."""
    kind = block.get("type")
    if kind == "tool_result":
        return block.get("content").__class__ is str
    return kind == "text" and not _is_blank(block)


def settle_references(pieces: list[Piece], habits: MessageHabits) -> None:
    """Rule 38: references to tools stay where the tools are known. This comes first of all, record by record."""
    known = habits.known_tools
    if known is None:
        return
    for piece in pieces:
        if piece.role != "user" or piece.is_string or not any(map(_has_reference, piece.blocks)):
            continue
        if any(_names_others(block, known) for block in piece.blocks):
            piece.blocks = _without_all(piece.blocks, known, _GONE, habits)
        if habits.loads_tools and any(_has_reference(block) for block in piece.blocks):
            piece.blocks = [*piece.blocks, text_block(_LOADED)]


def _parts(block: Block) -> list[Any] | None:
    content = block.get("content") if block.get("type") == "tool_result" else None
    return content if isinstance(content, list) else None


def _kind(part: Any) -> Any:
    """Of a part of a result, which may be no block at all: such a part is sent as it stands. (2.1.325)"""
    return part.get("type") if isinstance(part, dict) else None


def _has_reference(block: Block) -> bool:
    parts = _parts(block)
    return parts is not None and any(_kind(part) == "tool_reference" for part in parts)


def _names_others(block: Block, known: frozenset[str]) -> bool:
    return any(_kind(part) == "tool_reference" and not _is_known(part, known) for part in _parts(block) or [])


def _is_known(reference: Block, known: frozenset[str]) -> bool:
    name = reference.get("tool_name")
    return isinstance(name, str) and name in known


def _without_all(blocks: list[Block], known: frozenset[str], words: str, habits: MessageHabits) -> list[Block]:
    return [_without(block, known, words) if habits.fills_empty_results or _has_reference(block) else block for block in blocks]


def _without(block: Block, known: frozenset[str], words: str) -> Block:
    """A result without references to other tools than these; words in the place of one that holds nothing then."""
    parts = _parts(block)
    if parts is None:
        return block
    kept = [part for part in parts if _kind(part) != "tool_reference" or _is_known(part, known)]
    return {**block, "content": kept or [text_block(words)]}


def _error_in_text(block: Block) -> Block:
    parts = _parts(block)
    if not parts or not block.get("is_error") or all(_kind(part) == "text" for part in parts):
        return block
    # A text that is none leaves its place empty. (2.1.325)
    texts = [text if isinstance(text := part.get("text"), str) else "" for part in parts if _kind(part) == "text"]
    return {**block, "content": [text_block("\n\n".join(texts))] if texts else []}
