"""Records of one family -> one graph: who hangs off whom, and what came before what.

In: the files of a family, each with its records in order. Out: every record as a node, the parent of each where there is one,
and a finding for everything that does not add up. Nothing is dropped and nothing is repaired in place: a broken link is a root
with a finding. Does not know what a turn is, nor what a release would make of the graph.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import msgspec

from stenograph.disk import Finding, redacted_repr
from stenograph.records import ChainedRecord, CompactBoundaryRecord, Located, Record, UnknownRecord

NOWHERE = -1


class GraphFile(msgspec.Struct, frozen=True):
    """One file of the family and the nodes it gave: those from `first` up to, not including, `last`."""

    path: Path
    first: int
    last: int
    # The subagent whose file this is; empty for the session's own.
    agent_id: str = ""


@redacted_repr
class Graph(msgspec.Struct, dict=True):
    """Nodes in file order, by index; links between them as indexes, `NOWHERE` for none."""

    files: list[GraphFile]
    nodes: Sequence[Located]
    # The same nodes' records, which is what is asked for most.
    records: Sequence[Record]
    # What `parentUuid` says, where it can be followed.
    parents: list[int]
    # What came before, as it happened: the parent; behind a compaction what it compacted; behind a broken link the line before.
    before: list[int]
    findings: list[Finding]
    # The node that a uuid means: of several, the last in the file (rule 17).
    by_uuid: dict[str, int]
    # The nodes that say of themselves that they are a subagent's.
    sidechains: list[int]
    # Links that were cut because they close a loop: the node and the parent it names.
    cut: dict[int, int]

    def file_of(self, node: int) -> GraphFile:
        """The file that a node stands in."""
        place = bisect_right(self.files, node, key=lambda file: file.first) - 1
        while self.files[place].last <= node:  # an empty file begins where the next one does
            place += 1
        return self.files[place]

    @property
    def children(self) -> list[list[int]]:
        """The nodes that hang off each node, in file order."""
        found: list[list[int]] | None = self.__dict__.get("children")
        if found is None:
            found = self.__dict__["children"] = _children_of(self.parents)
        return found


def _children_of(parents: Sequence[int]) -> list[list[int]]:
    children: list[list[int]] = [[] for _ in parents]
    for node, parent in enumerate(parents):
        if parent >= 0:
            children[parent].append(node)
    return children


def build_graph(files: Iterable[tuple[Path, str, Iterable[Located]]]) -> Graph:
    """The graph of a family: its files as (path, agent id or empty, records in order), the session's own first."""
    nodes: list[Located] = []
    found: list[GraphFile] = []
    for path, agent_id, located in files:
        first = len(nodes)
        nodes.extend(located)
        found.append(GraphFile(path, first, len(nodes), agent_id))
    findings = [located.finding for located in nodes if located.finding is not None]
    return link_graph(found, nodes, [located.record for located in nodes], findings)


def link_graph(files: list[GraphFile], nodes: Sequence[Located], records: Sequence[Record], findings: list[Finding]) -> Graph:
    """The graph of nodes that are there already, in sequences of any kind; `findings` are those of reading them."""
    graph = Graph(files, nodes, records, [], [], findings, {}, [], {})
    for file, (own, odd) in [(file, _index_and_link(graph, file)) for file in graph.files]:
        _link_odd_ones(graph, file, own, odd)
    _cut_cycles(graph)
    graph.before = list(graph.parents)
    gaps = [_gaps(graph, file) for file in graph.files]
    roots = _Roots(graph.before)
    for file, own_gaps in zip(graph.files, gaps, strict=True):
        _link_what_came_before(graph, file, own_gaps, roots)
    graph.findings.sort(key=lambda finding: (str(finding.path), finding.line))
    return graph


def _index_and_link(graph: Graph, file: GraphFile) -> tuple[dict[str, int], list[int]]:
    """The uuids of a file, and the nodes whose parent is not simply an earlier line of it; all others are linked at once."""
    own: dict[str, int] = {}
    odd: list[int] = []
    again: set[str] = set()
    unknown: set[int] = set()
    link, known = graph.parents.append, own.get
    records = graph.records
    for node in range(file.first, file.last):
        record = records[node]
        if not isinstance(record, ChainedRecord):
            link(NOWHERE)
            continue
        wanted = record.parentUuid
        parent = NOWHERE
        if wanted.__class__ is str:
            parent = known(wanted, NOWHERE)
            if parent < 0 or parent in unknown:
                odd.append(node)
        link(parent)
        if record.isSidechain:
            graph.sidechains.append(node)
        uuid = record.uuid
        if uuid.__class__ is str and uuid:
            if uuid in own:
                again.add(uuid)
                graph.findings.append(_finding(graph, file, node, "duplicate-uuid", "the last line with this UUID counts"))
            own[uuid] = node
        if record.__class__ is UnknownRecord:
            unknown.add(node)
    # Inside a file the last line with a uuid counts, between files the first file that has it.
    for uuid in own.keys() & graph.by_uuid.keys():
        graph.findings.append(_finding(graph, file, own[uuid], "replayed-record", "another file has the same UUID"))
    for uuid, node in own.items() if graph.by_uuid else ():
        graph.by_uuid.setdefault(uuid, node)
    if not graph.by_uuid:
        graph.by_uuid = own if len(graph.files) == 1 else dict(own)
    if again:  # a line before the last with its uuid may have been taken for the parent
        late = {node for node in range(file.first, file.last) if getattr(records[node], "parentUuid", None) in again}
        odd = sorted(late.union(odd))
    return own, odd


