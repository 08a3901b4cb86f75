"""What a model gets beside the conversation: plan mode, changed files, git's state, and what is allowed."""

from __future__ import annotations

import asyncio
import os
import subprocess
from collections.abc import AsyncIterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from lab.observatory.scenes import Scene, cue, say, text, tool
from tests.agent.checking import assert_valid
from tests.agent.sending import live_messages
from tests.agent.world import World, world_at

from stenograph.agent.context.git import GitState
from stenograph.agent.engine.events import ToolEnd, TurnEnd
from stenograph.agent.engine.options import PermissionMode
from stenograph.agent.engine.session import Agent, Prompt
from stenograph.agent.recording.resuming import as_user_words
from stenograph.agent.tools.changing import ReadState
from stenograph.sessions.loading import load_messages

Json = dict[str, Any]


def texts(request: Json) -> list[str]:
    return [block["text"] for message in request["messages"] for block in message["content"] if block["type"] == "text"]


def last_texts(request: Json) -> list[str]:
    return [block["text"] for block in request["messages"][-1]["content"] if block["type"] == "text"]


def said_in(request: Json, words: str) -> int:
    return sum(words in each for each in texts(request))


def assert_resumable(world: World) -> None:
    """The file says what was sent."""
    sent = live_messages(world.asked()[-1])
    assert_valid(world.session)
    assert as_user_words(load_messages(world.session).messages or [])[: len(sent)] == sent


def test_plan_mode_is_said_with_every_prompt_and_its_end_once(tmp_path: Path) -> None:
    scenes: dict[str, Scene] = {
        "a": [say(tool("Read", file_path="x")), say(text("one"))],
        "b": [say(text("two"))],
        "c": [say(text("three"))],
    }

    def during(agent: Agent, event: object) -> None:
        if isinstance(event, TurnEnd) and event.text == "two":
            agent.policy.set_mode(PermissionMode.DEFAULT)

    async def prompts() -> AsyncIterator[Prompt]:
        for name in "abc":
            yield cue(name)
            await asyncio.sleep(0.3)

    with world_at(tmp_path, scenes) as world:
        asyncio.run(world.hear(prompts(), during, permission_mode=PermissionMode.PLAN))
        requests = world.asked()
        assert_resumable(world)
    assert [said_in(request, "Plan mode is on.") for request in requests] == [1, 1, 2, 2]
    assert [said_in(request, "Plan mode is off") for request in requests] == [0, 0, 0, 1]
    # What was sent stays as it was.
    for before, after in pairwise(requests):
        assert texts(after)[: len(texts(before))] == texts(before)


def test_other_modes_say_nothing_of_plans(tmp_path: Path) -> None:
    with world_at(tmp_path, {"a": [say(text("one"))]}) as world:
        world.run(cue("a"))
        [request] = world.asked()
    assert not said_in(request, "Plan mode")


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ("one\nTWO\nthree\n", ["-two", "+TWO"]),
        ("".join(f"{number}\n" for number in range(200)), ["Read it again before you rely on it."]),
        (None, ["is gone"]),
    ],
)
def test_a_file_that_somebody_changed_is_reported_once(change: str | None, expected: list[str], tmp_path: Path) -> None:
    with world_at(tmp_path, {}) as world:
        path = world.cwd / "notes.txt"
        path.write_text("one\ntwo\nthree\n")
        world.stage.add("a", [say(tool("Read", file_path=str(path))), say(text("read"))])
        world.stage.add("b", [say(tool("Glob", pattern="*")), say(text("done"))])

        def during(_: Agent, event: object) -> None:
            if isinstance(event, TurnEnd) and event.text == "read":
                if change is None:
                    path.unlink()
                else:
                    path.write_text(change)

        async def prompts() -> AsyncIterator[Prompt]:
            yield cue("a")
            await asyncio.sleep(0.3)
            yield cue("b")

        asyncio.run(world.hear(prompts(), during))
        requests = world.asked()
        assert_resumable(world)
    told = [each for each in texts(requests[2]) if "notes.txt" in each and "system-reminder" in each]
    assert len(told) == 1
    assert all(words in told[0] for words in expected)
    assert told == [each for each in texts(requests[3]) if "notes.txt" in each and "system-reminder" in each]
    assert not [each for each in texts(requests[1]) if "somebody" in each]


