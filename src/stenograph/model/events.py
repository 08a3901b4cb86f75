"""What a streamed response is made of, as one typed event after the other.

The order that every reader may rely on:

    Retrying*                          nothing of the response has come, or all that came is to be forgotten
    ResponseBegin
      (BlockBegin, (TextDelta | ThinkingDelta | InputDelta)*, BlockEnd)*      blocks never overlap, indexes increase
    ResponseEnd                        the last event

After a `Retrying` the response begins anew: what was received of it counts for nothing. A stream that can't be brought to its
end raises a ModelError in the place of the next event. Kinds of events, deltas and blocks that are not known are no failure:
an unknown block is passed on whole, the rest is left out. What is known has the types that are said here, whatever the endpoint
sent: where that can't be, the stream raises. No two calls of a conversation have one id, and no two responses of a client.
"""

from __future__ import annotations

from typing import Any, TypeAlias

from msgspec import Struct

from stenograph.errors import ModelError

Json: TypeAlias = dict[str, Any]


class Retrying(Struct, frozen=True, tag=True):
    """The request failed and will be sent again."""

    #: From 1.
    attempt: int
    max_retries: int
    #: Seconds.
    wait: float
    error: ModelError


class MessageStart(Struct, frozen=True, tag=True):
    #: Generated if the endpoint gives none, or one that it gave before.
    message_id: str
    #: The one asked for, if the endpoint names none.
    model: str
    #: The endpoint's own.
    request_id: str
    #: As known so far; `input_tokens` and `output_tokens` are always there.
    usage: Json


class BlockStart(Struct, frozen=True, tag=True):
    index: int
    #: As sent, without the deltas.
    block: Json


class TextDelta(Struct, frozen=True, tag=True):
    index: int
    text: str


class ThinkingDelta(Struct, frozen=True, tag=True):
    index: int
    text: str


class InputDelta(Struct, frozen=True, tag=True):
    """A piece of the JSON text of a tool's input."""

    index: int
    partial_json: str


class BlockStop(Struct, frozen=True, tag=True):
    index: int
    #: Whole, as it is sent back.
    block: Json
    #: A tool's input that was not a JSON object; `input` is then {}.
    unparsed_input: str = ""


class MessageStop(Struct, frozen=True, tag=True):
    stop_reason: str
    stop_sequence: str | None
    #: Final.
    usage: Json
    #: More about a refusal, as sent.
    stop_details: Json | None = None


StreamEvent: TypeAlias = Retrying | MessageStart | BlockStart | TextDelta | ThinkingDelta | InputDelta | BlockStop | MessageStop
