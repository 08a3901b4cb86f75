"""A plan -> what it removes, piece by piece, found by comparing old and new lines.

Holds transcript content: only for someone who asked to see it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from msgspec import Struct

from stenograph.disk import redacted_repr
from stenograph.inputs import InputKind, classify
from stenograph.records import IMAGES, UserRecord, rebuild
from stenograph.surgery.changes import IMAGE_REMOVED
from stenograph.surgery.plan import Plan
from stenograph.surgery.working import Block, WorkingFile
from stenograph.turns import ToolCall, Turn

#: Block type -> what it is counted as.
_COUNTED = {"thinking": "thinking", "redacted_thinking": "thinking", "image": "images", "document": "documents"}


@redacted_repr
class DroppedTurn(Struct, frozen=True):
    number: int
    prompt: str
    is_condensed: bool


@redacted_repr
class CallChange(Struct, frozen=True):
    turn: int
    tool: str
    #: Characters of the result's texts; None after: the call is gone.
    before: int
    after: int | None


class DroppedBlocks(Struct, frozen=True):
    """Thinking, images and documents that leave a turn that stays."""

    turn: int
    what: str
    count: int


@redacted_repr
class Preview(Struct, frozen=True):
    turns: list[DroppedTurn]
    calls: list[CallChange]
    blocks: list[DroppedBlocks]
    digest: str | None


def preview(plan: Plan) -> Preview:
    working = plan.working
    summaries = [(line.before, text) for line in working.new_lines if (text := _summary(line.record)) is not None]
    first_kept = max((before for before, _ in summaries), default=-1)
    staying, gone = list[Turn](), list[DroppedTurn]()
    for turn in working.session.turns:
        if turn.node in working.gone:
            gone.append(DroppedTurn(turn.number, turn.prompt, turn.node < first_kept))
        else:
            staying.append(turn)
    return Preview(
        turns=gone,
        calls=[change for turn in staying for call in turn.tool_calls if (change := _change(working, turn, call))],
        blocks=[DroppedBlocks(turn.number, what, count) for turn in staying for what, count in _gone_from(working, turn).items()],
        digest="\n\n".join(text for _, text in summaries) if summaries else None,
    )


def _summary(record: object) -> str | None:
    content = (
        rebuild(record.content)
        if isinstance(record, UserRecord) and classify(record).kind is InputKind.COMPACTION_SUMMARY
        else None
    )
    return content if isinstance(content, str) else None


def _change(working: WorkingFile, turn: Turn, call: ToolCall) -> CallChange | None:
    node = call.result_node if 0 <= call.result_node < working.last else None
    before = 0 if node is None else _length(_result(working.blocks_before(node), call.id))
    is_there = call.use_node not in working.gone and any(
        block.get("type") == "tool_use" and block.get("id") == call.id for block in working.blocks(call.use_node) or []
    )
    if not is_there:
        return CallChange(turn.number, call.name, before, None)
    after = 0
    if node is not None:
        old, new = (_result(blocks, call.id) for blocks in (working.blocks_before(node), working.blocks(node) or []))
        # An image's placeholder is not part of the result; it is counted among the blocks.
        after = _length(new) - len(IMAGE_REMOVED) * (_images(old) - _images(new))
    return None if after == before else CallChange(turn.number, call.name, before, after)


def _gone_from(working: WorkingFile, turn: Turn) -> Counter[str]:
    counts: Counter[str] = Counter()
    for node in turn.nodes:
        if node < working.last and (node in working.gone or node in working.changed_nodes()):
            counts.update(_counted(working.blocks_before(node)))
            counts.subtract(_counted([] if node in working.gone else working.blocks(node) or []))
    return +counts


def _counted(blocks: list[Block]) -> Iterator[str]:
    for block in blocks:
        if kind := _COUNTED.get(str(block.get("type"))):
            yield kind
        content = block.get("content")
        if block.get("type") == "tool_result" and isinstance(content, list):
            yield from _counted([inner for inner in content if isinstance(inner, dict)])


def _result(blocks: list[Block], identity: str) -> Any:
    return next((block.get("content") for block in blocks if block.get("tool_use_id") == identity), None)


def _images(content: Any) -> int:
    return sum(isinstance(block, dict) and block.get("type") in IMAGES for block in content) if isinstance(content, list) else 0


def _length(content: Any) -> int:
    if isinstance(content, list):
        return sum(_length(block.get("text")) for block in content if isinstance(block, dict))
    return len(content) if isinstance(content, str) else 0
