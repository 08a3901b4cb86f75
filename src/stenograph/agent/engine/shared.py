"""What the main conversation and its subagents share."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Mapping
from decimal import Decimal
from pathlib import Path

from msgspec import Struct, field

from stenograph.agent.context.limits import Limits
from stenograph.agent.context.memory import Memory
from stenograph.agent.context.models import Models
from stenograph.agent.engine.approval import Approver
from stenograph.agent.engine.asides import AskAside
from stenograph.agent.engine.background import BackgroundTasks
from stenograph.agent.engine.commands import CommandRegistry, builtin_commands
from stenograph.agent.engine.events import Event
from stenograph.agent.engine.hooks import Hooks
from stenograph.agent.engine.options import AgentOptions
from stenograph.agent.permissions.live_policy import LivePolicy
from stenograph.agent.tools.agent import TYPES, AgentType
from stenograph.agent.tools.toolbox import Toolbox
from stenograph.config import ModelProfile
from stenograph.model import TOKEN_COUNTS, ModelClient
from stenograph.records import Json


class UsageTally(Struct):
    profiles: Mapping[str, ModelProfile] = field(default_factory=dict)
    #: Costs are summed up.
    counts_cost: bool = False
    #: USD, without models that have no price.
    cost: Decimal = Decimal(0)
    responses: int = 0
    api_seconds: float = 0.0
    usage: dict[str, Counter[str]] = field(default_factory=dict)
    denials: list[Json] = field(default_factory=list)

    def add(self, model: str, usage: Json) -> None:
        self.responses += 1
        counts = {name: value for name in TOKEN_COUNTS if isinstance(value := usage.get(name), int)}
        self.usage.setdefault(model, Counter()).update(counts)
        if self.counts_cost:
            from stenograph.agent.context.costs import cost_of

            self.cost += cost_of(model, usage, self.profiles) or 0

    def by_model(self) -> dict[str, dict[str, int]]:
        return {model: dict(counts) for model, counts in self.usage.items()}


class Shared(Struct, kw_only=True):
    options: AgentOptions
    client: ModelClient
    models: Models
    limits: Limits
    toolbox: Toolbox
    memory: Memory
    background: BackgroundTasks
    emit: Callable[[Event], None]
    path: Path
    policy: LivePolicy
    #: The command or skill that the turn of the main conversation follows; empty if none.
    skill: str = ""
    #: Ends the turn under way.
    interrupt: Callable[[], None]
    #: None if nobody can approve, as in print mode.
    approver: Approver | None = None
    #: Held while a question is asked.
    asking: asyncio.Lock = field(default_factory=asyncio.Lock)
    hooks: Hooks | None = None
    #: Asked in this order before every request.
    asides: list[AskAside] = field(default_factory=list)
    commands: CommandRegistry = field(default_factory=builtin_commands)
    #: Kinds of subagents by name.
    agent_types: dict[str, AgentType] = field(default_factory=lambda: dict(TYPES))
    #: Type names of the session's own, by agent id.
    types_by_agent: dict[str, str] = field(default_factory=dict)
    tally: UsageTally = field(default_factory=UsageTally)
