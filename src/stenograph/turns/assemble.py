"""Graph -> turns.

A turn is an opening input and everything after it until the next opening, by `before` links, so that parallel results, hooks and
lines behind a compaction all find their turn. What was abandoned inside a turn is another turn beside it.
"""

from __future__ import annotations

from array import array
from collections.abc import Collection, Sequence

from msgspec import Struct

from stenograph.graph import NOWHERE, Graph, GraphFile
from stenograph.inputs import OPENERS, Input, InputKind
from stenograph.records import (
    AssistantRecord,
    ChainedRecord,
    FileHistorySnapshotRecord,
    FlatAssistantRecord,
    Record,
    UserRecord,
    message_id_of,
)
from stenograph.turns.contents import is_synthetic
from stenograph.turns.context import Context
from stenograph.turns.model import Turn

_NO_PROMPT = Input(InputKind.EMPTY, "")
_SAYING = (UserRecord, AssistantRecord)


class Draft(Struct):
    node: int
    opening: Input
    nodes: list[int]
    #: The opening of the turn before on its chain.
    previous: int = NOWHERE
    #: The opening of the turn it was split from.
    parted_from: int = NOWHERE


def assemble_turns(context: Context, nodes: Sequence[int], leaf: int = NOWHERE) -> dict[int, Turn]:
    """The turns among some nodes (in file order), by their opening nodes; `leaf` is where a client continues."""
    drafts = _draft(context, nodes)
    _fold_local_commands(context, drafts)
    split_abandoned_branches(context, drafts, leaf)
    numbers = _number(drafts)
    last_said = next((node for node in reversed(nodes) if isinstance(context.graph.records[node], _SAYING)), NOWHERE)
    return {
        node: Turn(
            number=numbers[node],
            opening=draft.opening,
            node=node,
            nodes=tuple(draft.nodes),
            context=context,
            previous=draft.previous,
            parted_from=draft.parted_from,
            is_left=draft.nodes[-1] < last_said,
        )
        for node, draft in drafts.items()
    }


def _draft(context: Context, nodes: Sequence[int]) -> dict[int, Draft]:
    """Every opening input with the nodes after it; nodes outside the tree go by their place in the file."""
    records, before, inputs = context.graph.records, context.graph.before, context.inputs
    owner: dict[int, int] = {}
    drafts: dict[int, Draft] = {}
    snapshots: list[tuple[int, int]] = []
    here = set(nodes)
    current = NOWHERE
    for node in nodes:
        record = records[node]
        if not isinstance(record, ChainedRecord):
            owner[node] = current
            if isinstance(record, FileHistorySnapshotRecord) and isinstance(record.messageId, str):
                snapshots.append((node, context.graph.by_uuid.get(record.messageId, NOWHERE)))
            continue
        understood = inputs.get(node)
        if understood is not None and understood.kind in OPENERS:
            owner[node] = current = node
            drafts[node] = Draft(node, understood, [])
            continue
        opening = owner.get(before[node])
        if opening is None:
            opening = _owner_of(context, node, owner, here)
        if opening < 0 and isinstance(record, AssistantRecord):
            # The prompt is not in the file: cut files, and agents of 2.0.42 to 2.0.55.
            opening = node
            drafts[node] = Draft(node, _NO_PROMPT, [])
        owner[node] = current = opening
    for node, named in snapshots:  # mostly written before their prompt
        owner[node] = owner.get(named, owner[node])
    for node, opening in owner.items():
        if opening >= 0:
            drafts[opening].nodes.append(node)
    for draft in drafts.values():
        draft.nodes.sort()
        draft.previous = owner.get(before[draft.node], NOWHERE)
    return drafts


def _owner_of(context: Context, node: int, owner: dict[int, int], here: set[int]) -> int:
    """The nearest opening before a node whose predecessor is further down or outside."""
    way: list[int] = []
    found = NOWHERE
    while node in here:
        understood = context.inputs.get(node)
        if understood is not None and understood.kind in OPENERS:
            found = node
            break
        way.append(node)
        node = context.graph.before[node]
        if node in owner:
            found = owner[node]
            break
    for passed in way:
        owner[passed] = found
    return found


def _fold_local_commands(context: Context, drafts: dict[int, Draft]) -> None:
    """A command or shell input that no model answered belongs to the turn before it."""
    folded = {node: draft for node, draft in drafts.items() if _is_local(context, draft)}
    for node in folded:
        del drafts[node]
    kept_before: dict[int, int] = {}
    for draft in (*drafts.values(), *folded.values()):
        draft.previous = _past(folded, draft.previous, kept_before)
    grown = set()
    for draft in folded.values():
        if draft.previous in drafts:
            drafts[draft.previous].nodes += draft.nodes
            grown.add(draft.previous)
    for node in grown:
        drafts[node].nodes.sort()


def _past(folded: dict[int, Draft], node: int, known: dict[int, int]) -> int:
    """The nearest turn at or before a node that was not folded."""
    way = []
    while node in folded and node not in known:
        way.append(node)
        node = folded[node].previous
    found = known.get(node, node)
    for passed in way:
        known[passed] = found
    return found


