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
    from stenograph.turns.values import moment_of, tokens_of

_MODULES = {
    "moment_of": "values",
    "tokens_of": "values",
    "AgentFiles": "agent_files",
    "RoundType": "rounds",
    "round_type": "rounds",
    "Context": "context",
    "ReadFailure": "agent_files",
    "Place": "reader",
    "ReadTurn": "reader",
    "Step": "steps",
    "THRESHOLD_MINUTES": "rounds",
    "TurnLines": "lines",
    "TurnPlace": "reader",
    "TurnReader": "reader",
    "is_synthetic": "contents",
    "read_turn": "lines",
    "round_types": "rounds",
    "said_in": "contents",
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
    "tokens_of",
    "tokens_of_all",
]

__getattr__, __dir__ = lazy_exports(__name__, _MODULES, __all__)
