"""What names a line by its uuid, in a working file: where the named line left, it names the nearest one that stays.

In: a working file of which it is settled what leaves it. Out: the same with last-prompt lines, snapshots of files and lists of
preserved messages renamed. Parents are no references: links.py knows those.
"""

from __future__ import annotations

from stenograph.records import CompactBoundaryRecord, FileHistorySnapshotRecord, LastPromptRecord, rebuild
from stenograph.surgery.working import WorkingFile


def rename_references(working: WorkingFile) -> None:
    """What names a line that left: last-prompt lines, snapshots of files, lists of preserved messages."""
    moved: dict[str, str | None] = {}
    for node in working.gone:
        uuid = working.uuid(node)
        if uuid:
            moved[uuid] = working.name_of(working.nearest_kept(node))
    if not moved:
        return
    removed = {working.uuid(node) for node in working.removed}
    for node in range(working.last):
        if node in working.removed:
            continue
        record = working.record(node)
        if isinstance(record, LastPromptRecord) and record.leafUuid in moved:
            working.put(node, "leafUuid", moved[record.leafUuid] or "")
        elif isinstance(record, FileHistorySnapshotRecord) and record.messageId in moved and record.messageId in removed:
            new = moved[record.messageId]
            if new:
                working.put(node, "messageId", new)
        elif isinstance(record, CompactBoundaryRecord):
            _rename_preserved(working, node, moved)


def _rename_preserved(working: WorkingFile, node: int, moved: dict[str, str | None]) -> None:
    metadata = rebuild(getattr(working.record(node), "compactMetadata", None))
    if not isinstance(metadata, dict):
        return
    preserved = metadata.get("preservedMessages")
    for name in ("uuids", "allUuids"):
        listed = preserved.get(name) if isinstance(preserved, dict) else None
        if isinstance(listed, list) and any(uuid in moved for uuid in listed):
            working.put(node, ("compactMetadata", "preservedMessages", name), [uuid for uuid in listed if uuid not in moved])
    segment = metadata.get("preservedSegment")
    for name in ("headUuid", "tailUuid"):
        uuid = segment.get(name) if isinstance(segment, dict) else None
        if isinstance(uuid, str) and uuid in moved:
            working.put(node, ("compactMetadata", "preservedSegment", name), moved[uuid] or uuid)
