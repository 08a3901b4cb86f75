"""Older turns -> a boundary and a summary, as clients write them when they compact a conversation (rules 48 to 50).

The lines of the turns stay in the file, before the boundary; no client sends them from there.
"""

from __future__ import annotations

from collections import Counter
from uuid import NAMESPACE_URL, uuid5

from msgspec.structs import replace

from stenograph.errors import UsageError
from stenograph.records import ChainedRecord, UserRecord, write
from stenograph.surgery.choose import turns_of
from stenograph.surgery.digest import digest
from stenograph.surgery.edits import Compress
from stenograph.surgery.reach import is_condensed
from stenograph.surgery.working import WorkingFile
from stenograph.turns import Turn


def compress(working: WorkingFile, edit: Compress) -> Counter[str]:
    """Raises UsageError where the selection is not the beginning of the conversation, or all of it.

    What an earlier edit dropped is not in the digest.
    """
    staying = [turn for turn in working.session.turns if turn.node not in working.gone]
    turns = [turn for turn in turns_of(working.session, edit.which) if turn.node not in working.gone]
    if not turns or is_condensed(working, turns[-1]):
        return Counter()
    if [turn.node for turn in turns] != [turn.node for turn in staying[: len(turns)]]:
        raise UsageError("only the oldest turns can be compressed; use --keep-last, --before or --older-than")
    if len(turns) == len(staying):
        raise UsageError("cannot compress the newest turn; use at least --keep-last 1")
    first_kept = staying[len(turns)].node
    text = digest(
        working.session,
        _as_edited(working, turns),
        # A summary survives its turn: it stands for what was said before.
        [each.summary for turn in working.session.turns if turn.node < first_kept for each in turn.compactions],
        keep_tool_calls=edit.keep_tool_calls,
    )
    _put_in(working, first_kept, text)
    return Counter(turns=len(turns), characters=len(text))


def _as_edited(working: WorkingFile, turns: list[Turn]) -> list[Turn]:
    context = working.session.context
    changed = working.changed_nodes() & context.uses_at.keys()
    if not (changed or working.gone):
        return turns
    left = {node: {block.get("id") for block in working.blocks(node) or ()} for node in changed}
    uses_at = {node: [use for use in context.uses_at[node] if use.id in left[node]] for node in changed}
    edited = replace(context, uses_at={**context.uses_at, **uses_at})
    return [replace(turn, context=edited, nodes=tuple(node for node in turn.nodes if node not in working.gone)) for turn in turns]


def _put_in(working: WorkingFile, first_kept: int, text: str) -> None:
    record = working.graph.records[first_kept]
    if not isinstance(record, UserRecord) or not isinstance(record.timestamp, str):
        raise UsageError("the first kept turn has no timestamp on its prompt; keep one turn more or fewer")
    before = [node for node in working.chain if node < first_kept]
    last = next((other for node in reversed(before) if isinstance(other := working.graph.records[node], ChainedRecord)), None)
    name = f"stenograph compress {working.session.id} {record.uuid}"
    shared, time = write.shared_with(record), record.timestamp
    boundary = write.chained(
        write.boundary_members(
            logical_parent=(last.uuid or None) if last else None, trigger="manual", before=_tokens_before(working, first_kept)
        ),
        uuid=str(uuid5(NAMESPACE_URL, f"{name} boundary")),
        parent=None,
        timestamp=time,
        shared=shared,
    )
    summary = write.chained(
        write.summary_members(text),
        uuid=str(uuid5(NAMESPACE_URL, f"{name} summary")),
        parent=boundary["uuid"],
        timestamp=time,
        shared=shared,
    )
    for members in (boundary, summary):
        working.add(members, first_kept)
    working.leave_behind(first_kept)
    working.parents[first_kept] = summary["uuid"]


def _tokens_before(working: WorkingFile, node: int) -> int:
    """The tokens of the last prompt that was sent before a node, as the endpoint counted them."""
    calls = [call for turn in working.session.turns if turn.node < node for call in turn.calls]
    return calls[-1].tokens.prompt if calls else 0
