"""The worker where something fails: receivers, disks, clocks, other processes, and the worker itself at every step.

Two recorded sessions are reported. Whatever happens on the way, in the end the receiver holds each of their spans once by its
id: as many as a reading of the lines with `json` alone foresees, and the same ones as without a fault.
"""

from __future__ import annotations

import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import pytest
from lab.otlp_sink import OtlpSink, SinkSpan
from tests.cli.running import SOURCE
from tests.traces.tracing import RECORDED, Growing, agents_of, counts_told, foreseen, of_kind, summed, timed, write, write_agent

from stenograph.config.traces import Destination, DestinationKind, TraceConfig
from stenograph.errors import UnwritableError
from stenograph.testing.lines import Line, assistant, text, tool_result, tool_use, user
from stenograph.traces import mapping, sending
from stenograph.traces.folder import is_held, mask_key, spool_folder, waiting_events
from stenograph.traces.history import Candidate, is_behind, send_history
from stenograph.traces.state import TraceState
from stenograph.traces.worker import Timing, work
from stenograph.turns import Turn

_PRINT = RECORDED / "2.1.325" / "print" / "-home-user-rec-2-1-325"
#: Three turns, nine responses, five tools, two sub-agents; and three turns, 16 responses, 15 tools.
SESSIONS = tuple(
    _PRINT / f"{name}.jsonl" for name in ("28aeaa04-9693-4671-bb41-3ab45f2fe515", "13e5ec2e-1cf1-4dff-9ba4-3e22b9b6e808")
)
TURNS = 6
#: Longer than any test; nothing listens there.
NOWHERE = "http://127.0.0.1:9/v1/traces"


class Clock:
    """Time that passes when somebody sleeps, a `step` that the wall clock made, and a `chance` that is none."""

    def __init__(self, chance: float = 1.0) -> None:
        self.slept = 0.0
        self.step = 0.0
        self.chance = chance

    def timing(self) -> Timing:
        return Timing(
            now=lambda: time.time() + self.slept + self.step,
            steady=lambda: self.slept,
            sleep=self.sleep,
            chance=lambda: self.chance,
        )

    def sleep(self, seconds: float) -> None:
        self.slept += seconds


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "traces"


@pytest.fixture
def sessions(tmp_path: Path) -> list[Path]:
    return written(tmp_path / "projects")


def written(folder: Path) -> list[Path]:
    """Both sessions, with sub-agents that went quiet a minute ago."""
    paths = [Growing(path, folder).write_all() for path in SESSIONS]
    for agent in (agent for path in paths for agent in agents_of(path)):
        os.utime(agent, (time.time() - 60,) * 2)
    return paths


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> set[tuple[str, str]]:
    """The ids of all spans, as a run without a fault gives them; counted by hand once more."""
    base = tmp_path_factory.mktemp("expected")
    paths = written(base / "projects")
    with OtlpSink() as sink:
        report(base / "traces", *paths)
        work(base / "traces", config_for(sink), Clock().timing())
        assert_complete(sink)
        return ids_in(sink)


def report(folder: Path, *paths: Path, event: str = "SessionEnd") -> None:
    """Note events as hooks do; their order is that of their names."""
    spool = spool_folder(folder)
    spool.mkdir(parents=True, exist_ok=True)
    for path in paths:
        now = time.time_ns()
        told = {"hook_event_name": event, "transcript_path": str(path), "received_ns": now}
        (spool / f"{now:020d}.json").write_text(json.dumps(told))


def config_for(*sinks: OtlpSink, timeout: float = 10.0, patience: float = 600.0) -> TraceConfig:
    return TraceConfig(
        destinations=tuple(
            Destination(f"sink {place}", DestinationKind.OTLP, sink.endpoint, batch_bytes=20_000, timeout_seconds=timeout)
            for place, sink in enumerate(sinks, 1)
        ),
        patience_seconds=patience,
    )


def ids_in(sink: OtlpSink) -> set[tuple[str, str]]:
    return {(span.trace_id, span.span_id) for span in sink.spans}


def assert_complete(sink: OtlpSink) -> None:
    """What the lines of both sessions say is there: turns, responses with their tokens, tools, agents."""
    found = [foreseen(path) for path in SESSIONS]
    assert len([span for span in sink.spans if not span.parent_id]) == TURNS
    generations = of_kind("generation", sink.spans)
    assert len(generations) == sum(len(each.responses) for each in found) == 25
    assert len(of_kind("tool", sink.spans)) == sum(len(each.tools) for each in found) == 20
    assert len(of_kind("agent", sink.spans)) == TURNS + sum(each.agents for each in found) == TURNS + 2
    counts = [counts for each in found for _, counts in each.responses.values()]
    assert summed(map(counts_told, generations)) == summed(counts)


