"""Graph -> turns.

In: a graph. Out: the turns of one conversation in it (the session's own, or a sub-agent's), each with its calls, tool calls,
events and status, and which turn each hangs off. A turn is an opening input and everything that came after it before the next
opening, as it happened: by `before` links, so that parallel results, hooks and lines behind a compaction all find their turn.
What was set aside inside a turn is another turn beside it.
"""

from __future__ import annotations

from collections.abc import Sequence

from stenograph.graph import NOWHERE
from stenograph.inputs import OPENERS, Input, InputKind
from stenograph.records import AssistantRecord, ChainedRecord, FileHistorySnapshotRecord, UserRecord
from stenograph.turns.aside import split_abandoned_branches
from stenograph.turns.contents import is_synthetic
from stenograph.turns.context import Context
from stenograph.turns.draft import Draft
from stenograph.turns.model import Turn

_NO_PROMPT = Input(InputKind.EMPTY, "")
_SAYING = (UserRecord, AssistantRecord)


def assemble_turns(context: Context, nodes: Sequence[int], leaf: int = NOWHERE) -> dict[int, Turn]:
    """The turns among some nodes of the graph (in file order), by their opening nodes; `leaf` is what a client goes on from."""
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
    """Every opening input with the nodes that came after it; those without a place in the tree go by where they stand."""
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
            # The prompt is not in the file: cut files, and agents of 2.0.42 to 2.0.55. What was said still was said.
            opening = node
            drafts[node] = Draft(node, _NO_PROMPT, [])
        owner[node] = current = opening
    for node, named in snapshots:  # mostly written before the prompt that they belong to
        owner[node] = owner.get(named, owner[node])
    for node, opening in owner.items():
        if opening >= 0:
            drafts[opening].nodes.append(node)
    for draft in drafts.values():
        draft.nodes.sort()
        draft.previous = owner.get(before[draft.node], NOWHERE)
    return drafts


def _owner_of(context: Context, node: int, owner: dict[int, int], here: set[int]) -> int:
    """The nearest opening before a node whose predecessor stands further down or outside."""
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
    """A command or shell input that no model answered is no turn: it belongs to the turn before it."""
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
    """The nearest turn at or before a node that was not folded, found once for all on the way."""
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
    # A command that was expanded waits for the model; one whose output is there is over.
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
