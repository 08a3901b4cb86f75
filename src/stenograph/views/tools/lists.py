"""Lists of things to do."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from stenograph.views.pages.transcript import Body, Checklist, Output
from stenograph.views.text import count_of
from stenograph.views.tools.facts import Renderer, ToolFacts


def _todos(facts: ToolFacts) -> list[Any]:
    todos = facts.input.get("todos")
    return [todo for todo in todos if isinstance(todo, dict)] if isinstance(todos, list) else []


def _how_many(facts: ToolFacts) -> str:
    todos = _todos(facts)
    done = sum(todo.get("status") == "completed" for todo in todos)
    return f"{done} of {count_of(len(todos), 'thing')} done"


def _checklist(facts: ToolFacts) -> Iterator[Body]:
    items = tuple((str(todo.get("status") or "pending"), str(todo.get("content") or "")) for todo in _todos(facts))
    if items:
        yield Checklist(items)


def _task(facts: ToolFacts) -> str:
    number = facts.word("taskId", "task_id")
    words = [f"#{number}" if number else "", facts.word("subject"), facts.word("status")]
    return " ".join(word for word in words if word)


def _answer(facts: ToolFacts) -> Iterator[Body]:
    if facts.result.strip():
        yield Output(facts.result)


RENDERERS = {
    "TodoWrite": Renderer(_how_many, _checklist),
    "TaskCreate": Renderer(_task, _answer),
    "TaskUpdate": Renderer(_task, _answer),
    "TaskGet": Renderer(_task, _answer),
    "TaskList": Renderer(_task, _answer),
}
