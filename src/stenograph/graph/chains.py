"""Which leaf a client of a given release goes on from, and the chain from there to the root (rules 17 to 26).

In: a graph and a release. Out: node indexes from the root to the leaf. What such a chain becomes as messages is not known here.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import NamedTuple

from stenograph.disk import NEWEST, release_numbers
from stenograph.graph.build import NOWHERE, Graph, GraphFile
from stenograph.records import (
    UNSET,
    AssistantRecord,
    AttachmentRecord,
    ChainedRecord,
    CompactBoundaryRecord,
    LastPromptRecord,
    ProgressRecord,
    Record,
    SystemRecord,
    UnknownRecord,
    UserRecord,
)
from stenograph.records.times import moment

# What 2.1.325 writes to say: forget the last prompt, take the last leaf of the file (rule 21).
ZERO_UUID = "00000000-0000-0000-0000-000000000000"

# Kinds that a conversation can end in, or be bridged to. (Signs of life and unknown kinds only stand in between.)
_LASTING = (UserRecord, AssistantRecord, SystemRecord, AttachmentRecord)
# 5.000 s are bridged by 2.1.325, 5.001 s are not.
_BRIDGED_GAP = timedelta(seconds=5)


class Habits(NamedTuple):
    """How a release finds its way, from the contract's table B9."""

    since: tuple[int, ...]
    # The leaf is the last in the file (rule 20), not the newest timestamp (rule 19).
    leaf_by_place: bool
    # `last-prompt` names the leaf (rule 21).
    heeds_last_prompt: bool
    # A missing parent is bridged to the line before (rule 23).
    bridges: bool
    passes_progress: bool
    # Any unknown kind in the chain (rule 24).
    passes_unknown: bool


_HABITS = (
    Habits((0,), leaf_by_place=False, heeds_last_prompt=False, bridges=False, passes_progress=False, passes_unknown=False),
    Habits((2, 1, 29), leaf_by_place=False, heeds_last_prompt=False, bridges=False, passes_progress=True, passes_unknown=False),
    Habits((2, 1, 112), leaf_by_place=True, heeds_last_prompt=False, bridges=True, passes_progress=True, passes_unknown=True),
    Habits((2, 1, 200), leaf_by_place=True, heeds_last_prompt=True, bridges=True, passes_progress=True, passes_unknown=True),
)


def habits_of(release: str) -> Habits:
    """The habits of a release; between two recorded ones those of the older."""
    wanted = release_numbers(release)
    return next(habits for habits in reversed(_HABITS) if habits.since <= wanted)


def choose_leaf(graph: Graph, release: str = NEWEST) -> int:
    """The node that a client goes on from; NOWHERE when there is nothing to resume."""
    main = graph.files[0] if graph.files else None
    if main is None or main.agent_id:
        return NOWHERE
    habits = habits_of(release)
    if not habits.leaf_by_place:
        return _newest(graph, main, habits)
    leaf = _last_leaf(graph, main)
    return _heed_last_prompt(graph, main, leaf) if habits.heeds_last_prompt else leaf


def walk_chain(graph: Graph, leaf: int, release: str = NEWEST) -> list[int]:
    """The nodes from the root to the leaf as a client of that release walks them; it may stop short of the root."""
    habits = habits_of(release)
    chain: list[int] = []
    seen: set[int] = set()
    node = leaf
    # Rule 25: a loop is walked once round. (2.0.76 never comes back from one.)
    while node >= 0 and node not in seen and _passes(graph, node, habits):
        seen.add(node)
        chain.append(node)
        parent = graph.cut.get(node, graph.parents[node])
        if parent < 0 and habits.bridges:
            parent = _bridge(graph, node, seen)
        node = parent
    chain.reverse()
    return chain


def current_chain(graph: Graph, release: str = NEWEST) -> list[int]:
    """The chain that a client of that release resumes."""
    return walk_chain(graph, choose_leaf(graph, release), release)


def leaves(graph: Graph) -> list[int]:
    """The ends of all branches of the main conversation, in file order."""
    if not graph.files:
        return []
    file = graph.files[0]
    return [node for node in range(file.first, file.last) if _is_main(graph, node) and not graph.children[node]]


def _is_main(graph: Graph, node: int) -> bool:
    """Whether a node has its place in the session's own conversation."""
    record = graph.records[node]
    if not isinstance(record, ChainedRecord) or record.isSidechain:
        return False
    if isinstance(record.uuid, str):
        return graph.by_uuid.get(record.uuid) == node
    # Lines without a uuid share one place, the last has it (rule 57).
    return not any(_lacks_uuid(graph.records[later]) for later in range(node + 1, graph.files[0].last))


def _lacks_uuid(record: Record) -> bool:
    return isinstance(record, _LASTING) and not isinstance(record.uuid, str)


