"""A graph -> the nodes that a release considers when it resumes the session, in the order in which they are sent.

In: the graph of a session and a release. Out: the nodes of the chain behind the last compaction, with siblings and preserved
messages where the release finds those; the rule by which each other node of the chain is left out; whether the session is
refused. Does not know what a record says.
"""

from __future__ import annotations

from msgspec import Struct, field

from stenograph.graph import Graph, build_graph, choose_leaf, walk_chain
from stenograph.messages.habits import Habits, NullLine
from stenograph.messages.pieces import Left
from stenograph.messages.salvage import salvaged
from stenograph.records import AssistantRecord, ChainedRecord, CompactBoundaryRecord, DamagedRecord, Record, UserRecord
from stenograph.records.times import moment


class Selection(Struct):
    """The nodes to be sent, in order."""

    # As the release reads it.
    graph: Graph
    nodes: list[int]
    left: list[Left] = field(default_factory=list)
    # Why the session is not resumed, by which rule; empty when it is.
    refused: str = ""


def select(graph: Graph, release: str, habits: Habits) -> Selection:
    """The nodes to be sent; `graph` in the answer is the one that the release reads."""
    null = _null_line(graph) if habits.null_line is not NullLine.SKIPPED else -1
    left: list[Left] = []
    if null >= 0:
        if habits.null_line is NullLine.REFUSED:
            return Selection(graph, [], refused="14: a line `null`")
        left = [Left(node, "14: behind a line `null`") for node in range(null + 1, graph.files[0].last)]
        graph = _up_to(graph, null)
    if habits.salvages_lines and graph.files:
        graph = salvaged(graph)
    leaf = choose_leaf(graph, release)
    if leaf < 0:
        return Selection(graph, [], left, refused="20: nothing to resume")
    chain = walk_chain(graph, leaf, release)
    if habits.needs_time and not _has_time(graph.records[leaf]):
        return Selection(graph, [], left, refused="57: the last record has no time")
    if habits.hangs_on_loops and any(_closes_loop(graph, node) for node in chain):
        return Selection(graph, [], left, refused="25: a loop of parents")
    place = max((place for place, node in enumerate(chain) if isinstance(graph.records[node], CompactBoundaryRecord)), default=-1)
    left += [Left(node, "48: before the last compaction") for node in chain[: max(place, 0)]]
    nodes = chain[place + 1 :]
    if habits.recovers_siblings:
        nodes = siblings_of(graph, nodes)
    if place >= 0 and habits.heeds_preserved:
        nodes = preserved_behind(graph, chain[place], nodes)
        kept = set(nodes)
        left = [one for one in left if one.node not in kept]
    if place >= 0:
        left.append(Left(chain[place], "48: a boundary is not sent"))
    return Selection(graph, nodes, left)


def _has_time(record: Record) -> bool:
    return isinstance(record, ChainedRecord) and isinstance(record.timestamp, str) and moment(record.timestamp) is not None


def _closes_loop(graph: Graph, node: int) -> bool:
    record = graph.records[node]
    is_own_parent = isinstance(record, ChainedRecord) and isinstance(record.uuid, str) and record.parentUuid == record.uuid
    return node in graph.cut or is_own_parent


def _null_line(graph: Graph) -> int:
    """The first line of the main file that holds `null`."""
    main = graph.files[0] if graph.files else None
    for node in range(main.first, main.last) if main else ():
        record = graph.records[node]
        if isinstance(record, DamagedRecord) and bytes(record._source or b"").strip() == b"null":
            return node
    return -1


def _up_to(graph: Graph, end: int) -> Graph:
    main = graph.files[0]
    return build_graph([(main.path, main.agent_id, graph.nodes[main.first : end])])


def siblings_of(graph: Graph, chain: list[int]) -> list[int]:
    """Rule 30: lines of the same response beside the chain, and the results that hang off them."""
    on_chain = set(chain)
    ids = {id_ for node in chain if (id_ := _message_id(graph, node))}
    lines: dict[str, list[int]] = {}
    main = graph.files[0]
    for node in range(main.first, main.last):
        id_ = _message_id(graph, node)
        if id_ in ids and _counts(graph, node):
            lines.setdefault(id_, []).append(node)
    before: dict[int, list[int]] = {}
    beside: dict[int, list[int]] = {}
    results_of: dict[int, list[int]] = {}
    for nodes in lines.values():
        own = [node for node in nodes if node in on_chain]
        for node in nodes:
            # The lines of a response stand in file order, and so do its results.
            if node not in on_chain:
                earlier = [one for one in own if one < node]
                (beside if earlier else before).setdefault(earlier[-1] if earlier else own[0], []).append(node)
            for child in graph.children[node]:
                if child not in on_chain and _is_result(graph, child):
                    after = max((one for one in own if one < child), default=own[0])
                    results_of.setdefault(after, []).append(child)
    grown: list[int] = []
    waiting: list[int] = []
    for node in chain:
        if waiting:
            # Results stand in file order, those on the chain among them.
            if _is_result(graph, node):
                waiting.append(node)
                continue
            grown += sorted(waiting)
            waiting = []
        grown += (*before.get(node, ()), node, *beside.get(node, ()))
        waiting = list(results_of.get(node, ()))
    return grown + sorted(waiting)


def _message_id(graph: Graph, node: int) -> str:
    record = graph.records[node]
    if isinstance(record, AssistantRecord) and record.message and isinstance(record.message.id, str):
        return record.message.id
    return ""


def _is_result(graph: Graph, node: int) -> bool:
    record = graph.records[node]
    if not isinstance(record, UserRecord) or not isinstance(record.content, tuple):
        return False
    return any(getattr(block, "tool_use_id", None) for block in record.content)


def _counts(graph: Graph, node: int) -> bool:
    """Whether a line is of the main conversation, and not replaced by a later one with its uuid (rule 17)."""
    record = graph.records[node]
    return isinstance(record, ChainedRecord) and not record.isSidechain and graph.by_uuid.get(record.uuid or "") == node


def preserved_behind(graph: Graph, boundary: int, kept: list[int]) -> list[int]:
    """Rule 50: older lines that stay, behind the summary."""
    record = graph.records[boundary]
    metadata = record.compactMetadata if isinstance(record, CompactBoundaryRecord) else None
    if not metadata:
        return kept
    segment = metadata.preservedSegment
    if metadata.preservedMessages:
        anchor = metadata.preservedMessages.anchorUuid
        preserved = [graph.by_uuid[uuid] for uuid in metadata.preservedMessages.uuids or [] if uuid in graph.by_uuid]
    elif segment:
        anchor = segment.anchorUuid
        preserved = _segment(graph, segment.headUuid, segment.tailUuid)
    else:
        return kept
    on_chain = set(kept)
    fresh = [node for node in preserved if node not in on_chain]
    after = graph.by_uuid.get(anchor or "", -1)
    if after == boundary:
        return [*fresh, *kept]
    if after not in on_chain:
        return kept
    place = kept.index(after) + 1
    return [*kept[:place], *fresh, *kept[place:]]


def _segment(graph: Graph, head: object, tail: object) -> list[int]:
    """The nodes from one uuid down to another; none when they do not hang together."""
    found: list[int] = []
    node = graph.by_uuid.get(tail, -1) if isinstance(tail, str) else -1
    first = graph.by_uuid.get(head, -1) if isinstance(head, str) else -1
    while node >= 0 and node != first:
        found.append(node)
        node = graph.parents[node]
    return [first, *reversed(found)] if node >= 0 else []
