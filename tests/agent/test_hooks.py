"""Hooks beside 2.1.325: the same plan of answers, the same steps of the model, compared in what hooks get, what is recorded, and
what is sent."""

from __future__ import annotations

import dataclasses
import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from lab.clients import run_client
from lab.hooked import Hooked, Plan, hook_settings, speaks, told
from lab.observatory.scenes import Say, Scene, cue, say, text, tool
from lab.observatory.stage import Stage
from lab.terminal import prepare_home
from tests.agent.checking import assert_resumes_as_it_was, assert_valid
from tests.agent.world import World, lines_of, turn_ends, world_at
from tests.conftest import Client

from stenograph.agent.engine.options import PermissionMode
from stenograph.agent.faces.stream_json import TurnWords
from stenograph.client_settings import merge_settings
from stenograph.client_settings.reading import Scope, SettingsFile

Json = dict[str, Any]
NEWEST = "2.1.325"
#: Its default.
MODEL = "claude-opus-5-5"


def shell(command: str) -> Any:
    return say(tool("Bash", command=command, description="Run"))


ECHOES = [shell("echo one"), shell("echo two"), shell("echo three"), shell("echo four")]
BYE = say(text("Bye."))
#: Seconds by which the other hook ends first.
SLOW = 0.4


def helper(body: Json) -> Say:
    """A call that starts a subagent, by the name that the release has for it."""
    name = next(one["name"] for one in body["tools"] if one["name"] in ("Agent", "Task"))
    given = {"description": "Help", "prompt": cue("sub", "Help."), "subagent_type": "general-purpose"}
    return say(tool(name, **given, run_in_background=False))


@dataclasses.dataclass(frozen=True)
class Case:
    plan: Plan
    steps: Scene
    #: Of another hook for every event.
    other: Plan | None = None
    #: The steps of a subagent.
    sub: Scene = ()
    #: In a session that is resumed.
    then: str = ""


