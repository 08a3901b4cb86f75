"""`--permission-prompt-tool` with a tool of an MCP server, beside 2.1.325: what the tool gets, and what its answers do.

`prompt_tool.json` is what 2.1.325 wrote for the plans here; a test asks the real client again.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from lab.clients import run_client
from lab.observatory.scenes import Scene, cue, say, text, tool
from tests.agent.checking import assert_valid
from tests.agent.world import FAKE_KEY, Json, World, lines_of, world_at
from tests.cli.running import run as run_steno
from tests.conftest import Client

NEWEST = "2.1.325"
GUARD = Path(__file__).with_name("guard.py")
TOOL = "mcp__guard__approve"
THEIRS: Json = json.loads(Path(__file__).with_name("prompt_tool.json").read_text(encoding="utf-8"))
RULE = {"type": "addRules", "rules": [{"toolName": "Bash", "ruleContent": "touch:*"}], "behavior": "allow"}
BYE = say(text("Bye."))


def touch(*names: str) -> Scene:
    return [*(say(tool("Bash", command=f"touch {name}", description="Make it")) for name in names), BYE]


def changed(command: str) -> Json:
    return {"behavior": "allow", "updatedInput": {"command": command}}


#: (plan, steps)
PLANS: dict[str, tuple[Sequence[Any], Scene]] = {
    "allowed": (
        [{"behavior": "allow"}, changed("touch b"), changed("touch changed"), {"behavior": "allow", "updatedInput": {}}],
        touch("a", "b", "c", "d"),
    ),
    "denied": ([{"behavior": "deny", "message": "not you"}], touch("a")),
    "ended": ([{"behavior": "deny", "message": "stop it", "interrupt": True}], touch("a", "b")),
    "allowed for the session": (
        [{**changed("touch a"), "updatedPermissions": [{**RULE, "destination": "session"}]}],
        touch("a", "b"),
    ),
    "wrong answers": (
        [
            "no JSON",
            {"behavior": "maybe"},
            {"behavior": "deny"},
            {"result": {"content": [{"type": "text", "text": "it failed"}], "isError": True}},
            {"result": {"content": []}},
            {"result": {"content": [], "structuredContent": {"behavior": "allow", "updatedInput": {"command": "touch e"}}}},
        ],
        touch("a", "b", "c", "d", "e", "f"),
    ),
    "other tools": (
        [{"behavior": "allow", "updatedInput": {"file_path": "x"}}, {"behavior": "deny", "message": "no"}],
        [say(tool("Write", file_path="/nowhere/a", content="a")), say(tool("mcp__guard__other")), say(tool(TOOL)), BYE],
    ),
}


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    with world_at(tmp_path.resolve(), {}) as made:
        yield made


def arguments(world: World, name: str, tool_name: str = TOOL) -> list[str]:
    """Sets the plan up."""
    plan, scene = PLANS[name]
    folder = world.cwd.parent / "guard"
    folder.mkdir()
    (folder / "plan.json").write_text(json.dumps(plan), encoding="utf-8")
    world.stage.add("asked", scene)
    server = {"command": sys.executable, "args": [str(GUARD), str(folder)]}
    config = json.dumps({"mcpServers": {"guard": server}})
    return ["-p", cue("asked"), "--mcp-config", config, "--permission-prompt-tool", tool_name, "--output-format", "json"]


def run_ours(world: World, given: Sequence[str], monkeypatch: pytest.MonkeyPatch) -> subprocess.CompletedProcess[str]:
    monkeypatch.chdir(world.cwd)
    environment = {"ANTHROPIC_BASE_URL": world.stage.url, "ANTHROPIC_API_KEY": FAKE_KEY, "HOME": str(world.home.parent)}
    return run_steno("agent", "--home", world.home, *given, environment=environment)


_MEMBERS = ("toolUseResult", "toolDenialKind", "holdsPersonsWords", "permissionDecision")


def found(world: World, result: Json) -> Json:
    log = world.cwd.parent / "guard" / "asked.jsonl"
    asked = [json.loads(line) for line in log.read_text().splitlines()]
    lines = [line for line in lines_of(world.session) if line["type"] == "user" and isinstance(line["message"]["content"], list)]
    results = [
        {"content": block["content"], "is_error": block["is_error"], **{name: line[name] for name in _MEMBERS if name in line}}
        for line in lines
        for block in line["message"]["content"]
        if block["type"] == "tool_result"
    ]
    return {
        "asked": [{name: value for name, value in one.items() if name != "tool_use_id"} for one in asked],
        "results": results,
        "made": sorted(path.name for path in world.cwd.iterdir()),
        "denied": [{"tool": one["tool_name"], "input": one["tool_input"]} for one in result["permission_denials"]],
        "is_error": result["is_error"],
    }


@pytest.mark.spread(3)
@pytest.mark.parametrize("name", PLANS)
def test_the_tool_decides_as_in_2_1_325(name: str, world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    done = run_ours(world, arguments(world, name), monkeypatch)
    assert found(world, json.loads(done.stdout)) == THEIRS[name]
    assert_valid(world.session)


@pytest.mark.clients
@pytest.mark.sample
@pytest.mark.parametrize("name", PLANS)
def test_the_client_still_asks_so(name: str, client: Client, world: World) -> None:
    given = arguments(world, name)
    done = run_client(client(NEWEST), home=world.home.parent, cwd=world.cwd, args=given, base_url=world.stage.url)
    assert found(world, json.loads(done.stdout)) == THEIRS[name]


def test_a_tool_that_is_not_there_is_wrong_usage(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    done = run_ours(world, arguments(world, "denied", "mcp__guard__nobody"), monkeypatch)
    known = "mcp__guard__approve, mcp__guard__other"
    words = f"--permission-prompt-tool: MCP tool mcp__guard__nobody was not found; available: {known}"
    assert (done.returncode, words in done.stderr, world.asked()) == (2, True, [])


@pytest.mark.parametrize(("name", "words"), [("Bash", "must be stdio or an MCP tool"), ("stdio", "requires --input-format")])
def test_other_names_are_wrong_usage(name: str, words: str, world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    done = run_ours(world, ["-p", "x", "--permission-prompt-tool", name], monkeypatch)
    assert (done.returncode, words in done.stderr) == (2, True)
