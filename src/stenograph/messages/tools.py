"""Tool uses and their results are paired: what has no other half is left out, or given one (rules 42 to 45)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from stenograph.messages.habits import MessageHabits, Orphan, Unanswered
from stenograph.messages.merge import Message
from stenograph.messages.pieces import IN_TURN, Block, Omission, Piece, text_block

MISSING = "[Tool result missing due to internal error]"
INTERRUPTED = (
    "[Tool call interrupted: the session ended before this call's result was recorded, so its outcome is unknown. "
    "Check whether it took effect before relying on it or running it again.]"
)
REPEATED = "[Tool use interrupted]"
ORPHANED = "[Orphaned tool result removed due to conversation resume]"
NO_CONTENT = "(no content)"

_NO_LINE = -1


def drop_unanswered(
    pieces: list[Piece], habits: MessageHabits, left: list[Omission], answered_before: Callable[[], set[Any]]
) -> list[Piece]:
    """Rules 42 and 43, line by line. A use that was answered before the last compaction counts as answered here.

    The same list comes back where nothing is dropped or moved.
    """
    answered = _answered(pieces, habits)
    cut_off = _cut_off(pieces) if habits.unanswered_at_end is Unanswered.ERROR_RESULT else set()
    earlier: set[Any] | None = None
    is_whole = True
    kept: list[Piece] = []
    for piece in pieces:
        uses = [block for block in piece.blocks if block.get("type") == "tool_use"] if piece.role == "assistant" else None
        open_uses = [block for block in uses if identity(block.get("id")) not in answered] if uses else None
        if open_uses:
            earlier = earlier if earlier is not None else answered_before()
            open_uses = [block for block in open_uses if identity(block.get("id")) not in earlier]
        if not uses or not open_uses:
            kept.append(piece)
            continue
        is_whole = False
        if len(open_uses) < len(uses):
            what = habits.unanswered_sibling
        elif habits.unanswered_at_end is Unanswered.ERROR_RESULT and cut_off.isdisjoint(
            identity(block.get("id")) for block in uses
        ):
            what = Unanswered.LINE_GOES
        else:
            what = habits.unanswered_at_end
        if what is Unanswered.BLOCK_GOES:
            left_out = set(map(id, open_uses))
            piece.blocks = [block for block in piece.blocks if id(block) not in left_out]
        if what is Unanswered.LINE_GOES or not piece.blocks:
            left.append(Omission(piece.node, "42: a tool use without a result"))
        else:
            kept.append(piece)
    kept = pieces if is_whole else kept
    return _early_results_last(kept) if habits.first_result_only else kept


def interrupted_results(pieces: list[Piece], habits: MessageHabits) -> list[Piece]:
    """Rule 42: the uses of the last response that have no result are given one."""
    last_response = _last_response(pieces) if habits.unanswered_at_end is Unanswered.ERROR_RESULT else None
    if last_response is None:
        return []
    uses = [
        block.get("id", "")
        for piece in pieces
        if piece.role == "assistant" and piece.message_id == last_response[0]
        for block in piece.blocks
        if block.get("type") == "tool_use"
    ]
    answered = _answered(pieces, habits) if uses else set()
    return [Piece(_NO_LINE, "user", [_error(use, INTERRUPTED)]) for use in uses if identity(use) not in answered]


def identity(id_: Any) -> Any:
    """What ids are told apart by, which may be anything: to a client an object or an array is the same as itself alone."""
    return id_ if id_.__class__ is str or not isinstance(id_, dict | list) else (id(id_),)


def _answered(pieces: list[Piece], habits: MessageHabits) -> set[Any]:
    """The uses that the user's lines hold a result for."""
    blocks = (block for piece in pieces if piece.role == "user" for block in piece.blocks if "tool_use_id" in block)
    ids = (block["tool_use_id"] for block in blocks)
    return {identity(id_) for id_ in ids if id_.__class__ is str or habits.pairs_any_id}


def _cut_off(pieces: list[Piece]) -> set[Any]:
    """The uses that were cut off and are not left out, by their ids.

    Those of the response that the conversation ends in; where results follow it, all since the person last said something.
    """
    last_response = _last_response(pieces)
    if last_response is None:
        return set()
    ids = _cut_off_responses(pieces, last_response[0])
    answers = [piece for piece in pieces if piece.role == "assistant" and piece.message_id in ids]
    return {identity(block.get("id")) for piece in answers for block in piece.blocks if block.get("type") == "tool_use"}


def _cut_off_responses(pieces: list[Piece], last_response: str) -> set[str]:
    ids = {last_response}
    turns = [piece for piece in pieces if piece.place is IN_TURN and not piece.is_unsent and not piece.is_note]
    if not turns or not turns[-1].has_result:
        return ids
    for piece in reversed(turns):
        if piece.role == "assistant":
            ids.add(piece.message_id)
        elif _has_words(piece):
            break
    return ids


