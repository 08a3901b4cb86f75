"""Where the model asks the person: questions, plans, skills."""

from __future__ import annotations

from collections.abc import Iterator

from stenograph.records import AskUserQuestionResult
from stenograph.views.pages.transcript import Body, Output
from stenograph.views.tools.facts import Renderer, ToolFacts


def _questions(facts: ToolFacts) -> str:
    asked = facts.input.get("questions")
    texts = [str(each.get("question") or "") for each in asked if isinstance(each, dict)] if isinstance(asked, list) else []
    return " / ".join(texts)


def _answers(facts: ToolFacts) -> Iterator[Body]:
    found = facts.structured
    if isinstance(found, AskUserQuestionResult) and found.answers:
        yield Output("\n".join(f"{question} {answer}" for question, answer in found.answers.items()))
    elif facts.result.strip():
        yield Output(facts.result)


def _no_title(facts: ToolFacts) -> str:  # noqa: ARG001 - one of many of the same shape
    return ""


def _plan(facts: ToolFacts) -> Iterator[Body]:
    plan = facts.word("plan")
    if plan:
        yield Output(plan)
    if facts.result.strip() and not plan:
        yield Output(facts.result)


def _skill(facts: ToolFacts) -> str:
    return " ".join(word for word in (facts.word("skill", "command"), facts.word("args")) if word)


def _result(facts: ToolFacts) -> Iterator[Body]:
    if facts.result.strip():
        yield Output(facts.result)


RENDERERS = {
    "AskUserQuestion": Renderer(_questions, _answers),
    "ExitPlanMode": Renderer(_no_title, _plan),
    "EnterPlanMode": Renderer(_no_title, _result),
    "Skill": Renderer(_skill, _result),
    "SlashCommand": Renderer(_skill, _result),
}
