"""Which model a release calls when it resumes a session (rule 33), and what that model takes."""

from __future__ import annotations

import re

from stenograph.graph import Graph
from stenograph.messages.habits import MessageHabits
from stenograph.records import SYNTHETIC, AssistantRecord

# Models that get reminders as messages of the role `system` (rule 37): each was asked of 2.1.325.
_TAKE_SYSTEM = frozenset({"opus-5-5", "opus-5", "sonnet-5-5", "sonnet-5", "haiku-5-5", "fable-5", "opus-4-8"})
_WRAP_SYSTEM = frozenset({"sonnet-5"})
# A vendor's prefix, a date and a revision may stand around the name.
_NAME = re.compile(r"(?:[a-z.]*\.)?claude-(?P<name>[a-z0-9-]+?)(?:-[0-9]{8})?(?:-v[0-9:]+)?")
_WIDE = "[1m]"


def called_model(graph: Graph, nodes: list[int], habits: MessageHabits) -> str:
    """The model that answered last, where it is still to be had; empty for a release that always calls its default."""
    if not habits.keeps_model:
        return ""
    for node in reversed(nodes):
        record = graph.records[node]
        if isinstance(record, AssistantRecord) and record.message and record.message.model != SYNTHETIC:
            model = record.message.model
            return called_for(model if isinstance(model, str) else "", habits)
    return called_for("", habits)


def bare_model(model: str) -> str:
    """A model without what is said about the size of its window: it is the same model."""
    return model.lower().removesuffix(_WIDE)


def called_for(answered: str, habits: MessageHabits) -> str:
    """The model that a release calls when it resumes a session that another answered last."""
    wanted = bare_model(answered)
    return wanted if _name(wanted) in habits.models else f"claude-{habits.models[0]}"


def takes_system(model: str) -> bool:
    return _name(model) in _TAKE_SYSTEM


def wraps_system(model: str) -> bool:
    """Whether each reminder keeps its tags in a message of the role `system`."""
    return _name(model) in _WRAP_SYSTEM


def _name(model: str) -> str:
    found = _NAME.fullmatch(model)
    return found["name"] if found else ""
