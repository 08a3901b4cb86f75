"""A graph as a client of a given release reads it: which records it knows, and whose parent is whose (rules 17, 22 to 26, 50).

In: a graph and the habits of a release. Out: a reading of the session's own file. The graph stays as it is: a reading is one
client's view of it. Which leaf is gone on from is not known here.
"""

from __future__ import annotations

import functools
from typing import NamedTuple

from msgspec import Struct

from stenograph.graph.build import NOWHERE, Graph
from stenograph.records import (
    AssistantRecord,
    AttachmentRecord,
    CompactBoundaryRecord,
    FlatAssistantRecord,
    FlatUserRecord,
    ProgressRecord,
    Record,
    SystemRecord,
    UserRecord,
)
from stenograph.releases import value_of

#: In place of a parent: it is named, but the release does not know it.
DANGLING = -2


class ReadingHabits(NamedTuple):
    """How a release finds its way; what each means is in the table of `releases`."""

    leaf_by_place: bool
    drops_trailing: bool
    needs_no_time: bool
    heeds_last_prompt: bool
    bridges: bool
    keeps_progress: bool
    passes_progress: bool
    heeds_preserved: bool
    heeds_preserved_lists: bool


@functools.cache
def reading_habits(release: str) -> ReadingHabits:
    """The habits of a release. Raises UsageError for what is not a release."""
    return ReadingHabits(*(value_of(name, release) for name in ReadingHabits._fields))


class Reading(Struct):
    """The session's own file as a release reads it."""

    # Of every node of the graph: the one that the release goes back to; NOWHERE for a root, DANGLING where it finds none.
    parents: list[int]
    # The node that a uuid means, subagents' among them. In the order in which the uuids were met first.
    by_uuid: dict[object, int]
    heeds_lists: bool = False
    # Whether the last compaction preserved messages, so that the tree hangs otherwise than it was written (rule 50), and which.
    is_rehung: bool = False
    preserved: list[int] = []
    # Of lines whose uuid stood further up too: the line where it was met first.
    first_lines: dict[int, int] = {}
    # Of records that were asked for: the last one on the way to each in which somebody said something.
    spoken: dict[int, int] = {}

    def place(self, node: int) -> int:
        """Where a record counts as standing: a line that was written again stays where it was."""
        return self.first_lines.get(node, node)

    def knows(self, node: int, record: Record) -> bool:
        """Whether the release knows a record, and no later one has its uuid (rule 17)."""
        return self.by_uuid.get(_uuid(record), NOWHERE) == node


def read_graph(graph: Graph, habits: ReadingHabits) -> Reading:
    """How a release of these habits reads the graph; found once for each."""
    kept: dict[ReadingHabits, Reading] = graph.__dict__.setdefault("readings", {})
    if habits not in kept:
        kept[habits] = _read(graph, habits)
    return kept[habits]


def forget_readings(graph: Graph) -> None:
    """Give back the memory of what `read_graph` found."""
    graph.__dict__.pop("readings", None)


def is_lasting(record: Record) -> bool:
    """Whether a conversation can end in a record of this kind, or be bridged to it."""
    return isinstance(record, _LASTING) and not isinstance(record, _FLAT)


def is_said(record: Record) -> bool:
    """Whether somebody said something in a record, be it nothing: a line without content is only passed."""
    return isinstance(record, UserRecord | AssistantRecord) and isinstance(record.content, str | tuple)


def is_main(record: Record) -> bool:
    return is_lasting(record) and not getattr(record, "isSidechain", False)


_LASTING = (UserRecord, AssistantRecord, SystemRecord, AttachmentRecord)
# Lines without a type: no client knows what to do with them (rule 57).
_FLAT = (FlatUserRecord, FlatAssistantRecord)


def _uuid(record: Record) -> object:
    """Lines without a uuid share one place, the last has it (rule 57)."""
    uuid = getattr(record, "uuid", None)
    return uuid if isinstance(uuid, str) else None


