"""A named partial read: the lines that say what a response used, out of a lot of lines, without decoding any other.

In: whole lines. Out: one `UsageLine` per line of a response that has token counts, with the few members that counting needs, and
the client's own totals. As tolerant as the other readers: a line that msgspec refuses goes the slow way, and a count that is not
one is 0.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any

import msgspec
from msgspec import Meta, Raw, Struct

from stenograph.records.json_text import REFUSALS, parse_or_unset
from stenograph.records.markers import SYNTHETIC

# More tokens than any response has, and few enough that the sum over any home fits into 64 bits of the smallest unit of money.
_Count = Annotated[int, Meta(ge=0, le=10**9)] | None
# Longer than `"usage"`, so found sooner: every usage counts them.
_HINT = b'"output_tokens"'
_TOTAL = b'"cost-state"'
_ADVISOR = b'"advisor_message"'


class TokenCounts(Struct, frozen=True, gc=False):
    """Tokens of one response at one price, as a client counts them."""

    input: int
    output: int
    cache_read: int
    cache_write_5m: int
    cache_write_1h: int
    web_searches: int = 0

    @property
    def prompt(self) -> int:
        return self.input + self.cache_read + self.cache_write_5m + self.cache_write_1h

    @property
    def total(self) -> int:
        return self.prompt + self.output


class _Block(Struct, gc=False):
    type: str | None = None
    name: str | None = None


class _Written(Struct, gc=False):
    ephemeral_5m_input_tokens: _Count = 0
    ephemeral_1h_input_tokens: _Count = 0


class _Searches(Struct, gc=False):
    web_search_requests: _Count = 0


class _Details(Struct, gc=False):
    thinking_tokens: _Count = 0


class UsageCounts(Struct, gc=False):
    input_tokens: _Count = 0
    output_tokens: _Count = 0
    cache_creation_input_tokens: _Count = 0
    cache_read_input_tokens: _Count = 0
    cache_creation: _Written | None = None
    server_tool_use: _Searches | None = None
    output_tokens_details: _Details | None = None
    service_tier: str | None = None
    inference_geo: str | None = None
    speed: str | None = None
    iterations: Raw = Raw(b"")

    def tokens(self) -> TokenCounts:
        """Without a split all cache writes are for five minutes. If total and split disagree, the total counts, unless 0."""
        split = self.cache_creation
        hour = (split.ephemeral_1h_input_tokens or 0) if split else 0
        total = self.cache_creation_input_tokens or (((split.ephemeral_5m_input_tokens or 0) if split else 0) + hour)
        hour = hour if hour < total else total
        return TokenCounts(
            self.input_tokens or 0,
            self.output_tokens or 0,
            self.cache_read_input_tokens or 0,
            total - hour,
            hour,
            (self.server_tool_use.web_search_requests or 0) if self.server_tool_use else 0,
        )

    def advisors(self) -> list[tuple[str, TokenCounts]]:
        """An advisor's own tokens by its model: they are not in `tokens()`. Its searches are not charged."""
        if _ADVISOR not in bytes(self.iterations):
            return []
        items = parse_or_unset(self.iterations)
        found = [item for item in items if isinstance(item, dict)] if isinstance(items, list) else []
        return [
            (item["model"], _as(UsageCounts, {**item, "server_tool_use": None}).tokens())
            for item in found
            if item.get("type") == "advisor_message" and isinstance(item.get("model"), str)
        ]


class UsageMessage(Struct, gc=False):
    usage: UsageCounts | None = None
    id: str | None = None
    model: str | None = None
    stop_reason: str | None = None
    content: list[_Block] | str | None = None


class UsageLine(Struct, gc=False):
    """A line of a response, with the token counts that it repeats. Members are those of the line."""

    type: str | None = None
    message: UsageMessage | None = None
    #: Charged, whichever model answered.
    requestedModel: str | None = None
    timestamp: str | None = None
    version: str | None = None
    sessionId: str | None = None
    cwd: str | None = None
    gitBranch: str | None = None
    isSidechain: bool | None = None
    isAbortedMidStream: bool | None = None
    attributionAgent: str | None = None
    forkedFrom: Raw = Raw(b"")
    #: Where the line begins and ends; not members of the line.
    start: int = -1
    stop: int = -1

    @property
    def is_copy(self) -> bool:
        """Whether a fork copied it from another session."""
        return bytes(self.forkedFrom) not in (b"", b"null")

    def tools(self) -> list[str]:
        """The names of the tools that it calls."""
        blocks = self.message.content if self.message and isinstance(self.message.content, list) else ()
        return [block.name for block in blocks if block.name and block.type == "tool_use"]


class _AgentMessage(Struct, gc=False):
    type: str | None = None
    timestamp: str | None = None
    message: UsageMessage | None = None


