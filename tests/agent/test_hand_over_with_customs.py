"""Sessions with MCP tools, skills, commands, hooks and a project's own agents go back and forth between ours and real clients."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from lab.hooked import speaks
from lab.observatory.scenes import Say, Scene, cue, say, text, tool
from tests.agent.customs.furnished import furnish
from tests.agent.handing_over import LEGS, add_agents, agent_tool, last_request, last_sent, run_theirs, session_of
from tests.agent.mcp.calls import PREFIX, configuration
from tests.agent.world import Json, World, lines_of, world_at
from tests.cli.running import run as run_steno
from tests.conftest import Client

from stenograph.client_settings import Scope, SettingsFile, merge_settings

pytestmark = pytest.mark.clients

#: Of a leg: two of a server, a skill, an agent.
CALLS = 4


#: What hooks say to the model, by event.
SAID = {
    "SessionStart": "Said at the start.",
    "UserPromptSubmit": "Said with the prompt.",
    "PreToolUse": "Said before a call.",
    "PostToolUse": "Said after a call.",
}
_ANSWERS = {event: json.dumps(speaks(event, additionalContext=words)["out"]) for event, words in SAID.items()}
HOOKS = {event: [{"hooks": [{"type": "command", "command": f"printf '%s' '{answer}'"}]}] for event, answer in _ANSWERS.items()}


def _leg(name: str) -> Scene:
    def calls_agent(body: Json) -> Say:
        given = {"description": "A task", "prompt": cue(f"agent-{name}", f"Task of {name}."), "subagent_type": "helper"}
        return say(tool(agent_tool(body), **given, run_in_background=False))

    return [
        say(text(f"Begin of {name}."), tool(f"{PREFIX}echo", words=f"{name} one")),
        say(tool(f"{PREFIX}image")),
        say(tool("Skill", skill="second")),
        calls_agent,
        say(text(f"Answer of {name}.")),
    ]


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    with world_at(tmp_path.resolve(), {}) as made:
        furnish(made.home, made.cwd)
        (made.cwd / "mcp.json").write_text(configuration())
        for name in LEGS:
            made.stage.add(name, _leg(name))
        add_agents(made)
        yield made


def _prompt(leg: str) -> str:
    """By a command, whose text is in a line of its own."""
    return f"/mine {cue(leg, f'Prompt of {leg}.')}"


def _run_ours(world: World, leg: str) -> None:
    session = session_of(world)
    settings = merge_settings([SettingsFile(Scope.USER, "", world.home, {"hooks": HOOKS})], [], is_trusted=False)
    resumed = session.stem if session else None
    world.run(_prompt(leg), resume=resumed, mcp_config=["mcp.json"], is_trusted=True, settings=settings)


def _assert_nothing_is_lost(messages: list[Json], legs: tuple[str, ...]) -> None:
    blocks = [block for message in messages for block in message["content"]]
    texts = "\n".join(block["text"] for block in blocks if block["type"] == "text")
    for leg in legs:
        assert texts.count(f"Begin of {leg}.") == 1
        # In the command's arguments, and in its text.
        assert texts.count(f"Prompt of {leg}.") == 2, leg
    for leg in legs[:-1]:
        assert texts.count(f"Answer of {leg}.") == 1
    uses = [block["id"] for block in blocks if block["type"] == "tool_use"]
    assert len(uses) == len(set(uses)) == CALLS * len(legs)
    assert Counter(uses) == Counter(block["tool_use_id"] for block in blocks if block["type"] == "tool_result")
    results = json.dumps([block["content"] for block in blocks if block["type"] == "tool_result"])
    for leg in legs:
        # As the server repeats it, and what the agent said.
        assert results.count(f"{leg} one") == 1
        assert results.count(f"Agent of {leg} is done.") == 1
    assert results.count('"media_type": "image/png"') == len(legs)
    assert "Second body." in texts


@pytest.mark.proof
@pytest.mark.parametrize("release", ["2.0.76", "2.1.325"])
@pytest.mark.parametrize("begins", ["ours", "theirs"])
def test_hand_overs_with_servers_skills_and_agents_lose_nothing(begins: str, release: str, client: Client, world: World) -> None:
    program = client(release)
    has_hooks = release != "2.0.76"  # it loses lines of subagents' files when hooks run in them
    if has_hooks:
        (world.home / "settings.json").write_text(json.dumps({"hooks": HOOKS}), encoding="utf-8")
    ours = 0
    for number, leg in enumerate(LEGS):
        if (number % 2 == 0) == (begins == "ours"):
            _run_ours(world, leg)
            ours += 1
        else:
            run_theirs(world, program, _prompt(leg), "--mcp-config", "mcp.json")
        _assert_nothing_is_lost(last_request(world), LEGS[: number + 1])
        counts = {event: json.dumps(last_sent(world)).count(words) for event, words in SAID.items()}
        # The newest client says the same words at the start only once.
        assert counts.pop("SessionStart") >= min(ours, 1)
        assert min(counts.values()) >= (number + 1 if has_hooks else ours), counts
    path = session_of(world)
    assert path is not None
    chained = [line for line in lines_of(path) if "uuid" in line]
    assert {line["parentUuid"] for line in chained} - {None} <= {line["uuid"] for line in chained}
    done = run_steno("check", "--strict", path)
    assert (done.returncode, done.stderr) == (0, ""), done.stdout