def _read(graph: Graph, habits: ReadingHabits) -> Reading:
    main = graph.files[0]
    known: dict[object, int] = {}
    wanted: dict[int, object] = {}
    stood_for: dict[object, object] = {}
    lasting: dict[type[Record], bool] = {}
    boundaries: list[int] = []
    first_lines: dict[int, int] = {}
    records = graph.records
    for node in range(main.first, main.last):
        record = records[node]
        kind = record.__class__
        is_known = lasting.get(kind)
        if is_known is None:
            is_known = lasting[kind] = is_lasting(record) or (habits.keeps_progress and isinstance(record, ProgressRecord))
        if is_known:
            parent = record.parentUuid  # type: ignore[attr-defined]
            uuid = record.uuid  # type: ignore[attr-defined]
            name = uuid if uuid.__class__ is str else None
            if name in known:
                earlier = known[name]
                first_lines[node] = first_lines.pop(earlier, earlier)
            known[name] = node
            wanted[node] = stood_for.get(parent, parent) if stood_for else parent
            if kind is CompactBoundaryRecord:
                boundaries.append(node)
        elif habits.passes_progress and isinstance(record, ProgressRecord):
            stood_for[record.uuid] = stood_for.get(record.parentUuid, record.parentUuid)
    parents = [NOWHERE] * len(graph.nodes)
    for node in known.values():
        named = wanted[node]
        if named and named.__class__ is str:
            parent = known.get(named, DANGLING)
            # One that names itself as its parent counts as one whose parent is missing.
            parents[node] = DANGLING if habits.bridges and parent == node else parent
    reading = Reading(parents, known, heeds_lists=habits.heeds_preserved_lists, first_lines=first_lines)
    if habits.heeds_preserved and boundaries:
        _hang_preserved(graph, reading, [node for node in boundaries if reading.knows(node, graph.records[node])], wanted)
    return reading


def _hang_preserved(graph: Graph, reading: Reading, boundaries: list[int], wanted: dict[int, object]) -> None:
    """Rule 50: what the last compaction preserved is hung behind its summary, and all else before it is forgotten.

    What hung off the summary, read or not, or off something forgotten, hangs off the last preserved message. A file is read as it
    is where no compaction preserved anything, or where what the last one to do so says can't be followed.
    """
    naming = [node for node in boundaries if _anchor(graph, reading, node) is not None]
    if not naming or preserved_by(graph, reading, naming[-1]) is None:
        return
    last = boundaries[-1]
    items = preserved_by(graph, reading, last) or []
    named = _anchor(graph, reading, last)
    anchor = reading.by_uuid.get(named, DANGLING)
    # By where a uuid was met first: a line that was written again does not count as new.
    met = list(reading.by_uuid.values())
    gone = set(met[: met.index(last)]) - set(items)
    reading.by_uuid = {uuid: node for uuid, node in reading.by_uuid.items() if node not in gone}
    tail = items[-1] if items else DANGLING
    for node in reading.by_uuid.values():
        if reading.parents[node] in gone or (items and wanted[node] == named):
            reading.parents[node] = tail if node != last else NOWHERE
    # The summary itself may be forgotten: then they hang off each other.
    before = tail if anchor in gone else anchor
    for node in items:
        reading.parents[node] = before
        before = node
    reading.is_rehung, reading.preserved = True, items


def preserved_by(graph: Graph, reading: Reading, boundary: int) -> list[int] | None:
    """The older lines that a compaction preserved, in order; None when it says nothing of them, or what can't be followed."""
    record = graph.records[boundary]
    metadata = record.compactMetadata if isinstance(record, CompactBoundaryRecord) else None
    if not metadata:
        return None
    if metadata.preservedMessages and reading.heeds_lists:
        items = [reading.by_uuid.get(uuid, NOWHERE) for uuid in metadata.preservedMessages.uuids or []]
        return None if NOWHERE in items else items
    segment = metadata.preservedSegment
    return _segment(reading, segment.headUuid, segment.tailUuid) if segment else None


def _anchor(graph: Graph, reading: Reading, boundary: int) -> object:
    record = graph.records[boundary]
    metadata = record.compactMetadata if isinstance(record, CompactBoundaryRecord) else None
    listed = metadata.preservedMessages if metadata and reading.heeds_lists else None
    named = listed or (metadata.preservedSegment if metadata else None)
    return named.anchorUuid if named else None


def _segment(reading: Reading, head: object, tail: object) -> list[int] | None:
    """The nodes from one uuid down to another; None when they do not hang together."""
    first, node = reading.by_uuid.get(head, NOWHERE), reading.by_uuid.get(tail, NOWHERE)
    found: dict[int, None] = {}
    while node >= 0 and node != first and node not in found:
        found[node] = None
        node = reading.parents[node]
    return [first, *reversed(found)] if node >= 0 and node == first else None