def _newest(graph: Graph, file: GraphFile, habits: Habits) -> int:
    """Rule 19: the latest time of any chained kind that the release knows, the first in the file of equals."""
    known = (*_LASTING, ProgressRecord) if habits.passes_progress else _LASTING
    nodes = [n for n in range(file.first, file.last) if isinstance(graph.records[n], known) and _is_main(graph, n)]
    times = [_time(graph.records[node]) for node in nodes]
    if all(time is None for time in times):
        # 2.0.76 does not get over a session without times (rule 57).
        return nodes[0] if nodes and habits.passes_progress else NOWHERE
    if None not in times:
        return max(zip(nodes, times, strict=True), key=lambda pair: (pair[1], -pair[0]))[0]
    return nodes[_first_when_sorted(times)]


def _time(record: Record) -> float | None:
    """A record's time in milliseconds, as JavaScript's `Date` reads it: a number is one already."""
    value = record.timestamp if isinstance(record, ChainedRecord) else None
    if value is UNSET:
        value = record.extra.get("timestamp")
    if isinstance(value, int | float) and not isinstance(value, bool):
        return float(value)
    found = moment(value)
    return found.timestamp() * 1000 if found else None


def _first_when_sorted(times: list[float | None]) -> int:
    """What comes first when a client sorts by time, latest first: one without a time counts as equal to whatever it meets."""
    order = [0]
    for place in range(1, len(times)):
        low, high = 0, len(order)
        while low < high:
            middle = (low + high) // 2
            mine, other = times[place], times[order[middle]]
            if mine is not None and other is not None and mine > other:
                high = middle
            else:
                low = middle + 1
        order.insert(low, place)
    return order[0]


def _last_leaf(graph: Graph, file: GraphFile) -> int:
    """Rule 20: the last in the file that no lasting record hangs off. A boundary without a parent is none (rule 49)."""
    has_child = bytearray(len(graph.nodes) + 1)
    for node in range(file.first, file.last):
        if isinstance(graph.records[node], _LASTING) and not _is_sidechain(graph, node):
            has_child[graph.parents[node]] = 1  # NOWHERE is the last place, which no node has
    for node in range(file.last - 1, file.first - 1, -1):
        record = graph.records[node]
        if has_child[node] or not isinstance(record, _LASTING) or not _is_main(graph, node):
            continue
        if not isinstance(record, CompactBoundaryRecord) or graph.parents[node] >= 0:
            return node
    return NOWHERE


def _heed_last_prompt(graph: Graph, file: GraphFile, leaf: int) -> int:
    """Rule 21: the last line that names a leaf rules.

    The chain goes on to the last leaf of the file where that hangs off the named record and stands behind it, behind an explicit
    line too; else it is cut at the named record.
    """
    for node in range(file.last - 1, file.first - 1, -1):
        record = graph.records[node]
        if not isinstance(record, LastPromptRecord) or not isinstance(record.leafUuid, str):
            continue
        named = graph.by_uuid.get(record.leafUuid, NOWHERE)
        if record.leafUuid == ZERO_UUID or named < 0 or not isinstance(graph.records[named], _LASTING):
            return leaf
        if _is_sidechain(graph, named):
            return NOWHERE
        goes_on = leaf > named and (leaf > node or not record.explicit)
        return leaf if goes_on and _comes_after(graph, leaf, named) else named
    return leaf


def _comes_after(graph: Graph, node: int, ancestor: int) -> bool:
    """Whether a node goes back to another, compactions passed over."""
    seen: set[int] = set()
    while node >= 0 and node not in seen:
        if node == ancestor:
            return True
        seen.add(node)
        parent = graph.parents[node]
        is_boundary = isinstance(graph.records[node], CompactBoundaryRecord)
        node = graph.before[node] if parent < 0 and is_boundary else parent
    return False


def _is_sidechain(graph: Graph, node: int) -> bool:
    record = graph.records[node]
    return isinstance(record, ChainedRecord) and bool(record.isSidechain)


def _passes(graph: Graph, node: int, habits: Habits) -> bool:
    record = graph.records[node]
    if isinstance(record, ProgressRecord):
        return habits.passes_progress
    return habits.passes_unknown or not isinstance(record, UnknownRecord)


def _bridge(graph: Graph, node: int, seen: set[int]) -> int:
    """Rule 23, as 2.1.325 does it: behind a missing parent the newest record that is not newer, up to five seconds before.

    Where it stands in the file does not matter; of equals the first counts. What the chain holds already is left out.
    """
    record = graph.records[node]
    if not isinstance(record, ChainedRecord) or not isinstance(record.parentUuid, str) or not record.parentUuid:
        return NOWHERE
    # One that names itself as its parent counts as one whose parent is missing.
    if record.parentUuid in graph.by_uuid and record.parentUuid != record.uuid:
        return NOWHERE
    own = moment(record.timestamp)
    if own is None:
        return NOWHERE
    best = NOWHERE
    best_time: datetime | None = None
    for other in range(graph.files[0].first, graph.files[0].last):
        candidate = graph.records[other]
        if other in seen or not isinstance(candidate, _LASTING) or not _is_main(graph, other):
            continue
        time = moment(candidate.timestamp)
        if time is None or time > own or own - time > _BRIDGED_GAP:
            continue
        if best_time is None or time > best_time:
            best, best_time = other, time
    return best
