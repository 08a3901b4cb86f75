"""The content blocks inside messages, as the Messages API and the clients spell them."""

from __future__ import annotations

from typing import TypeAlias

import msgspec
from msgspec import UNSET, Raw, UnsetType

from stenograph.records.json_text import REFUSALS, parse, parse_or_unset
from stenograph.records.readers import TaggedReader, array_of
from stenograph.records.shape import Json, Later, Opt, Parts, Shape, ShapeReader, later, once, read_later

THINKING = frozenset({"thinking", "redacted_thinking"})
IMAGES = frozenset({"image", "document"})


class Block(Shape):
    """One content block. An unknown type of block is an `UnknownBlock`."""


class UnknownBlock(Block):
    """A block of a type not described here; what it holds is in `extra`."""

    type: Opt[str] = UNSET


class TextBlock(Block, tag_field="type", tag="text"):
    text: Opt[str] = UNSET


class ThinkingBlock(Block, tag_field="type", tag="thinking"):
    # Empty from 2.1.78 on: only the signature is kept then.
    thinking: Opt[str] = UNSET
    signature: Opt[str] = UNSET


class RedactedThinkingBlock(Block, tag_field="type", tag="redacted_thinking"):
    data: Opt[str] = UNSET


class ToolUseBlock(Block, tag_field="type", tag="tool_use"):
    # Any string: `toolu_…` by the vendor, `call_…` and others by other providers.
    id: Opt[str] = UNSET
    # Not a closed set: garbled model output occurs in real files.
    name: Opt[str] = UNSET
    input_raw: Later = later("input")
    caller: Opt[dict[str, Json]] = UNSET

    @once
    def input(self) -> Opt[dict[str, Json]]:
        return read_later(self.input_raw, _read_object)


class ServerToolUseBlock(Block, tag_field="type", tag="server_tool_use"):
    id: Opt[str] = UNSET
    name: Opt[str] = UNSET
    input_raw: Later = later("input")

    @once
    def input(self) -> Opt[dict[str, Json]]:
        return read_later(self.input_raw, _read_object)


class ToolResultBlock(Block, tag_field="type", tag="tool_result"):
    tool_use_id: Opt[str] = UNSET
    content_raw: Later = later("content")
    is_error: Opt[bool] = UNSET

    @once
    def content(self) -> Opt[Content]:
        return read_later(self.content_raw, read_content)


class Source(Shape):
    """The bytes of an image or a document, or where they are."""

    type: Opt[str] = UNSET
    media_type: Opt[str] = UNSET
    data: Opt[str] = UNSET
    url: Opt[str] = UNSET


class ImageBlock(Block, tag_field="type", tag="image"):
    source_raw: Later = later("source")

    @once
    def source(self) -> Opt[Source]:
        return read_later(self.source_raw, _read_source)


class DocumentBlock(Block, tag_field="type", tag="document"):
    source_raw: Later = later("source")

    @once
    def source(self) -> Opt[Source]:
        return read_later(self.source_raw, _read_source)


class ToolReferenceBlock(Block, tag_field="type", tag="tool_reference"):
    tool_name: Opt[str] = UNSET


# A string, or blocks in order (a non-object among them stays plain JSON).
Content: TypeAlias = str | tuple[Block | Json, ...]

read_block: TaggedReader[Block] = TaggedReader(
    TextBlock,
    ThinkingBlock,
    RedactedThinkingBlock,
    ToolUseBlock,
    ServerToolUseBlock,
    ToolResultBlock,
    ImageBlock,
    DocumentBlock,
    ToolReferenceBlock,
    otherwise=UnknownBlock,
)
_read_source = ShapeReader(Source)
_read_blocks = array_of(read_block)
_decode_string = msgspec.json.Decoder(str).decode
_decode_object = msgspec.json.Decoder(dict[str, Json]).decode


def read_content(text: Raw) -> Content | UnsetType:
    """The content of a message or of a tool result; UNSET when it is neither a string nor an array."""
    try:
        return _decode_string(text)  # nearly all tool results are strings
    except msgspec.ValidationError:
        return _read_blocks(text)
    except REFUSALS:
        return read_string(text)


def read_parts(parts: Parts) -> Opt[Content]:
    """Content whose items are known already."""
    if isinstance(parts, list):
        return tuple([parse(part) if (block := read_block(part)) is UNSET else block for part in parts])
    return parts


def read_string(text: Raw) -> str | UnsetType:
    try:
        return _decode_string(text)
    except REFUSALS:
        value = parse_or_unset(text)
        return value if isinstance(value, str) else UNSET


def _read_object(text: Raw) -> dict[str, Json] | UnsetType:
    try:
        return _decode_object(text)
    except REFUSALS:
        value = parse_or_unset(text)
        return value if isinstance(value, dict) else UNSET


def text_of(content: Opt[Content]) -> str:
    """The text of a content: a string itself, or its text blocks joined by blank lines."""
    if isinstance(content, str):
        return content
    if not isinstance(content, tuple):
        return ""
    return "\n\n".join(b.text for b in content if isinstance(b, TextBlock) and isinstance(b.text, str))
