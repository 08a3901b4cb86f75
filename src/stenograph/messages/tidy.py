"""What a release changes inside messages before it sends them: thinking, blanks, tool uses and results (rules 32 to 46)."""

from __future__ import annotations

from typing import Any

from stenograph.messages.habits import Habits
from stenograph.messages.javascript import as_sent
from stenograph.messages.merge import Message
from stenograph.messages.pieces import OWN_WORDS, THINKING, Block, Left, Piece, text_block
from stenograph.messages.tools import NO_CONTENT
from stenograph.records.markers import SYNTHETIC

#: The rule by which an answer of blank text is left out.
BLANK = "46: a blank answer"

_TOOL_USE = ("type", "id", "name", "input")
# What releases before named the same things.
_OLD_SEND_MESSAGE = ("type", "recipient", "content")
_REMOVED = "[Tool references removed - tool search not enabled]"
_LOADED = "Tool loaded."
_GONE = "[Tool references removed - tools no longer available]"


def drop_empty_answers(pieces: list[Piece], habits: Habits, left: list[Left]) -> list[Piece]:
    """Rules 32 and 46: responses that say nothing."""
    speaking = {piece.message_id for piece in pieces if piece.role == "assistant" and not _is_thinking(piece)}
    kept: list[Piece] = []
    for piece in pieces:
        rule = _says_nothing(piece, habits, speaking) if piece.role == "assistant" and not piece.is_unsent else ""
        if rule:
            left.append(Left(piece.node, rule))
        else:
            kept.append(piece)
    return kept


def _says_nothing(piece: Piece, habits: Habits, speaking: set[str]) -> str:
    if not piece.blocks:
        return "" if habits.drops_blank_answers else "46: an empty answer"
    if habits.drops_thinking_only and _is_thinking(piece) and piece.message_id not in speaking:
        return "32: a response of thinking alone"
    if habits.drops_blank_answers and all(_is_blank(block) for block in piece.blocks):
        return BLANK
    # Thinking does not save an answer that ends in blank text.
    blank_or_thought = all(_is_blank(block) or block.get("type") in THINKING for block in piece.blocks)
    return BLANK if habits.drops_blank_text and blank_or_thought and _is_blank(piece.blocks[-1]) else ""


def _is_thinking(piece: Piece) -> bool:
    return bool(piece.blocks) and all(block.get("type") in THINKING for block in piece.blocks)


def _is_blank(block: Block) -> bool:
    return block.get("type") == "text" and not str(block.get("text", "")).strip()


def tidy(messages: list[Message], habits: Habits, model: str) -> list[Message]:
    for message in messages:
        if message.role == "assistant":
            message.content = _answer(message, habits, model)
        elif message.role == "user":
            message.content = _words(message, habits)
        message.content = [as_sent(block, habits) for block in message.content if block.get("type") != OWN_WORDS]
    return [message for message in messages if message.content]


def _answer(message: Message, habits: Habits, model: str) -> list[Block]:
    blocks = [_tool_use(block, habits) for block in message.content]
    if habits.drops_foreign_thinking and message.model not in ("", SYNTHETIC, model):
        blocks = [block for block in blocks if not _is_signed(block)]
    if habits.drops_blank_text:
        blocks = [block for block in blocks if not (block.get("type") == "text" and block.get("text") == "")]
    return blocks or [{**text_block(NO_CONTENT), "citations": []}]


def _is_signed(block: Block) -> bool:
    """Thinking that only the model that gave it can read; what was never signed may stay."""
    return block.get("type") == "redacted_thinking" or (block.get("type") == "thinking" and bool(block.get("signature")))


def _tool_use(block: Block, habits: Habits) -> Block:
    if block.get("type") != "tool_use":
        return block
    if habits.strips_tool_use:
        block = {key: block[key] for key in _TOOL_USE if key in block}
        if block.get("name") == "ExitPlanMode" and isinstance(block.get("input"), dict):
            kept = block["input"] if habits.keeps_plan_permissions else {}
            block["input"] = {key: value for key, value in kept.items() if key != "plan"}
    given = block.get("input")
    if habits.trims_send_message and block.get("name") == "SendMessage" and isinstance(given, dict) and "to" in given:
        block["input"] = {key: value for key, value in given.items() if key not in _OLD_SEND_MESSAGE}
    if habits.renames_task and block.get("name") == "Task":
        block["name"] = "Agent"
    return block


def _words(message: Message, habits: Habits) -> list[Block]:
    blocks = message.content
    if any(_has_reference(block) for block in blocks):
        blocks = [_without_references(block, habits) for block in blocks]
        if any(_has_reference(block) for block in blocks):
            blocks.append(text_block(_LOADED))
    if habits.errors_in_text:
        blocks = [_error_in_text(block) for block in blocks]
    if habits.drops_blank_text and not message.is_string and any(_is_blank(block) for block in blocks):
        blocks = [block for block in blocks if not _is_blank(block)] or [text_block(NO_CONTENT)]
    return blocks


def _parts(block: Block) -> list[Any] | None:
    content = block.get("content") if block.get("type") == "tool_result" else None
    return content if isinstance(content, list) else None


def _has_reference(block: Block) -> bool:
    return any(part.get("type") == "tool_reference" for part in _parts(block) or [])


def _without_references(block: Block, habits: Habits) -> Block:
    """Rule 38: references to tools stay where the tools can be loaded again."""
    parts = _parts(block)
    if parts is None:
        return block
    known = habits.known_tools
    if known is not None:
        parts = [part for part in parts if part.get("type") != "tool_reference" or part.get("tool_name") in known]
        parts = parts or [text_block(_GONE)]
    if not habits.loads_tools and any(part.get("type") == "tool_reference" for part in parts):
        parts = [part for part in parts if part.get("type") != "tool_reference"] or [text_block(_REMOVED)]
    return {**block, "content": parts}


def _error_in_text(block: Block) -> Block:
    parts = _parts(block)
    if not parts or not block.get("is_error") or all(part.get("type") == "text" for part in parts):
        return block
    texts = [part["text"] for part in parts if part.get("type") == "text"]
    return {**block, "content": [text_block("\n\n".join(texts))] if texts else []}