def _link_odd_ones(graph: Graph, file: GraphFile, own: dict[str, int], odd: list[int]) -> None:
    for node in odd:
        record = graph.records[node]
        wanted = record.parentUuid if isinstance(record, ChainedRecord) else None
        if isinstance(wanted, str):
            graph.parents[node] = _parent_of(graph, file, node, own.get(wanted, NOWHERE), wanted)


def _parent_of(graph: Graph, file: GraphFile, node: int, parent: int, wanted: str) -> int:
    """The parent, with a finding where it is not simply an earlier line of the file."""
    if parent < 0:
        parent = graph.by_uuid.get(wanted, NOWHERE)
        code = "dangling-parent" if parent < 0 else "parent-in-another-file"
        graph.findings.append(_finding(graph, file, node, code, "its parent is not in this file"))
    elif parent > node:
        graph.findings.append(_finding(graph, file, node, "forward-parent", "its parent comes later in the file"))
    if parent == node:
        graph.findings.append(_finding(graph, file, node, "self-parent", "it is its own parent"))
        return NOWHERE
    if parent >= 0 and isinstance(graph.records[parent], UnknownRecord):
        graph.findings.append(_finding(graph, file, node, "unknown-kind-in-chain", "old releases lose everything before it"))
    return parent


def _cut_cycles(graph: Graph) -> None:
    for node in _nodes_that_close_a_loop(graph.parents):
        graph.findings.append(_finding(graph, graph.file_of(node), node, "parent-cycle", "it is its own ancestor"))
        graph.cut[node] = graph.parents[node]
        graph.parents[node] = NOWHERE


def _nodes_that_close_a_loop(links: Sequence[int]) -> list[int]:
    """One node of each loop, the first in file order that is met."""
    done = bytearray(len(links))
    closing = []
    for start, link in enumerate(links):
        # Almost every link points to a node that is done with already: nothing to walk.
        if link < 0 or done[link] == 2:
            done[start] = 2
            continue
        path = []
        node = start
        while node >= 0 and not done[node]:
            done[node] = 1
            path.append(node)
            node = links[node]
        if node >= 0 and done[node] == 1:
            closing.append(node)
        for passed in path:
            done[passed] = 2
    return closing


def _gaps(graph: Graph, file: GraphFile) -> list[int]:
    """The nodes of a file that follow none that counts; nothing is left before them."""
    # What hangs off a line of a subagent's file (2.1.29) hangs off nothing in the session's own.
    last = len(graph.nodes) if file.agent_id else file.last
    gaps = [node for node in range(file.first, file.last) if not 0 <= graph.parents[node] < last]
    for node in gaps:
        graph.before[node] = NOWHERE
    return gaps


class _Roots:
    """The first node of the history that each node is part of; finding it costs next to nothing however long that is."""

    def __init__(self, before: Sequence[int]) -> None:
        self._up = list(before)

    def of(self, node: int) -> int:
        up = self._up
        root = node
        while up[root] >= 0:
            root = up[root]
        while up[node] >= 0:  # the next one takes the short way
            up[node], node = root, up[node]
        return root

    def join(self, root: int, node: int) -> None:
        self._up[root] = node


def _link_what_came_before(graph: Graph, file: GraphFile, gaps: list[int], roots: _Roots) -> None:
    """Fill the gaps that parents leave: behind compactions, broken links and lines that name no parent at all."""
    passed, main_line = file.first, NOWHERE
    for node in gaps:
        record = graph.records[node]
        if not isinstance(record, ChainedRecord) or (record.parentUuid is None and not isinstance(record, CompactBoundaryRecord)):
            continue
        while passed < node:  # the last line before it of the same conversation, kept from gap to gap
            earlier = graph.records[passed]
            if isinstance(earlier, ChainedRecord) and (file.agent_id or not earlier.isSidechain):
                main_line = passed
            passed += 1
        candidate = main_line
        if isinstance(record, CompactBoundaryRecord):
            logical = record.logicalParentUuid
            named = graph.by_uuid.get(logical, NOWHERE) if isinstance(logical, str) else NOWHERE
            # 14 of 33 public compactions name a record that was never written.
            candidate = named if named >= 0 else main_line
        # Rule 23: newer clients bridge a broken link. Flat lines have no parents at all: file order is all there is.
        # Not where that leads back here: a link that was written counts more.
        if candidate >= 0 and roots.of(candidate) != node:
            graph.before[node] = candidate
            roots.join(node, candidate)


def ancestors(graph: Graph, node: int) -> Iterator[int]:
    """A node and all that came before it, the nearest first. Always ends: `before` never leads back."""
    while node >= 0:
        yield node
        node = graph.before[node]


def _finding(graph: Graph, file: GraphFile, node: int, code: str, detail: str) -> Finding:
    located = graph.nodes[node]
    return Finding(code=code, path=file.path, line=located.number, offset=located.offset, length=located.length, detail=detail)
