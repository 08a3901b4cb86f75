"""A request as bytes: JSON with `messages` last, so that requests of a conversation share a prefix. The only place that knows
cache breakpoints.
"""

from __future__ import annotations

from operator import itemgetter
from typing import Any

import msgspec
from msgspec import Struct, field

from stenograph.model.events import Json


class Request(Struct, kw_only=True):
    """Without `cache_control`, which only `encode_request` adds."""

    model: str
    max_tokens: int
    system: list[Json] = field(default_factory=list)
    tools: list[Json] = field(default_factory=list)
    messages: list[Json]
    #: {"type": "enabled", "budget_tokens": n} or {"type": "adaptive"}
    thinking: Json | None = None
    #: Of models that think as much as they find right.
    effort: str = ""
    stop_sequences: list[str] = field(default_factory=list)
    tool_choice: Json | None = None
    #: For the header `anthropic-beta`.
    betas: list[str] = field(default_factory=list)


#: Of the four breakpoints that a request may have; tools and system take one each.
_MARKED_MESSAGES = 2
_BREAKPOINT = {"type": "ephemeral"}
#: How long such a breakpoint keeps what precedes it.
CACHE_TTL = "5m"
#: Blocks that take a breakpoint: thinking is refused with one, others are unknown.
_MARKABLE = frozenset({"text", "image", "document", "tool_use", "tool_result", "search_result"})


def encode_request(request: Request, *, stream: bool, marks_cache: bool = True) -> bytes:
    """The body for `/v1/messages`. `marks_cache`: with at most four breakpoints, the limit."""
    members: Json = {"model": request.model, "max_tokens": request.max_tokens}
    if stream:
        members["stream"] = True
    if request.stop_sequences:
        members["stop_sequences"] = request.stop_sequences
    members |= _shared_members(request, marks_cache=marks_cache)
    return _encode(members)


def encode_count(request: Request) -> bytes:
    """The body for `/v1/messages/count_tokens`, which refuses answer options."""
    return _encode({"model": request.model, **_shared_members(request, marks_cache=False)})


def _shared_members(request: Request, *, marks_cache: bool) -> Json:
    """In the order in which endpoints cache."""
    tools, system = request.tools, request.system
    # A message marked in this request is unmarked in the next: both must write its text alike.
    messages = list(request.messages)
    if str in set(map(type, map(itemgetter("content"), messages))):
        messages = [_with_blocks(message) for message in messages]
    if marks_cache:
        tools = [*tools[:-1], _marked(tools[-1])] if tools else tools
        system = _with_mark(system)
        for index in _marked_messages(messages):
            messages[index] = {**messages[index], "content": _with_mark(messages[index]["content"])}
    members: Json = {}
    if request.thinking is not None:
        members["thinking"] = request.thinking
    if request.effort:
        members["output_config"] = {"effort": request.effort}
    if request.tool_choice is not None:
        members["tool_choice"] = request.tool_choice
    if tools:
        members["tools"] = tools
    if system:
        members["system"] = system
    members["messages"] = messages
    return members


def _with_blocks(message: Json) -> Json:
    content = message["content"]
    return {**message, "content": [{"type": "text", "text": content}]} if isinstance(content, str) else message


def _marked_messages(messages: list[Json]) -> list[int]:
    """The end of this request, and of the one before, where the cache was written."""
    marked: list[int] = []
    for index in range(len(messages) - 1, -1, -1):
        role = messages[index]["role"]
        if role == "user" or (role == "assistant" and not marked):
            marked.append(index)
        if len(marked) == _MARKED_MESSAGES:
            break
    return marked


def _with_mark(blocks: list[Json]) -> list[Json]:
    for index in range(len(blocks) - 1, -1, -1):
        block = blocks[index]
        # An empty text is refused with a breakpoint.
        if block.get("type") in _MARKABLE and (block["type"] != "text" or block.get("text")):
            return [*blocks[:index], _marked(block), *blocks[index + 1 :]]
    return blocks


def _marked(block: Json) -> Json:
    return {**block, "cache_control": _BREAKPOINT}


def _encode(members: dict[str, Any]) -> bytes:
    try:
        return msgspec.json.encode(members)
    except UnicodeEncodeError:
        import json  # half a surrogate pair, from a command line

        return json.dumps(members, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")
