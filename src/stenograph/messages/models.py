"""Which model a release calls when it resumes a session (rule 33), and what that model takes."""

from __future__ import annotations

from stenograph.graph import Graph
from stenograph.messages.habits import Habits
from stenograph.records import AssistantRecord

DEFAULT = "claude-opus-5-5"
# Retired: the release calls its default instead.
_RETIRED = ("claude-sonnet-4-20250514",)
# Models that get reminders as messages of the role `system` (rule 37).
_TAKE_SYSTEM = ("claude-opus-5-5", "claude-opus-4-8", "claude-sonnet-5-5")


def called_model(graph: Graph, nodes: list[int], habits: Habits) -> str:
    """The model that answered last, where it is still to be had; empty for a release that always calls its default."""
    if not habits.keeps_model:
        return ""
    for node in reversed(nodes):
        record = graph.records[node]
        if isinstance(record, AssistantRecord) and record.message:
            model = record.message.model
            return model if isinstance(model, str) and model.startswith("claude-") and model not in _RETIRED else DEFAULT
    return DEFAULT


def takes_system(model: str) -> bool:
    return model in _TAKE_SYSTEM