class _AgentProgress(Struct, gc=False):
    message: _AgentMessage | None = None


class _ProgressLine(Struct, gc=False):
    data: _AgentProgress | None = None


_decode = msgspec.json.Decoder(UsageLine).decode
_decode_progress = msgspec.json.Decoder(_ProgressLine).decode


def usage_lines(block: bytes, offset: int = 0) -> Iterator[UsageLine]:
    """The lines of responses with token counts among whole lines, of which the first begins at `offset`."""
    find, rfind = block.find, block.rfind
    place = find(_HINT)
    while place >= 0:
        start = rfind(b"\n", 0, place) + 1
        stop = find(b"\n", place)
        stop = stop if stop >= 0 else len(block)
        data = block[start:stop]
        try:
            line = _decode(data)
        except REFUSALS:
            line = _tidied(parse_or_unset(data))
        if line.type == "progress":
            _take_response(line, data)
        message = line.message
        if line.type == "assistant" and message is not None and message.usage is not None and message.model != SYNTHETIC:
            line.start = offset + start
            line.stop = offset + stop
            yield line
        place = find(_HINT, stop)


def _take_response(line: UsageLine, data: bytes) -> None:
    """Make of a progress line the line of the response that it repeats: a subagent's, whose own file may be gone."""
    try:
        progress = _decode_progress(data).data
    except REFUSALS:
        return
    inner = progress.message if progress else None
    if inner is not None and inner.type == "assistant":
        line.type = inner.type
        line.message = inner.message
        line.timestamp = inner.timestamp or line.timestamp
        line.isSidechain = True
        line.forkedFrom = Raw(b"{}")


def last_total(block: bytes) -> float | None:
    """The client's own total, in USD, by the last of some whole lines to name one."""
    place = block.rfind(_TOTAL)
    while place >= 0:
        start = block.rfind(b"\n", 0, place) + 1
        stop = block.find(b"\n", place)
        line = parse_or_unset(block[start : stop if stop >= 0 else len(block)])
        if isinstance(line, dict) and line.get("type") == "cost-state":
            total = line.get("totalCostUSD")
            if isinstance(total, int | float) and not isinstance(total, bool) and 0 <= total < 10**9:
                return float(total)
        place = block.rfind(_TOTAL, 0, start)
    return None


class _SaidBlock(Struct, gc=False):
    text: str = ""
    thinking: str = ""
    input: Raw = Raw(b"")
    id: str = ""


class _SaidMessage(Struct, gc=False):
    content: list[_SaidBlock] | str = ""


class _Said(Struct, gc=False):
    message: _SaidMessage


_read_said = msgspec.json.Decoder(_Said).decode


def characters_written(line: bytes, known: set[int] | None = None) -> int:
    """How much text, thinking and tool input a line of a response holds, in characters; 0 for a line that is not as expected.

    A block in `known` counts nothing, and others are added to it: 1.0 wrote a history again into the same file.
    """
    try:
        content = _read_said(line).message.content
    except REFUSALS:
        return 0
    blocks = [_SaidBlock(content)] if isinstance(content, str) else content
    written = 0
    for block in blocks:
        given = bytes(block.input)
        if known is not None:
            said = hash((block.text, block.thinking, given, block.id))
            if said in known:
                continue
            known.add(said)
        written += len(block.text) + len(block.thinking) + len(given)
    return written


def _tidied(value: Any) -> UsageLine:
    """A line that is not as expected, with what is unexpected left out."""
    if not isinstance(value, dict) or not isinstance(value.get("message"), dict):
        return UsageLine()
    message = value["message"]
    usage, content = message.get("usage"), message.get("content")
    line: UsageLine = _as(UsageLine, {**value, "message": None})
    line.message = _as(UsageMessage, {**message, "usage": None, "content": None})
    if isinstance(content, list):
        line.message.content = [_as(_Block, block) for block in content if isinstance(block, dict)]
    if isinstance(usage, dict):
        line.message.usage = _as(UsageCounts, usage)
    return line


def _as(shape: type[Any], members: dict[str, Any]) -> Any:
    """A struct of those members that are what it expects; the others have their defaults."""
    found = shape()
    inner = {"cache_creation": _Written, "server_tool_use": _Searches, "output_tokens_details": _Details}
    for field in msgspec.structs.fields(shape):
        value = members.get(field.name)
        if field.name in inner and isinstance(value, dict):
            setattr(found, field.name, _as(inner[field.name], value))
        elif field.type is Raw:
            setattr(found, field.name, Raw(msgspec.json.encode(value)))
        elif value is not None and field.name not in inner:
            try:
                setattr(found, field.name, msgspec.convert(value, field.type))
            except (msgspec.ValidationError, OverflowError):
                continue
    return found
