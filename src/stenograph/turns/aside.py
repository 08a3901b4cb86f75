"""What was said inside a turn and is no part of the conversation that goes on: a turn beside the one that it was said in.

In: turns in the making, and the node that a client goes on from. Out: the same, and for every turn of that conversation with
something beside its way another one with the same opening. An edit leaves such lines behind, and so does a conversation that
went on from the middle of a turn. Other lines of a response are beside the way too, but are sent with it (rule 30): they stay.
No recorded or public session has anything set aside inside a turn.
"""

from __future__ import annotations

from collections.abc import Collection

from stenograph.records import AssistantRecord, FlatAssistantRecord, message_id_of
from stenograph.turns.context import Context
from stenograph.turns.draft import Draft


def split_abandoned_branches(context: Context, drafts: dict[int, Draft], leaf: int) -> None:
    """Give what stands beside the way to a leaf turns of its own, and what hangs off it to those."""
    way = _way_to(context, leaf)
    records = context.graph.records
    # Before anything else: nearly every session has no answer beside its way, and loading is to stay quick.
    if not any(
        isinstance(records[node], AssistantRecord) for draft in drafts.values() for node in draft.nodes if node not in way
    ):
        return
    spoken = {message_id_of(records[node]) for node in way} - {""}
    beside: list[Draft] = []
    moved: dict[int, int] = {}
    for draft in drafts.values():
        aside = _aside(context, draft, way, spoken) if draft.node in way else ()
        if aside:
            beside.append(Draft(aside[0], draft.opening, list(aside), draft.previous, draft.node))
            moved |= dict.fromkeys(aside, aside[0])
            draft.nodes = [node for node in draft.nodes if node not in moved]
    for draft in drafts.values() if moved else ():
        draft.previous = moved.get(context.graph.before[draft.node], draft.previous)
    drafts |= {draft.node: draft for draft in beside}


def _way_to(context: Context, leaf: int) -> set[int]:
    way: set[int] = set()
    while leaf >= 0 and leaf not in way:
        way.add(leaf)
        leaf = context.graph.before[leaf]
    return way


def _aside(context: Context, draft: Draft, way: Collection[int], spoken: Collection[str]) -> tuple[int, ...]:
    """The responses of a turn beside the way, and all that hangs off them, in file order."""
    records, before = context.graph.records, context.graph.before
    aside: dict[int, None] = {}
    for node in draft.nodes:
        if node in way:
            continue
        record = records[node]
        if before[node] in aside:
            is_aside = not isinstance(record, AssistantRecord) or message_id_of(record) not in spoken
        else:
            # Lines without a type are read by no client (rule 57), so none has left them behind.
            is_answer = isinstance(record, AssistantRecord) and not isinstance(record, FlatAssistantRecord)
            is_aside = is_answer and not _is_said_with(context, node, spoken)
        if is_aside:
            aside[node] = None
    return tuple(aside)


def _is_said_with(context: Context, node: int, spoken: Collection[str]) -> bool:
    """Whether a line belongs to a response that stays; one without an id to its neighbour without one (rule 27)."""
    records = context.graph.records
    if id_ := message_id_of(records[node]):
        return id_ in spoken
    neighbour = context.graph.before[node]
    return neighbour >= 0 and isinstance(records[neighbour], AssistantRecord) and not message_id_of(records[neighbour])
