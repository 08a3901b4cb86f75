"""What the main conversation and its sub-agents share."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path

from msgspec import Struct, field

from stenograph.agent.context.memory import Memory
from stenograph.agent.context.models import Models
from stenograph.agent.engine.background import BackgroundTasks
from stenograph.agent.engine.events import Event
from stenograph.agent.engine.options import AgentOptions
from stenograph.agent.tools.toolbox import Toolbox
from stenograph.model import TOKEN_COUNTS, ModelClient
from stenograph.records import Json


class UsageTally(Struct):
    responses: int = 0
    api_seconds: float = 0.0
    usage: dict[str, Counter[str]] = field(default_factory=dict)
    denials: list[Json] = field(default_factory=list)

    def add(self, model: str, usage: Json) -> None:
        self.responses += 1
        counts = {name: value for name in TOKEN_COUNTS if isinstance(value := usage.get(name), int)}
        self.usage.setdefault(model, Counter()).update(counts)

    def by_model(self) -> dict[str, dict[str, int]]:
        return {model: dict(counts) for model, counts in self.usage.items()}


class Shared(Struct, kw_only=True):
    options: AgentOptions
    client: ModelClient
    models: Models
    toolbox: Toolbox
    memory: Memory
    background: BackgroundTasks
    emit: Callable[[Event], None]
    path: Path
    agent_types: dict[str, str] = field(default_factory=dict)
    tally: UsageTally = field(default_factory=UsageTally)
