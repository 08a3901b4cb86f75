"""Which leaf a client of a given release goes on from, and the chain from there to the root (rules 17 to 26).

In: a graph and a release. Out: node indexes from the root to the leaf. What such a chain becomes as messages is not known here.
"""

from __future__ import annotations

from bisect import bisect_right
from datetime import timedelta

from stenograph.graph.build import NOWHERE, Graph, GraphFile
from stenograph.graph.readings import DANGLING, Reading, ReadingHabits, is_lasting, is_main, is_said, read_graph, reading_habits
from stenograph.records import (
    UNSET,
    ZERO_UUID,
    AssistantRecord,
    AttachmentRecord,
    ChainedRecord,
    CompactBoundaryRecord,
    LastPromptRecord,
    Record,
    UserRecord,
    moment,
    time_of,
)
from stenograph.releases import NEWEST

# 5.000 s are bridged by 2.1.325, 5.001 s are not.
_BRIDGED_GAP = timedelta(seconds=5)
_NEVER = float("-inf")
_RULES_LEAF = (CompactBoundaryRecord, LastPromptRecord)


def choose_leaf(graph: Graph, release: str = NEWEST) -> int:
    """The node that a client goes on from; NOWHERE when there is nothing to resume."""
    main = graph.files[0] if graph.files else None
    if main is None or main.agent_id:
        return NOWHERE
    habits = reading_habits(release)
    reading = read_graph(graph, habits)
    if not habits.leaf_by_place:
        return _newest(graph, reading, habits)
    leaf = _last_leaf(graph, reading)
    while habits.drops_trailing and leaf >= 0 and isinstance(graph.records[leaf], AttachmentRecord):
        leaf = reading.parents[leaf]
    if habits.heeds_last_prompt and leaf >= 0:
        leaf = _apply_last_prompt(graph, main, reading, leaf)
    return leaf if leaf < 0 or not _is_sidechain(graph, _spoken(graph, reading, leaf)) else NOWHERE


def walk_chain(graph: Graph, leaf: int, release: str = NEWEST) -> list[int]:
    """The nodes from the root to the leaf as a client of that release walks them; it may stop short of the root."""
    habits = reading_habits(release)
    reading = read_graph(graph, habits)
    chain: list[int] = []
    seen: set[int] = set()
    node = leaf
    trailing: dict[int, None] = {}
    # What follows the last answer or prompt is put behind the chain: a bridge may lead to it.
    while habits.bridges and node >= 0 and not is_said(graph.records[node]):
        if node in trailing or isinstance(graph.records[node], CompactBoundaryRecord):
            break
        trailing[node] = None
        node = reading.parents[node]
    if node < 0:
        node, trailing = leaf, {}
    # Rule 25: a loop is walked once round, then bridged like a missing parent. (2.0.76 never comes back from one.)
    bridges: _Bridges | None = None
    while node >= 0 and node not in seen:
        seen.add(node)
        chain.append(node)
        node = reading.parents[node]
        if habits.bridges and (node == DANGLING or node in seen):
            bridges = bridges or _Bridges(graph, reading)
            node = bridges.behind(chain[-1], seen)
    chain.reverse()
    return chain + [node for node in reversed(trailing) if node not in seen]


def current_chain(graph: Graph, release: str = NEWEST) -> list[int]:
    """The chain that a client of that release resumes."""
    return walk_chain(graph, choose_leaf(graph, release), release)


def _newest(graph: Graph, reading: Reading, habits: ReadingHabits) -> int:
    """Rule 19: the latest time of any kind that the release knows, the first in the file of equals."""
    if not habits.needs_no_time and not _begins_with_time(graph):
        return NOWHERE
    nodes = [node for node in reading.by_uuid.values() if not _is_sidechain(graph, node)]
    times = [_time(graph.records[node]) for node in nodes]
    if not nodes:
        return NOWHERE
    known = [time for time in times if time is not None]
    first = times.index(max(known)) if len(known) == len(times) else _first_when_sorted(times)
    # 2.0.76 does not get over a leaf without a time (rule 57).
    return nodes[first] if times[first] is not None or habits.needs_no_time else NOWHERE