def assert_settled(folder: Path, config: TraceConfig) -> None:
    """Nothing is left to do, by the worker's own books."""
    assert not waiting_events(folder)
    with TraceState(folder) as state:
        assert [state.due(each.name) for each in config.destinations] == [[] for _ in config.destinations]
        assert [state.health(each.name).turns for each in config.destinations] == [TURNS for _ in config.destinations]


# --- continuations

PREVIOUS, CONTINUATION = (f"5e551000-0000-4000-8000-00000000000{number}" for number in (0, 1))


def continued(folder: Path, *more: Line, first_at: float = 20) -> tuple[Path, Path]:
    """A session that ended without a Stop, five seconds before the one that continues it: there the first line names it."""
    old = [timed(0, user("u1", "Plan it.")), timed(5, assistant("a1", "m1", [text("A plan.")], "u1")), *more]
    before = write(folder, *(line | {"sessionId": PREVIOUS} for line in old), name=PREVIOUS)
    new = [
        timed(first_at, user("u9", "Do it.", "a1", sessionId=PREVIOUS)),
        timed(first_at + 5, assistant("a9", "m9", [text("Done.")], "u9")) | {"sessionId": CONTINUATION},
    ]
    os.utime(before, (1_767_261_600 + 15,) * 2)  # ten o'clock, as `at` counts
    return before, write(folder, *new, name=CONTINUATION)


def answers_by_session(sink: OtlpSink) -> list[tuple[Any, Any, str]]:
    """Of each trace in the order of arrival: its session, its number and the last answer."""
    about = "langfuse.trace.metadata"
    roots = [span.attributes for span in sink.spans if not span.parent_id]
    return [(root[f"{about}.session_id"], root[f"{about}.turn_number"], root.get("output.value", "")) for root in roots]


def test_the_previous_session_is_sent_before_the_one_that_continues_it(folder: Path, tmp_path: Path) -> None:
    """Its own last turn never got a Stop: the client changed to another session. An unanswered prompt is sent too."""
    _, now = continued(tmp_path / "p", timed(8, user("u2", "And test it.", "a1")))
    with OtlpSink() as sink:
        for event in ("SessionStart", "Stop"):
            report(folder, now, event=event)
        work(folder, config_for(sink), Clock().timing())
        assert answers_by_session(sink) == [(PREVIOUS, 1, "A plan."), (PREVIOUS, 2, ""), (CONTINUATION, 1, "Done.")]
        posts = sink.posts
        report(folder, now, event="Stop")
        work(folder, config_for(sink), Clock().timing())
        assert sink.posts == posts


def test_a_previous_session_that_is_still_written_keeps_its_open_turn(folder: Path, tmp_path: Path) -> None:
    before, now = continued(tmp_path / "p", timed(8, user("u2", "And test it.", "a1")))
    os.utime(before)
    with OtlpSink() as sink:
        report(folder, now, event="Stop")
        work(folder, config_for(sink), Clock().timing())
        assert answers_by_session(sink) == [(PREVIOUS, 1, "A plan."), (CONTINUATION, 1, "Done.")]


def test_a_chain_of_continuations_is_sent_from_its_beginning(folder: Path, tmp_path: Path) -> None:
    _, middle = continued(tmp_path / "p")
    third = "5e551000-0000-4000-8000-000000000002"
    lines = [user("x1", "And now?", "a9", sessionId=CONTINUATION), assistant("x2", "mx", [text("That is all.")], "x1")]
    lines = [timed(60 + place, line) for place, line in enumerate(lines)]
    last = write(tmp_path / "p", lines[0], lines[1] | {"sessionId": third}, name=third)
    os.utime(middle, (1_767_261_600 + 30,) * 2)
    with OtlpSink() as sink:
        report(folder, last, event="Stop")
        work(folder, config_for(sink), Clock().timing())
        assert [answer for _, _, answer in answers_by_session(sink)] == ["A plan.", "Done.", "That is all."]


@pytest.mark.parametrize("broken", ["missing", "folder", "link out"])
def test_a_previous_session_that_cannot_be_had_blocks_nothing(broken: str, folder: Path, tmp_path: Path) -> None:
    before, now = continued(tmp_path / "p")
    elsewhere = before.replace(tmp_path / "elsewhere.jsonl")
    if broken == "folder":
        before.mkdir()
    elif broken == "link out":
        before.symlink_to(elsewhere)
    with OtlpSink() as sink:
        report(folder, now, event="Stop")
        work(folder, config_for(sink), Clock().timing())
        assert answers_by_session(sink) == [(CONTINUATION, 1, "Done.")]


# --- receivers

