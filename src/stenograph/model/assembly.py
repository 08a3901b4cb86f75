"""The endpoint's stream events -> ours, with blocks assembled.

Many endpoints speak this protocol: anything may be missing or of another type. What comes out is recorded and sent back, so a
block is right or MalformedAnswer is raised. `error` events are the caller's.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Container, Iterator
from typing import Any

import msgspec

from stenograph.model.events import (
    BlockStart,
    BlockStop,
    InputDelta,
    Json,
    MessageStart,
    MessageStop,
    StreamEvent,
    TextDelta,
    ThinkingDelta,
)
from stenograph.model.json_text import read_json

#: Each becomes a line of a file.
MOST_BLOCKS = 10_000
#: Characters of an id or name.
_LONGEST_NAME = 256
_TEXTS = {"text": ("text",), "thinking": ("thinking", "signature")}
_CALLS = frozenset({"tool_use", "server_tool_use"})
#: Of known blocks; others may have any.
_DELTAS = {
    "text": frozenset({"text_delta", "citations_delta"}),
    "thinking": frozenset({"thinking_delta", "signature_delta"}),
    **dict.fromkeys(_CALLS, frozenset({"input_json_delta"})),
}


class MalformedAnswer(Exception):  # noqa: N818 - the caller makes an error of it
    """Not an answer of the Messages API; the text ends a sentence about the endpoint."""


class _OpenBlock:
    def __init__(self, index: int, their_index: object, start: Json) -> None:
        self.index = index
        #: The endpoint's own number; some give every block the same.
        self.their_index = their_index
        self.start = start
        #: None: any.
        self.deltas = _DELTAS.get(start["type"])
        self.texts: list[str] = []
        self.thoughts: list[str] = []
        self.inputs: list[str] = []
        self.signature = ""
        self.citations: list[Any] = []

    def end(self) -> BlockStop:
        block = dict(self.start)
        unparsed = ""
        if self.texts:
            block["text"] = _text(block.get("text")) + "".join(self.texts)
        if self.thoughts:
            block["thinking"] = _text(block.get("thinking")) + "".join(self.thoughts)
        if self.signature:
            block["signature"] = self.signature
        if self.citations:
            before = block.get("citations")
            block["citations"] = [*(before if isinstance(before, list) else []), *self.citations]
        if self.inputs or block["type"] in _CALLS:
            block["input"], unparsed = self._input()
        return BlockStop(self.index, block, unparsed)

    def _input(self) -> tuple[Json, str]:
        """The input of a call, and its text if not an object."""
        # Endpoints that don't stream inputs send them with the start.
        written = "".join(self.inputs)
        given = _read_object(written) if written.strip() else self.start.get("input")
        if isinstance(given, dict):
            return given, ""
        # Also if the answer was cut at max_tokens.
        if not written.strip() and given is not None:
            written = given if isinstance(given, str) else msgspec.json.encode(given).decode()
        return {}, written.strip() and written


class Assembler:
    """One response: `feed` events, then `finish`. All raise MalformedAnswer."""

    def __init__(
        self,
        request_id: str,
        *,
        model: str = "",
        message_ids: Container[str] = (),
        call_ids: Container[str] = (),
        hide: Callable[[str], str] = lambda words: words,
    ) -> None:
        """`model`: the one asked. `message_ids`, `call_ids`: those of earlier ones. `hide` removes our keys from the endpoint's
        ids, names and reasons; never from what the model says, where every letter counts."""
        self._request_id = request_id
        self._model = model
        self._message_ids, self._call_ids = message_ids, call_ids
        self._own_calls: set[str] = set()
        self._hide = hide
        self._has_begun = False
        self.message_id = ""
        self._blocks = 0
        self._open: _OpenBlock | None = None
        # Every line of a client has these two.
        self._usage: Json = {"input_tokens": 0, "output_tokens": 0}
        self._stop_reason: str | None = None
        self._stop_sequence: str | None = None
        self._stop_details: Json | None = None
        self.is_stopped = False
        self._kinds: dict[str, Callable[[Json], Iterator[StreamEvent]]] = {
            "message_start": self._begin,
            "content_block_start": self._begin_block,
            "content_block_stop": self._end_block,
            "message_delta": self._note_end,
            "message_stop": self._stop,
        }

    @property
    def is_complete(self) -> bool:
        """Also if the endpoint omitted the last event."""
        return self._has_begun and self._stop_reason is not None and self._open is None

    def feed(self, kind: str, event: Json, into: list[StreamEvent]) -> None:
        """Append the event's outcome to `into`. Unknown kinds have none."""
        # Of 25,000 events all but a few are deltas.
        if kind == "content_block_delta":
            if (made := self._take_delta(event)) is not None:
                into.append(made)
        elif (take := self._kinds.get(kind)) is not None:
            into.extend(take(event))

    def feed_message(self, message: Json, into: list[StreamEvent]) -> None:
        """A whole message, of an endpoint that does not stream, as events."""
        self.feed("message_start", {"message": message}, into)
        content = message.get("content")
        for index, told in enumerate(content if isinstance(content, list) else []):
            block = self._checked(told)
            # Text and thinking come as deltas; anything else is whole from its start.
            kind = block["type"]
            start = {**block, kind: ""} if kind in _TEXTS else block
            self.feed("content_block_start", {"index": index, "content_block": start}, into)
            if kind in _TEXTS:
                self.feed("content_block_delta", {"index": index, "delta": {"type": f"{kind}_delta", kind: block[kind]}}, into)
            self.feed("content_block_stop", {"index": index}, into)
        self.feed("message_delta", {"delta": message}, into)
        self.feed("message_stop", {}, into)

    def finish(self) -> MessageStop:
        if self._stop_reason is None:
            raise MalformedAnswer("ends an answer without a stop reason")
        return MessageStop(self._stop_reason, self._stop_sequence, self._usage, self._stop_details)

    def _begin(self, event: Json) -> Iterator[StreamEvent]:
        if self._has_begun:
            return
        self._has_begun = True
        message = _object(event.get("message"))
        self._put_usage(message.get("usage"))
        model = self._name(message.get("model"))
        # `<synthetic>` marks lines that no model said.
        model = self._model if not model or "<" in model else model
        self.message_id = self._unused(message.get("id"), "msg", self._message_ids)
        yield MessageStart(self.message_id, model, self._request_id, dict(self._usage))

    def _begin_block(self, event: Json) -> Iterator[StreamEvent]:
        yield from self._begin({})
        yield from self._close_block()
        if self._blocks == MOST_BLOCKS:
            raise MalformedAnswer("sends an answer of blocks without end")
        start = self._checked(event.get("content_block"))
        if start["type"] == "tool_use":
            start["id"] = self._unused(start["id"], "toolu", self._call_ids)
            self._own_calls.add(start["id"])
        self._open = _OpenBlock(self._blocks, event.get("index"), start)
        self._blocks += 1
        yield BlockStart(self._open.index, dict(start))

    def _take_delta(self, event: Json) -> StreamEvent | None:
        block = self._open
        delta = event.get("delta")
        if block is None or not isinstance(delta, dict) or event.get("index") != block.their_index:
            return None
        kind = delta.get("type")
        if block.deltas is not None and (not isinstance(kind, str) or kind not in block.deltas):
            return None
        if kind == "text_delta" and isinstance(text := delta.get("text"), str):
            block.texts.append(text)
            return TextDelta(block.index, text)
        if kind == "input_json_delta" and isinstance(part := delta.get("partial_json"), str):
            block.inputs.append(part)
            return InputDelta(block.index, part)
        if kind == "thinking_delta" and isinstance(thought := delta.get("thinking"), str):
            block.thoughts.append(thought)
            return ThinkingDelta(block.index, thought)
        if kind == "signature_delta" and isinstance(signature := delta.get("signature"), str):
            block.signature = signature
        elif kind == "citations_delta" and isinstance(citation := delta.get("citation"), dict):
            block.citations.append(citation)
        return None

    def _end_block(self, event: Json) -> Iterator[StreamEvent]:
        if self._open is not None and event.get("index") == self._open.their_index:
            yield from self._close_block()

    def _close_block(self) -> Iterator[StreamEvent]:
        if self._open is not None:
            yield self._open.end()
            self._open = None

    def _note_end(self, event: Json) -> Iterator[StreamEvent]:
        yield from self._begin({})
        self._put_usage(event.get("usage"))
        delta = _object(event.get("delta"))
        if reason := _text(delta.get("stop_reason")):
            yield from self._close_block()
            self._stop_reason = self._hide(reason)
        if isinstance(sequence := delta.get("stop_sequence"), str):
            self._stop_sequence = self._hide(sequence)
        if isinstance(details := delta.get("stop_details"), dict):
            self._stop_details = {name: self._hide(value) for name, value in details.items() if isinstance(value, str)}

    def _stop(self, event: Json) -> Iterator[StreamEvent]:  # noqa: ARG002 - one shape for all kinds
        yield from self._close_block()
        self.is_stopped = True

    def _put_usage(self, usage: object) -> None:
        self._usage = put_over(self._usage, read_usage(usage, self._hide))

    def _checked(self, told: object) -> Json:
        """A block in its promised shape; deltas may still add what is missing."""
        kind = told.get("type") if isinstance(told, dict) else None
        if not isinstance(told, dict) or not isinstance(kind, str) or not kind:
            raise MalformedAnswer("sends a block without a type")
        block = {**told, "type": kind if kind in _DELTAS else self._hide(kind)}
        for member in _TEXTS.get(kind, ()):
            # Some omit empty members or send null.
            block[member] = "" if told.get(member) is None else told[member]
            if not isinstance(block[member], str):
                raise MalformedAnswer(f"sends a block of the type {kind} whose {member} is not a string")
        if kind == "text" and not isinstance(told.get("citations"), list | None):
            raise MalformedAnswer("sends a text whose citations are not a list")
        if kind in _CALLS:
            for member in ("id", "name"):
                if not _text(told.get(member)):
                    raise MalformedAnswer(f"sends a call of a tool without its {member}")
            block["name"] = self._hide(told["name"])
        if kind == "tool_result":
            # It would pass for the result of a call that we ran.
            raise MalformedAnswer("sends a tool result instead of an answer")
        return block

    def _name(self, told: object) -> str:
        """Empty for what is not a name, or shows a key."""
        name = _text(told)
        return name if name.isprintable() and len(name) <= _LONGEST_NAME and self._hide(name) == name else ""

    def _unused(self, told: object, kind: str, used: Container[str]) -> str:
        """The endpoint's id, or a new one: results find their calls by ids, and resumes merge lines of one id."""
        given = self._name(told)
        is_used = given in used or given in self._own_calls
        return given if given and not is_used else f"{kind}_{os.urandom(12).hex()}"


