"""Which lines of a session file make which turn, without holding what they say.

In: the records of a session's own file, from its beginning or from the beginning of a turn. Out: every turn with its number, its
lines and its place in the tree. The turns are assembled by the same code that assembles a loaded session, from records that are
stripped of their content: some hundred bytes a line are kept. What a turn says is read from its lines when it is asked for
(`reader`).
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Iterable
from pathlib import Path

from stenograph.graph import NOWHERE, Graph, GraphFile, choose_leaf, forget_readings, link_graph
from stenograph.inputs import HUMAN, Input, InputReader
from stenograph.records import (
    AssistantRecord,
    ChainedRecord,
    CompactBoundaryRecord,
    Located,
    ToolUseBlock,
    message_id_of,
)
from stenograph.turns.assemble import assemble_turns
from stenograph.turns.context import Context
from stenograph.turns.conversations import split_conversations
from stenograph.turns.model import Turn
from stenograph.turns.stripped import StrippedLines


class Outline:
    """The turns of some lines, or of those before the prompt that follows `prompts` others.

    The `Turn` values say where things stand, not what they say.
    """

    def __init__(self, path: Path, located: Iterable[Located], prompts: int | None = None) -> None:
        self._first_of_call: dict[int, int] = {}
        #: Pairs of nodes: a line of a response, and the first line of that response.
        self._repeats = array("l")
        inputs: dict[int, Input] = {}
        uses: dict[int, int] = {}
        results: dict[int, int] = {}
        reader = InputReader()
        #: Where each line stands.
        self.lines = nodes = StrippedLines()
        for each in located:
            record = each.record
            if (understood := reader.read(record)) is not None:
                if prompts is not None and understood.kind in HUMAN and not getattr(record, "isSidechain", False):
                    prompts -= 1
                    if prompts < 0:
                        break
                inputs[len(nodes)] = understood.without_words()
                for result in understood.results:
                    results.setdefault(hash(result.tool_use_id), len(nodes))
            elif isinstance(record, AssistantRecord):
                if message_id := message_id_of(record):
                    self._note_call(hash(message_id), len(nodes))
                for block in record.content if isinstance(record.content, tuple) else ():
                    if isinstance(block, ToolUseBlock):
                        uses.setdefault(hash(block.id), len(nodes))
            nodes.append(each, understood)
        nodes.records.end()
        graph = link_graph([GraphFile(path, 0, len(nodes))], nodes, nodes.records, [])
        leaf = choose_leaf(graph)
        forget_readings(graph)
        self.context = Context(graph, inputs=inputs)
        self._own, self.agents = split_conversations(graph)
        turns = assemble_turns(self.context, self._own, leaf)
        #: In the order of their openings in the file.
        self.turns: tuple[Turn, ...] = tuple(turns[node] for node in sorted(turns))
        self._by_node = turns
        self._elsewhere = self._find_elsewhere(uses, results)

    @property
    def graph(self) -> Graph:
        return self.context.graph

    @property
    def end(self) -> int:
        """Behind the last line."""
        return self.behind(len(self.lines) - 1) if self.lines else 0

    def behind(self, node: int) -> int:
        """Behind a line."""
        return self.lines.offsets[node] + self.lines.lengths[node] + 1

    def begin(self, turn: Turn) -> int:
        """Where the first line of a turn stands; a snapshot, or what it says, may stand before its prompt."""
        return self.lines.offsets[turn.nodes[0]]

    def from_offset(self, offset: int) -> range:
        """The lines from an offset on."""
        return range(bisect_left(self.lines.offsets, offset), len(self.lines))

    def whole(self, turn: Turn) -> Turn:
        """The turn, or the one that it was parted from."""
        return self._by_node[turn.parted_from] if turn.parted_from >= 0 else turn

    def previous(self, turn: Turn) -> Turn | None:
        return self._by_node.get(turn.previous)

    def has_unknown_parents(self) -> bool:
        """Whether some line hangs off a line that is not here; the first opening may do so, where reading began with it."""
        records, by_uuid = self.graph.records, self.graph.by_uuid
        first = self.turns[0].node if self.turns and self.turns[0].node in self.context.inputs else NOWHERE
        for node, parent in enumerate(self.graph.parents):
            if parent < 0 and node != first and isinstance(record := records[node], ChainedRecord):
                logical = record.logicalParentUuid if isinstance(record, CompactBoundaryRecord) else None
                if any(isinstance(name, str) and name not in by_uuid for name in (record.parentUuid, logical)):
                    return True
        return False

    def shared_lines(self, turn: Turn) -> list[int]:
        """Lines of other turns that belong to what this one says: the prompt of what was parted, the beginning of a response that
        is cut in two or copied, results of its tools."""
        return sorted(self._elsewhere.get(turn.node, set()) | ({turn.parted_from} - {NOWHERE}))

    def _find_elsewhere(self, uses: dict[int, int], results: dict[int, int]) -> dict[int, set[int]]:
        """By the opening of a turn: the lines of other turns that it shares something with."""
        owner = array("l", [NOWHERE]) * len(self.graph.nodes)
        for turn in self.turns:
            for node in turn.nodes:
                owner[node] = turn.node
        found: dict[int, set[int]] = {}
        for key, node in results.items():
            use = uses.get(key, NOWHERE)
            if use >= 0 and owner[use] != owner[node]:
                found.setdefault(owner[use], set()).add(node)
        before: dict[int, list[int]] = {}
        for node, first in zip(self._repeats[::2], self._repeats[1::2], strict=True):
            said = before.setdefault(first, [first])
            if owner[node] != owner[first]:
                found.setdefault(owner[node], set()).update(other for other in said if owner[other] != owner[node])
            said.append(node)
        return found

    def _note_call(self, key: int, node: int) -> None:
        first = self._first_of_call.setdefault(key, node)
        if first != node:
            self._repeats.append(node)
            self._repeats.append(first)
