"""A session's own file while it is edited: which lines change, which leave the conversation, which are new.

Untouched lines keep their bytes. What the changes mean for the links between lines is settled afterwards, in links.py.
"""

from __future__ import annotations

import functools
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct

from stenograph.graph import NOWHERE, Graph, ancestors, build_graph, current_chain
from stenograph.inputs import InputKind, classify
from stenograph.messages import message_habits, select
from stenograph.records import (
    AssistantRecord,
    ChainedRecord,
    CompactBoundaryRecord,
    Record,
    UserRecord,
    change,
    decode,
    encode,
    message_id_of,
    rebuild,
    to_text,
)
from stenograph.releases import NEWEST
from stenograph.surgery.choose import nodes_with_aside
from stenograph.turns import Session

Block = dict[str, Any]


class AddedLine(Struct, frozen=True):
    record: ChainedRecord
    #: The node it is inserted before; the file's length for its end.
    before: int


class WorkingFile:
    """The file while it is edited. Nodes are those of the session's graph; only the session's own file is touched."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.graph: Graph = session.graph
        self.last = self.graph.files[0].last
        #: On the chain that the newest client resumes, in order.
        self.chain: list[int] = current_chain(self.graph)
        #: What that client sends, in order: the chain, and what belongs to it beside the chain.
        self.sent: list[int] = select(self.own_graph, NEWEST, message_habits(NEWEST)).nodes
        self.gone: set[int] = set()
        self.removed: set[int] = set()
        self.new_lines: list[AddedLine] = []
        self._changed: dict[int, Record] = {}
        #: Of the nodes in the new file; empty for the old order.
        self.order: list[int] = []
        self.deleted: list[Path] = []
        #: Node -> uuid of its new parent, where that is not simply the nearest one that stays.
        self.parents: dict[int, str | None] = {}
        # Gone node -> its nearest ancestor that stays, valid for `_known_gone` gone nodes.
        self._nearest: dict[int, int] = {}
        self._known_gone = 0

    @functools.cached_property
    def own_graph(self) -> Graph:
        """The graph of the session's own file, with the same node numbers."""
        main = self.graph.files[0]
        return build_graph([(main.path, "", self.graph.nodes[main.first : main.last])])

    @functools.cached_property
    def living(self) -> frozenset[int]:
        """What belongs to the conversation: the chain, what compactions replaced, the other lines of its responses and their
        results. What an earlier edit detached does not.
        """
        chain = {*ancestors(self.graph, self.chain[-1] if self.chain else NOWHERE), *self.sent}
        ids = {self.message_id(node) for node in chain} - {""}
        living = chain | {node for node in range(self.last) if self.message_id(node) in ids}
        uses = {block.get("id") for node in living for block in self.blocks_before(node) if block.get("type") == "tool_use"}
        results = {
            node
            for node in range(self.last)
            if node not in living and any(block.get("tool_use_id") in uses for block in self.blocks_before(node))
        }
        return frozenset(living | results)

    @functools.cached_property
    def last_compaction(self) -> int:
        records = self.graph.records
        return next((node for node in reversed(self.chain) if isinstance(records[node], CompactBoundaryRecord)), NOWHERE)

    def record(self, node: int) -> Record:
        return self._changed.get(node) or self.graph.records[node]

    def put(self, node: int, path: str | tuple[str | int, ...], value: Any) -> None:
        self._changed[node] = change(self.record(node), path, value)

    def blocks(self, node: int) -> list[Block] | None:
        """None where the content is not a list of blocks."""
        record = self.record(node)
        content = rebuild(record.content) if isinstance(record, UserRecord | AssistantRecord) else None
        return content if isinstance(content, list) else None

    def set_blocks(self, node: int, blocks: list[Block]) -> None:
        """A line without content leaves the conversation."""
        if blocks:
            self.put(node, ("message", "content"), blocks)
        else:
            self.drop(node)

    def drop(self, *nodes: int) -> None:
        """Remove nodes from the conversation. What a compaction left stays: without it the older history would come back."""
        self.gone.update(node for node in nodes if node < self.last and not self._holds_a_compaction(node))

    def remove(self, *nodes: int) -> None:
        """Remove nodes from the file."""
        self.drop(*nodes)
        self.removed.update(node for node in nodes if node in self.gone)

    def leave_behind(self, first_kept: int) -> None:
        """Everything said before a node leaves the conversation, compactions too: something else stands for it."""
        said = set(self.chain) | nodes_with_aside(self.session, self.session.turns)
        self.gone.update(node for node in said if node < first_kept)

    def add(self, members: dict[str, Any], before: int) -> None:
        """Insert a new line before a node; at the end when that is the file's length."""
        made = decode(to_text(members))
        assert isinstance(made, ChainedRecord)
        self.new_lines.append(AddedLine(made, before))

    @property
    def is_untouched(self) -> bool:
        moved = any(place != node for place, node in enumerate(self.order))
        return not (self._changed or self.gone or self.new_lines or self.deleted or self.parents or moved)

    def changed_nodes(self) -> set[int]:
        return set(self._changed)

    def lines(self) -> Iterator[tuple[int, bytes]]:
        """The new file, line by line: the node each came from, NOWHERE for new ones, and its bytes."""
        new: dict[int, list[bytes]] = {}
        for line in self.new_lines:
            new.setdefault(line.before, []).append(encode(line.record))
        for node in [*(self.order or range(self.last)), self.last]:
            for data in new.get(node, ()):
                yield NOWHERE, data
            if node < self.last and node not in self.removed:
                yield node, encode(self.record(node))

    def nearest_kept(self, node: int) -> int:
        if self._known_gone != len(self.gone):
            self._nearest, self._known_gone = {}, len(self.gone)
        return nearest_outside(self.graph.parents, self.gone, self.graph.parents[node], self._nearest)

    def message_id(self, node: int) -> str:
        return message_id_of(self.graph.records[node])

    def blocks_before(self, node: int) -> list[Block]:
        """The blocks of a line as it was; none where its content is a string."""
        record = self.graph.records[node]
        content = rebuild(record.content) if isinstance(record, UserRecord | AssistantRecord) else None
        return [block for block in content if isinstance(block, dict)] if isinstance(content, list) else []

    def uuid(self, node: int) -> str:
        record = self.graph.records[node]
        return (record.uuid or "") if isinstance(record, ChainedRecord) else ""

    def name_of(self, parent: int) -> str | None:
        """A node's uuid as a parent; None for NOWHERE."""
        return self.uuid(parent) if parent >= 0 else None

    def _holds_a_compaction(self, node: int) -> bool:
        record = self.graph.records[node]
        if isinstance(record, UserRecord):
            return classify(record).kind is InputKind.COMPACTION_SUMMARY
        return isinstance(record, CompactBoundaryRecord)


def nearest_outside(parents: Sequence[int], inside: Collection[int], node: int, known: dict[int, int]) -> int:
    """A node, or its nearest ancestor outside a set; NOWHERE for none. `known` keeps what was found on the way."""
    way = []
    while node >= 0 and node in inside and node not in known:
        way.append(node)
        node = parents[node]
    found = known.get(node, node)
    for passed in way:
        known[passed] = found
    return found
