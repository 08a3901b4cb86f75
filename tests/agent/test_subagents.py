"""Sub-agents: how deep, of which kinds, failing, resumed, in the background, and where their files stand."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from lab.observatory.scenes import Fail, Say, Scene, cue, found_in_results, say, text, think, tool
from tests.agent.checking import assert_valid
from tests.agent.contract import check_order
from tests.agent.sending import assert_each_extends_the_last, assert_sendable, conversations_of, live_messages
from tests.agent.world import Json, World, lines_of, of, turn_ends, world_at
from tests.conftest import Client
from tests.messages.asking import ask_question, of_file
from tests.messages.golden import RELEASES, compare_with_answer, our_messages

from stenograph.agent.engine import events
from stenograph.agent.engine.events import Outcome
from stenograph.agent.engine.options import Compat
from stenograph.check import check
from stenograph.sessions.loading import load_file


def resumes(body: Json) -> Say:
    """Lets the agent go on that the last result named."""
    name = found_in_results(body, r"agentId: (\w+)", "missing")[-1]
    return say(tool("SendMessage", to=name, message=cue("again"), summary="Again"))


SCENES: dict[str, Scene] = {
    "plain": [say(text("Hello."))],
    "digs": [say(tool("Agent", description="Deeper", prompt=cue("digs"))), say(text("Dug."))],
    "unknown": [say(tool("Agent", description="Odd", prompt=cue("plain"), subagent_type="no-such-type")), say(text("Oh."))],
    "fails": [
        say(tool("Agent", description="Failing", prompt=cue("denied")), tool("Agent", description="Fine", prompt=cue("plain"))),
        say(text("One failed.")),
    ],
    "denied": [say(tool("Bash", command="echo before")), Fail(400, "invalid_request_error", say(text("never")), times=99)],
    "twice": [say(tool("Agent", description="Once", prompt=cue("once"))), resumes, say(text("Both done."))],
    "once": [say(think("Hm."), tool("Bash", command="echo once")), say(text("Once done."))],
    "again": [say(text("Again done."))],
    "lost": [say(tool("SendMessage", to="a0123456789abcdef", message=cue("again"), summary="Lost")), say(text("Lost."))],
    "escapes": [say(tool("SendMessage", to="../../../escaped", message=cue("again"), summary="Out")), say(text("Not out."))],
    "background": [
        say(tool("Agent", description="Aside", prompt=cue("once"), run_in_background=True)),
        say(text("Launched.")),
    ],
    "explores": [say(tool("Agent", description="Look", prompt=cue("plain"), subagent_type="Explore")), say(text("Seen."))],
    "writes": [say(tool("Write", file_path="new.txt", content="x")), say(text("Wrote."))],
    "impatient": [
        say(tool("Agent", description="Slow", prompt=cue("slow"), run_in_background=True)),
        resumes,
        say(text("Waiting.")),
    ],
    "slow": [say(tool("Bash", command="sleep 0.3")), say(text("Slow done."))],
    "silent": [say(tool("Agent", description="Silent", prompt=cue("thinks"))), say(text("Nothing said."))],
    "thinks": [Say([think("Nothing to say.")])],
    "old": [
        say(
            think("Both."),
            tool("Task", description="First", prompt=cue("once")),
            tool("Task", description="Second", prompt=cue("again")),
        ),
        say(text("Both are back.")),
    ],
}


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    with world_at(tmp_path, SCENES) as made:
        yield made


def agent_files(world: World) -> list[Path]:
    return sorted(world.home.glob("projects/**/agent-*.jsonl"))


def results_of(path: Path) -> list[Json]:
    return [line["message"]["content"][0] for line in of("user", lines_of(path)) if isinstance(line["message"]["content"], list)]


def words_of(result: Json) -> str:
    content = result["content"]
    return content if isinstance(content, str) else "\n".join(block["text"] for block in content)


def test_agents_start_agents_to_a_depth_and_the_deepest_have_no_tool_for_it(world: World) -> None:
    seen = world.run(cue("digs"))
    check_order(seen)
    assert [end.outcome for end in turn_ends(seen)] == [Outcome.DONE]
    metas = [json.loads(path.with_suffix(".meta.json").read_text()) for path in agent_files(world)]
    assert sorted(meta["spawnDepth"] for meta in metas) == [1, 2, 3, 4]
    ids = {path.stem.removeprefix("agent-") for path in agent_files(world)}
    assert {meta["parentAgentId"] for meta in metas if meta["spawnDepth"] > 1} < ids
    deepest = next(
        path for path in agent_files(world) if json.loads(path.with_suffix(".meta.json").read_text())["spawnDepth"] == 4
    )
    assert [result["is_error"] for result in results_of(deepest)] == [True]
    tools = [{one["name"] for one in body["tools"]} for body in world.asked()]
    assert sum("Agent" not in names for names in tools) == 2  # its question, and that with the error
    for path in [world.session, *agent_files(world)]:
        assert_valid(path)


def test_an_unknown_type_is_told_with_those_that_there_are(world: World) -> None:
    world.run(cue("unknown"))
    (result,) = results_of(world.session)
    assert result["is_error"] is True
    assert "no-such-type" in words_of(result)
    assert "general-purpose, Explore, Plan" in words_of(result)
    assert agent_files(world) == []
    assert_valid(world.session)


def test_an_agent_whose_endpoint_fails_is_a_failed_call_and_nothing_more(world: World) -> None:
    seen = world.run(cue("fails"))
    check_order(seen)
    assert [end.outcome for end in turn_ends(seen)] == [Outcome.DONE]
    results = {bool(result.get("is_error")): words_of(result) for result in results_of(world.session)}
    assert "Agent failed" in results[True]
    assert "Hello." in results[False]
    for path in [world.session, *agent_files(world)]:
        assert_valid(path)


def test_an_agent_that_says_nothing_is_told_so(world: World) -> None:
    world.run(cue("silent"))
    (result,) = results_of(world.session)
    assert "without an answer" in words_of(result)
    assert_valid(world.session)


def test_an_agent_goes_on_with_what_it_knows(world: World) -> None:
    seen = world.run(cue("twice"))
    check_order(seen)
    conversations = conversations_of(world.asked())
    assert [len(conversation) for conversation in conversations] == [3, 2 + 1]
    for conversation in conversations:
        assert_each_extends_the_last(conversation)
    (path,) = agent_files(world)
    asked = next(body for body in world.asked() if cue("again") in json.dumps(body["messages"][-1]))
    sent = live_messages(asked)
    assert_sendable(sent)
    assert [block["type"] for block in sent[1]["content"]] == ["thinking", "tool_use"]
    assert sent[-1]["content"][-1]["text"].strip() == cue("again")
    assert_valid(path)
    assert {line["isSidechain"] for line in lines_of(path)} == {True}
    first, second = results_of(world.session)
    assert "Once done." in words_of(first)
    assert "Again done." in words_of(second)
    assert len(load_file(world.session).turns) == 1


def test_an_agent_goes_on_after_its_session_was_taken_up_again(world: World) -> None:
    world.run(cue("background"))
    (path,) = agent_files(world)
    name = path.stem.removeprefix("agent-")
    before = len(lines_of(path))
    world.stage.add("later", [say(tool("SendMessage", to=name, message=cue("again"), summary="Later")), say(text("Done."))])
    world.run(cue("later"), resume=world.session.stem)
    assert len(lines_of(path)) == before + 2
    assert_valid(path)


def test_an_agent_that_goes_on_is_what_it_was(world: World) -> None:
    world.run(cue("explores"))
    (path,) = agent_files(world)
    meta = path.with_suffix(".meta.json")
    before = meta.read_bytes()
    world.stage.add("later", [say(tool("SendMessage", to=path.stem[6:], message=cue("writes"))), say(text("Done."))])
    world.run(cue("later"), resume=world.session.stem)  # in a process that knows nothing of it
    assert not (world.cwd / "new.txt").exists()
    assert meta.read_bytes() == before
    errors = [line["message"]["content"][0].get("is_error") for line in of("user", lines_of(path))[2:]]
    assert errors == [True]


def test_an_agent_that_is_still_at_work_is_waited_for(world: World) -> None:
    world.run(cue("impatient"))
    (_, result) = results_of(world.session)[:2]
    assert result["is_error"] is True
    assert "TaskOutput" in words_of(result)


@pytest.mark.parametrize("scene", ["lost", "escapes"])
def test_an_agent_that_is_not_there_is_a_failed_call(world: World, scene: str) -> None:
    outside = world.home / "projects" / "escaped.jsonl"
    seen = world.run(cue(scene))
    (result,) = results_of(world.session)
    assert result["is_error"] is True
    assert "unexpectedly" not in "".join(event.text for event in seen if isinstance(event, events.Notice))
    assert "No agent" in words_of(result)
    assert agent_files(world) == []
    assert not outside.exists()
    assert_valid(world.session)


def test_an_agent_in_the_background_tells_in_a_turn_of_its_own(world: World) -> None:
    seen = world.run(cue("background"))
    check_order(seen)
    assert [end.outcome for end in turn_ends(seen)] == [Outcome.DONE, Outcome.DONE]
    (note,) = [line for line in of("user", lines_of(world.session)) if line.get("turnOrigin") == "task_notification"]
    assert note["origin"] == {"kind": "task-notification"}
    words = note["message"]["content"]
    assert words.startswith("<task-notification>")
    (path,) = agent_files(world)
    assert f"<task-id>{path.stem.removeprefix('agent-')}</task-id>" in words
    assert "<result>Once done.</result>" in words
    sent = live_messages(world.asked()[-1])
    assert_sendable(sent)
    assert "<task-notification>" in json.dumps(sent[-1])
    for file in (world.session, path):
        assert_valid(file)


@pytest.mark.clients
def test_2_0_gets_the_layout_that_it_looks_for_and_resumes_it(world: World, client: Client) -> None:
    world.run(cue("old"), cue("plain"), compat=Compat.OLD)
    path = world.session
    agents = agent_files(world)
    assert {agent.parent for agent in agents} == {path.parent}
    assert {len(agent.stem) for agent in agents} == {len("agent-") + 7}
    assert not (path.with_suffix("") / "subagents").exists()
    for file in (path, *agents):
        lines = lines_of(file)
        assert {line["type"] for line in lines} <= {"user", "assistant", "file-history-snapshot"}
        assert {line["version"] for line in lines if "uuid" in line} == {"2.0.76"}
        report = check([file])
        assert (report.drift, report.damage, report.failures) == ([], [], [])
        assert_valid(file)
    for release in RELEASES:
        question = of_file(path, None)
        answer = ask_question(client(release), question, 90)
        assert answer.messages is not None, answer.said
        difference = compare_with_answer(release, question.data, answer, our_messages(release, question.data, path))
        assert difference is None, f"{release}: {difference}"


def test_a_session_of_2_0_is_gone_on_with_in_its_own_shape(world: World) -> None:
    world.run(cue("old"), compat=Compat.OLD)
    world.run(cue("plain"), compat=Compat.OLD, resume=world.session.stem)
    assert {line["version"] for line in lines_of(world.session) if "uuid" in line} == {"2.0.76"}
    assert_valid(world.session)
