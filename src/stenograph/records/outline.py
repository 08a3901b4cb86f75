"""The outline of a line: a record with the members that place it in the conversation's tree, and nothing that was said.

For readers that need the graph of a file of any size and nothing that was said in it. In: the decoded members of a line. Out: a
record of the same kind that holds no content.
"""

from __future__ import annotations

from typing import Any

from stenograph.records.envelope import Record
from stenograph.records.json_text import to_text
from stenograph.records.line import decode

#: What the graph and the choice of a leaf look at.
_PLACING = (
    *("type", "subtype", "uuid", "parentUuid", "logicalParentUuid", "isSidechain", "timestamp"),
    *("sessionId", "leafUuid", "explicit"),
)


def outline(members: dict[str, Any]) -> Record:
    kept = {name: members[name] for name in _PLACING if name in members}
    message = members.get("message")
    if isinstance(message, dict):
        content = message.get("content")
        blocks = (
            [_block_outline(block) for block in content]
            if isinstance(content, list)
            else ""
            if isinstance(content, str)
            else None
        )
        kept["message"] = {**({"id": message["id"]} if "id" in message else {}), "content": blocks}
    return decode(to_text(kept))


def _block_outline(block: Any) -> Any:
    """Which call a block is, or answers."""
    return {name: block[name] for name in ("type", "id", "tool_use_id") if name in block} if isinstance(block, dict) else {}