PLANS: dict[str, Case] = {
    "blocked before a tool": Case(
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
    "changed and allowed": Case(
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
    "after a tool": Case(
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
    "stopped before a tool": Case({"PreToolUse": [{"out": {"continue": False, "stopReason": "enough"}}]}, [*ECHOES, BYE]),
    "stopped after a tool": Case({"PostToolUse": [{"out": {"continue": False, "stopReason": "enough"}}]}, [*ECHOES, BYE]),
    "context at the start": Case(
        {
            "SessionStart": [speaks("SessionStart", additionalContext="at the start")],
            "UserPromptSubmit": [speaks("UserPromptSubmit", additionalContext="with the prompt")],
        },
        [BYE],
    ),
    "words at the start": Case(
        {"SessionStart": [{"out": "words of hook one"}], "UserPromptSubmit": [{"out": "words of hook two"}]},
        [BYE],
    ),
    "failures at the start": Case(
        {"SessionStart": [{"code": 2, "err": "no"}], "UserPromptSubmit": [{"code": 1, "err": "no"}]},
        [BYE],
    ),
    "prompt blocked": Case({"UserPromptSubmit": [{"out": {"decision": "block", "reason": "not that"}}]}, [BYE]),
    "prompt blocked by its exit code": Case({"UserPromptSubmit": [{"code": 2, "err": "not that"}]}, [BYE]),
    "prompt stopped": Case({"UserPromptSubmit": [{"out": {"continue": False, "stopReason": "not now"}}]}, [BYE]),
    "continued": Case(
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
    "two hooks": Case(
        {
            "SessionStart": [{"sleep": SLOW, **speaks("SessionStart", additionalContext="start one")}],
            "UserPromptSubmit": [{"sleep": SLOW, **speaks("UserPromptSubmit", additionalContext="prompt one")}],
            "PreToolUse": [
                {"sleep": SLOW, **speaks("PreToolUse", additionalContext="before one")},
                {"sleep": SLOW, "code": 2, "err": "denied one"},
                {"code": 2, "err": "denied first"},
            ],
            "PostToolUse": [{"sleep": SLOW, **speaks("PostToolUse", additionalContext="after one")}],
            "Stop": [
                {"sleep": SLOW, **speaks("Stop", additionalContext="stop one")},
                {"sleep": SLOW, "code": 2, "err": "on one"},
                {"out": {"decision": "block", "reason": "again one"}},
            ],
        },
        [*ECHOES[:3], say(text("A.")), say(text("B.")), say(text("C.")), BYE],
        {
            "SessionStart": [speaks("SessionStart", additionalContext="start two")],
            "UserPromptSubmit": [speaks("UserPromptSubmit", additionalContext="prompt two")],
            "PreToolUse": [
                speaks("PreToolUse", additionalContext="before two"),
                {"code": 2, "err": "denied two"},
                {"sleep": SLOW, "out": {"decision": "block", "reason": "denied last"}},
            ],
            "PostToolUse": [speaks("PostToolUse", additionalContext="after two")],
            "Stop": [
                speaks("Stop", additionalContext="stop two"),
                {"code": 2, "err": "on two"},
                {"sleep": SLOW, "out": {"decision": "block", "reason": "again two"}},
            ],
        },
    ),
    "a subagent continued": Case(
        {
            "SubagentStop": [
                {"code": 2, "err": "go on\n"},
                {"out": {"decision": "block", "reason": "again"}},
                speaks("SubagentStop", additionalContext="one more thing"),
                {"out": {"continue": False, "stopReason": "halt"}},
            ]
        },
        [helper, BYE],
        sub=[ECHOES[0], *(say(text(word)) for word in ("A.", "B.", "C.", "D.", "E."))],
    ),
    "words before a compaction": Case(
        {"PreCompact": [{"out": "keep the names"}]}, [ECHOES[0], BYE], then="/compact keep it short"
    ),
    "compaction blocked": Case({"PreCompact": [{"code": 2, "err": "not now"}]}, [ECHOES[0], BYE], then="/compact"),
    "compaction blocked by JSON": Case(
        {"PreCompact": [{"out": {"decision": "block", "reason": "not now"}}]}, [ECHOES[0], BYE], then="/compact"
    ),
}


def settings_of(case: Case, tmp_path: Path) -> Json:
    hooks = hook_settings(tmp_path / "hooks", case.plan)
    if case.other is not None:
        for event, groups in hook_settings(tmp_path / "others", case.other).items():
            hooks[event] += groups
    return {"hooks": hooks}


def theirs(program: Path, case: Case, tmp_path: Path) -> Json:
    home, project = tmp_path / "home", tmp_path / "home" / "work"
    project.mkdir(parents=True)
    prepare_home(home, project)
    (home / ".claude").mkdir(exist_ok=True)
    (home / ".claude" / "settings.json").write_text(json.dumps(settings_of(case, tmp_path)), encoding="utf-8")
    with Stage() as stage:
        stage.add("hooked", case.steps)
        stage.add("sub", case.sub)
        results: list[subprocess.CompletedProcess[bytes]] = []
        for prompt in filter(None, (cue("hooked"), case.then)):
            args = ["-p", prompt, "--output-format", "json", *(["--continue"] if results else [])]
            results.append(run_client(program, home=home, cwd=project, args=args, base_url=stage.url))
        sessions = [*home.glob(".claude/projects/*/*.jsonl"), *home.glob(".claude/projects/*/*/subagents/*.jsonl")]
        lines = [line for path in sessions for line in lines_of(path)]
        return found(told(tmp_path / "hooks", lines, stage.requests), json.loads(results[-1].stdout)["result"], tmp_path)


def ours(case: Case, tmp_path: Path, check: Callable[[World], None] | None = None) -> Json:
    file = SettingsFile(Scope.USER, "", tmp_path, settings_of(case, tmp_path))
    settings = merge_settings([file], [], is_trusted=False)
    words = TurnWords()
    given: Json = {"settings": settings, "permission_mode": PermissionMode.DEFAULT, "model": MODEL}
    with world_at(tmp_path, {"hooked": case.steps, "sub": case.sub}) as world:
        seen = world.run(cue("hooked"), **given)
        if case.then:
            seen = world.run(case.then, **given, go_on=True)
        for event in seen:
            words.take(event)
        if check is not None:
            check(world)
        sessions = [world.session, *world.session.with_suffix("").glob("subagents/*.jsonl")]
        lines = [line for path in sessions for line in lines_of(path)]
        return found(told(tmp_path / "hooks", lines, world.asked()), words.of(turn_ends(seen)[-1]), tmp_path)


def found(hooked: Hooked, result: str, folder: Path) -> Json:
    """Without paths, and without what a release says about a compaction that it made."""
    result = "" if result.startswith("Compacted: ") else result
    encoded = json.dumps({**dataclasses.asdict(hooked), "result": result})
    decoded: Json = json.loads(encoded.replace(str(folder), "FOLDER"))
    return decoded


@pytest.mark.sample
@pytest.mark.clients
@pytest.mark.parametrize("name", PLANS)
def test_hooks_do_the_same_as_in_2_1_325(name: str, client: Client, tmp_path: Path) -> None:
    expected = theirs(client(NEWEST), PLANS[name], tmp_path / "theirs")
    assert ours(PLANS[name], tmp_path / "ours") == expected


@pytest.mark.spread(4)
@pytest.mark.parametrize("name", [name for name in PLANS if not name.startswith("prompt blocked")])
def test_a_session_with_hooks_is_valid_and_is_resumed_as_it_was(name: str, tmp_path: Path) -> None:
    def check(world: World) -> None:
        assert_valid(world.session)
        if world.asked() and not PLANS[name].then:
            assert_resumes_as_it_was(world, world.session)

    ours(PLANS[name], tmp_path, check)
