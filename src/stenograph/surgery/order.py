"""One chain with increasing times, for clients that go by time and know no parallel calls (rule 59)."""

from __future__ import annotations

from datetime import datetime, timedelta

from stenograph.graph import NOWHERE
from stenograph.records import REMOVE, ChainedRecord, CompactBoundaryRecord, moment, rebuild, to_client_time
from stenograph.surgery.working import WorkingFile


def linearise(working: WorkingFile) -> int:
    """Chain what the newest client sends, in its order, with increasing times; returns how many lines that changes."""
    line = [node for node in working.sent if node not in working.gone]
    changed = set[int]()
    latest: datetime | None = None
    for previous, node in zip([NOWHERE, *line], line, strict=False):
        record = working.record(node)
        if not isinstance(record, ChainedRecord):
            continue
        if previous >= 0 and record.parentUuid != working.uuid(previous):
            working.parents[node] = working.uuid(previous)
            changed.add(node)
        at = moment(record.timestamp)
        if latest is not None and (at is None or at <= latest):
            at = latest + timedelta(milliseconds=1)
            working.put(node, "timestamp", to_client_time(at))
            changed.add(node)
        latest = at or latest
    _reorder(working, line)
    for node in working.chain:
        if isinstance(working.record(node), CompactBoundaryRecord):
            changed |= _forget_preserved(working, node)
    return len(changed | {node for place, node in enumerate(working.order) if place != node})


def _reorder(working: WorkingFile, line: list[int]) -> None:
    """Put nodes into the file in their order, each where it is or behind the one before it."""
    keys = {node: (node, 0) for node in range(working.last)}
    furthest = NOWHERE
    for rank, node in enumerate(line, 1):
        furthest = max(furthest, node)
        keys[node] = (furthest, rank)
    working.order = sorted(keys, key=lambda node: keys[node])
    place_of = {node: place for place, node in enumerate(working.order)}
    linked = set(line)
    above = NOWHERE
    for place, node in enumerate(working.order):
        parent = working.graph.parents[node]
        if node in linked:
            above = node
        elif parent in linked and place_of[parent] > place:  # what it hangs off stands further down now
            working.parents[node] = working.name_of(above)


def _forget_preserved(working: WorkingFile, boundary: int) -> set[int]:
    """What a compaction preserved is in the chain now: a client that still read of it would send it twice."""
    metadata = rebuild(getattr(working.record(boundary), "compactMetadata", None))
    named = [name for name in ("preservedSegment", "preservedMessages") if isinstance(metadata, dict) and name in metadata]
    for name in named:
        working.put(boundary, ("compactMetadata", name), REMOVE)
    return {boundary} if named else set()
