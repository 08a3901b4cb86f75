"""`kill -9` at any point of a run with eight parallel calls: the session is whole, and resumes in ours and in real clients.

A case is a number: it seeds where its run is killed, by time or by the size of the session's file. Five cases without `--full`,
a hundred with it. What a killed agent leaves running is looked for too: commands are no part of its process group.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from _pytest.mark import ParameterSet
from lab.observatory.scenes import Say, Scene, cue, say, text, think, tool
from tests.agent.process import started
from tests.agent.sending import assert_sendable, live_messages, thinking_of
from tests.agent.world import Json, World, lines_of, world_at
from tests.conftest import Client
from tests.messages.asking import ask_question, of_file
from tests.messages.golden import RELEASES, compare_with_answer, our_messages

from stenograph.check import check
from stenograph.disk.projects import project_folder_name

CASES = 5
FULL_CASES = 100
NEWEST = "2.1.325"
SESSION = "6b1c9a52-0000-4000-8000-00000000000a"
#: In the environment of every command that a killed agent ran: the one way to find those that outlive it.
MARK = "KILLED_AGENT_CASE"
LONG = 300
#: What may be wrong with a file of which the writer was killed.
CUT_OFF = {"torn-tail", "interrupted-call"}

SCENES: dict[str, Scene] = {
    "busy": [
        Say(
            [
                think("Everything at once. " * 30),
                text("Looking at all of it."),
                tool("Read", file_path="a.txt"),
                tool("Grep", pattern="alpha", output_mode="content"),
                tool("Glob", pattern="**/*.txt"),
                tool("Agent", description="First", prompt=cue("first")),
                tool("Bash", command="echo one; sleep 0.1"),
                tool("Agent", description="Second", prompt=cue("second"), subagent_type="Explore"),
                tool("Read", file_path="long.txt"),
                tool("Read", file_path="missing.txt"),
            ],
            pause=0.002,
        ),
        Say(
            [
                think("Now with something in the background."),
                tool("Bash", command=f"sleep {LONG}", run_in_background=True),
                tool("Agent", description="Third", prompt=cue("first"), run_in_background=True),
                tool("Write", file_path="new.txt", content="new\n"),
                tool("Glob", pattern="*.md"),
                tool("Grep", pattern="beta"),
                tool("Bash", command="sleep 0.1; cat long.txt"),
                tool("Read", file_path="a.txt", offset=2),
                tool("Agent", description="Fourth", prompt=cue("first")),
            ],
            pause=0.002,
        ),
        Say([think("Once more."), *(tool("Bash", command=f"echo {number}; sleep 0.03") for number in range(8))], pause=0.002),
        Say([*(tool("Read", file_path="long.txt", limit=number) for number in range(1, 9))], pause=0.002),
        say(text("All done.")),
    ],
    "first": [say(think("Sub."), tool("Bash", command="echo sub"), tool("Read", file_path="a.txt")), say(text("First done."))],
    "second": [say(*(tool("Grep", pattern=f"{number}") for number in range(8))), say(text("Second done."))],
    "after": [say(text("Resumed."))],
    "waits": [say(tool("Bash", command=f"echo begun; sleep {LONG}")), say(text("never"))],
    "writes": [say(tool("Bash", command="while sleep 0.05; do echo alive; done")), say(text("never"))],
}


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    with world_at(tmp_path, SCENES) as made:
        (made.cwd / "a.txt").write_text("alpha\nbeta\n")
        (made.cwd / "long.txt").write_text("".join(f"line {number} of a longer file\n" for number in range(400)))
        try:
            yield made
        finally:
            for pid in left_running(made):
                os.kill(pid, signal.SIGKILL)


def begun(world: World, *arguments: str) -> subprocess.Popen[str]:
    """The agent in a process group of its own, under the mark of this world."""
    quiet: Json = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    return started(world, *arguments, environment={MARK: str(world.cwd)}, start_new_session=True, **quiet)


def kill(agent: subprocess.Popen[str]) -> None:
    os.kill(agent.pid, signal.SIGKILL)
    assert agent.wait(10) == -signal.SIGKILL


def left_running(world: World) -> list[int]:
    """The processes that were started under the mark of this world and live."""
    mark = f"{MARK}={world.cwd}\0".encode()
    found: list[int] = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdecimal() or int(entry.name) == os.getpid():
            continue
        try:
            if mark in (entry / "environ").read_bytes():
                found.append(int(entry.name))
        except OSError:  # gone, or another user's
            continue
    return found


def size_of(path: Path) -> int:
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0


class Whole(NamedTuple):
    """A run that nobody killed."""

    #: Of the session's file, in bytes.
    size: int
    #: Until its first line, and from there to its end, in seconds.
    start: float
    rest: float


@pytest.fixture(scope="session")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Whole:
    with world_at(tmp_path_factory.mktemp("whole"), SCENES) as world:
        (world.cwd / "a.txt").write_text("alpha\nbeta\n")
        (world.cwd / "long.txt").write_text("".join(f"line {number} of a longer file\n" for number in range(400)))
        began = time.monotonic()
        agent = begun(world, cue("busy"), "--session-id", SESSION)
        path = file_of(world)
        while not size_of(path):
            assert agent.poll() is None
            time.sleep(0.001)
        start = time.monotonic() - began
        assert agent.wait(60) == 0
        return Whole(size_of(path), start, time.monotonic() - began - start)


def file_of(world: World) -> Path:
    return world.home / "projects" / project_folder_name(str(world.cwd)) / f"{SESSION}.jsonl"


def kill_somewhere(world: World, case: int, whole: Whole) -> Path:
    """Run the busy scene and kill it: even cases once the file has a size, odd ones after a time."""
    chance = random.Random(case)
    wanted = round(whole.size * chance.uniform(0, 0.9)) if case % 2 == 0 else 1
    # With a file there is something to resume: before that there is nothing to lose.
    more = chance.uniform(0, 0.8) * whole.rest if case % 2 else 0.0
    path = file_of(world)
    agent = begun(world, cue("busy"), "--session-id", SESSION)
    began = time.monotonic()
    while size_of(path) < wanted:
        assert agent.poll() is None
        assert time.monotonic() - began < 60
    time.sleep(more)
    kill(agent)
    return path


def damage_of(path: Path) -> set[str]:
    """What a check finds in a session's file. Sub-agents that were killed with it stay as they are until they are resumed."""
    report = check([path])
    assert not report.failures
    in_agents = {finding.code for finding in report.damage if path not in finding.files}
    assert in_agents <= CUT_OFF
    return {finding.code for finding in report.damage if path in finding.files}