def _is_local(context: Context, draft: Draft) -> bool:
    if draft.opening.kind not in (InputKind.COMMAND, InputKind.BASH):
        return False
    has_output = False
    for node in draft.nodes:
        record = context.graph.records[node]
        if isinstance(record, AssistantRecord) and not is_synthetic(record):
            return False
        understood = context.inputs.get(node)
        has_output = has_output or (understood is not None and understood.kind is InputKind.LOCAL_OUTPUT)
    # An expanded command waits for the model; one with output is over.
    return has_output or draft.opening.kind is InputKind.BASH or not _was_expanded(context, draft)


def _was_expanded(context: Context, draft: Draft) -> bool:
    return any(context.inputs[node].is_expansion for node in draft.nodes if node in context.inputs)


def _number(drafts: dict[int, Draft]) -> dict[int, int]:
    """Each turn's place on its chain, from 1."""
    numbers: dict[int, int] = {}
    for start in drafts:
        way = []
        node = start
        while node in drafts and node not in numbers:
            way.append(node)
            node = drafts[node].previous
        number = numbers.get(node, 0)
        for passed in reversed(way):
            number += 1
            numbers[passed] = number
    return numbers


def split_abandoned_branches(context: Context, drafts: dict[int, Draft], leaf: int) -> None:
    """Give what is beside the way to a leaf turns of its own: an edit leaves such lines behind, or a rewind into the middle of a
    turn.

    Other lines of a response are beside the way too, but are sent with it (rule 30): they stay.
    """
    way = _way_to(context, leaf)
    records = context.graph.records
    # First, for speed: hardly any session has an answer beside its way.
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
    """The responses of a turn beside the way, and all that hangs off them."""
    records, before = context.graph.records, context.graph.before
    aside: dict[int, None] = {}
    for node in draft.nodes:
        if node in way:
            continue
        record = records[node]
        if before[node] in aside:
            is_aside = not isinstance(record, AssistantRecord) or message_id_of(record) not in spoken
        else:
            # No client reads lines without a type (rule 57), so none left them behind.
            is_answer = isinstance(record, AssistantRecord) and not isinstance(record, FlatAssistantRecord)
            is_aside = is_answer and not _is_said_with(context, node, spoken)
        if is_aside:
            aside[node] = None
    return tuple(aside)


def _is_said_with(context: Context, node: int, spoken: Collection[str]) -> bool:
    """Whether a line belongs to a response that stays; one without an id goes with its neighbor without one (rule 27)."""
    records = context.graph.records
    if id_ := message_id_of(records[node]):
        return id_ in spoken
    neighbour = context.graph.before[node]
    return neighbour >= 0 and isinstance(records[neighbour], AssistantRecord) and not message_id_of(records[neighbour])


def split_conversations(graph: Graph) -> tuple[Sequence[int], dict[str, Sequence[int]]]:
    """The nodes of the session's own conversation, and those of each subagent: a file's, or those of an inline sidechain."""
    agents: dict[str, Sequence[int]] = {}
    for file in graph.files:
        if file.agent_id:  # two workflows may each have an agent of the same name: one run
            agents[file.agent_id] = [*agents.get(file.agent_id, ()), *range(file.first, file.last)]
    own = next((file for file in graph.files if not file.agent_id), None)
    if own is None:
        return (), agents
    inline = [node for node in graph.sidechains if own.first <= node < own.last]
    if not inline:
        return range(own.first, own.last), agents
    found: dict[str, list[int]] = {}
    roots: dict[int, int] = {}
    for node in inline:
        found.setdefault(_inline_agent(graph, node, own, roots), []).append(node)
    aside = set(inline)
    for agent_id, nodes in found.items():
        # An agent with a file of its own may have lines here as well.
        agents[agent_id] = [*nodes, *agents.get(agent_id, ())]
    return array("q", (node for node in range(own.first, own.last) if node not in aside)), agents


def _inline_agent(graph: Graph, node: int, file: GraphFile, roots: dict[int, int]) -> str:
    """An inline sidechain's agent id, else the line of its root."""
    record = graph.records[node]
    if isinstance(record, ChainedRecord) and isinstance(record.agentId, str):
        return record.agentId
    way = []
    root = node
    while root not in roots:
        way.append(root)
        parent = graph.parents[root]
        if parent < file.first or not _is_sidechain(graph.records[parent]):
            roots[root] = root
            break
        root = parent
    for passed in way:
        roots[passed] = roots[root]
    return f"line-{graph.nodes[roots[root]].number}"


def _is_sidechain(record: Record) -> bool:
    return isinstance(record, ChainedRecord) and bool(record.isSidechain)


def turn_of_leaf(graph: Graph, turns: dict[int, Turn], leaf: int) -> int | None:
    """The opening of the leaf's turn."""
    while leaf >= 0 and leaf not in turns:
        leaf = graph.before[leaf]
    return leaf if leaf >= 0 else None
