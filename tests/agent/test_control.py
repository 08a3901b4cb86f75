"""The control protocol with requests that no SDK sends: each is answered, and none ends the session."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest

from stenograph.agent.engine.approval import PermissionQuestion
from stenograph.agent.faces.control import ControlChannel


class _Agent(SimpleNamespace):
    """As much of an agent as `initialize` looks at."""

    commands: tuple[()] = ()
    model = "claude-x"
    forbids_bypass = False

    def __init__(self) -> None:
        super().__init__(agent_types={}, added=[], policy=SimpleNamespace(set_mode=lambda _: None))

    def add_hook_callbacks(self, wanted: Any, call: Any) -> None:
        self.added.append((wanted, call))

    def set_model(self, name: str) -> None:
        raise ValueError(name)


def _answered(agent: _Agent, request: dict[str, Any]) -> dict[str, Any]:
    said: list[dict[str, Any]] = []

    async def ask() -> None:
        channel = ControlChannel(said.append)
        channel.serve(agent)  # type: ignore[arg-type]
        channel.take({"type": "control_request", "request_id": "1", "request": request})
        await asyncio.gather(*channel._answering)

    asyncio.run(ask())
    (line,) = said
    assert line["type"] == "control_response"
    assert line["response"]["request_id"] == "1"
    response: dict[str, Any] = line["response"]
    return response


@pytest.mark.parametrize(
    "hooks",
    [
        [],
        "PreToolUse",
        {"PreToolUse": "x"},
        {"PreToolUse": [None]},
        {"PreToolUse": ["x"]},
        {"PreToolUse": [{"hookCallbackIds": 7}]},
        {"PreToolUse": [{"hookCallbackIds": [7]}]},
        {"PreToolUse": [{"matcher": {"a": 1}, "hookCallbackIds": ["x"]}]},
        {"PreToolUse": [{"hookCallbackIds": ["x"], "timeout": "soon"}]},
    ],
    ids=str,
)
def test_hooks_that_are_not_understood_are_refused_and_not_left_out(hooks: Any) -> None:
    """One of them may be there to deny something."""
    agent = _Agent()
    response = _answered(agent, {"subtype": "initialize", "hooks": hooks})
    if hooks:
        assert response["subtype"] == "error"
        assert response["error"].startswith("Cannot register hooks: ")
    else:
        assert response["subtype"] == "success"
    assert agent.added == []


def test_hooks_of_an_sdk_are_registered() -> None:
    agent = _Agent()
    wanted = {"PreToolUse": [{"matcher": "Bash", "hookCallbackIds": ["hook_0"], "timeout": 5}, {"matcher": None}]}
    assert _answered(agent, {"subtype": "initialize", "hooks": wanted})["subtype"] == "success"
    ((registered, _),) = agent.added
    (first, second) = registered["PreToolUse"]
    assert (first.matcher, first.hookCallbackIds, first.timeout) == ("Bash", ["hook_0"], 5)
    assert (second.matcher, second.hookCallbackIds) == (None, [])


@pytest.mark.parametrize(
    "request_",
    [
        {"subtype": "set_permission_mode", "mode": ["plan"]},
        {"subtype": "set_permission_mode", "mode": {}},
        {"subtype": "set_model", "model": "x"},
        {"subtype": "stop_task", "task_id": 7},
        {"subtype": ["initialize"]},
        {},
    ],
    ids=str,
)
def test_every_request_is_answered(request_: dict[str, Any]) -> None:
    assert _answered(_Agent(), request_)["subtype"] == "error"


@pytest.mark.parametrize("updates", [7, "x", {"a": 1}, [7, None, "x"]], ids=str)
def test_an_answer_with_odd_updates_allows_the_call_and_changes_no_rule(updates: Any) -> None:
    async def ask() -> Any:
        said: list[dict[str, Any]] = []
        channel = ControlChannel(said.append)
        asked = asyncio.create_task(channel.approve(PermissionQuestion(tool="Bash", given={}, tool_use_id="t", reason="")))
        await asyncio.sleep(0)
        response = {"behavior": "allow", "updatedPermissions": updates}
        answer = {"subtype": "success", "request_id": said[0]["request_id"], "response": response}
        channel.take({"type": "control_response", "response": answer})
        return await asked

    approval = asyncio.run(ask())
    assert approval.is_allowed
    assert approval.updates == []
