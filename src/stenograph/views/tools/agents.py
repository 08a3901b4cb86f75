"""Sub-agents: what they were told and what they reported. What they did in between is a part of its own."""

from __future__ import annotations

from collections.abc import Iterator

from stenograph.records import AgentResult, text_of
from stenograph.views.pages.transcript import Body, Output
from stenograph.views.tools.facts import Renderer, ToolFacts


def _task(facts: ToolFacts) -> str:
    kind = facts.word("subagent_type")
    return f"{facts.word('description') or facts.word('prompt')}{f' ({kind})' if kind else ''}"


def _report(facts: ToolFacts) -> Iterator[Body]:
    found = facts.structured
    if isinstance(found, AgentResult) and (report := text_of(found.content)).strip():
        yield Output(report)  # without the notes for the model that newer releases put behind it
    elif facts.result.strip():
        yield Output(facts.result)


RENDERERS = {"Task": Renderer(_task, _report), "Agent": Renderer(_task, _report)}
