"""Tools as what they did: one small pair of functions for each, in a registry by name.

In: what a tool was given and what came back. Out: a line that says what was asked, and bodies that show what came out. A tool
that nobody described is shown by its name and its input as JSON. Adding one: a pair in the module of its family, a line in
`_FAMILIES`.
"""

from __future__ import annotations

from collections.abc import Iterable

from stenograph.views.pages.transcript import AgentPart, Body, Output, ToolPart
from stenograph.views.tools import agents, asking, files, lists, other, search, shell
from stenograph.views.tools.facts import Renderer, ToolFacts

__all__ = ["Renderer", "ToolFacts", "renderer_of", "tool_part"]

_FAMILIES: tuple[dict[str, Renderer], ...] = (
    shell.RENDERERS,
    files.RENDERERS,
    search.RENDERERS,
    lists.RENDERERS,
    agents.RENDERERS,
    asking.RENDERERS,
)
_RENDERERS = {name: renderer for family in _FAMILIES for name, renderer in family.items()}


def renderer_of(name: str) -> Renderer:
    return _RENDERERS.get(name, other.RENDERER)


def tool_part(identity: str, facts: ToolFacts, agent: AgentPart | None = None) -> ToolPart:
    """One tool call as a reader sees it."""
    title, bodies = renderer_of(facts.name)
    status = "unanswered" if not facts.answered else "failed" if facts.is_error else "done"
    shown: Iterable[Body] = (Output(facts.result, is_error=True),) if facts.is_error else bodies(facts)
    return ToolPart(identity, facts.name, title(facts), status, tuple(shown), agent)
