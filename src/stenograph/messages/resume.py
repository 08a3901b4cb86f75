"""A graph -> the messages that a client of a given release would send when it resumes the session (rules 14 to 51).

In: the graph of a session. Out: the messages before the new prompt, and the rule by which every record that is not sent is left
out. Reminders that a release words itself are left out; those stored in the file are kept.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from msgspec import Struct

from stenograph.graph import Graph
from stenograph.messages.clearing import clear_old_results
from stenograph.messages.ending import NO_LINE, before_new_prompt, closing, find_ending, new_prompt
from stenograph.messages.habits import MessageHabits, message_habits
from stenograph.messages.javascript import write_as_sent
from stenograph.messages.merge import Message, merge
from stenograph.messages.models import called_model, takes_system, wraps_system
from stenograph.messages.pieces import OWN_RULE, OWN_WORDS, Omission, Piece, piece_of, text_block, wrapped
from stenograph.messages.selection import Selection, answered_in, select
from stenograph.messages.tidy import BLANK, drop_empty_answers, settle_references, tidy
from stenograph.messages.todos import reminds_of_todos
from stenograph.messages.tools import drop_unanswered, interrupted_results, pair
from stenograph.records import AssistantRecord, SystemRecord
from stenograph.releases import NEWEST


class Resume(Struct):
    """What a release would send."""

    release: str
    # None when it refuses: there is no conversation to resume.
    messages: list[Message] | None
    left: list[Omission]
    # By which rule it refuses; None when it does not.
    refused: str | None = None


def resume_messages(graph: Graph, release: str = NEWEST) -> Resume:
    """The messages that `release` would send, up to the new prompt."""
    return messages_of(select(graph, release, message_habits(release)), release)


def messages_of(selection: Selection, release: str, *, keep_numbers: bool = False) -> Resume:
    """The messages that `release` makes of some nodes, in their order. `keep_numbers`: not as JavaScript writes them."""
    habits = message_habits(release)
    graph, left = selection.graph, selection.left
    if selection.refused:
        return Resume(release, None, left, selection.refused)
    model = called_model(graph, [*selection.before, *selection.nodes], habits)
    as_system = takes_system(model)
    pieces: list[Piece] = []
    for node in selection.nodes:
        piece = piece_of(node, graph.records[node], habits, as_system=as_system)
        if isinstance(piece, Piece):
            if piece.role == "system" and wraps_system(model):
                piece.blocks = [text_block(wrapped(block["text"])) for block in piece.blocks]
            for blocks in (piece.blocks, *piece.more):
                for block in blocks:
                    write_as_sent(block, habits, keep_numbers=keep_numbers)
            pieces.append(piece)
            if piece.role == "user" and not piece.blocks:
                left.append(Omission(node, "46: an empty prompt", is_skipped=habits.skips_empty_prompts))
            elif piece.blocks and piece.blocks[0].get("type") == OWN_WORDS:
                left.append(Omission(node, OWN_RULE))
        elif piece.refuses:
            return Resume(release, None, left, piece.rule)
        else:
            left.append(piece)
    dropped: list[Omission] = []
    # Twice: a call that only such answers follow is the last, and a response may be left empty without its calls.
    pieces = drop_empty_answers(pieces, habits, dropped)
    answered = drop_unanswered(pieces, habits, dropped, lambda: answered_in(graph, selection.before))
    is_moved = answered is not pieces
    pieces = drop_empty_answers(answered, habits, dropped) if is_moved else pieces
    gone = {one.node for one in dropped} | {one.node for one in left if one.is_skipped}
    nodes = [node for node in selection.nodes if node not in gone]
    if is_moved:
        # A result that was put behind its use is the later one here too.
        sent = [piece.node for piece in pieces if piece.node not in gone]
        order = iter(sent)
        sent_nodes = set(sent)
        nodes = [next(order) if node in sent_nodes else node for node in nodes]
    is_reminded = habits.parts_texts or reminds_of_todos(_newest_first(pieces, selection, habits), graph, habits)
    ending = find_ending([graph.records[node] for node in nodes], habits)
    if any(one.rule == BLANK for one in dropped):
        ending = ending.joined()
    interrupted = interrupted_results(pieces, habits)
    pieces = [piece for piece in pieces if piece.blocks or piece.role == "assistant"]
    settle_references(pieces, habits)
    # Local commands at the end belong to the new prompt.
    last = next((node for node in reversed(nodes) if not isinstance(graph.records[node], SystemRecord)), NO_LINE)
    behind = set(nodes[nodes.index(last) + 1 :] if last >= 0 else nodes)
    place = len(pieces)
    while place and not interrupted and pieces[place - 1].node in behind:
        place -= 1
    pieces[place:place] = [*interrupted, *closing(ending, habits, has_results=bool(interrupted))]
    if habits.clears_results:
        clear_old_results(pieces, _tokens_of_last_answer(graph, nodes), graph.files[0].path, habits)
    pieces_and_prompt = [*pieces, *new_prompt(is_reminded=is_reminded, as_system=as_system)]
    messages = before_new_prompt(pair(merge(pieces_and_prompt, habits), habits))
    left += [*dropped, *(Omission(piece.node, "34: an API error is not sent") for piece in pieces if piece.is_unsent)]
    return Resume(release, tidy(messages, habits, model), left)


def _tokens_of_last_answer(graph: Graph, nodes: list[int]) -> int:
    for node in reversed(nodes):
        record = graph.records[node]
        usage = record.message.usage if isinstance(record, AssistantRecord) and record.message else None
        if usage:
            counts = (usage.input_tokens, usage.cache_creation_input_tokens, usage.cache_read_input_tokens, usage.output_tokens)
            return sum(count for count in counts if count)
    return 0


def _newest_first(pieces: list[Piece], selection: Selection, habits: MessageHabits) -> Iterator[Piece]:
    """The pieces from the last to the first, then those before the last compaction, as far as they would be sent."""
    yield from reversed(pieces)
    made = (piece_of(node, selection.graph.records[node], habits, as_system=False) for node in selection.before)
    earlier = drop_empty_answers([piece for piece in made if isinstance(piece, Piece)], habits, [])
    yield from reversed(drop_unanswered(earlier, habits, [], lambda: answered_in(selection.graph, selection.nodes)))


def plain(resume: Resume) -> list[dict[str, Any]]:
    """The messages as JSON."""
    return [{"role": message.role, "content": message.content} for message in resume.messages or []]
