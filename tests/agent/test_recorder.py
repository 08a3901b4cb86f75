"""The writer of a conversation: times, anchors, signs of life, queued prompts, and files that hold no half of anything."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
from lab.observatory.scenes import Scene, cue, say, text, tool
from tests.agent.checking import assert_valid
from tests.agent.sending import assert_sendable, live_messages
from tests.agent.world import FAKE_KEY, Json, World, lines_of, of, world_at
from tests.conftest import Client
from tests.messages.asking import ask_question, of_file
from tests.messages.golden import RELEASES, compare_with_answer, our_messages

from stenograph.agent.engine import events
from stenograph.agent.engine.inbox import Priority, UserPrompt
from stenograph.agent.engine.options import Compat
from stenograph.agent.engine.session import Agent, open_agent
from stenograph.agent.recording.recorder import Recorder
from stenograph.check import check
from stenograph.errors import BusyError, UnwritableError
from stenograph.model.client import ModelClient
from stenograph.model.endpoint import endpoint_from_environment
from stenograph.records.write import Envelope
from stenograph.sessions.glance import glance
from stenograph.sessions.loading import load_messages

ID = "5e0c7a11-0000-4000-8000-00000000000d"
#: Where clients look for titles and the last prompt: in so many bytes at the end.
TAIL = 64 * 1024
USAGE = {"input_tokens": 1, "output_tokens": 1, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0}

#: Every type of seed 003, 4.5, with the members that it shows.
PROGRESS: dict[str, Json] = {
    "bash_progress": {"output": "Step 1/12\n", "fullOutput": "Step 1/12\n", "elapsedTimeSeconds": 2, "totalLines": 1},
    "agent_progress": {
        "message": {"type": "user", "message": {"role": "user", "content": [{"type": "text", "text": "Explore."}]}},
        "prompt": "Explore.",
        "agentId": "a0123456789abcdef",
    },
    "hook_progress": {"hookEvent": "SessionStart", "hookName": "SessionStart:startup", "command": "echo hello-from-hook"},
    "query_update": {"query": "hooks"},
    "search_results_received": {"resultCount": 10, "query": "hooks"},
    "waiting_for_task": {"taskDescription": "Debug a bridge", "taskType": "local_bash"},
}


def recorder_at(path: Path, compat: Compat = Compat.NEWEST) -> Recorder:
    slug = "quiet-weaving-hopper"
    return Recorder(path, Envelope(session_id=ID, cwd="/w", git_branch="", slug=slug, version=compat.release))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "projects" / "-w" / f"{ID}.jsonl"


def message(number: int = 0) -> Json:
    head = {"id": f"msg_{number}", "type": "message", "role": "assistant", "model": "claude-opus-5-5"}
    return {**head, "content": [], "stop_reason": "tool_use", "stop_sequence": None, "usage": USAGE}


def ask(recorder: Recorder, *names: str, number: int = 0) -> list[tuple[str, str]]:
    """A response with calls; their ids and lines."""
    uses = [{"type": "tool_use", "id": f"toolu_{number}{name}", "name": "Bash", "input": {"command": name}} for name in names]
    uuids = recorder.response(message(number), uses, request_id="req_1", requested_model="claude-opus-5-5")
    return [(str(use["id"]), uuid) for use, uuid in zip(uses, uuids, strict=True)]


def answer(recorder: Recorder, use: str, source: str, words: str = "done") -> None:
    block = {"tool_use_id": use, "type": "tool_result", "content": words, "is_error": False}
    structured = {"stdout": words, "stderr": "", "interrupted": False, "isImage": False, "noOutputExpected": False}
    recorder.result(block, structured=structured, source=source)


# Times


def test_times_increase_also_when_the_clock_steps_back(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    start = time.time_ns()
    second = 1_000_000_000
    clock = iter([0, 0, 5, 3, -3600, -3600, 6, 6, 7, 7, 7, 8])
    monkeypatch.setattr(time, "time_ns", lambda: start + next(clock) * second)
    recorder = recorder_at(path)
    recorder.prompt("One.", permission_mode="default")
    (call,) = ask(recorder, "a")
    answer(recorder, *call)
    recorder.queue("enqueue", "Two.")
    recorder.synthetic("Said.")
    recorder.turn_duration(1)
    recorder.prompt("Two.", permission_mode="default")
    recorder.close()
    times = [line["timestamp"] for line in lines_of(path) if "timestamp" in line]
    assert len(times) == 7
    assert times == sorted(set(times))
    assert all(len(one) == len("2026-01-01T00:00:00.000Z") for one in times)


def test_a_session_from_the_future_is_gone_on_with_later_still(path: Path) -> None:
    recorder = recorder_at(path)
    recorder.go_on_from(None, last_ms=4_102_444_800_000)  # 2100-01-01
    recorder.prompt("Now.", permission_mode="default")
    recorder.close()
    (line,) = lines_of(path)
    assert line["timestamp"] == "2100-01-01T00:00:00.001Z"


# Anchors


@pytest.mark.parametrize("size", [300, 20_000, 150_000])
def test_the_title_and_the_last_prompt_stay_within_reach_of_readers(path: Path, size: int) -> None:
    recorder = recorder_at(path)
    recorder.title = "Named"
    recorder.modes("default")
    recorder.prompt("What was asked last.", permission_mode="default")
    for number in range(400_000 // size):
        (call,) = ask(recorder, "a", number=number)
        answer(recorder, *call, "x" * size)
        tail = path.read_bytes()[-TAIL:]
        assert b'"customTitle":"Named"' in tail
        if path.stat().st_size > TAIL:
            assert b'"lastPrompt":"What was asked last."' in tail
    recorder.close()
    assert glance(path).custom_title == "Named"
    assert_valid(path)


def test_the_last_prompt_line_names_the_end_of_the_chain(path: Path) -> None:
    recorder = recorder_at(path)
    recorder.prompt("x" * 500, permission_mode="default")
    recorder.synthetic("Said.")
    recorder.anchor()
    recorder.close()
    *_, last, anchor = lines_of(path)
    assert anchor["leafUuid"] == last["uuid"]
    assert anchor["lastPrompt"] == "x" * 200


# What a file never holds


def test_there_is_no_file_before_there_is_a_prompt(path: Path) -> None:
    recorder = recorder_at(path)
    recorder.title = "Named"
    recorder.modes("default")
    assert not path.exists()
    recorder.prompt("Hello.", permission_mode="default", snapshot={"type": "file-history-snapshot", "messageId": "u"})
    kinds = [line["type"] for line in lines_of(path)]
    assert kinds == ["mode", "permission-mode", "custom-title", "user", "file-history-snapshot"]
    recorder.close()


def test_what_is_said_when_a_session_is_gone_on_with_comes_with_the_first_line_and_behind_it(path: Path) -> None:
    """Such lines name no release: right behind lines of an older one they would pass for its own."""
    first = recorder_at(path)
    first.prompt("Hello.", permission_mode="default")
    first.close()
    again = recorder_at(path)
    again.hold()
    again.go_on_from(lines_of(path)[0]["uuid"])
    again.begin_branch()
    again.modes("default")
    assert len(lines_of(path)) == 1
    again.prompt("More.", permission_mode="default")
    again.close()
    assert [line["type"] for line in lines_of(path)] == ["user", "user", "last-prompt", "mode", "permission-mode"]


def test_what_could_not_be_written_is_written_with_the_next_line(path: Path) -> None:
    path.parent.parent.mkdir(parents=True)
    path.parent.write_text("in the way")
    recorder = recorder_at(path)
    recorder.modes("default")
    with pytest.raises(UnwritableError):
        recorder.prompt("Hello.", permission_mode="default")
    path.parent.unlink()
    recorder.prompt("Hello again.", permission_mode="default")
    recorder.close()
    assert [line["type"] for line in lines_of(path)] == ["mode", "permission-mode", "user"]


def test_a_second_recorder_is_told_and_writes_nothing(path: Path) -> None:
    first, second = recorder_at(path), recorder_at(path)
    first.prompt("Mine.", permission_mode="default")
    with pytest.raises(BusyError, match="--fork-session"):
        second.hold()
    first.close()
    second.hold()
    second.close()
    assert len(lines_of(path)) == 1


@pytest.mark.parametrize(
    ("tail", "is_cut"),
    [
        (b'{"type":"us', True),
        (b'{"type":', True),
        (b"nul", True),
        ('{"a":"é'.encode()[:-1], True),
        (b'{"type":"mode","mode":"normal","sessionId":"x"}', False),
        (b'{"a":"\xff"}', False),
        (b'{"a":"\\ud800"}', False),
        (b'{"type":"user"}{"type":', False),
        (b"", False),
    ],
)
def test_a_torn_tail_is_cut_and_a_whole_line_is_kept(path: Path, tail: bytes, is_cut: bool) -> None:
    path.parent.mkdir(parents=True)
    whole = b'{"type":"user"}\n'
    path.write_bytes(whole + tail)
    recorder = recorder_at(path)
    recorder.hold()
    recorder.cut_torn_tail()
    assert path.read_bytes() == (whole if is_cut else whole + tail)
    recorder.prompt("Next.", permission_mode="default")
    recorder.close()
    kept = whole if is_cut or not tail else whole + tail + b"\n"
    data = path.read_bytes()
    assert data.startswith(kept)
    assert data.count(b"\n") == kept.count(b"\n") + 1


# Signs of life


@pytest.mark.clients
def test_every_progress_type_is_a_record_that_no_client_takes_for_a_parent(path: Path, client: Client) -> None:
    recorder = recorder_at(path)
    recorder.modes("default")
    recorder.prompt("Go.", permission_mode="default")
    first, second = ask(recorder, "a", "b")
    for kind, data in PROGRESS.items():
        recorder.progress({"type": kind, **data}, tool_use_id=first[0])
    answer(recorder, *first)
    for kind, data in PROGRESS.items():
        recorder.progress({"type": kind, **data}, tool_use_id=second[0])
    answer(recorder, *second)
    said = message(1) | {"stop_reason": "end_turn"}
    done = [{"type": "text", "text": "Done."}]
    recorder.response(said, done, request_id="req_2", requested_model="claude-opus-5-5")
    recorder.progress({"type": "hook_progress", **PROGRESS["hook_progress"]}, tool_use_id=second[0])
    recorder.close()
    lines = lines_of(path)
    assert [line["data"]["type"] for line in of("progress", lines)] == [*PROGRESS, *PROGRESS, "hook_progress"]
    assert not {line["uuid"] for line in of("progress", lines)} & {line.get("parentUuid") for line in lines}
    report = check([path])
    assert (report.drift, report.damage, report.failures) == ([], [], [])
    for release in RELEASES:
        messages = load_messages(path, release).messages or []
        assert [len(each.content) for each in messages] == [1, 2, 2, 1], release
        question = of_file(path, None)
        told = ask_question(client(release), question, 90)
        difference = compare_with_answer(release, question.data, told, our_messages(release, question.data, path))
        assert difference is None, f"{release}: {difference}"


def test_2_0_and_sub_agents_get_no_progress_lines(path: Path) -> None:
    old = recorder_at(path, Compat.OLD)
    old.modes("default")
    old.prompt("Go.", permission_mode="default")
    old.progress({"type": "bash_progress"}, tool_use_id="toolu_1")
    old.begin_branch()
    old.turn_duration(5)
    old.anchor()
    old.close()
    assert [line["type"] for line in lines_of(path)] == ["user"]
    assert lines_of(path)[0]["version"] == "2.0.76"


# Prompts that come while a turn is under way


SCENES: dict[str, Scene] = {
    "waits": [say(tool("Bash", command="while [ ! -e go ]; do sleep 0.02; done")), say(text("Gone."))],
    "plain": [say(text("Hello."))],
}


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    with world_at(tmp_path, SCENES) as made:
        yield made


def run_with_second_while_busy(world: World, second: UserPrompt) -> list[events.Event]:
    """The second prompt comes when the first one's tool runs; the tool ends once it is in the file, or after a moment."""

    async def run() -> list[events.Event]:
        is_busy = asyncio.Event()
        seen: list[events.Event] = []

        async def prompts() -> AsyncIterator[str | UserPrompt]:
            yield cue("waits")
            await is_busy.wait()
            yield second
            (world.cwd / "go").touch()

        client = ModelClient(endpoint_from_environment({"ANTHROPIC_BASE_URL": world.stage.url, "ANTHROPIC_API_KEY": FAKE_KEY}))
        try:
            agent: Agent = await open_agent(world.options(), client)
            async for event in agent.run(prompts()):
                seen.append(event)
                if isinstance(event, events.ToolBegin):
                    is_busy.set()
        finally:
            await client.aclose()
        return seen

    return asyncio.run(run())


def test_a_prompt_that_comes_while_busy_is_in_the_file_at_once_and_taken_after_the_turn_if_it_can_t_join_it(world: World) -> None:
    picture = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="}}
    content: list[Json] = [{"type": "text", "text": cue("plain")}, picture]
    run_with_second_while_busy(world, UserPrompt(content=content, priority=Priority.LATER))
    lines = lines_of(world.session)
    kinds = [(line["type"], line.get("operation")) for line in lines]
    enqueue, dequeue = kinds.index(("queue-operation", "enqueue")), kinds.index(("queue-operation", "dequeue"))
    assert lines[enqueue]["content"] == cue("plain")
    assert "content" not in lines[dequeue]
    result = next(place for place, line in enumerate(lines) if "toolUseResult" in line)
    prompt = next(place for place, line in enumerate(lines) if "iVBORw0KGgo=" in json.dumps(line.get("message")))
    assert enqueue < result < dequeue < prompt
    assert_valid(world.session)
    assert_sendable(live_messages(world.asked()[-1]))