def _object(value: object) -> Json:
    return value if isinstance(value, dict) else {}


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _read_object(written: str) -> Any:
    try:
        return read_json(written)
    except ValueError:
        return None


#: Larger sums would outgrow JSON.
MOST_TOKENS = 10**12

TOKEN_COUNTS = ("input_tokens", "output_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
#: A missing count in one is 0.
_GROUPS = {
    "cache_creation": ("ephemeral_5m_input_tokens", "ephemeral_1h_input_tokens"),
    "server_tool_use": ("web_search_requests", "web_fetch_requests"),
    "output_tokens_details": ("thinking_tokens",),
}
_WORDS = ("service_tier", "inference_geo", "speed")
#: Members that may be null.
_NULLABLE = (*_WORDS, "iterations", "output_tokens_details", "fallback_credit")


def read_usage(told: object, hide: Callable[[str], str]) -> Json:
    """`hide` removes what must not be shown."""
    if not isinstance(told, dict):
        return {}
    usage = _read_counted(told)
    usage |= {name: hide(value) for name in _WORDS if isinstance(value := told.get(name), str)}
    if isinstance(iterations := told.get("iterations"), list):
        usage["iterations"] = [_read_iteration(each, hide) for each in iterations if isinstance(each, dict)]
    return usage | {name: None for name in _NULLABLE if name in told and told[name] is None}


def put_over(before: Json, later: Json) -> Json:
    """Later counts are sums and replace; null replaces nothing."""
    return before | {name: value for name, value in later.items() if value is not None or name not in before}


def _read_counted(told: Json) -> Json:
    usage: Json = {name: told[name] for name in TOKEN_COUNTS if _is_count(told.get(name))}
    for name, members in _GROUPS.items():
        group = told.get(name)
        if isinstance(group, dict) and any(_is_count(group.get(member)) for member in members):
            usage[name] = {member: group[member] if _is_count(group.get(member)) else 0 for member in members}
    return usage


def _read_iteration(told: Json, hide: Callable[[str], str]) -> Json:
    kind = told.get("type")
    return _read_counted(told) | ({"type": hide(kind)} if isinstance(kind, str) else {})


def _is_count(value: Any) -> bool:
    # A bool is an int too.
    return type(value) is int and 0 <= value <= MOST_TOKENS
