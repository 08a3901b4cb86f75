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
    """The request failed and is sent again after a while."""

    #: From 1 on.
    attempt: int
    max_retries: int
    #: Seconds.
    wait: float
    error: ModelError


class MessageStart(Struct, frozen=True, tag=True):
    #: Made up where the endpoint gives none, or one that it gave before.
    message_id: str
    #: The one that was asked for where the endpoint names none.
    model: str
    #: The endpoint's own id of the request; empty where it gives none.
    request_id: str
    #: As far as it is known at the beginning. `input_tokens` and `output_tokens` are always there, 0 where they are not told.
    usage: Json


class BlockStart(Struct, frozen=True, tag=True):
    index: int
    #: As it was sent, without what the deltas bring.
    block: Json


class TextDelta(Struct, frozen=True, tag=True):
    index: int
    text: str


class ThinkingDelta(Struct, frozen=True, tag=True):
    index: int
    text: str


class InputDelta(Struct, frozen=True, tag=True):
    """A piece of the JSON text of a tool's input; a piece alone is no JSON."""

    index: int
    partial_json: str


class BlockStop(Struct, frozen=True, tag=True):
    index: int
    #: Whole, in the form in which it is sent back: {"type": "text", "text"}, {"type": "thinking", "thinking", "signature"},
    #: {"type": "tool_use", "id", "name", "input"}, or whatever else the endpoint sent.
    block: Json
    #: The text of a tool's input where it is no JSON object; `input` is then {}. Empty everywhere else.
    unparsed_input: str = ""


class MessageStop(Struct, frozen=True, tag=True):
    #: end_turn, tool_use, max_tokens, pause_turn, refusal, stop_sequence, model_context_window_exceeded, or one not known here.
    stop_reason: str
    stop_sequence: str | None
    #: Final: what the beginning said, with what the end said put over it.
    usage: Json
    #: As sent, where the endpoint says more about a refusal.
    stop_details: Json | None = None


StreamEvent: TypeAlias = Retrying | MessageStart | BlockStart | TextDelta | ThinkingDelta | InputDelta | BlockStop | MessageStop
