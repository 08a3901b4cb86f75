"""What is asked of the model."""

from __future__ import annotations

from msgspec import Struct, field

from stenograph.model.events import Json


class Request(Struct, kw_only=True):
    """One request, without `cache_control`: `encode_request` marks the breakpoints, and is all that does."""

    model: str
    max_tokens: int
    system: list[Json] = field(default_factory=list)
    tools: list[Json] = field(default_factory=list)
    messages: list[Json]
    #: {"type": "enabled", "budget_tokens": n} or {"type": "adaptive"}; None leaves it out.
    thinking: Json | None = None
    stop_sequences: list[str] = field(default_factory=list)
    tool_choice: Json | None = None
    #: Names of beta features for the header `anthropic-beta`.
    betas: list[str] = field(default_factory=list)
