"""Whether a release reminds the model of its todo list when the new prompt comes (rule 37).

In: the pieces of a conversation, those before its last compaction too, and a release's habits. Out: yes or no. Does not know the
words, and not what becomes of what precedes them: `merge` puts them in their place.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from stenograph.graph import Graph
from stenograph.messages.habits import MessageHabits
from stenograph.messages.pieces import Block, Piece

_REMINDER = "attachment/todo_reminder"


def reminds_of_todos(newest_first: Iterable[Piece], graph: Graph, habits: MessageHabits) -> bool:
    """Whether a reminder comes; no more pieces are taken than it takes to tell."""
    due = habits.todo_reminder
    count = 0
    for piece in newest_first:
        if piece.role == "assistant":
            for blocks in _answers(piece, habits):
                is_todo = any(block.get("type") == "tool_use" and block.get("name") == "TodoWrite" for block in blocks)
                # Redacted thinking counts, thinking does not; an answer of no blocks is thinking alone.
                if any(block.get("type") != "thinking" for block in blocks) and (due.counts_the_call or not is_todo):
                    count += 1
                if count >= max(due.since_call, due.since_reminder):
                    return True
                if is_todo:
                    return count >= due.since_call
        elif graph.records[piece.node].kind == _REMINDER and count < due.since_reminder:
            return False
    return count >= due.since_call


def _answers(piece: Piece, habits: MessageHabits) -> Iterator[list[Block]]:
    """What counts as one answer, the last first: a line, or each of its blocks."""
    if habits.todo_reminder.counts_blocks:
        yield from ([block] for block in reversed(piece.blocks))
    else:
        yield piece.blocks
