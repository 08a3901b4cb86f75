"""Pieces -> messages: lines of one response are one message, and so are neighbouring lines of the user (rules 27 to 31, 37).

In: pieces in the order of the chain. Out: messages whose blocks are in the order in which they are sent. Does not look at whether
tools were answered.
"""

from __future__ import annotations

from msgspec import Struct

from stenograph.messages.habits import MessageHabits
from stenograph.messages.pieces import IN_TURN, OWN_WORDS, Block, Piece, PiecePlace, text_block, wrapped

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
    # How many tool results its content begins with; negative where nobody sorted it.
    results: int = -1
    # Words that are still to become part of its last block, a tool result.
    words: list[str] = []


def merge(pieces: list[Piece], habits: MessageHabits) -> list[Message]:
    """The messages; reminders in the role `system` stand behind what the user said before the next answer."""
    messages: list[Message] = []
    reminders: Message | None = None
    responses = _Responses(messages, habits)
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
                responses.add(piece)
    if reminders is not None:
        messages.append(_said(reminders))
    for message in messages:
        if message.words:
            _glue(message, habits)
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
        if piece.place is not IN_TURN:
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
    reminders = _said(reminders)
    if messages and messages[-1].role == "user":
        return reminders
    return Message("user", [text_block(wrapped(reminders.content[0]["text"]))], reminders.nodes)


def _said(reminders: Message) -> Message:
    reminders.content = [text_block("\n\n".join(reminders.words))]
    return reminders


def _joined(reminders: Message | None, piece: Piece) -> Message:
    reminders = reminders or Message("system", [], [])
    reminders.words.append(piece.blocks[0]["text"])
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
            _add_aside(last, blocks, habits)
            continue
        _glue(last, habits)
        if piece.place is PiecePlace.BESIDE:
            last.content += blocks
        else:
            if habits.parts_texts and last.content and blocks and _is_text(last.content[-1]) and _is_text(blocks[0]):
                _end_in_newline(last.content)
            _add_results_first(last, blocks)
    last.nodes.append(piece.node)


def _add_results_first(message: Message, blocks: list[Block]) -> None:
    """Behind the results that there are, and before all else."""
    if message.results < 0:
        message.content.sort(key=lambda block: block.get("type") != "tool_result")
        message.results = sum(block.get("type") == "tool_result" for block in message.content)
    results = [block for block in blocks if block.get("type") == "tool_result"]
    message.content[message.results : message.results] = results
    message.results += len(results)
    message.content += [block for block in blocks if block.get("type") != "tool_result"]


def _is_text(block: Block) -> bool:
    return block.get("type") in _TEXTS


def _end_in_newline(blocks: list[Block]) -> None:
    last = blocks[-1]
    if last.get("type") == "text" and isinstance(last.get("text"), str):
        blocks[-1] = {**last, "text": last["text"] + "\n"}


def _add_aside(message: Message, blocks: list[Block], habits: MessageHabits) -> None:
    """Words become part of the tool result that they follow; all else, and words behind words, stand for themselves."""
    for block in blocks:
        if message.content and _is_text(block) and _takes_words(message.content[-1], habits):
            message.words.append(block.get("text", ""))
        else:
            _glue(message, habits)
            message.content.append(block)


def _glue(message: Message, habits: MessageHabits) -> None:
    """Put words that wait for it into the last block, all at once: a result may be followed by thousands."""
    if message.words and message.role == "user":
        message.content[-1] = _glued(message.content[-1], message.words, habits)
        message.words = []


def _takes_words(block: Block, habits: MessageHabits) -> bool:
    return block.get("type") == "tool_result" and (habits.glues_to_lists or not isinstance(block.get("content"), list))


def _glued(result: Block, words: list[str], habits: MessageHabits) -> Block:
    inner = result.get("content")
    if not isinstance(inner, list):
        if not isinstance(inner, str) and not habits.sends_rendered:
            return result
        # All without the blanks around them: the trace that a reminder leaves even where it is not shown.
        parts = [part.strip() for part in (inner if isinstance(inner, str) else "", *words)]
        return {**result, "content": "\n\n".join(part for part in parts if part)}
    blocks = list(inner)
    is_behind_unknown = False
    for one in words:
        # Words that no file tells end in a newline of their own.
        if habits.parts_texts and blocks and isinstance(blocks[-1], dict) and not is_behind_unknown:
            _end_in_newline(blocks)
        blocks += [text_block(one)] if one else []
        is_behind_unknown = not one
    return {**result, "content": blocks}


def _calls_last(blocks: list[Block]) -> list[Block]:
    """Rule 31: where words follow a tool use, all tool uses go behind them."""
    kinds = [block.get("type") for block in blocks]
    if "tool_use" not in kinds or "text" not in kinds[kinds.index("tool_use") :]:
        return blocks
    return sorted(blocks, key=lambda block: block.get("type") == "tool_use")


class _Responses:
    """The model's messages, each found again when another of its lines comes (rules 27 and 28); missing ids are equal.

    A response continues over tool results, in newer releases over other answers too.
    """

    def __init__(self, messages: list[Message], habits: MessageHabits) -> None:
        self._messages = messages
        self._habits = habits
        self._places: dict[str, int] = {}
        self._last = -1
        # Up to here it is known where the last message is that no response continues over.
        self._passed = 0
        self._end = -1

    def add(self, piece: Piece) -> None:
        place = self._places.get(piece.message_id, -1)
        if place >= 0 and self._reaches(place):
            self._messages[place].content += piece.blocks
            self._messages[place].nodes.append(piece.node)
            return
        self._last = self._places[piece.message_id] = len(self._messages)
        self._messages.append(Message("assistant", list(piece.blocks), [piece.node], piece.message_id, piece.model))

    def _reaches(self, place: int) -> bool:
        messages = self._messages
        if not self._habits.merges_over_answers and place != self._last:
            return False
        while self._passed < len(messages) - 1:  # all but the last are done with
            if _ends_response(messages[self._passed]):
                self._end = self._passed
            self._passed += 1
        return place > self._end and not _ends_response(messages[-1])


def _ends_response(message: Message) -> bool:
    return message.role != "assistant" and not any(block.get("type") == "tool_result" for block in message.content)