def _begins_with_time(graph: Graph) -> bool:
    """Whether the first record of the file has a time, be it one that a later line with its uuid replaces."""
    main = graph.files[0]
    first = next((record for record in graph.records[main.first : main.last] if is_lasting(record)), None)
    return first is None or _time(first) is not None


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

    A boundary without a parent is no leaf (rule 49).
    """
    if reading.is_rehung:
        return _rehung_leaf(graph, reading)
    last = _last_record(graph, reading)
    below = _below(graph, reading, last)
    if below and not _is_newest(graph, reading, last):
        last = max(below, key=lambda node: (_moment(graph, node), node))
    return last


def _last_record(graph: Graph, reading: Reading) -> int:
    """The last record of the file where somebody said something on the way to it; else the last such end of a branch."""
    main = graph.files[0]
    nodes = range(main.last - 1, main.first - 1, -1)
    last = next((node for node in nodes if is_main(graph.records[node]) and reading.knows(node, graph.records[node])), NOWHERE)
    if last >= 0 and not _ends(graph, reading, last):
        inner = {reading.parents[node] for node in reading.by_uuid.values() if is_main(graph.records[node])}
        last = next((node for node in nodes if node not in inner and _ends(graph, reading, node)), NOWHERE)
    if last >= 0:
        return last
    # Nobody said anything.
    return next((node for node in reversed(reading.by_uuid.values()) if _is_note(graph.records[node])), NOWHERE)


def _with_results(graph: Graph, reading: Reading, leaf: int) -> int:
    """A record, or the last of the results of tools that hang off it."""
    last_result: dict[int, int] = {}
    for node in sorted(reading.by_uuid.values()):
        if _is_result(graph.records[node]):
            last_result[reading.parents[node]] = node
    seen: set[int] = set()
    while leaf in last_result and leaf not in seen:
        seen.add(leaf)
        leaf = last_result[leaf]
    return leaf


def _is_result(record: Record) -> bool:
    content = record.content if isinstance(record, UserRecord) and is_main(record) else None
    return isinstance(content, tuple) and any(getattr(block, "tool_use_id", None) for block in content)


def _is_note(record: Record) -> bool:
    return is_main(record) and not isinstance(record, UserRecord | AssistantRecord)


def _rehung_leaf(graph: Graph, reading: Reading) -> int:
    """Rule 50: where a compaction preserved messages, the only end that there is; else the last record of the file.

    A subagent's end counts as one, but nothing is resumed from it.
    """
    nodes = sorted(reading.by_uuid.values())
    inner = {reading.parents[node] for node in nodes}
    ends = [node for node in nodes if node not in inner]
    spoken = [node for node in ends if _has_words(graph, reading, node) and not _is_bare_boundary(graph, reading, node)]
    if ends and len(spoken) < 2:
        leaf = spoken[0] if spoken else ends[-1]
        return NOWHERE if _is_sidechain(graph, leaf) else leaf
    last = next((node for node in reversed(nodes) if is_main(graph.records[node])), NOWHERE)
    if last >= 0 and _ends(graph, reading, last):
        return last
    return next((node for node in reversed(spoken) if is_main(graph.records[node])), NOWHERE)


def _is_bare_boundary(graph: Graph, reading: Reading, node: int) -> bool:
    return isinstance(graph.records[node], CompactBoundaryRecord) and reading.parents[node] < 0


def _ends(graph: Graph, reading: Reading, node: int) -> bool:
    """Whether a record of the main conversation may be its last."""
    record = graph.records[node]
    if not is_main(record) or not reading.knows(node, record):
        return False
    return not _is_bare_boundary(graph, reading, node) and _has_words(graph, reading, node)


def _has_words(graph: Graph, reading: Reading, node: int) -> bool:
    """Whether somebody said something on the way to a record, bridges left out."""
    return _spoken(graph, reading, node) != NOWHERE


def _spoken(graph: Graph, reading: Reading, node: int) -> int:
    """The last record on the way to this one in which somebody said something, or a compaction; NOWHERE for none."""
    known = reading.spoken
    passed: dict[int, None] = {}
    while node >= 0 and node not in known and node not in passed:
        if is_said(graph.records[node]) or isinstance(graph.records[node], CompactBoundaryRecord):
            known[node] = node
            break
        passed[node] = None
        node = reading.parents[node]
    spoken = known.get(node, NOWHERE)
    known.update(dict.fromkeys(passed, spoken))
    return spoken


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
    below = [node for node, does in hangs.items() if does and node != top]
    return [node for node in below if is_main(graph.records[node]) and _has_time(graph, node)]


def _is_newest(graph: Graph, reading: Reading, node: int) -> bool:
    own = _moment(graph, node)
    others = (other for other in reading.by_uuid.values() if other != node and is_main(graph.records[other]))
    return _has_time(graph, node) and all(_moment(graph, other) < own for other in others)


def _has_time(graph: Graph, node: int) -> bool:
    return _moment(graph, node) > _NEVER


def _moment(graph: Graph, node: int) -> float:
    found = time_of(graph.records[node])
    return found.timestamp() if found else _NEVER


def _apply_last_prompt(graph: Graph, file: GraphFile, reading: Reading, leaf: int) -> int:
    """Rule 21: the last line that names a leaf rules, where no compaction stands behind it.

    The chain goes on to the last leaf of the file where that hangs off the named record and stands behind it, behind an explicit
    line too; else it is cut at the named record.
    """
    records = graph.records
    for node in range(file.last - 1, file.first - 1, -1):
        record = records[node]
        if not isinstance(record, _RULES_LEAF):
            continue
        if isinstance(record, CompactBoundaryRecord):
            return leaf  # what was said before a compaction does not count
        if not isinstance(record.leafUuid, str):
            continue
        named = reading.by_uuid.get(record.leafUuid, NOWHERE)
        if record.leafUuid == ZERO_UUID and not reading.is_rehung:
            return _with_results(graph, reading, _last_record(graph, reading))
        if named < 0:
            return leaf
        if _is_sidechain(graph, named):
            return NOWHERE
        goes_on = leaf > named and (leaf > node or not record.explicit)
        return leaf if goes_on and _comes_after(reading, leaf, named) else named
    return leaf


def _comes_after(reading: Reading, node: int, ancestor: int) -> bool:
    """Whether a node goes back to another."""
    seen: set[int] = set()
    while node >= 0 and node not in seen:
        if node == ancestor:
            return True
        seen.add(node)
        node = reading.parents[node]
    return False


def _is_sidechain(graph: Graph, node: int) -> bool:
    record = graph.records[node] if node >= 0 else None
    return isinstance(record, ChainedRecord) and bool(record.isSidechain)


class _Bridges:
    """Rule 23, as 2.1.325 does it: behind a missing parent the newest record that is not newer, up to five seconds before.

    Where it is in the file does not matter; of equals the first counts. What the chain holds already is left out. From a line of
    a subagent no bridge leads on. All records are sorted by time once: files of nothing but missing parents exist.
    """

    def __init__(self, graph: Graph, reading: Reading) -> None:
        self._graph = graph
        main = [node for node in reading.by_uuid.values() if is_main(graph.records[node])]
        timed = [(time, -place, node) for place, node in enumerate(main) if (time := time_of(graph.records[node])) is not None]
        timed.sort()
        self._times = [time for time, _, _ in timed]
        self._nodes = [node for _, _, node in timed]
        # Of each place the next one at or before it that the chain may not hold yet, as far as that was looked for.
        self._free = list(range(len(timed)))

    def behind(self, node: int, seen: set[int]) -> int:
        record = self._graph.records[node]
        own = time_of(record) if is_main(record) else None
        if own is None:
            return NOWHERE
        place = self._next_free(bisect_right(self._times, own) - 1, seen)
        return self._nodes[place] if place >= 0 and own - self._times[place] <= _BRIDGED_GAP else NOWHERE

    def _next_free(self, place: int, seen: set[int]) -> int:
        free, start = self._free, place
        while place >= 0 and (free[place] != place or self._nodes[place] in seen):
            place = free[place] if free[place] != place else place - 1
        while start > place:  # the next one takes the short way
            start, free[start] = (free[start] if free[start] != start else start - 1), place
        return place
