"""Hooks beside 2.1.325: the same plan of answers, the same steps of the model, compared in what hooks get, what is recorded, and
what is sent."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from lab.clients import run_client
from lab.hooked import Hooked, Plan, hook_settings, speaks, told
from lab.observatory.scenes import Scene, cue, say, text, tool
from lab.observatory.stage import Stage
from lab.terminal import prepare_home
from tests.agent.checking import assert_resumes_as_it_was, assert_valid
from tests.agent.world import World, lines_of, world_at
from tests.conftest import Client

from stenograph.agent.engine.options import PermissionMode
from stenograph.client_settings import merge_settings
from stenograph.client_settings.reading import Scope, SettingsFile

Json = dict[str, Any]
NEWEST = "2.1.325"


def shell(command: str) -> Any:
    return say(tool("Bash", command=command, description="Run"))


ECHOES = [shell("echo one"), shell("echo two"), shell("echo three"), shell("echo four")]
BYE = say(text("Bye."))
#: (plan, steps)
PLANS: dict[str, tuple[Plan, list[Any]]] = {
    "blocked before a tool": (
        {
            "PreToolUse": [
                {"code": 2, "err": "not this\n"},
                speaks("PreToolUse", permissionDecision="deny", permissionDecisionReason="nor this"),
                {"out": {"decision": "block", "reason": "nor that"}},
                speaks("PreToolUse", permissionDecision="ask", permissionDecisionReason="ask first"),
            ]
        },
        [*ECHOES, BYE],
    ),
    "changed and allowed": (
        {
            "PreToolUse": [
                speaks("PreToolUse", updatedInput={"command": "echo changed"}),
                speaks("PreToolUse", additionalContext="before the call"),
                speaks("PreToolUse", permissionDecision="allow", updatedInput={"command": "touch allowed"}),
                {"code": 1, "err": "broken"},
            ]
        },
        [*ECHOES, BYE],
    ),
    "after a tool": (
        {
            "PostToolUse": [
                {"out": {"decision": "block", "reason": "look again"}},
                {"code": 2, "err": "look here"},
                speaks("PostToolUse", additionalContext="after the call"),
                {"out": "plain words"},
            ],
            "PreToolUse": [{"out": "plain words"}, {"out": {"systemMessage": "for the user"}}],
        },
        [*ECHOES, BYE],
    ),
    "stopped before a tool": ({"PreToolUse": [{"out": {"continue": False, "stopReason": "enough"}}]}, [*ECHOES, BYE]),
    "stopped after a tool": ({"PostToolUse": [{"out": {"continue": False, "stopReason": "enough"}}]}, [*ECHOES, BYE]),
    "context at the start": (
        {
            "SessionStart": [speaks("SessionStart", additionalContext="at the start")],
            "UserPromptSubmit": [speaks("UserPromptSubmit", additionalContext="with the prompt")],
        },
        [BYE],
    ),
    "words at the start": (
        {"SessionStart": [{"out": "words of hook one"}], "UserPromptSubmit": [{"out": "words of hook two"}]},
        [BYE],
    ),
    "failures at the start": (
        {"SessionStart": [{"code": 2, "err": "no"}], "UserPromptSubmit": [{"code": 1, "err": "no"}]},
        [BYE],
    ),
    "prompt blocked": ({"UserPromptSubmit": [{"out": {"decision": "block", "reason": "not that"}}]}, [BYE]),
    "prompt blocked by its exit code": ({"UserPromptSubmit": [{"code": 2, "err": "not that"}]}, [BYE]),
    "prompt stopped": ({"UserPromptSubmit": [{"out": {"continue": False, "stopReason": "not now"}}]}, [BYE]),
    "continued": (
        {
            "Stop": [
                {"code": 2, "err": "go on\n"},
                {"out": {"decision": "block", "reason": "again"}},
                speaks("Stop", additionalContext="one more thing"),
                {"out": {"continue": False, "stopReason": "halt"}},
            ]
        },
        [say(text(word)) for word in ("A.", "B.", "C.", "D.", "E.")],
    ),
}


def theirs(program: Path, plan: Plan, scene: Scene, tmp_path: Path) -> Hooked:
    home, project = tmp_path / "home", tmp_path / "home" / "work"
    project.mkdir(parents=True)
    prepare_home(home, project)
    (home / ".claude").mkdir(exist_ok=True)
    settings = {"hooks": hook_settings(tmp_path / "hooks", plan)}
    (home / ".claude" / "settings.json").write_text(json.dumps(settings), encoding="utf-8")
    with Stage() as stage:
        stage.add("hooked", scene)
        args = ["-p", cue("hooked"), "--output-format", "json"]
        run_client(program, home=home, cwd=project, args=args, base_url=stage.url)
        sessions = list(home.glob(".claude/projects/*/*.jsonl"))
        lines = lines_of(sessions[0]) if sessions else []
        return told(tmp_path / "hooks", lines, stage.requests)


def ours(plan: Plan, scene: Scene, tmp_path: Path, check: Callable[[World], None] | None = None) -> Hooked:
    hooks = hook_settings(tmp_path / "hooks", plan)
    settings = merge_settings([SettingsFile(Scope.USER, "", tmp_path, {"hooks": hooks})], [], is_trusted=False)
    with world_at(tmp_path, {"hooked": scene}) as world:
        world.run(cue("hooked"), settings=settings, permission_mode=PermissionMode.DEFAULT)
        if check is not None:
            check(world)
        return told(tmp_path / "hooks", lines_of(world.session), world.asked())


def without_paths(hooked: Hooked, folder: Path) -> Json:
    encoded = json.dumps(dataclasses.asdict(hooked))
    found: Json = json.loads(encoded.replace(str(folder), "FOLDER"))
    return found


@pytest.mark.sample
@pytest.mark.clients
@pytest.mark.parametrize("name", PLANS)
def test_hooks_do_the_same_as_in_2_1_325(name: str, client: Client, tmp_path: Path) -> None:
    plan, scene = PLANS[name]
    expected = without_paths(theirs(client(NEWEST), plan, scene, tmp_path / "theirs"), tmp_path / "theirs")
    found = without_paths(ours(plan, scene, tmp_path / "ours"), tmp_path / "ours")
    # Ours sends what two hooks say before one prompt as one text.
    for one in (found, expected):
        one["sent"] = ["\n\n".join(texts) for texts in one["sent"]]
    assert found == expected


@pytest.mark.parametrize("name", [name for name in PLANS if not name.startswith("prompt blocked")])
def test_a_session_with_hooks_is_valid_and_is_resumed_as_it_was(name: str, tmp_path: Path) -> None:
    plan, scene = PLANS[name]

    def check(world: World) -> None:
        assert_valid(world.session)
        if world.asked():
            assert_resumes_as_it_was(world, world.session)

    ours(plan, scene, tmp_path, check)