def _last_response(pieces: list[Piece]) -> tuple[str] | None:
    """The id of the response that the conversation ends in, where nothing but results and attachments follow it."""
    for piece in reversed(pieces):
        if piece.role == "assistant":
            return None if piece.is_unsent else (piece.message_id,)
        if piece.place is IN_TURN and _has_words(piece):
            return None
    return None


def _has_words(piece: Piece) -> bool:
    """Whether a line of the user is more than results: one of no blocks at all is."""
    return not piece.is_note and (not piece.blocks or any(block.get("type") != "tool_result" for block in piece.blocks))


def _early_results_last(pieces: list[Piece]) -> list[Piece]:
    """A result that stands right before its use goes behind it."""
    ordered = pieces
    used: set[Any] = set()
    early: list[Any] = []
    for place, piece in enumerate(pieces):
        if early and piece.role == "assistant" and not set(early).isdisjoint(map(identity, _ids(piece.blocks, "tool_use", "id"))):
            ordered = list(pieces) if ordered is pieces else ordered
            ordered[place - 1], ordered[place] = piece, pieces[place - 1]
        early = []
        for block in () if piece.is_string else piece.blocks:
            kind = block.get("type")
            if kind == "tool_use":
                used.add(identity(block.get("id", "")))
            elif kind == "tool_result":
                early.append(identity(block.get("tool_use_id", "")))
        if early:
            early = [use for use in early if use not in used]
    return ordered


def pair(messages: list[Message], habits: MessageHabits) -> list[Message]:
    """Rules 43 to 45, message by message."""
    if habits.orphan is Orphan.SENT:
        return messages
    paired: list[Message] = []
    seen: set[Any] = set()
    uses: list[Any] = []
    has_answer = False
    answers_missing = habits.unanswered_sibling is Unanswered.ERROR_RESULT
    for place, message in enumerate(messages):
        if message.role == "assistant":
            has_answer = True
            uses = _ids(message.content, "tool_use", "id")
            if uses and habits.first_use_only:
                known = set(map(identity, uses))
                if seen.isdisjoint(known) and len(known) == len(uses):  # as it is with hardly an exception
                    seen |= known
                else:
                    _drop_repeated(message, seen)
                    uses = _ids(message.content, "tool_use", "id")
            paired.append(message)
            if uses and answers_missing:
                _answer_missing(paired, uses, messages[place + 1] if place + 1 < len(messages) else None)
        elif message.role == "user" and not message.is_string:
            kept = _results(message.content, uses, habits, is_first=not has_answer)
            uses = []
            if not kept and message.content and (habits.says_no_content if paired else habits.says_orphaned):
                kept = [text_block(NO_CONTENT if paired else ORPHANED)]
            message.content = kept
            if kept:
                paired.append(message)
        else:
            paired.append(message)
    return paired


def _answer_missing(paired: list[Message], uses: list[Any], following: Message | None) -> None:
    """Rule 43."""
    is_user = following is not None and following.role == "user"
    has = set(map(identity, _ids(following.content, "tool_result", "tool_use_id") if following is not None and is_user else []))
    results = [_error(use, MISSING) for use in uses if identity(use) not in has]
    if results and following is not None and is_user:
        following.content[:0] = results
        following.is_string = False
    elif results:
        paired.append(Message("user", results, []))
        uses.clear()


def _drop_repeated(message: Message, seen: set[Any]) -> None:
    """Rule 45: of two uses with one id the first counts."""
    kept: list[Block] = []
    for block in message.content:
        if block.get("type") == "tool_use":
            use = identity(block.get("id", ""))
            if use in seen:
                continue
            seen.add(use)
        kept.append(block)
    if message.content and not kept:
        kept = [{**text_block(REPEATED), "citations": []}]
    message.content = kept


def _error(use: Any, words: str) -> Block:
    return {"type": "tool_result", "tool_use_id": use, "content": words, "is_error": True}


def _ids(blocks: list[Block], kind: str, key: str) -> list[Any]:
    return [block.get(key, "") for block in blocks if block.get("type") == kind]


def _results(blocks: list[Block], uses: list[Any], habits: MessageHabits, *, is_first: bool) -> list[Block]:
    kept: list[Block] = []
    seen: set[Any] = set()
    known = set(map(identity, uses))
    for block in blocks:
        if block.get("type") == "tool_result":
            use = identity(block.get("tool_use_id", ""))
            if use not in known and (habits.orphan is Orphan.STRIPPED or not is_first):
                continue
            if use in seen and habits.first_result_only:
                continue
            seen.add(use)
        kept.append(block)
    return kept
