"""The worker where something fails: receivers, disks, clocks, other processes, and the worker itself at every step.

Two recorded sessions are reported. Whatever happens on the way, in the end the receiver holds each of their spans once by its
id: as many as a reading of the lines with `json` alone foresees, and the same ones as without a fault.
"""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import TracebackType
from typing import Self

import pytest
from tests.cli.running import SOURCE
from tests.traces.tracing import RECORDED, Growing, counts_told, foreseen, of_kind, summed

from stenograph.errors import UnwritableError
from stenograph.testing.otlp_sink import OtlpSink, SinkSpan
from stenograph.traces.config import Destination, DestinationKind, TraceConfig
from stenograph.traces.folder import is_held, mask_key, spool_folder, waiting_events
from stenograph.traces.state import TraceState
from stenograph.traces.worker import Timing, work

_PRINT = RECORDED / "2.1.325" / "print" / "-home-user-rec-2-1-325"
#: Three turns, nine responses, five tools, two sub-agents; and three turns, 16 responses, 15 tools.
SESSIONS = tuple(
    _PRINT / f"{name}.jsonl" for name in ("28aeaa04-9693-4671-bb41-3ab45f2fe515", "13e5ec2e-1cf1-4dff-9ba4-3e22b9b6e808")
)
TURNS = 6
#: Longer than any test; nothing listens there.
NOWHERE = "http://127.0.0.1:9/v1/traces"


class Clock:
    """Time that passes when somebody sleeps, and `steps` that the wall clock makes."""

    def __init__(self) -> None:
        self.slept = 0.0
        self.step = 0.0

    def timing(self) -> Timing:
        return Timing(now=lambda: time.time() + self.slept + self.step, steady=lambda: self.slept, sleep=self.sleep)

    def sleep(self, seconds: float) -> None:
        self.slept += seconds


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "traces"


@pytest.fixture
def sessions(tmp_path: Path) -> list[Path]:
    return [Growing(path, tmp_path / "projects").write_all() for path in SESSIONS]


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> set[tuple[str, str]]:
    """The ids of all spans, as a run without a fault gives them; counted by hand once more."""
    base = tmp_path_factory.mktemp("expected")
    paths = [Growing(path, base / "projects").write_all() for path in SESSIONS]
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


@pytest.mark.parametrize("fails_at", range(1, 8))
def test_a_failure_in_the_middle_costs_nothing(
    fails_at: int, folder: Path, sessions: list[Path], expected: set[tuple[str, str]]
) -> None:
    with OtlpSink() as sink:
        sink.delay(0, times=fails_at - 1)
        sink.cut_after_storing(times=1)
        sink.fail(500, times=2)
        report(folder, *sessions)
        work(folder, config_for(sink), Clock().timing())
        assert ids_in(sink) == expected
        assert_settled(folder, config_for(sink))


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


# --- clocks


def test_a_clock_that_steps_back_does_not_keep_a_receiver_waiting(
    folder: Path, sessions: list[Path], expected: set[tuple[str, str]]
) -> None:
    clock = Clock()
    with OtlpSink() as sink:
        sink.fail(500)
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
    for place, text in enumerate(bad.values()):
        (spool / f"{place:03}.json").write_text(text)
    (spool / "zz-folder.json").mkdir()
    (spool / ".unfinished.tmp").write_text("{")
    report(folder, *sessions)
    with OtlpSink() as sink:
        work(folder, config_for(sink), Clock().timing())
        assert ids_in(sink) == expected
        assert_settled(folder, config_for(sink))


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


@pytest.mark.parametrize("room", [0, 4096, 40_000, 50_000, 70_000, 90_000])
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
from stenograph.traces.config import Destination, DestinationKind, TraceConfig

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
    state.TraceState: ["__init__", "acknowledge", "settle", "make_due", "set_fact_once", "note_failure", "close"],
    delivery.Sender: ["send"],
    delivery._Channel: ["post"],
    worker: ["take_out", "mask_key", "alone"],
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
