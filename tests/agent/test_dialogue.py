"""Turns of the agent against a scripted API: what it asks, what it records, what it tells, and how turns end."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import subprocess
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
from lab.observatory.scenes import Fail, Say, Scene, cue, say, text, think, tool
from tests.agent.checking import assert_resumes_as_it_was, assert_valid
from tests.agent.contract import check_order
from tests.agent.sending import assert_each_extends_the_last, conversations_of, stretches_of
from tests.agent.tools.test_bash import wait_until_gone
from tests.agent.world import World, lines_of, of, turn_ends, world_at

from stenograph.agent.engine import events
from stenograph.agent.engine.events import Event, Outcome
from stenograph.agent.engine.options import PermissionMode
from stenograph.agent.engine.session import Agent, Prompt
from stenograph.errors import UnwritableError
from stenograph.sessions.loading import load_messages

SCENES: dict[str, Scene] = {
    "plain": [say(text("Hello."))],
    "tools": [
        say(think("I look."), text("Looking."), tool("Bash", command="echo one", description="Say one")),
        say(tool("Glob", pattern="*.txt"), tool("Glob", pattern="*.md"), tool("Read", file_path="a.txt")),
        say(text("Seen.")),
    ],
    "failing": [
        say(tool("Bash", command="exit 3"), tool("NoSuchTool", x=1), tool("Read", file_path="missing.txt"), tool("Edit")),
        say(text("None of it worked.")),
    ],
    "at-once": [say(*(tool("Bash", command="sleep 0.1") for _ in range(8))), say(text("Slept."))],
    "many": [say(*(tool("Bash", command="sleep 0.02") for _ in range(40))), say(text("Slept."))],
    "one-by-one": [say(*(tool("Bash", command=f"echo {n} >> order.txt; sleep 0.01") for n in range(8))), say(text("Done."))],
    "agents": [
        say(
            tool("Agent", description="First", prompt=cue("first")),
            tool("Agent", description="Second", prompt=cue("second"), subagent_type="Explore"),
        ),
        say(text("Both are back.")),
    ],
    "first": [say(tool("Bash", command="echo sub")), say(text("First done."))],
    "second": [say(tool("Agent", description="Deeper", prompt=cue("deeper"))), say(text("Second done."))],
    "old-names": [say(tool("Task", description="First", prompt=cue("deeper"))), say(text("Done."))],
    "nested": [say(tool("Agent", description="Outer", prompt=cue("outer"))), say(text("Nested done."))],
    "outer": [say(tool("Agent", description="Deeper", prompt=cue("deeper"))), say(text("Outer done."))],
    "deeper": [say(text("Deeper done."))],
    "overloaded": [Fail(529, "overloaded_error", say(text("At last.")), times=3)],
    "denied": [Fail(400, "invalid_request_error", say(text("never")), times=99)],
    "long": [Say([text("word " * 40)], pause=0.05)],
    "thinks": [Say([think("Hm."), text("Late.")], pause=2.0)],
    "slow": [say(text("Wait."), tool("Bash", command="sleep 30"), tool("Bash", command="echo never")), say(text("Over."))],
    "max": [Say([text(f"Cut off {number}")], stop_reason="max_tokens") for number in range(5)],
    "max-once": [Say([text("Cut off he")], stop_reason="max_tokens"), say(text("re it ends."))],
    "window-once": [Say([text("Cut off he")], stop_reason="model_context_window_exceeded"), say(text("re it ends."))],
    "always-empty": [Say([])],
    "refused": [Say([text("I'd rather not.")], stop_reason="refusal")],
    "declined": [Say([], stop_reason="refusal")],
    "paused": [Say([text("A pause.")], stop_reason="pause_turn"), say(text("Gone on."))],
    "sequence": [Say([text("Stopped there")], stop_reason="stop_sequence")],
    "only-thinking": [Say([think("Nothing to say.")])],
    "full": [
        Say([tool("Bash", command="echo more")], usage={"input_tokens": 190_000}),
        say(text("After the compaction.")),
    ],
    "overwrites": [say(tool("Write", file_path="a.txt", content="beta\n")), say(text("Written."))],
    "edits": [say(tool("Edit", file_path="a.txt", old_string="alpha", new_string="beta")), say(text("Edited."))],
    "writes": [say(tool("Write", file_path="new.txt", content="one\n")), say(text("Written."))],
    "pull": [say(tool("Bash", command="echo 'gh pr create'; echo https://github.com/a/b/pull/7")), say(text("Made."))],
}


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    halves = iter([Say([text("Half of it and more.")], overloaded_after=4)])
    nothing = iter([Say([])])
    once = {
        "cut": [lambda _: next(halves, say(text("Whole.")))],
        "empty": [lambda _: next(nothing, say(text("Something.")))],
    }
    with world_at(tmp_path, {**SCENES, **once}) as made:
        (made.cwd / "a.txt").write_text("alpha\nbeta\n")
        yield made


# What is recorded


@pytest.mark.parametrize("scene", ["plain", "tools", "failing", "agents", "nested", "overloaded", "cut", "paused", "writes"])
def test_a_turn_is_recorded_whole_and_told_in_order(world: World, scene: str) -> None:
    seen = world.run(cue(scene))
    check_order(seen)
    assert [end.outcome for end in turn_ends(seen)] == [Outcome.DONE]
    assert_valid(world.session)
    assert_resumes_as_it_was(world, world.session)
    for agent in world.session.with_suffix("").glob("subagents/*.jsonl"):
        assert_valid(agent)


def test_each_block_of_a_response_is_a_line_with_the_final_usage(world: World) -> None:
    world.run(cue("tools"))
    answers = of("assistant", lines_of(world.session))
    first = [line for line in answers if line["message"]["id"] == answers[0]["message"]["id"]]
    assert [line["message"]["content"][0]["type"] for line in first] == ["thinking", "text", "tool_use"]
    assert {line["requestId"] for line in first} == {"req_scripted"}
    assert {line["message"]["stop_reason"] for line in first} == {"tool_use"}
    assert len({json.dumps(line["message"]["usage"]) for line in first}) == 1
    assert first[0]["message"]["content"][0]["signature"]


def test_a_call_says_how_long_its_input_was_written_as_in_the_client(world: World) -> None:
    # 2.1.325, given an input in three parts over 2.1 s, writes 2115; it never writes 0, and writes nothing for other blocks.
    world.run(cue("tools"))
    answers = of("assistant", lines_of(world.session))
    blocks = [(line["message"]["content"][0]["type"], line.get("toolInputStreamMs")) for line in answers]
    assert {kind for kind, _ in blocks} == {"thinking", "text", "tool_use"}
    assert all((isinstance(ms, int) and ms >= 1) if kind == "tool_use" else ms is None for kind, ms in blocks)


def test_lines_say_the_release_they_are_written_as_and_who_wrote_them(world: World) -> None:
    from stenograph import __version__

    world.run(cue("plain"))
    (prompt,) = of("user", lines_of(world.session))
    assert (prompt["version"], prompt["entrypoint"], prompt["stenograph"]) == ("2.1.325", "cli", __version__)
    assert prompt["sessionId"] == world.session.stem
    assert prompt["cwd"] == str(world.cwd)


def test_parallel_results_hang_in_one_line_so_that_old_clients_lose_none(world: World) -> None:
    world.run(cue("tools"))
    for release in ("2.0.76", "2.1.45", "2.1.325"):
        messages = load_messages(world.session, release).messages or []
        results = [block for message in messages for block in message.content if block["type"] == "tool_result"]
        assert len(results) == 4


def test_commands_that_only_read_run_at_once_and_all_others_one_by_one(world: World) -> None:
    told = [type(event) for event in world.run(cue("at-once")) if isinstance(event, events.ToolBegin | events.ToolEnd)]
    assert told == [events.ToolBegin] * 8 + [events.ToolEnd] * 8
    world.run(cue("one-by-one"))
    assert (world.cwd / "order.txt").read_text().split() == [str(number) for number in range(8)]


def test_of_many_calls_ten_run_at_once(world: World) -> None:
    running = most = 0
    for event in world.run(cue("many")):
        running += isinstance(event, events.ToolBegin) - isinstance(event, events.ToolEnd)
        most = max(most, running)
    assert most == 10


def test_a_session_whose_file_is_taken_away_ends_with_an_error(world: World) -> None:
    def remove(_: Agent, event: Event) -> None:
        if isinstance(event, events.ToolBegin):
            world.session.unlink(missing_ok=True)

    with pytest.raises(UnwritableError, match="was deleted while"):
        world.run(cue("writes"), during=remove)


def test_a_retried_request_is_in_the_file_each_time(world: World) -> None:
    seen = world.run(cue("overloaded"))
    errors = [line for line in lines_of(world.session) if line.get("subtype") == "api_error"]
    assert [line["retryAttempt"] for line in errors] == [1, 2, 3]
    assert {line["error"]["status"] for line in errors} == {529}
    assert [event.attempt for event in seen if isinstance(event, events.Retry)] == [1, 2, 3]


def test_a_stream_that_fails_midway_leaves_nothing_of_its_first_half(world: World) -> None:
    world.run(cue("cut"))
    text_lines = [line["message"]["content"][0]["text"] for line in of("assistant", lines_of(world.session))]
    assert text_lines == ["Whole."]


def test_sub_agents_have_files_of_their_own_with_a_description_beside_them(world: World) -> None:
    world.run(cue("nested"))
    folder = world.session.with_suffix("") / "subagents"
    metas = {path.name: json.loads(path.read_text()) for path in folder.glob("*.meta.json")}
    assert sorted((meta["description"], meta["spawnDepth"]) for meta in metas.values()) == [("Deeper", 2), ("Outer", 1)]
    for path in folder.glob("agent-*.jsonl"):
        lines = lines_of(path)
        assert {line["isSidechain"] for line in lines} == {True}
        assert {line["sessionId"] for line in lines} == {world.session.stem}
        assert {f"agent-{line['agentId']}" for line in lines} == {path.stem}
    (result,) = [line for line in of("user", lines_of(world.session)) if "toolUseResult" in line]
    assert result["toolUseResult"]["status"] == "completed"
    assert result["toolUseResult"]["content"] == [{"type": "text", "text": "Outer done."}]
    assert result["toolUseResult"]["totalToolUseCount"] == 1


def test_tools_are_known_by_their_old_names_too(world: World) -> None:
    seen = world.run(cue("old-names"))
    assert [event.is_error for event in seen if isinstance(event, events.ToolEnd)] == [False]


def test_an_agent_that_only_explores_can_start_no_agent(world: World) -> None:
    world.run(cue("agents"))
    (agent,) = [
        path for path in world.session.with_suffix("").glob("subagents/*.jsonl") if "second" in path.read_text().splitlines()[0]
    ]
    results = [line["message"]["content"][0] for line in of("user", lines_of(agent))[1:]]
    assert [result["is_error"] for result in results] == [True]


def test_a_pull_request_is_linked(world: World) -> None:
    world.run(cue("pull"))
    (link,) = of("pr-link", lines_of(world.session))
    assert (link["prNumber"], link["prRepository"], link["prUrl"]) == (7, "a/b", "https://github.com/a/b/pull/7")


def test_progress_is_written_and_nothing_hangs_off_it(world: World) -> None:
    world.run(cue("agents"))
    lines = lines_of(world.session)
    progress = of("progress", lines)
    assert {line["data"]["type"] for line in progress} == {"agent_progress"}
    parents = {line.get("parentUuid") for line in lines}
    assert not parents & {line["uuid"] for line in progress}


# How turns end


@pytest.mark.parametrize(
    ("scene", "outcome", "text_of_it"),
    [
        ("max", Outcome.OUT_OF_TOKENS, "Cut off 3"),
        ("max-once", Outcome.DONE, "re it ends."),
        ("window-once", Outcome.DONE, "re it ends."),
        ("empty", Outcome.DONE, "Something."),
        ("always-empty", Outcome.DONE, ""),
        ("refused", Outcome.REFUSED, "I'd rather not."),
        ("declined", Outcome.REFUSED, ""),
        ("sequence", Outcome.DONE, "Stopped there"),
        ("denied", Outcome.FAILED, ""),
        ("only-thinking", Outcome.DONE, ""),
    ],
)
def test_every_end_is_told_and_leaves_a_session_to_go_on_with(
    world: World, scene: str, outcome: Outcome, text_of_it: str
) -> None:
    seen = world.run(cue(scene), cue("plain"))
    check_order(seen)
    ends = turn_ends(seen)
    assert [end.outcome for end in ends] == [outcome, Outcome.DONE]
    assert ends[0].text == text_of_it
    assert_valid(world.session)
    assert_resumes_as_it_was(world, world.session)


def test_a_failure_tells_the_endpoints_status_and_is_never_sent(world: World) -> None:
    (end,) = turn_ends(world.run(cue("denied")))
    assert end.status == 400
    assert "invalid_request_error" in end.error
    (note,) = of("assistant", lines_of(world.session))
    assert note["isApiErrorMessage"] is True
    assert "API Error" not in json.dumps(load_messages(world.session).messages, default=lambda message: message.content)


def test_a_limit_of_turns_ends_after_the_results_are_in_the_file(world: World) -> None:
    seen = world.run(cue("tools"), max_turns=1)
    (end,) = turn_ends(seen)
    assert (end.outcome, end.responses) == (Outcome.OUT_OF_TURNS, 1)
    assert_valid(world.session)


def _interrupt_at(kind: type[Event], *, withdraws: bool = False) -> object:
    done: list[bool] = []

    def during(agent: Agent, event: Event) -> None:
        if isinstance(event, kind) and not done:
            done.append(True)
            agent.interrupt(withdraws=withdraws)

    return during


@pytest.mark.parametrize(
    ("scene", "kind", "marker"),
    [
        ("long", events.TextChunk, "[Request interrupted by user]"),
        ("long", events.TurnBegin, "[Request interrupted by user]"),
        ("slow", events.ToolBegin, "[Request interrupted by user for tool use]"),
    ],
)
def test_an_interruption_is_marked_and_the_session_goes_on(world: World, scene: str, kind: type[Event], marker: str) -> None:
    seen = world.run(cue(scene), cue("plain"), during=_interrupt_at(kind))  # type: ignore[arg-type]
    check_order(seen)
    assert [end.outcome for end in turn_ends(seen)] == [Outcome.INTERRUPTED, Outcome.DONE]
    prompts = [line["message"]["content"] for line in of("user", lines_of(world.session))]
    assert [{"type": "text", "text": marker}] in prompts
    assert_valid(world.session)
    assert_resumes_as_it_was(world, world.session)


@pytest.mark.parametrize(("scene", "kind"), [("long", events.TurnBegin), ("thinks", events.ThinkingChunk)])
def test_a_prompt_that_nothing_answered_can_be_taken_back(world: World, scene: str, kind: type[Event]) -> None:
    """As 2.1.325 records it: the next prompt is in its place."""
    during = _interrupt_at(kind, withdraws=True)
    seen = world.run(cue(scene), cue("plain"), during=during)  # type: ignore[arg-type]
    check_order(seen)
    assert [end.outcome for end in turn_ends(seen)] == [Outcome.WITHDRAWN, Outcome.DONE]
    first, second = of("user", lines_of(world.session))
    assert (first["parentUuid"], first["turnPosition"]) == (second["parentUuid"], second["turnPosition"])
    assert world.asked()[-1]["messages"][-1]["content"][-1]["text"] == cue("plain")
    assert cue(scene) not in json.dumps(world.asked()[-1]["messages"])
    assert_resumes_as_it_was(world, world.session)


def test_a_prompt_that_is_being_answered_is_interrupted_instead(world: World) -> None:
    during = _interrupt_at(events.TextChunk, withdraws=True)
    seen = world.run(cue("long"), cue("plain"), during=during)  # type: ignore[arg-type]
    assert [end.outcome for end in turn_ends(seen)] == [Outcome.INTERRUPTED, Outcome.DONE]
    assert "[Request interrupted by user]" in json.dumps(world.asked()[-1]["messages"])


def test_the_text_that_was_shown_before_an_interruption_is_kept(world: World) -> None:
    """2.1.325 records what was on the screen, also of a block that was not complete."""
    seen = world.run(cue("long"), cue("plain"), during=_interrupt_at(events.TextChunk))  # type: ignore[arg-type]
    shown = "".join(event.text for event in seen if isinstance(event, events.TextChunk) and event.text.startswith("word"))
    kept = next(line["message"]["content"] for line in of("assistant", lines_of(world.session)))
    assert shown
    assert kept == [{"type": "text", "text": shown}]
    assert shown in json.dumps(world.asked()[-1]["messages"])


def test_an_interrupted_call_and_those_behind_it_are_answered(world: World) -> None:
    world.run(cue("slow"), during=_interrupt_at(events.ToolBegin))  # type: ignore[arg-type]
    results = [line for line in of("user", lines_of(world.session)) if "toolUseResult" in line]
    assert [line["toolDenialKind"] for line in results] == ["user-rejected"] * 2


@pytest.mark.parametrize(
    ("scene", "is_changed", "is_done"), [("edits", False, True), ("overwrites", False, True), ("overwrites", True, False)]
)
def test_what_was_read_before_a_resume_is_known_unless_it_changed(
    world: World, scene: str, is_changed: bool, is_done: bool
) -> None:
    """As 2.1.325 does: a session that goes on knows the files it has read."""
    read = world.cwd / "a.txt"
    read.write_text("alpha\n")
    os.utime(read, (1_700_000_000, 1_700_000_000))
    world.run(cue("tools"))
    if is_changed:
        read.write_text("alpha of another\n")
        os.utime(read, (4_000_000_000, 4_000_000_000))
    seen = world.run(cue(scene), resume=world.session.stem)
    (end,) = [event for event in seen if isinstance(event, events.ToolEnd)]
    assert end.is_error is not is_done
    assert ("beta" in read.read_text()) is is_done


# Compaction


def test_a_compaction_by_hand_begins_anew_with_the_summary(world: World) -> None:
    seen = world.run(cue("tools"), "/compact", cue("plain"))
    check_order(seen)
    lines = lines_of(world.session)
    boundary = next(place for place, line in enumerate(lines) if line.get("subtype") == "compact_boundary")
    before = [line for line in lines[:boundary] if "uuid" in line]
    assert lines[boundary]["parentUuid"] is None
    assert lines[boundary]["logicalParentUuid"] == before[-1]["uuid"]
    assert lines[boundary]["compactMetadata"]["trigger"] == "manual"
    assert lines[boundary + 1]["isCompactSummary"] is True
    assert lines[boundary + 1]["parentUuid"] == lines[boundary]["uuid"]
    assert len(world.asked()[-1]["messages"]) == 1
    assert_valid(world.session)
    assert_resumes_as_it_was(world, world.session)


def test_a_conversation_is_compacted_before_its_window_is_full(world: World) -> None:
    seen = world.run(cue("full"), window=200_000)
    check_order(seen)
    triggers = [event.trigger for event in seen if isinstance(event, events.CompactionEnd)]
    assert triggers == ["auto"]
    (boundary,) = [line for line in lines_of(world.session) if line.get("subtype") == "compact_boundary"]
    assert boundary["compactMetadata"]["preTokens"] >= 190_000
    assert_valid(world.session)


def test_compacting_nothing_is_told_and_changes_nothing(world: World) -> None:
    seen = world.run("/compact")
    assert [type(event) for event in seen if isinstance(event, events.CompactionFailed)] == [events.CompactionFailed]
    assert [end.outcome for end in turn_ends(seen)] == [Outcome.FAILED]


# What is sent


#: How many requests each scene takes, by conversation: the main one, then its sub-agents. An overloaded endpoint is asked again.
REQUESTS = {"tools": [3], "failing": [2], "agents": [2, 2, 2], "nested": [2, 2, 1], "overloaded": [4], "paused": [2]}


@pytest.mark.parametrize("scene", REQUESTS)
def test_consecutive_requests_share_a_prefix_byte_for_byte(world: World, scene: str) -> None:
    world.run(cue(scene), cue("plain"), cue("writes"))
    conversations = conversations_of(world.asked())
    main, *agents = REQUESTS[scene]
    assert [len(conversation) for conversation in conversations] == [main + 1 + 2, *agents]
    for conversation in conversations:
        assert_each_extends_the_last(conversation)


@pytest.mark.parametrize("scene", REQUESTS)
def test_the_first_request_after_a_resume_extends_the_last_before_it(world: World, scene: str) -> None:
    world.run(cue("writes"), cue(scene))
    world.run(cue("plain"), resume=world.session.stem)
    main, *_ = conversations_of(world.asked())
    assert len(main) == 2 + REQUESTS[scene][0] + 1
    assert_each_extends_the_last(main)


def test_requests_between_compactions_share_a_prefix_and_so_does_the_question_for_a_summary(world: World) -> None:
    world.run(cue("tools"), cue("plain"), "/compact", cue("writes"), cue("tools"), cue("full"), window=200_000)
    world.run(cue("tools"), resume=world.session.stem, window=200_000)
    (main,) = conversations_of(world.asked())
    stretches = stretches_of(main)
    # By hand behind "plain", on its own account within "full".
    assert [len(stretch) for stretch in stretches] == [3 + 1 + 1, 2 + 3 + 1 + 1, 1 + 3]
    for stretch in stretches:
        assert_each_extends_the_last(stretch)


def test_what_is_not_allowed_is_refused_and_counted(world: World) -> None:
    seen = world.run(cue("writes"), permission_mode=PermissionMode.DEFAULT)
    assert not (world.cwd / "new.txt").exists()
    end = seen[-1]
    assert isinstance(end, events.SessionEnd)
    assert [denial["tool_name"] for denial in end.denials] == ["Write"]
    assert_valid(world.session)


def test_lines_say_the_folder_and_the_branch_that_a_command_changed_to(tmp_path: Path) -> None:
    """The result of the command is the first that does, as 2.0.76 writes it; of the folder, 2.1.325 too."""
    scene = [
        say(text("Go."), tool("Bash", command="cd sub")),
        say(tool("Bash", command="git checkout -q -b feature")),
        say(tool("Bash", command="cd ..")),
        say(text("Done.")),
    ]
    with world_at(tmp_path, {"moves": scene}) as world:
        (world.cwd / "sub").mkdir()
        subprocess.run(["git", "init", "-q", "-b", "main"], cwd=world.cwd, check=True)
        world.run(cue("moves"))
        lines = [line for line in lines_of(world.session) if line["type"] in ("user", "assistant")]
        places = [(os.path.relpath(line["cwd"], world.cwd), line["gitBranch"]) for line in lines]
        assert places == [
            (".", "main"),  # the prompt
            (".", "main"),  # Go.
            (".", "main"),  # cd sub
            ("sub", "main"),
            ("sub", "main"),  # git checkout
            ("sub", "feature"),
            ("sub", "feature"),  # cd ..
            (".", "feature"),
            (".", "feature"),  # Done.
        ]
        assert_valid(world.session)


def test_commands_in_the_background_end_with_the_session(tmp_path: Path) -> None:
    command = "echo $$ > pid; exec sleep 300"
    scene = [
        say(tool("Bash", command=command, run_in_background=True)),
        say(tool("Bash", command="while [ ! -s pid ]; do sleep 0.01; done")),
        say(text("Started.")),
    ]
    with world_at(tmp_path, {"starts": scene}) as world:
        world.run(cue("starts"))
        wait_until_gone(int((world.cwd / "pid").read_text()))


def test_a_command_that_ends_while_nothing_is_asked_is_answered_at_once(tmp_path: Path) -> None:
    """No further prompt comes before the session has heard of the end."""
    scene = [
        say(tool("Bash", command="while [ ! -e go ]; do sleep 0.01; done", run_in_background=True)),
        say(text("Started.")),
    ]

    with world_at(tmp_path, {"starts": scene}) as world:
        answered, heard = asyncio.Event(), list[bool]()

        async def prompts() -> AsyncIterator[Prompt]:
            yield cue("starts")
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(answered.wait(), 30)
                heard.append(True)

        def during(_: Agent, event: Event) -> None:
            if isinstance(event, events.TurnEnd):
                if (world.cwd / "go").exists():
                    answered.set()
                (world.cwd / "go").touch()

        seen = asyncio.run(world.hear(prompts(), during))
        assert heard
        begun = [event.prompt for event in seen if isinstance(event, events.TurnBegin)]
        assert len(begun) == 2
        assert "<task-notification>" in str(begun[1])
        assert_valid(world.session)


def test_the_memory_of_an_inner_folder_is_sent_once(tmp_path: Path) -> None:
    scenes: dict[str, Scene] = {
        "reads": [
            say(tool("Read", file_path="sub/a.txt")),
            say(tool("Read", file_path="sub/a.txt")),
            say(tool("Read", file_path="sub/b.txt")),
            say(text("Read.")),
        ]
    }
    with world_at(tmp_path, scenes) as world:
        (world.cwd / "sub").mkdir()
        for name in ("a.txt", "b.txt"):
            (world.cwd / "sub" / name).write_text("x\n")
        (world.cwd / "sub" / "CLAUDE.md").write_text("THE NESTED MEMORY")
        world.run(cue("reads"), cue("reads"))
        assert [str(request).count("THE NESTED MEMORY") for request in world.asked()] == [0] + [1] * 7
        assert world.session.read_text().count("THE NESTED MEMORY") == 1


def test_answers_say_what_was_asked_for_as_2_1_325_says_it(world: World) -> None:
    """In its recordings: `"effort":"medium"` and `"promptCacheRequested":"5m"` on every line of an answer."""
    world.run(cue("tools"), effort="medium")
    asked = world.asked()[-1]
    lines = of("assistant", lines_of(world.session))
    assert {line["effort"] for line in lines} == {asked["output_config"]["effort"]} == {"medium"}
    assert {line["promptCacheRequested"] for line in lines} == {"5m"}