def cases() -> list[ParameterSet]:
    plain = [pytest.param(case, id=f"{case}") for case in range(CASES)]
    return plain + [pytest.param(case, id=f"{case}", marks=pytest.mark.full) for case in range(CASES, FULL_CASES)]


@pytest.mark.clients
@pytest.mark.parametrize("case", cases())
def test_a_killed_session_resumes_in_ours_and_in_real_clients(world: World, whole: Whole, client: Client, case: int) -> None:
    path = kill_somewhere(world, case, whole)
    killed = path.read_bytes()
    assert damage_of(path) <= CUT_OFF
    assert_real_clients_resume(path, client, case)

    world.run(cue("after"), resume=SESSION)
    sent = live_messages(world.asked()[-1])
    assert_sendable(sent)
    assert thinking_of(sent) == [block for line in whole_lines(killed) for block in thinking_in(line)]
    assert path.read_bytes().startswith(killed[: killed.rfind(b"\n") + 1])
    assert damage_of(path) == set()
    assert lines_of(path)[-1]["type"] == "last-prompt"
    if case < CASES:
        assert_real_clients_resume(path, client, case)


@pytest.mark.proof
@pytest.mark.clients
def test_a_session_that_is_killed_again_and_again_resumes(world: World, client: Client) -> None:
    """Each run is killed in the middle of eight calls, the next one goes on from there."""
    path = file_of(world)
    for run in range(3):
        before = size_of(path)
        agent = begun(world, cue("busy"), *(["--resume", SESSION] if run else ["--session-id", SESSION]))
        while size_of(path) < before + 25_000:
            assert agent.poll() is None
        kill(agent)
        assert damage_of(path) <= CUT_OFF
    assert_real_clients_resume(path, client, 0)
    world.run(cue("after"), resume=SESSION)
    sent = live_messages(world.asked()[-1])
    assert_sendable(sent)
    assert json.dumps(sent).count("[scene busy]") == 3
    assert damage_of(path) == set()


