"""Graph -> what a person would say happened: sessions, turns, calls, tool calls, agent runs, compactions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stenograph._exports import lazy_exports
from stenograph.inputs import Status
from stenograph.turns.model import NO_BRANCH, AgentRun, Branch, Session, SessionLink, Turn, runs_below, tokens_of_all
from stenograph.turns.session import build_session
from stenograph.turns.steps import steps
from stenograph.turns.values import ApiCall, CallPart, Compaction, Event, Interjection, Tokens, ToolCall, spilled_name

if TYPE_CHECKING:
    from stenograph.turns.agent_files import AgentFiles, ReadFailure
    from stenograph.turns.contents import is_synthetic, said_in
    from stenograph.turns.context import Context
    from stenograph.turns.lines import TurnLines, read_turn
    from stenograph.turns.reader import Place, ReadTurn, TurnPlace, TurnReader
    from stenograph.turns.rounds import THRESHOLD_MINUTES, RoundType, round_type, round_types
    from stenograph.turns.steps import Step
    from stenograph.turns.values import moment_of

_MODULES = {
    "agent_files": "AgentFiles ReadFailure",
    "contents": "is_synthetic said_in",
    "context": "Context",
    "lines": "TurnLines read_turn",
    "reader": "Place ReadTurn TurnPlace TurnReader",
    "rounds": "THRESHOLD_MINUTES RoundType round_type round_types",
    "steps": "Step",
    "values": "moment_of",
}

__all__ = [
    "NO_BRANCH",
    "THRESHOLD_MINUTES",
    "AgentFiles",
    "AgentRun",
    "ApiCall",
    "Branch",
    "CallPart",
    "Compaction",
    "Context",
    "Event",
    "Interjection",
    "Place",
    "ReadFailure",
    "ReadTurn",
    "RoundType",
    "Session",
    "SessionLink",
    "Status",
    "Step",
    "Tokens",
    "ToolCall",
    "Turn",
    "TurnLines",
    "TurnPlace",
    "TurnReader",
    "build_session",
    "is_synthetic",
    "moment_of",
    "read_turn",
    "round_type",
    "round_types",
    "runs_below",
    "said_in",
    "spilled_name",
    "steps",
    "tokens_of_all",
]

__getattr__, __dir__ = lazy_exports(__name__, _MODULES, __all__)
