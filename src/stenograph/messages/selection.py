"""A graph -> the nodes that a release considers when it resumes the session, in the order in which they are sent.

In: the graph of a session and a release. Out: the nodes of the chain behind the last compaction, with siblings and preserved
messages where the release finds those; the rule by which each other node of the chain is left out; whether the session is
refused. Does not know what a record says.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator

from msgspec import Struct, field

from stenograph.graph import Graph, Reading, build_graph, choose_leaf, read_graph, reading_habits, walk_chain
from stenograph.messages.habits import MessageHabits, NullLine, message_habits
from stenograph.messages.pieces import Omission
from stenograph.messages.reading import from_last_compaction
from stenograph.messages.salvage import salvaged
from stenograph.records import (
    AssistantRecord,
    AttachmentRecord,
    ChainedRecord,
    CompactBoundaryRecord,
    DamagedRecord,
    Record,
    SystemRecord,
    ToolUseBlock,
    UserRecord,
    message_id_of,
    moment,
)
from stenograph.releases import NEWEST

_UNREAD = "51: a long file is read from its last compaction on"


class Selection(Struct):
    """The nodes to be sent, in order."""

    # As the release reads it.
    graph: Graph
    nodes: list[int]
    # The nodes of the chain before the last compaction.
    before: list[int] = field(default_factory=list)
    left: list[Omission] = field(default_factory=list)
    # Why the session is not resumed, by which rule; empty when it is.
    refused: str = ""


def select(graph: Graph, release: str, habits: MessageHabits) -> Selection:
    """The nodes to be sent; `graph` in the answer is the one that the release reads."""
    left: list[Omission] = []
    if habits.reads_from_boundary and graph.files:
        whole, graph = graph, from_last_compaction(graph)
        left = [Omission(node, _UNREAD) for node in _unread(whole, graph)]
    null = _null_line(graph) if habits.null_line is not NullLine.SKIPPED else -1
    if null >= 0:
        if habits.null_line is NullLine.REFUSED:
            return Selection(graph, [], refused="14: a line `null`")
        left += [Omission(node, "14: behind a line `null`") for node in range(null + 1, graph.files[0].last)]
        graph = _up_to(graph, null)
    if habits.salvages_lines and graph.files:
        graph = salvaged(graph)
    leaf = choose_leaf(graph, release)
    if leaf < 0:
        return Selection(graph, [], left=left, refused="20: nothing to resume")
    chain = walk_chain(graph, leaf, release)
    if habits.needs_time and not _has_time(graph.records[leaf]):
        return Selection(graph, [], left=left, refused="57: the last record has no time")
    if habits.hangs_on_loops and any(_closes_loop(graph, node) for node in chain):
        return Selection(graph, [], left=left, refused="25: a loop of parents")
    records = graph.records
    boundaries = [place for place, node in enumerate(chain) if isinstance(records[node], CompactBoundaryRecord)]
    place = boundaries[-1] if boundaries else -1
    left += [Omission(node, "48: before the last compaction") for node in chain[: max(place, 0)]]
    nodes = siblings_of(graph, chain, release) if habits.recovers_siblings else chain
    before: list[int] = []
    if place >= 0:
        left.append(Omission(chain[place], "48: a boundary is not sent"))
        place = nodes.index(chain[place])
        before, nodes = nodes[:place], nodes[place + 1 :]
    return Selection(graph, nodes, before, left)


def _unread(whole: Graph, read: Graph) -> Iterator[int]:
    """The nodes of the conversation of which the release reads nothing."""
    if read is whole:
        return
    for node, record in enumerate(whole.records):
        if isinstance(record, ChainedRecord) and read.records[node] is not record:
            yield node


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


def siblings_of(graph: Graph, chain: list[int], release: str = NEWEST) -> list[int]:
    """Rule 30: lines of the same response beside the chain, and the results of its calls, wherever they stand."""
    on_chain = set(chain)
    main = graph.files[0]
    reading = read_graph(graph, reading_habits(release))
    aside = [node for node in range(main.first, main.last) if node not in on_chain and _is_found(graph, reading, node)]
    if not aside:
        return chain
    # The lines of each response that are on the chain, in file order.
    lines: dict[str, list[int]] = {}
    for node in sorted(chain, key=reading.place):
        if (id_ := _message_id(graph, node)) and _counts(graph, reading, node):
            lines.setdefault(id_, []).append(node)
    beside: dict[int, list[int]] = {}
    for node in sorted(aside, key=reading.place):
        own = lines.get(_message_id(graph, node))
        if own and _counts(graph, reading, node):
            beside.setdefault(_line_before(reading, own, node), []).append(node)
    results_of: dict[int, list[int]] = {}
    attached = _dead_ends(graph, reading, aside) if message_habits(release).recovers_attached else []
    for node, own in _results_of(graph, reading, chain, aside, attached, lines, beside).items():
        results_of.setdefault(_line_before(reading, own, node), []).append(node)
    grown: list[int] = []
    waiting: list[int] = []
    for node in chain:
        if waiting:
            # Results stand in file order, those on the chain among them.
            if _is_result(graph, node):
                waiting.append(node)
                continue
            grown += sorted(waiting, key=reading.place)
            waiting = []
        grown += (node, *beside.get(node, ()))
        waiting = list(results_of.get(node, ()))
    return grown + sorted(waiting, key=reading.place)


def _is_found(graph: Graph, reading: Reading, node: int) -> bool:
    """Whether a line beside the chain can be found again: no later one has its uuid (rule 17), and an answer has one."""
    record = graph.records[node]
    if not isinstance(record, ChainedRecord) or not reading.knows(node, record):
        return False
    return isinstance(record.uuid, str) or not isinstance(record, AssistantRecord)


def _line_before(reading: Reading, own: list[int], node: int) -> int:
    """The last line of a response on the chain that stands before a node; the first where none does."""
    return own[max(bisect_left(own, reading.place(node), key=reading.place) - 1, 0)]


def _results_of(
    graph: Graph,
    reading: Reading,
    chain: list[int],
    aside: list[int],
    attached: list[int],
    lines: dict[str, list[int]],
    beside: dict[int, list[int]],
) -> dict[int, list[int]]:
    """The results beside the chain that answer a call of these responses, with the lines of that response on the chain.

    What the client put behind a call or a result comes with it, unless the conversation went on from there.
    """
    answers = {node: ids for node in aside if (ids := _answered_ids(graph, node))}
    if not answers and not attached:
        return {}
    calls: dict[str, list[int]] = {}
    owner: dict[int, list[int]] = {}
    for own in lines.values():
        for node in (*own, *(one for line in own for one in beside.get(line, ()))):
            ids = _call_ids(graph, node)
            calls |= dict.fromkeys(ids, own)
            owner |= {node: own} if ids else {}
    answered = {node: ids for node in chain if (ids := _answered_ids(graph, node))} if attached else {}
    for node, ids in {**answered, **answers}.items():
        parent = reading.parents[node]
        # A result that hangs off its own call belongs to no other with that id.
        is_own = parent >= 0 and not set(ids).isdisjoint(_call_ids(graph, parent))
        named = owner.get(parent) if is_own else next((calls[id_] for id_ in ids if id_ in calls), None)
        owner |= {node: named} if named else {}
    for node in attached:
        if reading.parents[node] in owner:
            owner[node] = owner[reading.parents[node]]
    return {node: owner[node] for node in (*answers, *attached) if node in owner}


def _dead_ends(graph: Graph, reading: Reading, aside: list[int]) -> list[int]:
    """The lines that nobody said, attachments among them, and that nothing but such lines hangs off."""
    attached = [node for node in aside if _is_marked_unsaid(graph.records[node])]
    if not attached:
        return []
    passed: set[int] = set()
    for node in reading.by_uuid.values():
        if _is_marked_unsaid(graph.records[node]):
            continue
        parent = reading.parents[node]
        while parent >= 0 and parent not in passed and _is_marked_unsaid(graph.records[parent]):
            passed.add(parent)
            parent = reading.parents[parent]
    return [node for node in attached if node not in passed]


def _is_marked_unsaid(record: Record) -> bool:
    """Whether the line itself says that nobody said it: clients look at its mark, not at its words (rule 30)."""
    if isinstance(record, UserRecord):
        return bool(record.isMeta) and not _has_result(record)
    return isinstance(record, AttachmentRecord | SystemRecord) and not isinstance(record, CompactBoundaryRecord)


def _answered_ids(graph: Graph, node: int) -> list[str]:
    record = graph.records[node]
    content = record.content if isinstance(record, UserRecord) else None
    ids = (getattr(block, "tool_use_id", None) for block in content) if isinstance(content, tuple) else ()
    return [id_ for id_ in ids if isinstance(id_, str) and id_]


def answered_in(graph: Graph, nodes: list[int]) -> set[str]:
    """The tool uses that these nodes hold a result for."""
    return {use for node in nodes for use in _answered_ids(graph, node)}


def _call_ids(graph: Graph, node: int) -> list[str]:
    record = graph.records[node]
    content = record.content if isinstance(record, AssistantRecord) else None
    blocks = content if isinstance(content, tuple) else ()
    return [block.id for block in blocks if isinstance(block, ToolUseBlock) and isinstance(block.id, str)]


def _message_id(graph: Graph, node: int) -> str:
    return message_id_of(graph.records[node])


def _is_result(graph: Graph, node: int) -> bool:
    record = graph.records[node]
    return isinstance(record, UserRecord) and _has_result(record)


def _has_result(record: UserRecord) -> bool:
    content = record.content
    return isinstance(content, tuple) and any(getattr(block, "tool_use_id", None) for block in content)


def _counts(graph: Graph, reading: Reading, node: int) -> bool:
    """Whether a line is of the main conversation, and not replaced by a later one with its uuid (rule 17)."""
    record = graph.records[node]
    return isinstance(record, ChainedRecord) and not record.isSidechain and reading.knows(node, record)
