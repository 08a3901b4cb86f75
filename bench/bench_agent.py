"""The console agent beside the real client and other agents: one scripted endpoint, one run, one contender after the other.

To the first request: from the start of the process to the last byte of the first request with the prompt and the tools. Overhead
of a call: from the last byte of the answer that asks for it to the last byte of the request with its result. In it are reading
the answer, permission, the tool itself (a shell for `true`, or a short file), what is written to the session, and making and
sending the next request, which holds everything before it; nothing is taken off. A stream's cost is the computing time beyond
that of a run with a short answer. Every contender runs once uncounted, so that its files and what it keeps for later starts are
there. Each figure is the best of several runs, with the median beside it.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from statistics import fmean, median
from typing import NamedTuple

from bench.agent_endpoint import Endpoint, Play, agent_endpoint
from bench.agent_peers import Agent, Run, claude, mini, ours, pi, run_agent
from bench.bench_messages import SESSION
from bench.figures import Figure, python, run_process
from bench.surgery_peers import Row
from bench.surgery_tools import ToolFailed
from stenograph.disk.projects import project_folder_name

NEWEST = "2.1.325"
OLD = "2.0.76"
OURS = "steno agent"
CALLS = 200
AT_ONCE = 8
PIECES = 25_000
START_ROUNDS = 7
CALL_ROUNDS = 3
RESUME_ROUNDS = 3
#: As much of the compacted session follows the compaction, in bytes: within the window of a model.
SINCE_COMPACTION = 300_000
#: Sessions of 100 MB to go on with: how each is written, and the least that the next request of it has in bytes.
RESUMED = {
    "compacted": (
        "from bench.bench_messages import SIZE, write_session; from pathlib import Path; "
        f"write_session(Path({{path!r}}), compacted_after=SIZE - {SINCE_COMPACTION})",
        SINCE_COMPACTION // 2,
    ),
    "edits of long files": (
        f"from bench.agent_session import write_edits; from pathlib import Path; write_edits(Path({{path!r}}), {SESSION!r})",
        200_000,
    ),
}


class Missed(NamedTuple):
    """Ours did not do what it was asked for: no bound of this measure is kept."""

    text: str
    kept: bool = False

    def __str__(self) -> str:
        return f"MISSED {self.text}"


class Bench:
    """The contenders, their homes, and the endpoint that they talk to."""

    def __init__(self, agents: Mapping[str, Agent], endpoint: Endpoint, scratch: Path) -> None:
        self._agents = dict(agents)
        self._endpoint = endpoint
        self._scratch = scratch

    def home(self, name: str) -> Path:
        return self._scratch / name.replace(" ", "-")

    def warm_up(self) -> Iterator[Row | Missed]:
        """Run each once. Those that fail take no further part."""
        for name in list(self._agents):
            work = self.home(name) / "work"
            work.mkdir(parents=True)
            for number in range(CALLS):
                notes = f"Note {number}.\n" * 20
                (work / f"notes-{number}.txt").write_text(notes, encoding="utf-8")
                (work / f"page-{number // AT_ONCE}-{number % AT_ONCE}.txt").write_text(notes, encoding="utf-8")
            runs, failed = self.play(short_play, rounds=1, among=[name])
            yield from failed
            if not runs:
                del self._agents[name]

    def play(
        self,
        make: Callable[[Agent, Path], Play | None],
        rounds: int,
        among: Sequence[str] | None = None,
        more: Callable[[str], Sequence[str]] = lambda _name: (),
    ) -> tuple[dict[str, list[Run]], list[Row | Missed]]:
        """Runs of each contender that can play it, in turns, and what is to be said of those that failed."""
        plays = {
            name: play
            for name, agent in self._agents.items()
            if (among is None or name in among) and (play := make(agent, self.home(name) / "work")) is not None
        }
        runs: dict[str, list[Run]] = {name: [] for name in plays}
        failed: dict[str, Row | Missed] = {}
        for _ in range(rounds):
            for name, play in plays.items():
                if name in failed:
                    continue
                try:
                    runs[name].append(run_agent(self._agents[name], self._endpoint, play, self.home(name), more(name)))
                except ToolFailed as error:
                    failed[name] = Missed(f"{name}: {error}") if name == OURS else Row(f"{name}: {error}")
        return {name: each for name, each in runs.items() if name not in failed}, list(failed.values())


def measure() -> Iterator[Figure | Row | Missed]:
    agents: dict[str, Agent] = {OURS: ours()}
    makers: dict[str, Callable[[], Agent]] = {
        NEWEST: lambda: claude(NEWEST),
        OLD: lambda: claude(OLD),
        "pi": pi,
        "mini-swe-agent": mini,
    }
    for name, make in makers.items():
        try:
            agents[name] = make()
        except ToolFailed as error:
            yield Row(f"{name}: {error}")
    yield Row("beside it: " + ", ".join(agent.name for name, agent in agents.items() if name != OURS))
    with tempfile.TemporaryDirectory(dir=os.environ.get("STENO_BENCH_TMP"), ignore_cleanup_errors=True) as name:
        scratch = Path(name).resolve()
        with agent_endpoint() as endpoint:
            bench = Bench(agents, endpoint, scratch)
            yield from bench.warm_up()
            short, failed = bench.play(short_play, START_ROUNDS)
            yield from failed
            yield from measure_start(short)
            yield from measure_calls(bench)
            yield from measure_calls_at_once(bench)
            yield from measure_stream(bench, short)
            yield from measure_resume(bench, scratch)


def measure_start(runs: Mapping[str, list[Run]]) -> Iterator[Figure | Row]:
    """To the first request, of runs with a short answer."""
    first = {name: [run.first for run in each] for name, each in runs.items()}
    for name, seconds in first.items():
        size = runs[name][0].size / 1000
        memory = max(run.memory for run in runs[name])
        yield Row(f"{name}: first request after {in_ms(seconds)}; {size:.0f} kB; {memory:.0f} MB to the end of a short answer")
    if OURS in first:
        yield Figure("to the first request", 1000 * min(first[OURS]), " ms", 200, "at most")
    yield from ratios("to the first request", first, {NEWEST: 2, OLD: 5})


def measure_calls(bench: Bench) -> Iterator[Figure | Row | Missed]:
    """Overhead of a call among many, one after the other; and memory at the end of them."""
    yield Row(f"a shell for `true`, started from Python: {in_ms(time_of_shell())}")
    for what, make in (("shell", shell_play), ("read", read_play)):
        runs, failed = bench.play(make, CALL_ROUNDS)
        yield from failed
        each = {name: [fmean(run.gaps) for run in some] for name, some in runs.items()}
        for name, seconds in each.items():
            start = median(gap for run in runs[name] for gap in run.gaps[:20])
            end = median(gap for run in runs[name] for gap in run.gaps[-20:])
            memory = max(run.memory for run in runs[name])
            cpu = min(run.cpu for run in runs[name])
            yield Row(
                f"{name}: {CALLS} calls, {what}: {in_ms(seconds)} each (mean of a run); the first twenty {1000 * start:.1f} ms, "
                f"the last {1000 * end:.1f} ms; {cpu:.1f} s of computing time in all; {memory:.0f} MB"
            )
        if OURS in each:
            yield Figure(f"overhead of a call, {what}", 1000 * min(each[OURS]), " ms", 10, "at most")
        yield from ratios(f"overhead of a call, {what}", each, {NEWEST: 1, OLD: 1})
        peak = {name: [run.memory for run in some] for name, some in runs.items()}
        yield from ratios(f"memory of {CALLS} calls, {what}", peak, {NEWEST: 1, OLD: 1}, max)


def measure_calls_at_once(bench: Bench) -> Iterator[Figure | Row | Missed]:
    """Eight calls in one answer: of readers the overhead, of shells whether they run at the same time."""
    runs, failed = bench.play(several_reads_play, CALL_ROUNDS)
    yield from failed
    each = {name: [fmean(run.gaps) / AT_ONCE for run in some] for name, some in runs.items()}
    for name, seconds in each.items():
        yield Row(f"{name}: {AT_ONCE} reads at once: {in_ms(seconds)} a read")
    yield from ratios(f"overhead of a call, {AT_ONCE} reads at once", each, {NEWEST: 1, OLD: 1})
    runs, failed = bench.play(sleeps_play, rounds=1)
    yield from failed
    for name, some in runs.items():
        yield Row(f"{name}: {AT_ONCE} times `sleep 0.2` at once: {some[0].gaps[0]:.2f} s")


def measure_stream(bench: Bench, short: Mapping[str, list[Run]]) -> Iterator[Figure | Row | Missed]:
    """A text of many events."""
    runs, failed = bench.play(stream_play, CALL_ROUNDS)
    yield from failed
    each: dict[str, list[float]] = {}
    for name, some in runs.items():
        if name not in short:  # it failed there, which was said
            continue
        before = median(run.cpu for run in short[name])
        each[name] = [(run.cpu - before) / PIECES for run in some]
        longer = min(run.wall for run in some) - min(run.wall for run in short[name])
        best, middle = 1e6 * min(each[name]), 1e6 * median(each[name])
        yield Row(
            f"{name}: {PIECES} events: {best:.1f} µs of computing time each (median {middle:.1f}), "
            f"{longer:.2f} s longer by the clock; {max(run.memory for run in some):.0f} MB"
        )
    yield from ratios(f"stream of {PIECES} events, computing time", each, {NEWEST: 1, OLD: 1})


def measure_resume(bench: Bench, scratch: Path) -> Iterator[Figure | Row | Missed]:
    """The next prompt of a session of 100 MB."""
    for kind, (write, least) in RESUMED.items():
        what = f"resume of 100 MB ({kind})"
        session = scratch / "resumed.jsonl"
        # In a process of its own: what this one ever held counts as memory of those that it starts.
        run_process(python(write.format(path=str(session))))
        runs, failed = bench.play(short_play, RESUME_ROUNDS, (OURS, NEWEST, OLD), partial(place_session, bench, session))
        yield from failed
        for name in [name for name, some in runs.items() if min(run.size for run in some) < least]:
            text = f"{name}: {what}: sent {runs.pop(name)[0].size} bytes, which is less than was said before"
            yield Missed(text) if name == OURS else Row(text)
        first = {name: [run.first for run in some] for name, some in runs.items()}
        peak = {name: [run.memory for run in some] for name, some in runs.items()}
        for name, seconds in first.items():
            size = runs[name][0].size / 1000
            yield Row(f"{name}: {what}: first request after {in_ms(seconds)}; {size:.0f} kB; {max(peak[name]):.0f} MB")
        yield from ratios(f"{what}, to the first request", first, {NEWEST: 1, OLD: 1})
        yield from ratios(f"{what}, memory", peak, {NEWEST: 1, OLD: 1}, max)


def place_session(bench: Bench, session: Path, name: str) -> Sequence[str]:
    """Put a fresh copy where a contender looks for its sessions; the arguments to go on with it."""
    project = bench.home(name) / ".claude" / "projects" / project_folder_name(str(bench.home(name) / "work"))
    shutil.rmtree(project, ignore_errors=True)
    project.mkdir(parents=True)
    shutil.copyfile(session, project / f"{SESSION}.jsonl")
    return ("--resume", SESSION)


def short_play(agent: Agent, _work: Path) -> Play:
    return Play(end=list(agent.end))


def shell_play(agent: Agent, _work: Path) -> Play:
    # The number makes each call another: some agents stop at repetitions.
    return Play([agent.shell_call("true {n}")], CALLS, list(agent.end))


def sleeps_play(agent: Agent, _work: Path) -> Play:
    return Play([agent.shell_call("sleep 0.2")] * AT_ONCE, 1, list(agent.end))


def read_play(agent: Agent, work: Path) -> Play | None:
    return Play([agent.reader_call(f"{work}/notes-{{n}}.txt")], CALLS, list(agent.end)) if agent.reader else None


def several_reads_play(agent: Agent, work: Path) -> Play | None:
    if agent.reader is None:
        return None
    calls = [agent.reader_call(f"{work}/page-{{n}}-{number}.txt") for number in range(AT_ONCE)]
    return Play(calls, CALLS // AT_ONCE, list(agent.end))


def stream_play(agent: Agent, _work: Path) -> Play | None:
    return Play(pieces=PIECES) if agent.streams else None


def ratios(
    what: str,
    values: Mapping[str, Sequence[float]],
    bounds: Mapping[str, float],
    pick: Callable[[Sequence[float]], float] = min,
) -> Iterator[Figure | Row]:
    """Each contender's pick beside ours: with a bound where there is one."""
    if OURS not in values:
        return
    for name, each in values.items():
        if name == OURS:
            continue
        ratio, between = pick(each) / pick(values[OURS]), median(each) / median(values[OURS])
        note = f"[by the medians {between:.2f}x]"
        if name in bounds:
            yield Figure(f"{what}, {name} / ours", ratio, "x", bounds[name], "at least", note)
        else:
            yield Row(f"{what}, {name} / ours: {ratio:.2f}x {note}")


def in_ms(seconds: Sequence[float]) -> str:
    return f"{1000 * min(seconds):.1f} ms (median {1000 * median(seconds):.1f})"


def time_of_shell() -> list[float]:
    """What a shell that does nothing takes, started the quickest way that Python has."""
    took = []
    for _ in range(50):
        begin = time.perf_counter()
        subprocess.run(["/bin/sh", "-c", "true"], check=True)
        took.append(time.perf_counter() - begin)
    return took
