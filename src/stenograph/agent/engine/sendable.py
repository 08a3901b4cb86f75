"""Messages of a session that anybody may have written -> messages that an endpoint accepts.

Malformed blocks are dropped; a call and its result stay or go together. Unknown kinds of blocks stay.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from stenograph.messages import NO_CONTENT, is_thinking, text_block
from stenograph.records import Json


def sendable(messages: Sequence[Json]) -> Sequence[Json]:
    """The messages without malformed blocks and what belongs to them."""
    blocks = [block for message in messages for block in message["content"]]
    if all(map(_is_whole, blocks)):
        return messages
    whole = [block for block in blocks if _is_block(block)]
    calls = {block["id"] for block in whole if block["type"] == "tool_use"}
    results = {block["tool_use_id"] for block in whole if block["type"] == "tool_result"}
    paired = calls & results
    kept: list[Json] = []
    for message in messages:
        content = [_with_parts(block) for block in message["content"] if _is_block(block) and _is_paired(block, paired)]
        if message["role"] == "assistant":
            # A response must not be left with thinking alone (rule 32).
            if not all(map(is_thinking, content)):
                kept.append({**message, "content": content})
        elif content:
            kept.append({**message, "content": content})
        elif not kept or kept[-1]["role"] == "assistant":
            # As the newest client does with a message left empty without its results (rule 44).
            kept.append({**message, "content": [text_block(NO_CONTENT)]})
    return kept


def _is_whole(block: Any) -> bool:
    return _is_block(block) and (block["type"] != "tool_result" or _are_parts(block.get("content")))


def _is_block(block: Any) -> bool:
    if not isinstance(block, dict):
        return False
    kind = block.get("type")
    if kind == "text":
        return isinstance(block.get("text"), str)
    if kind == "tool_use":
        return isinstance(block.get("id"), str) and isinstance(block.get("name"), str) and isinstance(block.get("input"), dict)
    if kind == "tool_result":
        return isinstance(block.get("tool_use_id"), str)
    return isinstance(kind, str)


def _are_parts(content: Any) -> bool:
    return content is None or isinstance(content, str) or (isinstance(content, list) and all(map(_is_block, content)))


def _with_parts(block: Json) -> Json:
    if block["type"] != "tool_result" or _are_parts(block.get("content")):
        return block
    content = block["content"]
    parts: Iterable[Any] = content if isinstance(content, list) else ()
    return {**block, "content": [part for part in parts if _is_block(part)]}


def _is_paired(block: Json, paired: set[str]) -> bool:
    if block["type"] == "tool_use":
        return block["id"] in paired
    return block["type"] != "tool_result" or block["tool_use_id"] in paired
