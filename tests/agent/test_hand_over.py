"""A session goes back and forth between ours and a real client: three hand-overs in a row lose nothing and repeat nothing."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from lab.observatory.scenes import Say, Scene, cue, say, text, think, tool
from tests.agent.everything import COMPACT, SUMMARY
from tests.agent.handing_over import LEGS, add_agents, agent_tool, last_request, run_theirs, session_of
from tests.agent.world import Json, World, lines_of, world_at
from tests.conftest import Client
from tests.messages.golden import RELEASES

from stenograph.check import check

pytestmark = pytest.mark.clients

#: Calls of a leg: two commands and a file, then an agent.
CALLS = 4
#: Older releases hang parallel results so that they lose some of them themselves when they resume (rule 30). Ours do not.
KEEPS_PARALLEL = "2.1.325"


def _leg(name: str, cwd: Path, *, at_once: bool) -> Scene:
    def calls_agent(body: Json) -> Say:
        task = cue(f"agent-{name}", f"Task of {name}.")
        given = {"description": "A task", "prompt": task, "subagent_type": "general-purpose", "run_in_background": False}
        return say(tool(agent_tool(body), **given))

    words = [think(f"Thought of {name}."), text(f"Begin of {name}.")]
    calls = [
        tool("Bash", command=f"echo {name} one", description="Say one"),
        tool("Bash", command=f"echo {name} two", description="Say two"),
        tool("Read", file_path=str(cwd / "a.txt")),
    ]
    steps = [say(*words, *calls)] if at_once else [say(*words, calls[0]), *map(say, calls[1:])]
    return [*steps, calls_agent, say(text(f"Answer of {name}."))]


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    with world_at(tmp_path.resolve(), {}) as made:
        (made.cwd / "a.txt").write_text("alpha\n")
        add_agents(made)
        yield made


def _run_ours(world: World, leg: str) -> None:
    session = session_of(world)
    world.run(cue(leg, f"Prompt of {leg}."), resume=session.stem if session else None)


def _assert_nothing_is_lost(messages: list[Json], legs: tuple[str, ...]) -> None:
    texts = "\n".join(block["text"] for message in messages for block in message["content"] if block["type"] == "text")
    *whole, last = legs
    for leg in whole:
        for words in (f"Prompt of {leg}.", f"Begin of {leg}.", f"Answer of {leg}."):
            assert texts.count(words) == 1, words
    assert texts.count(f"Prompt of {last}.") == 1
    # In the order of the legs.
    places = [texts.index(f"Prompt of {leg}.") for leg in legs]
    assert places == sorted(places)
    blocks = [block for message in messages for block in message["content"]]
    uses = [block["id"] for block in blocks if block["type"] == "tool_use"]
    assert len(uses) == len(set(uses)) == CALLS * len(legs)
    assert Counter(uses) == Counter(block["tool_use_id"] for block in blocks if block["type"] == "tool_result")
    results = json.dumps([block["content"] for block in blocks if block["type"] == "tool_result"])
    for leg in legs:
        for words in (f"{leg} one", f"{leg} two", f"Agent of {leg} is done."):
            assert results.count(words) == 1, words


def _assert_one_chain(path: Path) -> None:
    """One root, no parent that is missing, times that never go back at a hand-over, and nothing that the checker finds."""
    chained = [line for line in lines_of(path) if "uuid" in line]
    assert [line["type"] for line in chained if line["parentUuid"] is None] == ["user"]
    known = {line["uuid"] for line in chained}
    assert len(known) == len(chained)
    assert {line["parentUuid"] for line in chained} - {None} <= known
    assert {line["sessionId"] for line in chained} == {path.stem}
    report = check([path])
    assert (report.drift, report.damage, report.failures) == ([], [], [])


@pytest.mark.parametrize("release", RELEASES)
@pytest.mark.parametrize("begins", ["ours", "theirs"])
def test_three_hand_overs_in_a_row_lose_nothing(begins: str, release: str, client: Client, world: World) -> None:
    program = client(release)
    for number, leg in enumerate(LEGS):
        is_ours = (number % 2 == 0) == (begins == "ours")
        world.stage.add(leg, _leg(leg, world.cwd, at_once=is_ours or release == KEEPS_PARALLEL))
        if is_ours:
            _run_ours(world, leg)
        else:
            run_theirs(world, program, cue(leg, f"Prompt of {leg}."))
        _assert_nothing_is_lost(last_request(world), LEGS[: number + 1])
    path = session_of(world)
    assert path is not None
    _assert_one_chain(path)
    writers = ["ours" if "stenograph" in line else "theirs" for line in lines_of(path) if "uuid" in line]
    turns = [writer for place, writer in enumerate(writers) if place == 0 or writers[place - 1] != writer]
    assert turns == (["ours", "theirs"] * 2 if begins == "ours" else ["theirs", "ours"] * 2)


@pytest.mark.sample
@pytest.mark.parametrize("release", RELEASES)
def test_a_compaction_of_ours_is_taken_up_and_handed_back(release: str, client: Client, world: World) -> None:
    program = client(release)
    first, second, third, _ = LEGS
    for leg in LEGS:
        world.stage.add(leg, _leg(leg, world.cwd, at_once=leg != second))
    world.run(cue(first, f"Prompt of {first}."), COMPACT)
    run_theirs(world, program, cue(second, f"Prompt of {second}."))
    _assert_nothing_is_lost(last_request(world), (second,))
    _run_ours(world, third)
    messages = last_request(world)
    _assert_nothing_is_lost(messages, (second, third))
    words = json.dumps(messages)
    assert (words.count(SUMMARY), words.count(f"Prompt of {first}.")) == (1, 0)
