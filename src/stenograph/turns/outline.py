"""Which lines of a session file make which turn, without holding what they say.

The turns are assembled as those of a loaded session, from records stripped of their content: some hundred bytes a line are kept.
`reader` reads a turn's lines when they are asked for.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, overload

from msgspec import UNSET, Raw

from stenograph.graph import NOWHERE, Graph, GraphFile, choose_leaf, forget_readings, link_graph
from stenograph.inputs import HUMAN, Input, InputKind, InputReader
from stenograph.records import (
    AssistantMessage,
    AssistantRecord,
    ChainedRecord,
    CompactBoundaryRecord,
    DamagedRecord,
    Located,
    Opt,
    Record,
    RecordMessage,
    ToolUseBlock,
    UserRecord,
    message_id_of,
    strip,
    to_text,
)
from stenograph.turns.assemble import assemble_turns, split_conversations, turn_of_leaf
from stenograph.turns.context import Context
from stenograph.turns.model import Turn


class Outline:
    """The turns of some lines, or of those before the prompt that follows `prompts` others, without what they say.

    `before` is how many lines precede them in the file. `watch` sees each line before it is stripped, with what it is as an
    input; `inputs` has seen those before.
    """

    def __init__(
        self,
        path: Path,
        located: Iterable[Located],
        prompts: int | None = None,
        before: int = 0,
        *,
        watch: Callable[[Located, Input | None], None] | None = None,
        inputs: InputReader | None = None,
    ) -> None:
        self._first_of_call: dict[int, int] = {}
        #: Pairs of nodes: a line of a response, and its first line.
        self._repeats = array("l")
        found: dict[int, Input] = {}
        uses: dict[int, int] = {}
        results: dict[int, int] = {}
        reader = inputs or InputReader()
        self.lines = nodes = StrippedLines(before)
        #: The offsets of lines that are not JSON objects, blank ones apart.
        self.damaged: list[int] = []
        for node, each in enumerate(located):
            record = each.record
            if isinstance(record, DamagedRecord) and record.reason != "blank":
                self.damaged.append(each.offset)
            understood = reader.read(record)
            if watch is not None:
                watch(each, understood)
            if understood is not None:
                if prompts is not None and understood.kind in HUMAN and not getattr(record, "isSidechain", False):
                    prompts -= 1
                    if prompts < 0:
                        break
                found[node] = understood.without_words()
                for result in understood.results:
                    results.setdefault(hash(result.tool_use_id), node)
            elif isinstance(record, AssistantRecord):
                if message_id := message_id_of(record):
                    self._note_call(hash(message_id), node)
                content = record.content
                for block in content if isinstance(content, tuple) else ():
                    if isinstance(block, ToolUseBlock):
                        uses.setdefault(hash(block.id), node)
            nodes.append(each, understood)
        graph = link_graph([GraphFile(path, 0, len(nodes))], nodes, nodes.records.end(), [])
        leaf = choose_leaf(graph)
        forget_readings(graph)
        self.context = Context(graph, inputs=found)
        self._own, self.agents = split_conversations(graph)
        turns = assemble_turns(self.context, self._own, leaf)
        #: In the order of their openings.
        self.turns: tuple[Turn, ...] = tuple(turns[node] for node in sorted(turns))
        self._by_node = turns
        self._elsewhere = self._find_elsewhere(uses, results)
        self._answers_to_unknown = not uses.keys() >= results.keys()
        end = turn_of_leaf(graph, turns, leaf)
        followed = {turn.previous for turn in self.turns}
        #: The last turn of the branch that a client resumes.
        self.current = turns[end] if end is not None else next((t for t in reversed(self.turns) if t.node not in followed), None)

    @property
    def graph(self) -> Graph:
        return self.context.graph

    @property
    def end(self) -> int:
        return self.behind(len(self.lines) - 1) if self.lines else 0

    def behind(self, node: int) -> int:
        return self.lines.offsets[node] + self.lines.lengths[node] + 1

    def begin(self, turn: Turn) -> int:
        """Where the first line of a turn is: a snapshot may precede its prompt."""
        return self.lines.offsets[turn.nodes[0]]

    def from_offset(self, offset: int) -> range:
        return range(bisect_left(self.lines.offsets, offset), len(self.lines))

    def whole(self, turn: Turn) -> Turn:
        return self._by_node[turn.parted_from] if turn.parted_from >= 0 else turn

    def needs_what_is_before(self) -> bool:
        """Whether a line hangs off one that is not here, or answers it; the first opening may hang off one."""
        if self._answers_to_unknown:
            return True
        records, by_uuid = self.graph.records, self.graph.by_uuid
        first = self.turns[0].node if self.turns and self.turns[0].node in self.context.inputs else NOWHERE
        for node, parent in enumerate(self.graph.parents):
            if parent < 0 and node != first and isinstance(record := records[node], ChainedRecord):
                logical = record.logicalParentUuid if isinstance(record, CompactBoundaryRecord) else None
                if any(isinstance(name, str) and name not in by_uuid for name in (record.parentUuid, logical)):
                    return True
        return False

    def shared_lines(self, turn: Turn) -> list[int]:
        """Lines of other turns that this one needs: its prompt, the beginning of a response, results of its tools."""
        return sorted(self._elsewhere.get(turn.node, set()) | ({turn.parted_from} - {NOWHERE}))

    def _find_elsewhere(self, uses: dict[int, int], results: dict[int, int]) -> dict[int, set[int]]:
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


# Whether anything was said in a message, and by whom.
_SAID = Raw(to_text({"content": ""}))
_RESULT = Raw(to_text({"content": [{"type": "tool_result"}]}))
_SAID_MESSAGE = RecordMessage(content_raw="")
_RESULT_MESSAGE = RecordMessage(content_raw=[Raw(to_text({"type": "tool_result"}))])


# So many records are stripped where they are, which keeps some kilobytes of each; more of them are taken apart.
_FEW = 5_000


class StrippedRecords(Sequence[Record]):
    """Records without what they say: the first ones as they came, the others made when they are asked for, anew each time."""

    def __init__(self) -> None:
        self._held: list[Record] = []
        #: How to make each further record, or the record itself.
        self._shapes: list[Callable[..., Record] | Record] = []
        self._uuids: list[object] = []
        self._parents: list[object] = []
        self._timestamps: list[object] = []
        self._messages: list[object] = []
        self._known_shapes: dict[Any, Callable[..., Record]] = {}
        #: Shared texts of uuids, while lines come.
        self._texts: dict[str, str] = {}
        #: What names the last response, and what is kept of it.
        self._last: tuple[object, object] = (None, UNSET)
        self._last_message: AssistantMessage | None = None

    def append(self, record: Record, understood: Input | None) -> None:
        """Take a record; where nobody else has it, for it may be stripped."""
        if len(self._held) < _FEW:
            if isinstance(record, AssistantRecord):
                strip(record, self._shared_message(record))
            elif isinstance(record, UserRecord):
                is_result = understood is not None and understood.kind is InputKind.TOOL_RESULT
                is_said = isinstance(record.content, str | tuple)
                strip(record, (_RESULT_MESSAGE if is_result else _SAID_MESSAGE) if is_said else UNSET)
            elif isinstance(record, ChainedRecord) and not isinstance(record, CompactBoundaryRecord):
                record = type(record)(
                    uuid=record.uuid,
                    parentUuid=record.parentUuid,
                    timestamp=record.timestamp,
                    isSidechain=record.isSidechain,
                    agentId=record.agentId,
                )
            self._held.append(record)
        else:
            self._take_apart(record, understood)

    def end(self) -> Sequence[Record]:
        """No more lines come: all records, in the form that is looked up soonest."""
        self._texts.clear()
        return self if self._shapes else self._held

    def timestamp(self, index: int) -> object:
        if index < len(self._held):
            record = self._held[index]
            return record.timestamp if isinstance(record, ChainedRecord) else None
        return self._timestamps[index - _FEW]

    def __len__(self) -> int:
        return len(self._held) + len(self._shapes)

    @overload
    def __getitem__(self, index: int) -> Record: ...
    @overload
    def __getitem__(self, index: slice) -> list[Record]: ...
    def __getitem__(self, index: int | slice) -> Record | list[Record]:
        if isinstance(index, slice):
            return [self[each] for each in range(*index.indices(len(self)))]
        if index < 0:
            index += len(self)
        if index < len(self._held):
            return self._held[index]
        index -= _FEW
        shape = self._shapes[index]
        if isinstance(shape, Record):
            return shape
        place = {"uuid": self._uuids[index], "parentUuid": self._parents[index], "timestamp": self._timestamps[index]}
        message = self._messages[index]
        return shape(**place) if message is UNSET else shape(**place, message_raw=message)

    def __iter__(self) -> Iterator[Record]:
        return map(self.__getitem__, range(len(self)))

    def _take_apart(self, record: Record, understood: Input | None) -> None:
        if not isinstance(record, ChainedRecord) or isinstance(record, CompactBoundaryRecord):
            self._shapes.append(record)
            at = record.timestamp if isinstance(record, ChainedRecord) else None
            self._keep(None, None, at, None)
            return
        uuid, parent = record.uuid, record.parentUuid
        if isinstance(uuid, str):
            self._texts[uuid] = uuid
        members: dict[str, object] = {"isSidechain": record.isSidechain, "agentId": record.agentId}
        message: object = UNSET
        if isinstance(record, UserRecord):
            members["permissionMode"] = record.permissionMode
            if isinstance(record.content, str | tuple):
                message = _RESULT if understood and understood.kind is InputKind.TOOL_RESULT else _SAID
        elif isinstance(record, AssistantRecord):
            members |= {"isApiErrorMessage": record.isApiErrorMessage, "isMeta": record.isMeta}
            message = self._message(record)
        self._shapes.append(self._shape(type(record), members))
        self._keep(uuid, self._texts.get(parent, parent) if isinstance(parent, str) else parent, record.timestamp, message)

    def _keep(self, uuid: object, parent: object, timestamp: object, message: object) -> None:
        self._uuids.append(uuid)
        self._parents.append(parent)
        self._timestamps.append(timestamp)
        self._messages.append(message)

    def _shape(self, kind: type[Record], members: dict[str, object]) -> Callable[..., Record]:
        key = (kind, *members.values())
        if (known := self._known_shapes.get(key)) is None:
            known = self._known_shapes[key] = partial(kind, **members)
        return known

    def _message(self, record: AssistantRecord) -> object:
        """Lines of one response mostly follow each other, and share what is kept of it."""
        message = record.message
        is_said = isinstance(record.content, str | tuple)
        said: dict[str, object] = {"content": ""} if is_said else {}
        if message:
            said |= {"id": message.id or None, "model": message.model or None}
        if said != self._last[0]:
            self._last = (said, Raw(to_text(said)) if said else UNSET)
        return self._last[1]

    def _shared_message(self, record: AssistantRecord) -> Opt[AssistantMessage]:
        """The same as a value."""
        message = record.message
        content = "" if isinstance(record.content, str | tuple) else UNSET
        if not message:
            return AssistantMessage(content_raw=content) if content is not UNSET else UNSET
        id_, model, last = message.id or None, message.model or None, self._last_message
        if last is None or last.id != id_ or last.model != model or last.content_raw != content:
            last = self._last_message = AssistantMessage(content_raw=content, id=id_, model=model)
        return last


class StrippedLines(Sequence[Located]):
    """The records with the places of their lines."""

    def __init__(self, before: int = 0) -> None:
        self._before = before
        self.records = StrippedRecords()
        self.numbers = array("q")
        self.offsets = array("q")
        self.lengths = array("q")

    def append(self, located: Located, understood: Input | None) -> None:
        self.records.append(located.record, understood)
        self.numbers.append(self._before + located.number)
        self.offsets.append(located.offset)
        self.lengths.append(located.length)

    def __len__(self) -> int:
        return len(self.offsets)

    @overload
    def __getitem__(self, index: int) -> Located: ...
    @overload
    def __getitem__(self, index: slice) -> list[Located]: ...
    def __getitem__(self, index: int | slice) -> Located | list[Located]:
        if isinstance(index, slice):
            return [self[each] for each in range(*index.indices(len(self)))]
        return Located(self.records[index], self.numbers[index], self.offsets[index], self.lengths[index])
