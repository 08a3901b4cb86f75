from __future__ import annotations

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
    stop_sequences: list[str] = field(default_factory=list)
    tool_choice: Json | None = None
    #: For the header `anthropic-beta`.
    betas: list[str] = field(default_factory=list)
