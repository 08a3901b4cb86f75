"""Graph -> what a person would say happened: sessions, turns, calls, tool calls, agent runs, compactions."""

from stenograph.inputs import Status
from stenograph.turns.model import NO_BRANCH, AgentRun, Branch, Session, SessionLink, Turn, runs_below, tokens_of_all
from stenograph.turns.session import build_session
from stenograph.turns.values import ApiCall, CallPart, Compaction, Event, Interjection, Tokens, ToolCall

__all__ = [
    "NO_BRANCH",
    "AgentRun",
    "ApiCall",
    "Branch",
    "CallPart",
    "Compaction",
    "Event",
    "Interjection",
    "Session",
    "SessionLink",
    "Status",
    "Tokens",
    "ToolCall",
    "Turn",
    "build_session",
    "runs_below",
    "tokens_of_all",
]
