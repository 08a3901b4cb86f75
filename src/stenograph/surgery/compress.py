"""Older turns -> a boundary and a summary, as clients write them when they compact a conversation (rules 48 to 50).

The lines of the turns stay in the file, before the boundary, where no client sends them from.
"""

from __future__ import annotations

from collections import Counter
from typing import Any
from uuid import NAMESPACE_URL, uuid5

from stenograph.errors import UsageError
from stenograph.records import ChainedRecord, UserRecord
from stenograph.surgery.choose import turns_of
from stenograph.surgery.digest import digest
from stenograph.surgery.edits import Compress
from stenograph.surgery.reach import is_condensed
from stenograph.surgery.working import ENVELOPE, Working
from stenograph.turns import Tokens


def compress(working: Working, edit: Compress) -> Counter[str]:
    """Condense the oldest turns. Raises UsageError where the selection is not the beginning of the conversation, or all of it."""
    turns = turns_of(working.session, edit.which)
    numbers = [turn.number for turn in working.session.turns]
    if not turns or is_condensed(working, turns[-1]):
        return Counter()
    if [turn.number for turn in turns] != numbers[: len(turns)]:
        raise UsageError("only the oldest turns can be compressed: choose all but the last ones, or those before a time")
    if len(turns) == len(numbers):
        raise UsageError("the newest turn can't be compressed: keep at least one")
    first_kept = working.session.turns[len(turns)].node
    text = digest(working.session, turns, keep_tool_calls=edit.keep_tool_calls)
    _put_in(working, first_kept, text)
    return Counter(turns=len(turns), characters=len(text))


def _put_in(working: Working, first_kept: int, text: str) -> None:
    record = working.graph.records[first_kept]
    if not isinstance(record, UserRecord) or not isinstance(record.timestamp, str):
        raise UsageError("the first turn that is kept does not begin with a prompt that has a time")
    before = [node for node in working.chain if node < first_kept]
    last = next((other for node in reversed(before) if isinstance(other := working.graph.records[node], ChainedRecord)), None)
    name = f"stenograph compress {working.session.id} {record.uuid}"
    envelope = {field: value for field in ENVELOPE if isinstance(value := getattr(record, field), str)}
    boundary: dict[str, Any] = {
        "parentUuid": None,
        "logicalParentUuid": last.uuid if last else None,
        "isSidechain": False,
        **envelope,
        "type": "system",
        "subtype": "compact_boundary",
        "content": "Conversation compacted",
        "isMeta": False,
        "timestamp": record.timestamp,
        "uuid": str(uuid5(NAMESPACE_URL, f"{name} boundary")),
        "level": "info",
        "compactMetadata": {"trigger": "manual", "preTokens": _tokens_before(working, first_kept)},
    }
    summary: dict[str, Any] = {
        "parentUuid": boundary["uuid"],
        "isSidechain": False,
        **envelope,
        "type": "user",
        "message": {"role": "user", "content": text},
        "isVisibleInTranscriptOnly": True,
        "isCompactSummary": True,
        "uuid": str(uuid5(NAMESPACE_URL, f"{name} summary")),
        "timestamp": record.timestamp,
    }
    for members in (boundary, summary):
        working.add(members, first_kept)
    working.leave_behind(first_kept)
    working.parents[first_kept] = summary["uuid"]


def _tokens_before(working: Working, node: int) -> int:
    """The tokens of the last prompt that was sent before a node, as the endpoint counted them."""
    calls = [call for turn in working.session.turns if turn.node < node for call in turn.calls]
    tokens = calls[-1].tokens if calls else Tokens()
    return tokens.input + tokens.cache_read + tokens.cache_write
