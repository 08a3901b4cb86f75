"""Pieces -> messages: lines of one response are one message, and so are neighbouring lines of the user (rules 27 to 31, 37).

In: pieces in the order of the chain. Out: messages whose blocks are in the order in which they are sent. Does not look at whether
tools were answered.
"""

from __future__ import annotations

from msgspec import Struct

from stenograph.messages.habits import MessageHabits
from stenograph.messages.pieces import OWN_WORDS, Block, Piece, PiecePlace, text_block, wrapped

_TEXTS = ("text", OWN_WORDS)  # no set: a type may be anything


class Message(Struct):
    """One message of the API, and the nodes that it was made of."""

    role: str
    content: list[Block]
    nodes: list[int]
    message_id: str = ""
    model: str = ""
    # It is one record whose content was a string.
    is_string: bool = False


def merge(pieces: list[Piece], habits: MessageHabits) -> list[Message]:
    """The messages; reminders in the role `system` stand behind what the user said before the next answer."""
    messages: list[Message] = []
    reminders: Message | None = None
    met: set[str] = set()
    for piece in _settled(pieces):
        if piece.role == "system":
            reminders = _joined(reminders, piece)
        elif piece.role == "user":
            _add_user(messages, piece, habits)
        else:
            if reminders is not None and not piece.is_unsent:
                messages.append(_behind(messages, reminders))
                reminders = None
            if not piece.is_unsent:
                # Only a response that was met before is looked for: long sessions have thousands.
                known = _same_response(messages, piece, habits) if piece.message_id in met else None
                met.add(piece.message_id)
                _add_assistant(messages, piece, known)
    if reminders is not None:
        messages.append(reminders)
    if habits.moves_calls_back:
        for message in messages:
            in_lines = len(message.nodes) > 1 or habits.moves_calls_back_in_a_line
            if message.role == "assistant" and in_lines and len(message.content) > 1:
                message.content = _calls_last(message.content)
    return messages


def _settled(pieces: list[Piece]) -> list[Piece]:
    """Rule 37: attachments go up to the answer before them, or the user's line that begins with a tool result."""
    settled: list[Piece] = []
    asides: list[Piece] = []
    for piece in reversed(pieces):
        if piece.place is not PiecePlace.IN_TURN:
            asides.append(piece)
            continue
        if asides and (piece.role == "assistant" or piece.begins_with_result):
            settled += _queued_last(asides)
            asides = []
        settled.append(piece)
    settled += _queued_last(asides)
    settled.reverse()
    return settled


def _queued_last(asides: list[Piece]) -> list[Piece]:
    """Of attachments in reverse order: what the person queued comes last, that is first here."""
    return sorted(asides, key=lambda piece: piece.place is not PiecePlace.QUEUED)


def _behind(messages: list[Message], reminders: Message) -> Message:
    """Reminders in the role `system` stand behind words of the user; where there are none they are such words themselves."""
    if messages and messages[-1].role == "user":
        return reminders
    return Message("user", [text_block(wrapped(reminders.content[0]["text"]))], reminders.nodes)


def _joined(reminders: Message | None, piece: Piece) -> Message:
    if reminders is None:
        return Message("system", list(piece.blocks), [piece.node])
    reminders.content = [text_block(reminders.content[0]["text"] + "\n\n" + piece.blocks[0]["text"])]
    reminders.nodes.append(piece.node)
    return reminders


def _add_user(messages: list[Message], piece: Piece, habits: MessageHabits) -> None:
    last = messages[-1] if messages else None
    if last is None or last.role != "user":
        messages.append(Message("user", list(piece.blocks), [piece.node], is_string=piece.is_string))
        # An attachment of several parts stays in parts when nothing of the user stands before it.
        messages += [Message("user", list(blocks), [piece.node]) for blocks in piece.more]
        return
    last.is_string = False
    for blocks in (piece.blocks, *piece.more):
        if piece.place is PiecePlace.ASIDE:
            _add_aside(last.content, blocks, habits)
        elif piece.place is PiecePlace.BESIDE:
            last.content += blocks
        else:
            if habits.parts_texts and last.content and blocks and _is_text(last.content[-1]) and _is_text(blocks[0]):
                _end_in_newline(last.content)
            last.content += blocks
            last.content.sort(key=lambda block: block.get("type") != "tool_result")
    last.nodes.append(piece.node)


def _is_text(block: Block) -> bool:
    return block.get("type") in _TEXTS


def _end_in_newline(blocks: list[Block]) -> None:
    last = blocks[-1]
    if last.get("type") == "text" and isinstance(last.get("text"), str):
        blocks[-1] = {**last, "text": last["text"] + "\n"}


def _add_aside(content: list[Block], blocks: list[Block], habits: MessageHabits) -> None:
    """Words become part of the tool result that they follow; all else, and words behind words, stand for themselves."""
    for block in blocks:
        if content and content[-1].get("type") == "tool_result" and _is_text(block):
            content[-1] = _glued(content[-1], block.get("text", ""), habits)
        else:
            content.append(block)


def _glued(result: Block, words: str, habits: MessageHabits) -> Block:
    inner = result.get("content")
    if isinstance(inner, str):
        return {**result, "content": _below(inner, words)}
    if not isinstance(inner, list):
        return {**result, "content": words.strip()} if habits.sends_rendered else result
    parts = list(inner)
    if habits.parts_texts and parts and isinstance(parts[-1], dict):
        _end_in_newline(parts)
    return {**result, "content": [*parts, text_block(words)] if words else parts}


def _below(text: str, words: str) -> str:
    """Both without the blanks around them: the trace that a reminder leaves even where it is not shown."""
    return "\n\n".join(part for part in (text.strip(), words.strip()) if part)


def _calls_last(blocks: list[Block]) -> list[Block]:
    """Rule 31: where words follow a tool use, all tool uses go behind them."""
    kinds = [block.get("type") for block in blocks]
    if "tool_use" not in kinds or "text" not in kinds[kinds.index("tool_use") :]:
        return blocks
    return sorted(blocks, key=lambda block: block.get("type") == "tool_use")


def _add_assistant(messages: list[Message], piece: Piece, known: Message | None) -> None:
    if known is None:
        messages.append(Message("assistant", list(piece.blocks), [piece.node], piece.message_id, piece.model))
    else:
        known.content += piece.blocks
        known.nodes.append(piece.node)


def _same_response(messages: list[Message], piece: Piece, habits: MessageHabits) -> Message | None:
    """Rule 28: a response goes on over tool results, in newer releases over other answers too; missing ids are equal (27)."""
    for message in reversed(messages):
        if message.role == "assistant":
            if message.message_id == piece.message_id:
                return message
            if not habits.merges_over_answers:
                return None
        elif not any(block.get("type") == "tool_result" for block in message.content):
            return None
    return None
