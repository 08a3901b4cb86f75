"""Which leaf a client of a given release goes on from, and the chain from there to the root (rules 17 to 26).

In: a graph and a release. Out: node indexes from the root to the leaf. What such a chain becomes as messages is not known here.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from stenograph.disk import NEWEST
from stenograph.graph.build import NOWHERE, Graph, GraphFile
from stenograph.graph.readings import DANGLING, Habits, Reading, habits_of, is_lasting, is_main, read_graph
from stenograph.records import (
    UNSET,
    AssistantRecord,
    AttachmentRecord,
    ChainedRecord,
    CompactBoundaryRecord,
    LastPromptRecord,
    Record,
    UserRecord,
)
from stenograph.records.times import moment

# What 2.1.325 writes to say: forget the last prompt, take the last leaf of the file (rule 21).
ZERO_UUID = "00000000-0000-0000-0000-000000000000"

# 5.000 s are bridged by 2.1.325, 5.001 s are not.
_BRIDGED_GAP = timedelta(seconds=5)
_NEVER = float("-inf")


def choose_leaf(graph: Graph, release: str = NEWEST) -> int:
    """The node that a client goes on from; NOWHERE when there is nothing to resume."""
    main = graph.files[0] if graph.files else None
    if main is None or main.agent_id:
        return NOWHERE
    habits = habits_of(release)
    reading = read_graph(graph, habits)
    if not habits.leaf_by_place:
        return _newest(graph, reading, habits)
    leaf = _last_leaf(graph, reading)
    while habits.drops_trailing and leaf >= 0 and isinstance(graph.records[leaf], AttachmentRecord):
        leaf = reading.parents[leaf]
    return _heed_last_prompt(graph, main, reading, leaf) if habits.heeds_last_prompt else leaf


def walk_chain(graph: Graph, leaf: int, release: str = NEWEST) -> list[int]:
    """The nodes from the root to the leaf as a client of that release walks them; it may stop short of the root."""
    habits = habits_of(release)
    reading = read_graph(graph, habits)
    chain: list[int] = []
    seen: set[int] = set()
    node = leaf
    trailing: list[int] = []
    # What follows the last answer or prompt is put behind the chain: a bridge may lead to it.
    while habits.bridges and node >= 0 and not isinstance(graph.records[node], UserRecord | AssistantRecord):
        if node in trailing or isinstance(graph.records[node], CompactBoundaryRecord):
            break
        trailing.append(node)
        node = reading.parents[node]
    if node < 0:
        node, trailing = leaf, []
    # Rule 25: a loop is walked once round, then bridged like a missing parent. (2.0.76 never comes back from one.)
    while node >= 0 and node not in seen:
        seen.add(node)
        chain.append(node)
        node = reading.parents[node]
        if habits.bridges and (node == DANGLING or node in seen):
            node = _bridge(graph, reading, chain[-1], seen)
    chain.reverse()
    return chain + [node for node in reversed(trailing) if node not in seen]


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
    return is_lasting(record) and not isinstance(getattr(record, "uuid", None), str)


def _newest(graph: Graph, reading: Reading, habits: Habits) -> int:
    """Rule 19: the latest time of any kind that the release knows, the first in the file of equals."""
    nodes = [node for node in reading.by_uuid.values() if not _is_sidechain(graph, node)]
    times = [_time(graph.records[node]) for node in nodes]
    if not nodes:
        return NOWHERE
    known = [time for time in times if time is not None]
    first = times.index(max(known)) if len(known) == len(times) else _first_when_sorted(times)
    # 2.0.76 does not get over a leaf without a time (rule 57).
    return nodes[first] if times[first] is not None or habits.needs_no_time else NOWHERE


def _time(record: Record) -> float | None:
    """A record's time in milliseconds, as JavaScript's `Date` reads it: a number is one already."""
    value = record.timestamp if isinstance(record, ChainedRecord) else None
    if value is UNSET:
        value = record.extra.get("timestamp", UNSET)
    if value is None:  # `null` is the beginning of time
        return 0.0
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


def _last_leaf(graph: Graph, reading: Reading) -> int:
    """Rule 20: the last record in the file; where something hangs off it and it is not the newest of all, the newest of that.

    A boundary without a parent is no leaf (rule 49). What a compaction preserved goes on from what it hangs off (rule 50).
    """
    main = graph.files[0]
    last = next((node for node in range(main.last - 1, main.first - 1, -1) if _ends(graph, reading, node)), NOWHERE)
    if last < 0:  # nobody said anything
        return next((node for node in reversed(reading.by_uuid.values()) if is_main(graph.records[node])), NOWHERE)
    below = _below(graph, reading, last)
    if below and not _is_newest(graph, reading, last):
        last = max(below, key=lambda node: (_moment(graph, node), node))
    return reading.preserved[-1] if reading.preserved and last == reading.anchor else last


def _ends(graph: Graph, reading: Reading, node: int) -> bool:
    """Whether a record of the main conversation may be its last."""
    record = graph.records[node]
    if not is_main(record) or not reading.knows(node, record):
        return False
    if isinstance(record, CompactBoundaryRecord):
        return reading.parents[node] >= 0
    return _has_words(graph, reading, node)


def _has_words(graph: Graph, reading: Reading, node: int) -> bool:
    """Whether somebody said something on the way to a record, bridges left out."""
    seen: set[int] = set()
    while node >= 0 and node not in seen:
        if isinstance(graph.records[node], UserRecord | AssistantRecord | CompactBoundaryRecord):
            return True
        seen.add(node)
        node = reading.parents[node]
    return False


def _below(graph: Graph, reading: Reading, top: int) -> list[int]:
    """The records of the main conversation that hang off another, near or far, and have a time."""
    parents = reading.parents
    if top not in parents:
        return []
    hangs = {top: True}
    for start in reading.by_uuid.values():
        path, node = [], start
        while node >= 0 and node not in hangs:
            hangs[node] = False  # until proved: a loop does not hang off it
            path.append(node)
            node = parents[node]
        if node >= 0 and hangs[node]:
            hangs.update(dict.fromkeys(path, True))
    above: set[int] = set()
    node = top
    while node >= 0 and node not in above:
        above.add(node)
        node = parents[node]
    below = [node for node, does in hangs.items() if does and node not in above]
    return [node for node in below if is_main(graph.records[node]) and _has_time(graph, node)]


def _is_newest(graph: Graph, reading: Reading, node: int) -> bool:
    own = _moment(graph, node)
    others = (other for other in reading.by_uuid.values() if other != node and is_main(graph.records[other]))
    return _has_time(graph, node) and all(_moment(graph, other) < own for other in others)


def _has_time(graph: Graph, node: int) -> bool:
    return _moment(graph, node) > _NEVER


def _moment(graph: Graph, node: int) -> float:
    record = graph.records[node]
    found = moment(record.timestamp) if isinstance(record, ChainedRecord) else None
    return found.timestamp() if found else _NEVER


def _heed_last_prompt(graph: Graph, file: GraphFile, reading: Reading, leaf: int) -> int:
    """Rule 21: the last line that names a leaf rules.

    The chain goes on to the last leaf of the file where that hangs off the named record and stands behind it, behind an explicit
    line too; else it is cut at the named record.
    """
    for node in range(file.last - 1, file.first - 1, -1):
        record = graph.records[node]
        if not isinstance(record, LastPromptRecord) or not isinstance(record.leafUuid, str):
            continue
        named = reading.by_uuid.get(record.leafUuid, NOWHERE)
        if record.leafUuid == ZERO_UUID or named < 0:
            return leaf
        if _is_sidechain(graph, named):
            return NOWHERE
        goes_on = leaf > named and (leaf > node or not record.explicit)
        return leaf if goes_on and _comes_after(graph, reading, leaf, named, since=node) else named
    return leaf


def _comes_after(graph: Graph, reading: Reading, node: int, ancestor: int, *, since: int) -> bool:
    """Whether a node goes back to another, compactions passed over that stand behind a line."""
    seen: set[int] = set()
    while node >= 0 and node not in seen:
        if node == ancestor:
            return True
        seen.add(node)
        parent = reading.parents[node]
        is_boundary = node > since and isinstance(graph.records[node], CompactBoundaryRecord)
        node = graph.before[node] if parent < 0 and is_boundary else parent
    return False


def _is_sidechain(graph: Graph, node: int) -> bool:
    record = graph.records[node]
    return isinstance(record, ChainedRecord) and bool(record.isSidechain)


def _bridge(graph: Graph, reading: Reading, node: int, seen: set[int]) -> int:
    """Rule 23, as 2.1.325 does it: behind a missing parent the newest record that is not newer, up to five seconds before.

    Where it stands in the file does not matter; of equals the first counts. What the chain holds already is left out. From a line
    of a sub-agent no bridge leads on.
    """
    record = graph.records[node]
    own = moment(record.timestamp) if isinstance(record, ChainedRecord) and is_main(record) else None
    if own is None:
        return NOWHERE
    best = NOWHERE
    best_time: datetime | None = None
    for other in reading.by_uuid.values():
        candidate = graph.records[other]
        if other in seen or not isinstance(candidate, ChainedRecord) or not is_main(candidate):
            continue
        time = moment(candidate.timestamp)
        if time is None or time > own or own - time > _BRIDGED_GAP:
            continue
        if best_time is None or time > best_time:
            best, best_time = other, time
    return best