FAULTS: dict[str, Callable[[OtlpSink], None]] = {
    "429 with a wait": lambda sink: sink.fail(429, retry_after="30", times=2),
    "500": lambda sink: sink.fail(500, times=3),
    "503 again and again": lambda sink: sink.fail(503, times=20),
    "408": lambda sink: sink.fail(408),
    "cut before reading": lambda sink: sink.cut_before_reading(times=4),
    "a lost acknowledgement": lambda sink: sink.cut_after_storing(times=4),
    "slow": lambda sink: sink.delay(0.6, times=2),
    "a login page": lambda sink: sink.fail(200, body=b"<html>Log in</html>", kind="text/html"),
    "too large": lambda sink: setattr(sink, "largest", 16_000),
    "closed when idle": lambda sink: sink.close_when_idle(times=3),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_receiver_that_fails_for_a_while_has_everything_once_in_the_end(
    fault: str, folder: Path, sessions: list[Path], expected: set[tuple[str, str]]
) -> None:
    clock = Clock()
    with OtlpSink() as sink:
        FAULTS[fault](sink)
        config = config_for(sink, timeout=0.3 if fault == "slow" else 10.0, patience=2000.0)
        report(folder, *sessions)
        work(folder, config, clock.timing())
        assert ids_in(sink) == expected
        assert_complete(sink)
        assert_settled(folder, config)
    if fault == "429 with a wait":
        assert clock.slept > 58  # two times 30, less what passed by itself


@pytest.mark.proof
def test_a_failure_at_any_request_costs_nothing(folder: Path, sessions: list[Path], expected: set[tuple[str, str]]) -> None:
    """An acknowledgement that is lost, and then a receiver that is not well."""
    with OtlpSink() as sink:
        report(folder / "counted", *sessions)
        work(folder / "counted", config_for(sink), Clock().timing())
        posts = sink.posts
    assert posts >= len(SESSIONS)
    for fails_at in range(1, posts + 1):
        with OtlpSink() as sink:
            sink.delay(0, times=fails_at - 1)
            sink.cut_after_storing(times=1)
            sink.fail(500, times=2)
            report(folder / str(fails_at), *sessions)
            work(folder / str(fails_at), config_for(sink), Clock().timing())
            assert [request.status for request in sink.requests if request.status != 200] == [0, 500, 500]
            assert max(span.times for span in sink.spans) == 2, "one was stored, and not acknowledged"
            assert ids_in(sink) == expected
            assert_settled(folder / str(fails_at), config_for(sink))


def test_waits_for_a_receiver_are_cut_by_chance(folder: Path, sessions: list[Path]) -> None:
    """So that the workers of many machines don't come back at once. Half of 1, 2, 4, 8, 16, 32, 60 and 60 s."""
    down = TraceConfig(destinations=(Destination("down", DestinationKind.OTLP, NOWHERE),), patience_seconds=100.0)
    clock = Clock(chance=0.5)
    report(folder, *sessions)
    work(folder, down, clock.timing())
    assert clock.slept == pytest.approx((1 + 2 + 4 + 8 + 16 + 32 + 60 + 60) / 2, abs=2.0)


def test_a_receiver_that_is_down_gets_everything_from_a_later_worker(
    folder: Path, sessions: list[Path], expected: set[tuple[str, str]]
) -> None:
    down = Destination("sink 1", DestinationKind.OTLP, NOWHERE)
    clock = Clock()
    report(folder, *sessions)
    work(folder, TraceConfig(destinations=(down,), patience_seconds=120.0), clock.timing())
    assert 60 < clock.slept <= 120
    assert not waiting_events(folder)
    with TraceState(folder) as state:
        assert len(state.due("sink 1")) == 2
        assert "ConnectionRefusedError" in state.health("sink 1").last_error
    clock.slept += 3600
    with OtlpSink() as sink:
        # No event: what is due is taken up by whoever comes next.
        work(folder, config_for(sink), clock.timing())
        assert ids_in(sink) == expected
        assert_settled(folder, config_for(sink))


def test_one_span_that_is_rejected_does_not_cost_the_others(
    folder: Path, sessions: list[Path], expected: set[tuple[str, str]]
) -> None:
    bad = sorted(expected)[7]

    def is_bad(span: SinkSpan) -> bool:
        return (span.trace_id, span.span_id) == bad

    for name, sink in (("refused", OtlpSink(refuse=is_bad)), ("partial", OtlpSink(reject=is_bad))):
        with sink:
            config = config_for(sink)
            report(folder / name, *sessions)
            work(folder / name, config, Clock().timing())
            assert ids_in(sink) == expected - {bad}
            assert_settled(folder / name, config)
            with TraceState(folder / name) as state:
                assert state.health("sink 1").refused == 1


def test_of_two_destinations_one_that_fails_does_not_hold_up_the_other(
    folder: Path, sessions: list[Path], expected: set[tuple[str, str]]
) -> None:
    clock = Clock()
    with OtlpSink() as good, OtlpSink() as bad:
        config = config_for(bad, good, patience=30.0)
        bad.fail(500, times=1000)
        report(folder, *sessions)
        work(folder, config, clock.timing())
        assert (ids_in(good), ids_in(bad)) == (expected, set())
        bad.heal()
        clock.slept += 600
        work(folder, config, clock.timing())
        assert ids_in(bad) == expected
        assert all(span.times == 1 for span in (*good.spans, *bad.spans))
        assert_settled(folder, config)


class Choosy(OtlpSink):
    """Fails with 500 at requests that hold a chosen trace."""

    chosen = ""

    def _examine(self, handler: Any, raw: bytes) -> tuple[int, Sequence[SinkSpan]]:
        status, spans = super()._examine(handler, raw)
        return (500 if any(span.trace_id == self.chosen for span in spans) else status), spans


@pytest.mark.parametrize("place", [0, 1])
def test_a_session_that_a_receiver_always_fails_at_does_not_hold_up_the_others(
    place: int, folder: Path, sessions: list[Path], expected: set[tuple[str, str]], tmp_path: Path
) -> None:
    with OtlpSink() as alone:
        report(tmp_path / "alone", sessions[place])
        work(tmp_path / "alone", config_for(alone), Clock().timing())
        own = ids_in(alone)
    clock = Clock()
    with Choosy() as sink:
        sink.chosen = min(own)[0]
        report(folder, *sessions)
        work(folder, config_for(sink, patience=30.0), clock.timing())
        assert ids_in(sink) >= expected - own
        with TraceState(folder) as state:
            assert [due.path for due in state.due("sink 1")] == [sessions[place]]
            assert "HTTP 500" in state.health("sink 1").last_error
        sink.chosen = ""
        clock.slept += 600
        work(folder, config_for(sink), clock.timing())
        assert ids_in(sink) == expected
        assert_settled(folder, config_for(sink))


def test_a_receiver_that_fails_at_everything_is_not_asked_for_each_session(folder: Path, sessions: list[Path]) -> None:
    """It is asked five times, and has the rest of its round to itself."""
    copies = [Path(shutil.copy(sessions[0], sessions[0].with_stem(f"5e551000-0000-4000-8000-{n:012d}"))) for n in range(20)]
    with OtlpSink() as sink:
        sink.fail(500, times=1000)
        report(folder, *copies)
        work(folder, config_for(sink, patience=0.0), Clock().timing())
        assert sink.posts == 5
        with TraceState(folder) as state:
            assert len(state.due("sink 1")) == 21  # with the original, which the copies name


# --- clocks


def test_a_clock_that_steps_back_does_not_keep_a_receiver_waiting(
    folder: Path, sessions: list[Path], expected: set[tuple[str, str]]
) -> None:
    clock = Clock()
    with OtlpSink() as sink:
        sink.fail(500, times=len(sessions))
        report(folder, *sessions)
        work(folder, config_for(sink, patience=0.0), clock.timing())
        assert not sink.spans
        clock.step = -86_400.0
        began = clock.slept
        work(folder, config_for(sink), clock.timing())
        assert ids_in(sink) == expected
        assert clock.slept - began < 120
        assert_settled(folder, config_for(sink))


def test_events_whose_times_go_backwards_are_all_seen_to(
    folder: Path, sessions: list[Path], expected: set[tuple[str, str]]
) -> None:
    with OtlpSink() as sink:
        spool_folder(folder).mkdir(parents=True)
        for place, path in enumerate((*sessions, *sessions)):
            told = {"hook_event_name": "SessionEnd", "transcript_path": str(path), "received_ns": 10**18 - place * 10**15}
            (spool_folder(folder) / f"{10**18 - place * 10**15:020d}.json").write_text(json.dumps(told))
        work(folder, config_for(sink), Clock().timing())
        assert ids_in(sink) == expected
        assert all(span.times == 1 for span in sink.spans)
        assert_settled(folder, config_for(sink))


# --- events


def test_events_of_which_nothing_can_be_made_stop_nothing(
    folder: Path, sessions: list[Path], expected: set[tuple[str, str]], tmp_path: Path
) -> None:
    spool = spool_folder(folder)
    spool.mkdir(parents=True)
    whole = json.dumps({"hook_event_name": "Stop", "transcript_path": str(sessions[0]), "received_ns": 1})
    bad = {
        "empty": "",
        "torn": whole[:40],
        "list": "[]",
        "deep": "[" * 100_000,
        "number": '{"hook_event_name": 1}',
        "relative": '{"hook_event_name": "Stop", "transcript_path": "x.jsonl"}',
        "missing": json.dumps({"hook_event_name": "Stop", "transcript_path": str(tmp_path / "none.jsonl")}),
        "folder": json.dumps({"hook_event_name": "Stop", "transcript_path": str(tmp_path)}),
        "nul": json.dumps({"hook_event_name": "SessionEnd", "transcript_path": "/x\0y.jsonl"}),
        "long": json.dumps({"hook_event_name": "SessionEnd", "transcript_path": "/" + "x" * 5000}),
        "half a letter": '{"hook_event_name": "SessionEnd", "transcript_path": "/\\ud800.jsonl"}',
        "huge stamp": json.dumps({"hook_event_name": "Stop", "transcript_path": str(tmp_path / "n"), "received_ns": 2**80}),
    }
    for place, told in enumerate(bad.values()):
        (spool / f"{place:03}.json").write_text(told)
    (spool / "zz-folder.json").mkdir()
    (spool / ".unfinished.tmp").write_text("{")
    report(folder, *sessions)
    with OtlpSink() as sink:
        work(folder, config_for(sink), Clock().timing())
        assert ids_in(sink) == expected
        assert_settled(folder, config_for(sink))


def test_the_first_event_is_an_hour_before_the_first_of_all_hooks_and_there_is_none_without_one(
    folder: Path, sessions: list[Path]
) -> None:
    """A transcript is written before its hook runs, and a hook before the worker that it starts."""
    with OtlpSink() as sink:
        work(folder, config_for(sink), Clock().timing())
        with TraceState(folder) as state:
            assert state.first_event() is None
        report(folder, *sessions)
        (first, *_) = waiting_events(folder)
        received = json.loads(first.read_text())["received_ns"] / 1e9
        clock = Clock()
        clock.slept = 7200.0
        work(folder, config_for(sink), clock.timing())
        report(folder, *sessions)
        work(folder, config_for(sink), clock.timing())
        with TraceState(folder) as state:
            assert state.first_event() == pytest.approx(received - 3600.0)


def test_a_backlog_of_events_is_not_waited_for_one_by_one(folder: Path, sessions: list[Path]) -> None:
    """None of the announced answers ever comes. A session is waited for once, five seconds; not at all after half a minute."""
    now = time.time_ns()
    spool_folder(folder).mkdir(parents=True)
    for place in range(40):
        told = {
            "hook_event_name": "Stop",
            "transcript_path": str(sessions[place % 2]),
            "received_ns": now + place - (60 * 10**9 if place % 2 else 0),
            "answer_sha256": "00" * 32,
        }
        (spool_folder(folder) / f"{place:020d}.json").write_text(json.dumps(told))
    clock = Clock()
    with OtlpSink() as sink:
        work(folder, config_for(sink), clock.timing())
        assert clock.slept == pytest.approx(5.0, abs=0.2)
        assert_complete(sink)
        assert_settled(folder, config_for(sink))


# --- sub-agents


def background_session(folder: Path, *, failed: bool) -> tuple[Path, Path, list[Line]]:
    """A session whose sub-agent is in the middle of its work, the agent's file, and the lines that will come."""
    launched = {"isAsync": True, "agentId": "aaa", "status": "async_launched", "description": "d", "prompt": "Look."}
    ending = {"isApiErrorMessage": True, "error": "rate_limit"} if failed else {}
    path = write(
        folder,
        timed(0, user("u1", "Go")),
        timed(1, assistant("a1", "m1", [tool_use("t1", "Task", prompt="Look.", run_in_background=True)], "u1")),
        timed(2, user("r1", [tool_result("t1", "launched")], "a1", toolUseResult=launched)),
        timed(3, assistant("a2", "m2", [text("Wait.")], "r1") | ending),
    )
    lines = [
        timed(3, user("s1", "Look.")),
        timed(4, assistant("s2", "ms2", [tool_use("ts")], "s1")),
        timed(5, user("s3", [tool_result("ts")], "s2")),
        timed(6, assistant("s4", "ms4", [text("Seen.")], "s3")),
    ]
    return path, write_agent(path, "aaa", "t1", *lines[:2]), lines


@pytest.mark.parametrize("event", ["Stop", "StopFailure", "SessionEnd"])
@pytest.mark.parametrize("later", ["SubagentStop", "SessionEnd", "Stop"])
def test_a_sub_agent_that_works_on_after_its_turn_ended_is_told_whole(
    event: str, later: str, folder: Path, tmp_path: Path
) -> None:
    path, agent, lines = background_session(tmp_path / "projects", failed=event == "StopFailure")
    with OtlpSink() as sink:
        report(folder, path, event=event)
        work(folder, config_for(sink), Clock().timing())
        assert {span.name for span in sink.spans if span.attributes.get("gen_ai.response.id") in ("ms2", "ms4")} == set()
        assert len([span for span in sink.spans if not span.parent_id]) == 1
        write_agent(path, "aaa", "t1", *lines)
        assert time.time() - agent.stat().st_mtime < 2, "just now: the worker has to look again"
        report(folder, path, event=later)
        work(folder, config_for(sink), Clock().timing())
        told = sorted(str(span.attributes["gen_ai.response.id"]) for span in of_kind("generation", sink.spans))
        assert told == sorted({"m1", "ms2", "ms4", *([] if event == "StopFailure" else ["m2"])})
        assert len(of_kind("tool", sink.spans)) == 2
        assert {span.times for span in sink.spans} == {1}


def test_a_sub_agent_that_was_cut_off_is_told_when_its_own_file_is_old(folder: Path, tmp_path: Path) -> None:
    path, agent, _ = background_session(tmp_path / "projects", failed=False)
    os.utime(path, (1, 1))
    with OtlpSink() as sink:
        config = config_for(sink)
        for age, told in ((0, 0), (3500, 0), (3700, 1)):
            os.utime(agent, (time.time() - age,) * 2)
            with TraceState(folder) as state:
                [candidate] = [Candidate(path, path.stem, path.stat().st_size, 1.0)]
                assert is_behind(candidate, "sink 1", state)
                send_history([candidate], config.destinations[0], config, state, folder)
                assert is_behind(candidate, "sink 1", state) is not bool(told)
            found = [span for span in sink.spans if span.attributes.get("gen_ai.response.id") == "ms2"]
            assert len(found) == told


def test_sub_agents_that_started_each_other_are_told_once_and_stop_nothing(folder: Path, tmp_path: Path) -> None:
    """One that says that it started itself, and two in a ring."""
    path = write(
        tmp_path / "projects",
        timed(0, user("u1", "Go")),
        timed(1, assistant("a1", "m1", [tool_use("t1", "Task"), tool_use("t2", "Task")], "u1")),
        timed(2, user("r1", [tool_result("t1")], "a1")),
        timed(3, user("r2", [tool_result("t2")], "r1")),
        timed(4, assistant("a2", "m2", [text("Done.")], "r2")),
    )
    write_agent(path, "self", "t1", timed(1, user("s1", "x")), timed(2, assistant("s2", "ms", [tool_use("t1", "Task")], "s1")))
    write_agent(path, "one", "t2", timed(1, user("o1", "x")), timed(2, assistant("o2", "mo", [tool_use("t3", "Task")], "o1")))
    write_agent(path, "two", "t3", timed(1, user("w1", "x")), timed(2, assistant("w2", "mw", [tool_use("t2", "Task")], "w1")))
    with OtlpSink() as sink:
        report(folder, path)
        work(folder, config_for(sink), Clock().timing())
        told = sorted(str(span.attributes["gen_ai.response.id"]) for span in of_kind("generation", sink.spans))
        assert told == ["m1", "m2", "mo", "ms", "mw"]
        assert len(of_kind("agent", sink.spans)) == 4
        assert sorted(str(span.attributes["gen_ai.tool.call.id"]) for span in of_kind("tool", sink.spans)) == [
            *("t1", "t1"),  # what it says it started itself with is a tool of its own
            *("t2", "t2", "t3"),
        ]
        assert {span.times for span in sink.spans} == {1}
        with TraceState(folder) as state:
            assert state.unread("sink 1") == []


def test_sub_agents_that_are_too_deep_are_left_out_and_the_deepest_says_so(folder: Path, tmp_path: Path) -> None:
    path = write(
        tmp_path / "projects",
        timed(0, user("u1", "Go")),
        timed(1, assistant("a1", "m1", [tool_use("t0", "Task")], "u1")),
        timed(2, user("r1", [tool_result("t0")], "a1")),
        timed(3, assistant("a2", "m2", [text("Done.")], "r1")),
    )
    for n in range(250):
        asked = timed(1, user(f"s{n}", "x"))
        write_agent(
            path, f"a{n}", f"t{n}", asked, timed(2, assistant(f"x{n}", f"mx{n}", [tool_use(f"t{n + 1}", "Task")], f"s{n}"))
        )
    with OtlpSink() as sink:
        report(folder, path)
        work(folder, config_for(sink), Clock().timing())
        agents = of_kind("agent", sink.spans)
        assert len(agents) == 1 + 200
        assert [
            span.attributes["langfuse.observation.metadata.agent_id"]
            for span in agents
            if "langfuse.observation.metadata.left_out" in span.attributes
        ] == ["a199"]


@pytest.mark.parametrize("event", ["Stop", "SessionEnd"])
def test_a_session_that_can_not_be_understood_is_noted_and_not_forgotten_when_another_is_sent(
    event: str,
    folder: Path,
    sessions: list[Path],
    expected: set[tuple[str, str]],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    """What it is that a file makes Python raise is not foreseen: here it is raised where the trace's id is made."""
    bad = write(tmp_path / "projects", timed(0, user("bad", "Go")), timed(1, assistant("a1", "m1", [text("x")], "bad")))

    def seed_of(turn: Turn) -> str:
        found = mapping.seed_of(turn)
        if found == "bad":
            raise RecursionError
        return found

    monkeypatch.setattr(sending, "seed_of", seed_of)
    with OtlpSink() as sink:
        report(folder, bad, *sessions, event=event)
        work(folder, config_for(sink), Clock().timing())
        assert ids_in(sink) == expected
        with TraceState(folder) as state:
            [failure] = state.unread("sink 1")
            assert (failure.path, failure.reason) == (bad, f"cannot parse {bad} (RecursionError)")
            assert state.health("sink 1").last_error == ""


@pytest.mark.parametrize("event", ["Stop", "SessionEnd"])
def test_a_file_that_can_not_be_read_is_noted_and_says_nothing_of_the_receiver(
    event: str, folder: Path, sessions: list[Path], tmp_path: Path
) -> None:
    """A folder in the place of a transcript; then it is gone."""
    odd = tmp_path / "odd.jsonl"
    odd.mkdir()
    with OtlpSink() as sink:
        report(folder, odd, *sessions, event=event)
        work(folder, config_for(sink), Clock().timing())
        with TraceState(folder) as state:
            assert [failure.path for failure in state.unread("sink 1")] == [odd]
            assert (state.health("sink 1").failures, state.health("sink 1").last_error) == (0, "")
            assert state.due("sink 1") == []
        odd.rmdir()
        report(folder, odd, event=event)
        work(folder, config_for(sink), Clock().timing())
        with TraceState(folder) as state:
            assert state.unread("sink 1") == []


# --- disks


def start_worker(home: Path, endpoint: str, before: Callable[[], None] | None = None) -> subprocess.CompletedProcess[bytes]:
    """A worker as a hook starts it, to its end."""
    environment = {
        **os.environ,
        "HOME": str(home),
        "XDG_STATE_HOME": str(home / "state"),
        "PYTHONPATH": str(SOURCE),
        "STENO_TRACE_URL": endpoint,
        "STENO_TRACE_PATIENCE_SECONDS": "10",
    }
    command = [sys.executable, "-m", "stenograph.traces.worker"]
    return subprocess.run(command, env=environment, preexec_fn=before, capture_output=True, check=False, timeout=60)


@pytest.mark.proof
@pytest.mark.parametrize("room", [0, 4096, 40_000, 60_000, 70_000, 90_000])
def test_a_full_disk_loses_nothing(room: int, sessions: list[Path], expected: set[tuple[str, str]], tmp_path: Path) -> None:
    """No file may grow beyond so many bytes: writing fails as it does on a full disk."""
    folder = tmp_path / "state" / "stenograph" / "traces"
    with OtlpSink() as sink:
        report(folder, *sessions)
        full = start_worker(tmp_path, sink.endpoint, lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (room, room)))
        assert full.returncode == 0, full.stderr
        assert full.stderr == b""
        if room <= 40_000:  # not even the first fact could be written
            assert (len(waiting_events(folder)), sink.posts) == (2, 0)
        else:
            assert sink.posts
        assert start_worker(tmp_path, sink.endpoint).returncode == 0  # no new event: what is left is there
        assert ids_in(sink) == expected
        assert_complete(sink)
        assert not waiting_events(folder)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else")
def test_a_state_that_may_not_be_written_is_left_as_it_is(
    folder: Path, sessions: list[Path], tmp_path: Path, expected: set[tuple[str, str]]
) -> None:
    report(folder, *sessions)
    for part in (tmp_path, *tmp_path.parents):
        if part.stat().st_mode & 0o005 != 0o005 and part != Path("/"):
            part.chmod(0o755)
    with OtlpSink() as sink:
        os.seteuid(65534)
        try:
            with pytest.raises(UnwritableError):
                work(folder, config_for(sink), Clock().timing())
        finally:
            os.seteuid(0)
        assert (len(waiting_events(folder)), sink.posts) == (2, 0)
        work(folder, config_for(sink), Clock().timing())
        assert ids_in(sink) == expected


# --- other processes


def test_many_hooks_at_once_have_each_turn_told_once(
    sessions: list[Path], expected: set[tuple[str, str]], tmp_path: Path
) -> None:
    """Real hooks, which start real workers."""
    folder = tmp_path / "state" / "stenograph" / "traces"
    script = SOURCE / "stenograph" / "traces" / "hook.py"
    with OtlpSink() as sink:
        environment = {**os.environ, "XDG_STATE_HOME": str(tmp_path / "state"), "STENO_TRACE_URL": sink.endpoint}
        hooks = []
        for path in sessions * 6:
            event = json.dumps({"hook_event_name": "SessionEnd", "transcript_path": str(path)}).encode()
            hook = subprocess.Popen([sys.executable, "-I", "-S", str(script)], stdin=subprocess.PIPE, env=environment)
            assert hook.stdin is not None
            with hook.stdin as given:
                given.write(event)
            hooks.append(hook)
        assert [hook.wait(20) for hook in hooks] == [0] * 12
        deadline = time.monotonic() + 40
        while time.monotonic() < deadline and (waiting_events(folder) or ids_in(sink) != expected or is_held(folder)):
            time.sleep(0.1)
        assert ids_in(sink) == expected
        assert all(span.times == 1 for span in sink.spans)
        assert not waiting_events(folder)


# --- the worker itself

#: Runs workers in children of its own. Each line of its input names a state folder, an address and the step at which the child
#: kills itself; it answers with how the child ended and, where it lived, the number of steps. A step is the moment before or
#: after a call of something that writes, deletes or posts, and before each statement of SQL that changes something.
_DRIVER = """
import functools, json, os, signal, sys
from pathlib import Path
from stenograph.traces import delivery, folder, state, worker
from stenograph.config.traces import Destination, DestinationKind, TraceConfig

steps, deadly = 0, 0

def step():
    global steps
    steps += 1
    if steps == deadly:
        os.kill(os.getpid(), signal.SIGKILL)

def watch(owner, name):
    original = getattr(owner, name)
    @functools.wraps(original)
    def call(*args, **named):
        step()
        found = original(*args, **named)
        step()
        return found
    setattr(owner, name, call)

for owner, names in {
    state.TraceState: ["__init__", "acknowledge", "settle", "make_due", "note_first_event", "note_failure", "close"],
    delivery.Sender: ["send"],
    delivery._Channel: ["post"],
    worker: ["remove_file", "mask_key", "alone"],
    os: ["write", "replace"],
}.items():
    for name in names:
        watch(owner, name)

opened = state.TraceState.__init__
def open_watched(self, *args):
    opened(self, *args)
    self._connection.set_trace_callback(lambda statement: None if statement.startswith("SELECT") else step())
state.TraceState.__init__ = open_watched

for line in sys.stdin:
    place, endpoint, deadly = json.loads(line)
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        destination = Destination("sink 1", DestinationKind.OTLP, endpoint, batch_bytes=20_000)
        worker.work(Path(place), TraceConfig(destinations=(destination,)))
        told = str(steps).encode()
        deadly = 0
        os.write(writing, told)
        os._exit(0)
    os.close(writing)
    _, status = os.waitpid(child, 0)
    with os.fdopen(reading) as lived:
        print(json.dumps([os.waitstatus_to_exitcode(status), int(lived.read() or 0)]), flush=True)
"""


class Driver:
    """A context manager."""

    def __enter__(self) -> Self:
        self._process = subprocess.Popen(
            [sys.executable, "-c", _DRIVER],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": str(SOURCE)},
            text=True,
        )
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._process.communicate(timeout=30)

    def work(self, folder: Path, sink: OtlpSink, deadly: int) -> tuple[int, int]:
        """How a worker ended that was to die at a step, and the steps of one that did not."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps([str(folder), sink.endpoint, deadly]) + "\n")
        self._process.stdin.flush()
        ended, steps = json.loads(self._process.stdout.readline())
        return ended, steps


@pytest.fixture(scope="module")
def driver() -> Iterator[Driver]:
    with Driver() as driver:
        yield driver


def all_steps(driver: Driver, folder: Path, sessions: list[Path]) -> int:
    with OtlpSink() as sink:
        report(folder, *sessions)
        ended, steps = driver.work(folder, sink, 0)
        assert (ended, len(sink.spans) > 0) == (0, True)
    return steps


def assert_survives(driver: Driver, folder: Path, sessions: list[Path], deadly: int, expected: set[tuple[str, str]]) -> None:
    with OtlpSink() as sink:
        report(folder, *sessions)
        ended, _ = driver.work(folder, sink, deadly)
        assert ended == -signal.SIGKILL, f"step {deadly} was not reached"
        work(folder, config_for(sink), Clock().timing())
        assert ids_in(sink) == expected, f"killed at step {deadly}"
        # At most what one acknowledgement covers was posted twice.
        assert max(span.times for span in sink.spans) <= 2
        assert_settled(folder, config_for(sink))
        assert len(mask_key(folder)) == 32
        assert sorted(path.name for path in spool_folder(folder).iterdir()) == []


@pytest.mark.proof
def test_a_worker_that_is_killed_at_any_step_loses_nothing(
    driver: Driver, sessions: list[Path], tmp_path: Path, expected: set[tuple[str, str]]
) -> None:
    """A sample of the steps; the test below takes all of them."""
    steps = all_steps(driver, tmp_path / "counted", sessions)
    assert steps > 50
    for deadly in range(1, steps + 1, 5):
        assert_survives(driver, tmp_path / f"killed at {deadly}", sessions, deadly, expected)


@pytest.mark.full
def test_a_worker_that_is_killed_at_every_step_loses_nothing(
    driver: Driver, sessions: list[Path], tmp_path: Path, expected: set[tuple[str, str]]
) -> None:
    for deadly in range(1, all_steps(driver, tmp_path / "counted", sessions) + 1):
        assert_survives(driver, tmp_path / f"killed at {deadly}", sessions, deadly, expected)


@pytest.mark.full
def test_workers_that_are_killed_one_after_the_other_get_there(
    driver: Driver, folder: Path, sessions: list[Path], expected: set[tuple[str, str]]
) -> None:
    """Each dies two steps later than the one before."""
    with OtlpSink() as sink:
        report(folder, *sessions)
        for deadly in range(1, 400, 2):
            ended, _ = driver.work(folder, sink, deadly)
            if ended == 0:
                break
            assert ended == -signal.SIGKILL
        assert ended == 0
        assert ids_in(sink) == expected
        assert_settled(folder, config_for(sink))
