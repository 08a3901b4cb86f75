"""The stream of one response -> an `Answer` that grows with it, and events for faces; and questions beside the conversation."""

from __future__ import annotations

import time
from collections.abc import Sequence

from msgspec import Struct, field

from stenograph.agent.context.models import called_name
from stenograph.agent.engine import events
from stenograph.agent.engine.conversation import text_block
from stenograph.agent.engine.events import Event
from stenograph.agent.engine.shared import Shared
from stenograph.model import TOKEN_COUNTS, Request
from stenograph.model import events as stream
from stenograph.records import THINKING, Json


class Answer(Struct):
    message: Json = field(default_factory=dict)
    request_id: str = ""
    blocks: list[Json] = field(default_factory=list)
    #: Inputs that were not JSON, by block index.
    unparsed: dict[int, str] = field(default_factory=dict)
    stop_reason: str = ""
    #: Of a block that is not complete.
    begun_text: list[str] = field(default_factory=list)
    #: Something other than thinking has begun.
    is_answering: bool = False
    #: Milliseconds in which the input of a call was written, by its id.
    input_ms: dict[str, int] = field(default_factory=dict)
    _block_began: float = 0.0

    @property
    def shown(self) -> list[Json]:
        """The blocks, and the text of one that is not complete."""
        return [*self.blocks, text_block("".join(self.begun_text))] if self.begun_text else self.blocks

    @property
    def text(self) -> str:
        return "".join(block["text"] for block in self.blocks if block["type"] == "text")

    @property
    def calls_tools(self) -> bool:
        return any(block["type"] == "tool_use" for block in self.blocks)

    def take(self, event: stream.StreamEvent) -> None:
        match event:
            case stream.MessageStart():
                self.request_id = event.request_id
                self.message = {
                    "id": event.message_id,
                    "type": "message",
                    "role": "assistant",
                    "model": event.model,
                    "content": [],
                    "stop_reason": None,
                    "stop_sequence": None,
                    "usage": event.usage,
                }
            case stream.TextDelta():
                self.begun_text.append(event.text)
            case stream.BlockStart():
                self.is_answering = self.is_answering or event.block.get("type") not in THINKING
                self._block_began = time.monotonic()
            case stream.BlockStop():
                self.begun_text.clear()
                if event.unparsed_input:
                    self.unparsed[len(self.blocks)] = event.unparsed_input
                self.blocks.append(event.block)
                if event.block["type"] == "tool_use":
                    # From the start of its block, never 0 (2.1.325).
                    self.input_ms[event.block["id"]] = max(1, round(1000 * (time.monotonic() - self._block_began)))
            case stream.MessageStop():
                self.stop_reason = event.stop_reason
                self.message |= {
                    "stop_reason": event.stop_reason,
                    "stop_sequence": event.stop_sequence,
                    "usage": event.usage,
                }
                if event.stop_details is not None:
                    self.message["stop_details"] = event.stop_details


def told_of(event: stream.StreamEvent, agent_id: str | None) -> Event | None:
    """The event for a face. The end of a response is emitted once it is in the file, not here."""
    match event:
        case stream.TextDelta():
            return events.TextChunk(index=event.index, text=event.text, agent_id=agent_id)
        case stream.ThinkingDelta():
            return events.ThinkingChunk(index=event.index, text=event.text, agent_id=agent_id)
        case stream.InputDelta():
            return events.InputChunk(index=event.index, partial_json=event.partial_json, agent_id=agent_id)
        case stream.MessageStart():
            return events.ResponseBegin(message_id=event.message_id, model=event.model, usage=event.usage, agent_id=agent_id)
        case stream.BlockStart():
            return events.BlockBegin(
                index=event.index,
                kind=str(event.block.get("type")),
                tool=str(event.block.get("name", "")),
                tool_use_id=str(event.block.get("id", "")),
                agent_id=agent_id,
            )
        case stream.BlockStop():
            return events.BlockEnd(index=event.index, block=event.block, agent_id=agent_id)
    return None


def all_tokens(usage: Json) -> int:
    """At least what the next request holds: all input, and the answer."""
    return sum(value for name in TOKEN_COUNTS if isinstance(value := usage.get(name), int))


_MAX_TOKENS = 8192


async def ask_aside(shared: Shared, model: str, prompt: str, *, system: str = "", tools: Sequence[Json] = ()) -> list[Json]:
    """Raises ModelError."""
    request = Request(
        model=called_name(model),
        max_tokens=_MAX_TOKENS,
        system=[text_block(system)] if system else [],
        tools=list(tools),
        messages=[{"role": "user", "content": [text_block(prompt)]}],
    )
    blocks, end = await shared.client.complete(request)
    shared.tally.add(request.model, end.usage)
    return blocks
