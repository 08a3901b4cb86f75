"""TodoWrite. Words and shapes are those of client 2.0.76."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from tests.agent.tools.desk import Desk

from stenograph.agent.tools.base import Json, ToolFailed
from stenograph.agent.tools.todo_write import TodoWrite
from stenograph.agent.tools.toolbox import Toolbox

TODO = {"content": "Fix notes", "status": "in_progress", "activeForm": "Fixing notes"}
OTHER = {"content": "Check", "status": "pending", "activeForm": "Checking"}


def write(desk: Desk, *todos: Json) -> Json:
    output = asyncio.run(desk.call(TodoWrite(), todos=list(todos)))
    assert output.content == (
        "Todos have been modified successfully. Ensure that you continue to use the todo list to track your progress. Please"
        " proceed with the current tasks if applicable"
    )
    assert output.is_error is None
    structured: Json = output.structured
    return structured


def test_a_list_replaces_the_one_before(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    assert write(desk, TODO, OTHER) == {"oldTodos": [], "newTodos": [TODO, OTHER]}
    assert write(desk, OTHER) == {"oldTodos": [TODO, OTHER], "newTodos": [OTHER]}
    assert desk.context.todos == [OTHER]


def test_a_list_of_which_all_is_done_is_forgotten(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    done = {**TODO, "status": "completed"}
    assert write(desk, done) == {"oldTodos": [], "newTodos": [done]}
    assert write(desk, OTHER) == {"oldTodos": [], "newTodos": [OTHER]}


def test_members_that_nobody_knows_are_left_out(tmp_path: Path) -> None:
    assert write(Desk(tmp_path), {**TODO, "id": "1", "priority": "high"})["newTodos"] == [TODO]


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"todos": "none"},
        {"todos": [{"content": "Fix notes", "status": "in_progress"}]},
        {"todos": [{**TODO, "status": "begun"}]},
        {"todos": [{**TODO, "content": ""}]},
        {"todos": [TODO, 5]},
    ],
)
def test_a_list_that_is_none_is_refused(given: Json) -> None:
    with pytest.raises(ToolFailed, match="InputValidationError: TodoWrite failed"):
        TodoWrite().check(given)


def test_the_definition_names_the_states() -> None:
    (definition,) = Toolbox([TodoWrite()]).definitions
    item = definition["input_schema"]["properties"]["todos"]["items"]
    assert item["properties"]["status"] == {"type": "string", "enum": ["completed", "in_progress", "pending"]}
