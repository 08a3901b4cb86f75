"""Agents, commands and skills from files: the same listings, texts and lines as in 2.1.325.

`lines.json` is what 2.1.325 wrote for the files and calls in `furnished.py`; a test asks the real client again.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from lab.clients import run_client
from lab.observatory.scenes import cue, say, text, tool
from tests.agent.customs.furnished import (
    COMMANDS,
    SUB,
    agent_steps,
    furnish,
    said,
    skill_steps,
)
from tests.agent.mcp.calls import configuration
from tests.agent.world import Json, World, lines_of, of, world_at
from tests.cli.running import run as run_steno
from tests.conftest import Client

from stenograph.agent.context.models import called_name
from stenograph.agent.engine import events
from stenograph.agent.engine.options import PermissionMode

THEIRS: Json = json.loads(Path(__file__).with_name("lines.json").read_text())
RELEASE = "2.1.325"


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    with world_at(tmp_path.resolve(), {"main": skill_steps(), "agents": agent_steps(), "sub": SUB}) as made:
        furnish(made.home, made.cwd)
        yield made


def written(world: World) -> list[Json]:
    return said(lines_of(world.session), world.cwd)


def test_skills_give_the_clients_results_and_lines(world: World) -> None:
    world.run(cue("main"), is_trusted=True)
    assert written(world) == THEIRS["skills"]


def test_a_skill_that_asks_for_rules_needs_one_itself(world: World) -> None:
    world.run(cue("main"), is_trusted=True, permission_mode=PermissionMode.DEFAULT)
    # The client runs `echo` without a rule, which is the permissions' matter.
    theirs = THEIRS["skills_default"]
    ours = [one for one in written(world) if "from-shell" not in str(one) and "not run" not in str(one)]
    assert ours == [one for one in theirs if "from-shell" not in str(one)]
    world.run(cue("main"), is_trusted=True, permission_mode=PermissionMode.DEFAULT, allowed=["Skill(demo-skill)"])
    first = said(lines_of(world.sessions[-1]), world.cwd)[0]
    assert first["content"] == "Launching skill: demo-skill"


@pytest.mark.parametrize("name", COMMANDS)
def test_commands_give_the_clients_lines(name: str, world: World) -> None:
    world.run(COMMANDS[name], is_trusted=True)
    assert written(world) == THEIRS["commands"][name]


def test_skills_and_agents_are_listed_as_the_client_lists_them(world: World) -> None:
    (begin,) = [event for event in world.run("Hello") if isinstance(event, events.SessionBegin)]
    (first,) = world.asked()
    words = "\n".join(block["text"] for block in first["messages"][0]["content"])
    assert [line for line in words.splitlines() if line.startswith("- ")] == THEIRS["listing"]
    (agent,) = [one["description"] for one in first["tools"] if one["name"] == "Agent"]
    assert [line for line in agent.splitlines() if line in THEIRS["agents_listing"]] == THEIRS["agents_listing"]
    assert {"all-tools", "denied", "helper", "own"} <= set(begin.agents)
    assert begin.skills == ["uskill", "demo-skill", "second"]
    assert begin.commands == ["compact", "uskill", "demo-skill", "second", "deep:nested", "greet", "hidden", "mine", "plain"]


def test_agents_have_their_tools_model_and_prompt(world: World) -> None:
    # On other endpoints than Anthropic's, `haiku` is the main model unless this says otherwise.
    world.run(cue("agents"), environ={**os.environ, "ANTHROPIC_DEFAULT_HAIKU_MODEL": "claude-haiku-5-5"})
    ours = []
    for path in sorted(world.session.with_suffix("").glob("subagents/*.jsonl")):
        lines = lines_of(path)
        answer = of("assistant", lines)[0]
        result = next(line["message"]["content"][0] for line in of("user", lines)[1:])
        model = answer["message"]["model"]
        ours.append(
            {
                "type": answer["attributionAgent"],
                "model": model,
                "result": result["content"],
                "is_error": result.get("is_error"),
            }
        )
    assert sorted(ours, key=lambda one: one["type"]) == THEIRS["agents"]
    systems = [json.dumps(body["system"]) for body in world.asked()]
    assert any("You help much." in system for system in systems)
    helped = next(body for body in world.asked() if "You help much." in json.dumps(body["system"]))
    assert [one["name"] for one in helped["tools"]] == ["Bash", "Read"]
    assert helped["model"] == called_name("claude-haiku-5-5")
    last = of("user", lines_of(world.session))[-1]
    assert last["message"]["content"][0]["content"].startswith("Agent type 'nobody' not found. Available agents: ")


def test_a_project_that_is_not_trusted_grants_nothing(world: World) -> None:
    (world.cwd / ".claude/commands/sly.md").write_text("---\nallowed-tools: Bash\n---\nSee !`touch made-by-the-command`\n")
    world.stage.add("touch", [say(tool("Bash", command="touch made-by-the-model")), say(text("Done."))])
    world.run(cue("touch", "/sly"), permission_mode=PermissionMode.DEFAULT)
    assert not list(world.cwd.glob("made-*"))
    world.run(cue("touch", "/sly"), permission_mode=PermissionMode.DEFAULT, is_trusted=True)
    assert sorted(path.name for path in world.cwd.glob("made-*")) == ["made-by-the-command", "made-by-the-model"]


def test_rules_of_a_command_end_with_its_turn(world: World) -> None:
    (world.cwd / ".claude/commands/sly.md").write_text("---\nallowed-tools: Bash\n---\nGo.\n")
    world.stage.add("touch", [say(tool("Bash", command="touch made")), say(text("Done."))])
    world.run("/sly", cue("touch"), permission_mode=PermissionMode.DEFAULT, is_trusted=True)
    assert not (world.cwd / "made").exists()


def test_files_that_a_command_names_come_with_it(world: World) -> None:
    (world.cwd / "notes.md").write_text("The notes.\n")
    (world.cwd / ".claude/commands/look.md").write_text("Look at @notes.md and @nowhere.md, not at me@example.com.\n")
    world.run("/look")
    sent = json.dumps(world.asked()[0]["messages"])
    assert (sent.count("The notes."), sent.count("Called the Read tool")) == (1, 1)


def test_a_command_on_the_command_line_is_found(world: World) -> None:
    environment = {"ANTHROPIC_API_KEY": "sk-x", "ANTHROPIC_BASE_URL": world.stage.url, "HOME": str(world.home.parent)}
    unknown = run_steno("agent", "-p", "/nosuch", "--home", world.home, environment=environment)
    assert (unknown.returncode, "unknown command /nosuch" in unknown.stderr) == (2, True)
    known = run_steno("agent", "-p", "/mine", "--home", world.home, environment=environment)
    assert known.returncode == 0, known.stderr
    assert "Mine: " in json.dumps(world.asked()[-1]["messages"])


def test_what_is_written_passes_a_strict_check(world: World) -> None:
    world.run(cue("main"), *COMMANDS.values(), cue("agents"), is_trusted=True)
    done = run_steno("check", "--strict", world.home / "projects")
    assert (done.returncode, done.stderr) == (0, ""), done.stdout


@pytest.mark.parametrize(
    "content",
    ["", "---\n", "---\nname: [\n---\nBody", "---\n- a\n- b\n---\nBody", "---\nname: x\ndescription: a: b: c\n---\nB", "\0\xff"],
)
def test_odd_files_stop_nothing(content: str, world: World) -> None:
    for place in ("agents/odd.md", "commands/odd.md", "skills/odd/SKILL.md"):
        path = world.cwd / ".claude" / place
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
    ends = [event for event in world.run("Hello") if isinstance(event, events.TurnEnd)]
    assert ends[0].outcome is events.Outcome.DONE


#: Calls of a response, and what its lines say that they are due to (2.1.325): skill, server, tool.
DUE = [
    (["Bash"], "mine"),
    (["Skill"], "mine"),
    (["mcp__probe__echo", "mcp__probe__write"], "second"),
    (["Bash"], "second", "probe", "write"),
    (["mcp__probe__fails"], "second"),
    (["Agent"], "second", "probe", "fails"),
    (["mcp__probe__echo", "Bash"], "second"),
    ([], "second", "probe", "echo"),
]
INPUTS: Json = {
    "Bash": {"command": "echo 1"},
    "Skill": {"skill": "second"},
    "mcp__probe__echo": {"words": "x"},
    "Agent": {"description": "Help", "prompt": cue("sub"), "subagent_type": "helper", "run_in_background": False},
}


def attributed(path: Path) -> list[list[str]]:
    members = ("attributionSkill", "attributionMcpServer", "attributionMcpTool")
    lines = of("assistant", lines_of(path))
    return [[line[name] for name in members if name in line] for line in lines]


def due_steps(world: World) -> None:
    steps = [say(*(tool(name, **INPUTS.get(name, {})) for name in names)) for names, *_ in DUE[:-1]]
    world.stage.add("due", [*steps, say(text("Done."))])
    (world.cwd / "mcp.json").write_text(configuration())


def assert_attributed(world: World) -> None:
    assert attributed(world.session) == [due for names, *due in DUE for _ in names or [""]]
    (sub,) = world.session.with_suffix("").glob("subagents/*.jsonl")
    assert attributed(sub) == [["second"], ["second"]]
    ran = [line for line in of("user", lines_of(world.session)) if "sandboxed" in line]
    assert [line["sandboxed"] for line in ran] == [False] * 3


def test_lines_say_which_skill_and_which_server_they_are_due_to(world: World) -> None:
    due_steps(world)
    world.run(f"/mine {cue('due')}", is_trusted=True, mcp_config=["mcp.json"])
    assert_attributed(world)
    world.run(cue("sub"), go_on=True)
    assert attributed(world.session)[-2:] == [[], []]


@pytest.mark.clients
@pytest.mark.sample
def test_the_client_says_so_too(client: Client, world: World) -> None:
    due_steps(world)
    args = ["-p", f"/mine {cue('due')}", "--dangerously-skip-permissions", "--mcp-config", "mcp.json"]
    done = run_client(client(RELEASE), home=world.home.parent, cwd=world.cwd, args=args, base_url=world.stage.url)
    assert done.returncode == 0, done.stderr[-2000:]
    assert_attributed(world)


@pytest.mark.clients
@pytest.mark.sample
@pytest.mark.parametrize("release", [RELEASE])
def test_the_client_still_writes_so(release: str, client: Client, world: World) -> None:
    args = ["-p", cue("main"), "--dangerously-skip-permissions"]
    done = run_client(client(release), home=world.home.parent, cwd=world.cwd, args=args, base_url=world.stage.url)
    assert done.returncode == 0, done.stderr[-2000:]
    assert written(world) == THEIRS["skills"]