def test_sub_agents_that_were_killed_with_their_session_go_on_too(world: World) -> None:
    path = file_of(world)
    agent = begun(world, cue("busy"), "--session-id", SESSION)
    folder = path.with_suffix("") / "subagents"
    while sum(b'"tool_use"' in file.read_bytes() for file in folder.glob("*.jsonl")) < 2:
        assert agent.poll() is None
    kill(agent)
    files = sorted(folder.glob("*.jsonl"))
    for number, file in enumerate(files):
        name = file.stem.removeprefix("agent-")
        again = tool("SendMessage", to=name, message=cue("after"), summary="Again")
        world.stage.add(f"again-{number}", [say(again), say(text("Both are back."))])
        world.run(cue(f"again-{number}"), resume=SESSION)
        asked = next(body for body in reversed(world.asked()) if cue("after") in json.dumps(body["messages"][-1]))
        assert_sendable(live_messages(asked))
        assert len(asked["messages"]) > 1
        assert damage_of(file) == set()
    assert damage_of(path) == set()


def test_a_command_that_writes_ends_when_its_agent_is_killed(world: World) -> None:
    agent = begun(world, cue("writes"))
    wait_until(lambda: len(left_running(world)) > 1, agent)
    kill(agent)
    wait_until(lambda: not left_running(world))


def test_a_silent_command_goes_on_to_its_own_end_and_nothing_else_does(world: World) -> None:
    """Nobody can tell it to end any more; the client leaves such commands too. The session resumes all the same."""
    agent = begun(world, cue("waits"), "--session-id", SESSION)
    wait_until(lambda: f"sleep {LONG}" in commands_of(left_running(world)), agent)
    kill(agent)
    left = commands_of(left_running(world))
    assert f"sleep {LONG}" in left
    assert not any("stenograph" in command for command in left)
    world.run(cue("after"), resume=SESSION)
    assert_sendable(live_messages(world.asked()[-1]))


def commands_of(pids: list[int]) -> list[str]:
    found: list[str] = []
    for pid in pids:
        with contextlib.suppress(OSError):
            found.append(Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode().strip())
    return found


def wait_until(happened: Callable[[], bool], agent: subprocess.Popen[str] | None = None) -> None:
    deadline = time.monotonic() + 20
    while not happened():
        assert agent is None or agent.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.02)


def assert_real_clients_resume(path: Path, client: Client, case: int) -> None:
    """The newest client in the first cases, each release in turn in all others."""
    release = NEWEST if case < CASES else RELEASES[case % len(RELEASES)]
    question = of_file(path, None)
    answer = ask_question(client(release), question, 90)
    assert answer.messages is not None, answer.said
    difference = compare_with_answer(release, question.data, answer, our_messages(release, question.data, path))
    assert difference is None, f"{release}: {difference}"


def whole_lines(data: bytes) -> list[Json]:
    return [json.loads(line) for line in data[: data.rfind(b"\n") + 1].splitlines()]


def thinking_in(line: Json) -> list[Json]:
    content = line.get("message", {}).get("content") if line["type"] == "assistant" else None
    return [block for block in content or () if block["type"] == "thinking"]
