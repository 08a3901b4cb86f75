"""The links of a working file repaired once all edits are done, so that no edit needs to know about them."""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from uuid import NAMESPACE_URL, uuid5

from stenograph.graph import NOWHERE
from stenograph.records import (
    THINKING,
    AssistantRecord,
    ChainedRecord,
    CompactBoundaryRecord,
    FileHistorySnapshotRecord,
    LastPromptRecord,
    UserRecord,
    moment,
    rebuild,
    to_client_time,
    write,
)
from stenograph.surgery.working import WorkingFile, nearest_outside


def settle(working: WorkingFile, *, prune: bool) -> None:
    """With `prune` nothing that left the conversation stays in the file."""
    if prune:
        working.removed |= working.gone
    _remove_what_would_be_found_again(working)
    if not working.order:
        _thread_siblings(working)
    _relink(working)
    rename_references(working)


def _remove_what_would_be_found_again(working: WorkingFile) -> None:
    """Newer clients look for the other lines of a response, and for results that hang off them (rule 30).

    A line whose response is still in the conversation leaves the file: the others carry the same usage. A result, and what hangs
    off it, goes with its use; of a response that left as a whole it stays, beside it.
    """
    kept: dict[str, list[int]] = {}
    for node in range(working.last):
        if node not in working.gone and (id_ := working.message_id(node)):
            kept.setdefault(id_, []).append(node)
    for node in sorted(working.gone):
        if lines := kept.get(working.message_id(node)):
            working.removed.add(node)
            _keep_usage(working, node, lines)
    use_of = {
        block.get("id"): node
        for node in range(working.last)
        if isinstance(working.graph.records[node], AssistantRecord)
        for block in working.blocks_before(node)
        if block.get("type") == "tool_use"
    }
    for node in sorted(working.gone):
        results = [block for block in working.blocks_before(node) if block.get("type") == "tool_result"]
        uses = [use_of.get(block.get("tool_use_id")) for block in results]
        parent = working.graph.parents[node]
        if uses and (any(use is None or use not in working.gone or use in working.removed for use in uses)):
            working.removed.add(node)
        elif uses and (parent < 0 or parent not in working.gone):
            working.parents[node] = working.uuid(next(use for use in uses if use is not None))
        elif parent in working.removed and not isinstance(working.graph.records[node], UserRecord | AssistantRecord):
            working.removed.add(node)


def _keep_usage(working: WorkingFile, removed: int, lines: list[int]) -> None:
    """Lines of one response mostly carry one usage; where the line that leaves has more (2.1.45), another gets it."""
    usage = _usage(working, removed)
    if usage is not None and all(_tokens(usage) > _tokens(_usage(working, line)) for line in lines):
        working.put(lines[-1], ("message", "usage"), usage)


def _usage(working: WorkingFile, node: int) -> dict[str, Any] | None:
    record = working.record(node)
    usage = rebuild(record.message.usage) if isinstance(record, AssistantRecord) and record.message else None
    return usage if isinstance(usage, dict) else None


def _thread_siblings(working: WorkingFile) -> None:
    """Lines of a response beside the chain, found by the one that was on it (rule 30), take its place when it goes.

    They and what follows them beside the chain hang one off the other (rule 59), and the chain continues from the last: hung off
    their response alone they would be a branch that nobody resumes.
    """
    on_chain = set(working.chain) - working.gone
    kept_ids = {working.message_id(node) for node in on_chain if not _is_thinking_alone(working, node)}
    lost_ids = {working.message_id(node) for node in working.chain if node in working.gone} - kept_ids - {""}
    above, is_beside = NOWHERE, False
    for node in working.sent:
        if node in working.gone:
            continue
        if node not in on_chain and not is_beside and working.message_id(node) not in lost_ids:
            continue
        if node not in on_chain or is_beside:
            working.parents[node] = working.name_of(above)
        above, is_beside = node, node not in on_chain


def _is_thinking_alone(working: WorkingFile, node: int) -> bool:
    """With it alone a client that finds no other lines of the response would send no answer."""
    blocks = working.blocks(node)
    return bool(blocks) and all(block.get("type") in THINKING for block in blocks or ())


def _relink(working: WorkingFile) -> None:
    not_removed: dict[int, int] = {}
    for node in range(working.last):
        record = working.record(node)
        if node in working.removed or not isinstance(record, ChainedRecord):
            continue
        if node in working.parents:
            working.put(node, "parentUuid", working.parents[node])
            continue
        parent = working.graph.parents[node]
        if parent < 0:
            continue
        if node in working.gone:
            parent = nearest_outside(working.graph.parents, working.removed, parent, not_removed)
            if parent != working.graph.parents[node]:
                working.put(node, "parentUuid", working.name_of(parent))
        elif parent in working.gone:
            working.put(node, "parentUuid", working.name_of(working.nearest_kept(node)))


def _tokens(usage: dict[str, Any] | None) -> int:
    counts = [(usage or {}).get(name) for name in ("input_tokens", "output_tokens")]
    return sum(count for count in counts if isinstance(count, int))


def rename_references(working: WorkingFile) -> None:
    """In last-prompt lines, snapshots of files and lists of preserved messages."""
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


def mark_the_end(working: WorkingFile) -> None:
    """Add a line behind the last one that stays, the last in the file and the newest in time: every client continues there.

    Clients take system lines of this kind for the end of a chain and send none.
    """
    leaf = next((node for node in reversed(working.chain) if node not in working.gone), NOWHERE)
    record = working.record(leaf) if leaf >= 0 else None
    if not isinstance(record, ChainedRecord) or not record.uuid:
        return
    staying = [working.record(node) for node in range(working.last) if node not in working.removed]
    chained = [other for other in staying if isinstance(other, ChainedRecord)]
    newest = max((at for other in chained if (at := moment(other.timestamp))), default=None)
    marker = write.chained(
        write.informational_members("The conversation continues from here: what came after was removed."),
        uuid=str(uuid5(NAMESPACE_URL, f"stenograph end {working.session.id} {record.uuid} {len(working.gone)}")),
        parent=record.uuid,
        timestamp=to_client_time(newest + timedelta(milliseconds=1)) if newest else record.timestamp or None,
        shared=write.shared_with(record, without=["slug"]),
    )
    working.add(marker, working.last)
