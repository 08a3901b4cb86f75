"""A session goes back and forth between ours and a real client: three hand-overs in a row lose nothing and repeat nothing."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from lab.clients import run_client
from lab.observatory.scenes import Say, Scene, cue, say, text, think, tool
from lab.oracle import normalise
from tests.agent.everything import COMPACT, SUMMARY
from tests.agent.world import Json, World, lines_of, world_at
from tests.conftest import Client
from tests.messages.golden import RELEASES

from stenograph.check import check

pytestmark = pytest.mark.clients

LEGS = ("first", "second", "third", "fourth")
TIMEOUT = 120.0
#: Calls of a leg: two commands and a file, then an agent.
CALLS = 4
#: Older releases hang parallel results so that they lose some of them themselves when they resume (rule 30). Ours do not.
KEEPS_PARALLEL = "2.1.325"


def _agent_name(body: Json) -> str:
    """What the one who asks calls the tool for sub-agents."""
    return "Agent" if any(one["name"] == "Agent" for one in body["tools"]) else "Task"


def _leg(name: str, cwd: Path, *, at_once: bool) -> Scene:
    def calls_agent(body: Json) -> Say:
        task = cue(f"agent-{name}", f"Task of {name}.")
        given = {"description": "A task", "prompt": task, "subagent_type": "general-purpose", "run_in_background": False}
        return say(tool(_agent_name(body), **given))

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
        for name in LEGS:
            made.stage.add(f"agent-{name}", [say(tool("Bash", command="echo deep")), say(text(f"Agent of {name} is done."))])
        yield made


def _session(world: World) -> Path | None:
    """The one session; 2.0.76 leaves an empty file beside it."""
    found = [path for path in world.sessions if path.stat().st_size and not path.name.startswith("agent-")]
    assert len(found) < 2
    return found[0] if found else None


def _run_theirs(world: World, program: Path, leg: str) -> None:
    session = _session(world)
    resumes = ["--resume", session.stem] if session else []
    args = ["-p", cue(leg, f"Prompt of {leg}."), *resumes, "--output-format", "json", "--dangerously-skip-permissions"]
    done = run_client(program, home=world.home.parent, cwd=world.cwd, args=args, base_url=world.stage.url, timeout=TIMEOUT)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]


def _run_ours(world: World, leg: str) -> None:
    session = _session(world)
    world.run(cue(leg, f"Prompt of {leg}."), resume=session.stem if session else None)


def _last_request(world: World) -> list[Json]:
    """The last one of the conversation itself: clients ask for titles and the like too, and agents ask for themselves."""
    for body in reversed(world.asked()):
        if body.get("tools") and any("Prompt of" in json.dumps(message["content"]) for message in body["messages"]):
            return normalise(body["messages"], prompt="no prompt is cut off here")
    raise AssertionError("nothing was asked")


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
            _run_theirs(world, program, leg)
        _assert_nothing_is_lost(_last_request(world), LEGS[: number + 1])
    path = _session(world)
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
    _run_theirs(world, program, second)
    _assert_nothing_is_lost(_last_request(world), (second,))
    _run_ours(world, third)
    messages = _last_request(world)
    _assert_nothing_is_lost(messages, (second, third))
    words = json.dumps(messages)
    assert (words.count(SUMMARY), words.count(f"Prompt of {first}.")) == (1, 0)
