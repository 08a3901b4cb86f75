"""The API message inside a user or assistant record, and its token counts."""

from __future__ import annotations

import msgspec
from msgspec import UNSET, Struct

from stenograph.records.blocks import Content, read_parts
from stenograph.records.json_text import REFUSALS
from stenograph.records.readers import array_of
from stenograph.records.shape import Json, Later, Opt, Parts, Shape, ShapeReader, later, once, read_later
from stenograph.records.token_counts import TokenCounts, split_cache_writes, valid_count


class CacheCreation(Shape):
    """Tokens written to the prompt cache, by how long they are kept there."""

    ephemeral_5m_input_tokens: Opt[int] = UNSET
    ephemeral_1h_input_tokens: Opt[int] = UNSET


class ServerToolUse(Shape):
    web_search_requests: Opt[int] = UNSET
    web_fetch_requests: Opt[int] = UNSET


class Usage(Shape):
    """Tokens of one API response. Every line of the response repeats it, or holds a growing part: that with the most counts."""

    # Neither read from the cache nor written to it.
    input_tokens: Opt[int] = UNSET
    output_tokens: Opt[int] = UNSET
    cache_creation_input_tokens: Opt[int] = UNSET
    cache_read_input_tokens: Opt[int] = UNSET
    cache_creation_raw: Later = later("cache_creation")
    server_tool_use_raw: Later = later("server_tool_use")
    iterations_raw: Later = later("iterations")
    service_tier: Opt[str] = UNSET
    inference_geo: Opt[str] = UNSET
    speed: Opt[str] = UNSET
    # In `iterations`: what was asked for, and which model where it is not the response's own (an advisor's).
    type: Opt[str] = UNSET
    model: Opt[str] = UNSET
    output_tokens_details: Opt[dict[str, Json]] = UNSET
    fallback_credit: Json = UNSET

    @once
    def cache_creation(self) -> Opt[CacheCreation]:
        return read_later(self.cache_creation_raw, _read_cache_creation)

    @once
    def server_tool_use(self) -> Opt[ServerToolUse]:
        return read_later(self.server_tool_use_raw, _read_server_tool_use)

    def counts(self) -> TokenCounts:
        """What it counts for itself, without advisors in `iterations`. What is not a count is 0."""
        split, searches = self.cache_creation, self.server_tool_use
        short = valid_count(split.ephemeral_5m_input_tokens) if split else 0
        hour = valid_count(split.ephemeral_1h_input_tokens) if split else 0
        return TokenCounts(
            valid_count(self.input_tokens),
            valid_count(self.output_tokens),
            valid_count(self.cache_read_input_tokens),
            *split_cache_writes(valid_count(self.cache_creation_input_tokens), short, hour),
            valid_count(searches.web_search_requests) if searches else 0,
        )

    @once
    def iterations(self) -> Opt[tuple[Usage | Json, ...]]:
        return read_later(self.iterations_raw, _read_iterations)


class RecordMessage(Shape):
    """A message of the API; `timestamp` only in flat lines of other tools."""

    role: Opt[str] = UNSET
    content_raw: Parts = later("content")
    timestamp: Opt[str] = UNSET

    @once
    def content(self) -> Opt[Content]:
        return read_parts(self.content_raw)


class AssistantMessage(RecordMessage):
    """One API response, or one of its blocks: all lines with the same `id` belong together."""

    id: Opt[str] = UNSET
    type: Opt[str] = UNSET
    # `<synthetic>` when the client made the message up itself.
    model: Opt[str] = UNSET
    # Null on all lines in some releases: never a sign of the end.
    stop_reason: Opt[str] = UNSET
    stop_sequence: Opt[str] = UNSET
    stop_details: Json = UNSET
    usage_raw: Later = later("usage")
    service_tier: Opt[str] = UNSET
    container: Json = UNSET
    context_management: Opt[dict[str, Json]] = UNSET
    diagnostics: Opt[dict[str, Json]] = UNSET

    @once
    def usage(self) -> Opt[Usage]:
        return read_later(self.usage_raw, read_usage)


class PlainMessage(Struct):
    """Of a message what a resume needs of it, as plain JSON."""

    content: Json = UNSET
    id: Json = UNSET
    model: Json = UNSET


def read_plain_message(text: Later) -> PlainMessage | None:
    """The message in one pass; None when it is absent, no object, or can only be read the slow way."""
    try:
        return None if text is UNSET else _decode_plain(text)
    except REFUSALS:
        return None


_decode_plain = msgspec.json.Decoder(PlainMessage).decode
_read_cache_creation = ShapeReader(CacheCreation)
_read_server_tool_use = ShapeReader(ServerToolUse)
read_usage = ShapeReader(Usage)
_read_iterations = array_of(read_usage)
read_message = ShapeReader(RecordMessage)
read_assistant_message = ShapeReader(AssistantMessage)
