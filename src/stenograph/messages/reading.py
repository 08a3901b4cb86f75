"""A session's file -> the graph that a resume is made of: of a long file that was compacted only its end (rule 51).

In: a path and a release. Out: the graph of the session's own file as far as the release reads it; lines keep their numbers and
offsets. What stands before the last compaction is passed over as bytes: it costs no more than to read the file.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from stenograph.graph import Graph, build_graph
from stenograph.messages.habits import message_habits
from stenograph.records import (
    CompactBoundaryRecord,
    DamagedRecord,
    Located,
    Record,
    compactions_backwards,
    decode,
    read_all_records,
)
from stenograph.releases import NEWEST

#: Bytes; a longer file is read from its last compaction on. (2.1.112, 2.1.200, 2.1.325: one of 5,242,881 bytes is.)
READ_WHOLE = 5 * 1024 * 1024


def read_for_resume(path: Path, release: str = NEWEST, *, look: Callable[[bytes], object] | None = None) -> Graph:
    """The graph of a session's file as far as the release reads it. `look` gets all bytes. Raises UnreadableError."""
    reads_from_boundary = message_habits(release).reads_from_boundary

    def begin(memory: bytes) -> int:
        if look:
            look(memory)
        return last_compaction(memory) if reads_from_boundary else 0

    return build_graph([(path, "", read_all_records(path, begin))])


def last_compaction(memory: bytes) -> int:
    """Where the line begins that a client reads a file from; 0 for the whole file."""
    end = len(memory) if len(memory) > READ_WHOLE else 0
    for start, stop in compactions_backwards(memory, end):
        if begins_anew(decode(memory[start:stop])):
            return start
    return 0


def from_last_compaction(graph: Graph) -> Graph:
    """The same for a graph of the whole file: lines that the release does not read hold nothing, and keep their places."""
    main = graph.files[0]
    nodes = graph.nodes[main.first : main.last]
    if not nodes or _size(nodes[-1]) <= READ_WHOLE:
        return graph
    boundaries = [place for place, located in enumerate(nodes) if isinstance(located.record, CompactBoundaryRecord)]
    place = next((place for place in reversed(boundaries) if begins_anew(nodes[place].record)), 0)
    if not place:
        return graph
    unread = DamagedRecord(reason="blank")
    passed = [Located(unread, located.number, located.offset, located.length) for located in nodes[:place]]
    return build_graph([(main.path, main.agent_id, [*passed, *nodes[place:]])])


def begins_anew(record: Record) -> bool:
    """Whether a line is a boundary that preserves nothing of what stands before it."""
    if not isinstance(record, CompactBoundaryRecord):
        return False
    metadata = record.compactMetadata
    kept = (metadata.preservedSegment_raw, metadata.preservedMessages_raw) if metadata else ()
    return not any(raw and bytes(raw) != b"null" for raw in kept)


def _size(last: Located) -> int:
    """The size of the file that ends in this line."""
    is_open = last.finding is not None and last.finding.code in ("torn-tail", "missing-final-newline")
    return last.offset + last.length + (not is_open)
