"""A named partial read: the lines that say what a response used, out of a lot of lines, without decoding any other.

In: whole lines. Out: one `UsageLine` per line of a response that has token counts, with the few members that counting needs, and
the client's own totals. As tolerant as the other readers: a line that msgspec refuses is read the slow way, without the members
that are not as expected, and a count that is not one is 0.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any

import msgspec
from msgspec import UNSET, Meta, Raw, Struct, UnsetType

from stenograph.records.json_text import REFUSALS, parse_or_unset, to_text, without_halves
from stenograph.records.markers import SYNTHETIC
from stenograph.records.token_counts import MOST_TOKENS, TokenCounts, split_cache_writes

_Count = Annotated[int, Meta(ge=0, le=MOST_TOKENS)] | None
# Longer than `"usage"`, so found sooner: every usage counts them.
_HINT = b'"output_tokens"'
_TOTAL = b'"cost-state"'
# How the message of a line of what was sent begins: it has no usage, and most of a session's bytes. Looked for where that is
# quicker than searching the whole line.
_MESSAGE = b'"message":{'
_SENT = b'"role":"user"'
_LONG = 2_000
_BEFORE_MESSAGE = 1_000
_ADVISOR = b'"advisor_message"'
_MOST_USD = 10**9


class _Block(Struct, gc=False):
    type: str | None = None
    name: str | None = None
    id: str | None = None


class _Written(Struct, gc=False):
    ephemeral_5m_input_tokens: _Count = 0
    ephemeral_1h_input_tokens: _Count = 0


_NOTHING_WRITTEN = _Written()


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
    iterations: Raw | UnsetType = UNSET

    def tokens(self) -> TokenCounts:
        split = self.cache_creation or _NOTHING_WRITTEN
        short, hour = split.ephemeral_5m_input_tokens or 0, split.ephemeral_1h_input_tokens or 0
        return TokenCounts(
            self.input_tokens or 0,
            self.output_tokens or 0,
            self.cache_read_input_tokens or 0,
            *split_cache_writes(self.cache_creation_input_tokens or 0, short, hour),
            (self.server_tool_use.web_search_requests or 0) if self.server_tool_use else 0,
        )

    def advisors(self) -> list[tuple[str, TokenCounts]]:
        """An advisor's own tokens by its model: they are not in `tokens()`. Its searches are not charged."""
        if self.iterations is UNSET or _ADVISOR not in bytes(self.iterations):
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
    """A line of a response, with the token counts that it repeats, or with the client's own total. Members are the line's."""

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
    forkedFrom: Raw | UnsetType = UNSET
    totalCostUSD: Any = None
    #: Where the line begins and ends; not members of the line.
    start: int = -1
    stop: int = -1

    @property
    def is_copy(self) -> bool:
        """Whether a fork copied it from another session."""
        return self.forkedFrom is not UNSET and bytes(self.forkedFrom) != b"null"

    @property
    def client_total(self) -> float | None:
        """The client's own total up to here, in USD."""
        total = self.totalCostUSD
        is_number = isinstance(total, int | float) and not isinstance(total, bool)
        return float(total) if self.type == "cost-state" and is_number and 0 <= total < _MOST_USD else None

    def tools(self, known: set[str] | None = None) -> list[str]:
        """The names of the tools that it calls. An id in `known` is left out, and others are added to it: a resume may write
        lines again."""
        known = set() if known is None else known
        content = self.message.content if self.message else None
        found = []
        for block in content if isinstance(content, list) else ():
            if block.name and block.type == "tool_use" and (not block.id or block.id not in known):
                known.add(block.id or "")
                found.append(block.name)
        return found


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


def usage_lines(block: bytes | bytearray, offset: int = 0, end: int | None = None) -> Iterator[UsageLine]:
    """Of whole lines up to `end`, the first of which begins at `offset`: those of responses with token counts, and those with the
    client's own total."""
    find = block.find
    end = len(block) if end is None else end
    start = 0
    while start < end:
        stop = find(b"\n", start, end)
        stop = stop if stop >= 0 else end
        if (stop - start < _LONG or not _was_sent(block, start)) and (
            find(_HINT, start, stop) >= 0 or find(_TOTAL, start, stop) >= 0
        ):
            line = _read(block[start:stop])
            message = line.message
            has_usage = message is not None and message.usage is not None and message.model != SYNTHETIC
            if (line.type == "assistant" and has_usage) or line.client_total is not None:
                line.start = offset + start
                line.stop = offset + stop
                yield line
        start = stop + 1


def _was_sent(block: bytes | bytearray, start: int) -> bool:
    """Whether a line certainly holds what was sent to the model, by its first bytes.

    `message` is the line's own member: no other object has begun before it, and in a text its quotes would be escaped.
    """
    place = block.find(_MESSAGE, start, start + _BEFORE_MESSAGE)
    return place >= 0 and block.startswith(_SENT, place + len(_MESSAGE)) and block.count(b"{", start, place) == 1


def _read(data: bytes | bytearray) -> UsageLine:
    try:
        line = _decode(data)
    except REFUSALS:
        line = _tidied(parse_or_unset(bytes(data)))
    if line.type == "progress":
        _take_response(line, data)
    return line


def _take_response(line: UsageLine, data: bytes | bytearray) -> None:
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


def characters_written(line: bytes | bytearray, known: set[int] | None = None) -> int:
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
    if not isinstance(value, dict):
        return UsageLine()
    line: UsageLine = _as(UsageLine, {**value, "message": None})
    message = value.get("message")
    if not isinstance(message, dict):
        return line
    usage, content = message.get("usage"), message.get("content")
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
        value = without_halves(value) if isinstance(value, str) else value  # what is stored has to be UTF-8
        if field.name in inner and isinstance(value, dict):
            setattr(found, field.name, _as(inner[field.name], value))
        elif value is not None and field.name not in inner:
            try:
                setattr(found, field.name, Raw(to_text(value)) if field.default is UNSET else msgspec.convert(value, field.type))
            except (msgspec.ValidationError, OverflowError, RecursionError):
                continue
    return found