def test_changes_of_our_own_tools_and_touched_files_are_not_reported(tmp_path: Path) -> None:
    with world_at(tmp_path, {}) as world:
        path = world.cwd / "notes.txt"
        path.write_text("one\n")
        edit = tool("Edit", file_path=str(path), old_string="one", new_string="two")
        world.stage.add(
            "a", [say(tool("Read", file_path=str(path))), say(edit), say(tool("Bash", command=f"touch {path}")), say(text("x"))]
        )
        seen = world.run(cue("a"))
        requests = world.asked()
    assert not [event for event in seen if isinstance(event, ToolEnd) and event.is_error]
    assert not any("somebody" in each for request in requests for each in texts(request))


# What is in the system prompt


def system(world: World, **options: Any) -> str:
    world.run(cue("a"), **options)
    return "\n".join(block["text"] for block in world.asked()[-1]["system"])


def test_where_nobody_can_approve_it_says_what_is_allowed(tmp_path: Path) -> None:
    with world_at(tmp_path, {"a": [say(text("one"))]}) as world:
        told = system(
            world, permission_mode=PermissionMode.ACCEPT_EDITS, allowed=["Bash(make test)"], disallowed=["Read(.env)", "WebFetch"]
        )
    assert "Nobody can approve calls in this session" in told
    assert "Allowed: reading and changing files in the working directory and the additional directories." in told
    assert "Also allowed: Bash(make test)." in told
    assert ".env" not in told  # a rule may name what the model is not to know of


def git(folder: Path, *arguments: str) -> None:
    environment = {"PATH": os.environ["PATH"], "HOME": str(folder), "GIT_CONFIG_NOSYSTEM": "1"}
    call = ["git", "-c", "user.name=a", "-c", "user.email=a@b", *arguments]
    subprocess.run(call, cwd=folder, env=environment, check=True, capture_output=True)


def test_git_says_what_is_changed_and_what_was_committed_once_a_session(tmp_path: Path) -> None:
    with world_at(tmp_path, {"a": [say(tool("Bash", command="touch new.txt")), say(text("one"))]}) as world:
        git(world.cwd, "init", "-q")
        for number in range(7):
            (world.cwd / "kept.txt").write_text(str(number))
            git(world.cwd, "add", ".")
            git(world.cwd, "commit", "-q", "-m", f"Commit number {number}")
        (world.cwd / "kept.txt").write_text("changed")
        (world.cwd / "other.txt").write_text("x")
        told = system(world)
        requests = world.asked()
    assert "Uncommitted changes:\n M kept.txt\n?? other.txt" in told
    assert [number for number in range(7) if f"Commit number {number}" in told] == [2, 3, 4, 5, 6]
    assert "new.txt" not in told
    assert requests[0]["system"] == requests[-1]["system"]


def test_outside_a_repository_git_is_not_asked(tmp_path: Path) -> None:
    with world_at(tmp_path, {"a": [say(text("one"))]}) as world:
        assert "# Git" not in system(world)


@pytest.mark.parametrize(
    "config", ['[filter "x"]\n\tclean = touch ran\n', "[core]\n\tfsmonitor = touch ran\n", "[include]\n\tpath = y\n"]
)
def test_a_repository_whose_configuration_names_programs_is_not_asked(config: str, tmp_path: Path) -> None:
    git(tmp_path, "init", "-q")
    (tmp_path / "a.txt").write_text("x")
    (tmp_path / ".gitattributes").write_text("* filter=x\n")
    git(tmp_path, "add", ".")
    (tmp_path / "a.txt").write_text("y")
    with (tmp_path / ".git" / "config").open("a") as file:
        file.write(config)
    assert GitState(tmp_path, os.environ).text == ""
    assert not (tmp_path / "ran").exists()


def test_of_many_files_some_are_looked_at_between_calls_and_all_in_turn(tmp_path: Path) -> None:
    state = ReadState()
    files = [tmp_path / f"{number}.txt" for number in range(100)]
    for path in files:
        path.write_text("a", encoding="utf-8")
        state.note(path, "a")
    for path in files:
        path.write_text("changed", encoding="utf-8")
    counts = [len(state.take_changed(100, looks_at_all=False)) for _ in range(8)]
    assert (sum(counts), counts[-1], max(counts) < 50) == (100, 0, True)
    files[0].write_text("changed again", encoding="utf-8")
    assert [path.name for path, _ in state.take_changed(100, looks_at_all=True)] == ["0.txt"]
