"""Any tool that nobody described, those of MCP servers among them: its input as JSON, and what it answered."""

from __future__ import annotations

from collections.abc import Iterator

from stenograph.views.pages.transcript import Body, Output
from stenograph.views.tools.facts import Renderer, ToolFacts


def _input(facts: ToolFacts) -> str:
    import json

    from stenograph.redact import as_is, mask_json

    return json.dumps(mask_json(facts.input, as_is), ensure_ascii=False, separators=(", ", ": ")) if facts.input else ""


def _answer(facts: ToolFacts) -> Iterator[Body]:
    if facts.result.strip():
        yield Output(facts.result)


RENDERER = Renderer(_input, _answer)
