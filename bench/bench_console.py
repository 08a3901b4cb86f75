"""The console beside the real client's, each in a pseudo-terminal of 80 by 24: to a prompt that takes input, the memory of 200
calls and of 200 turns, the computing time of a long stream, and the first request of a session of 100 MB.

To the prompt: from the start of the process until a typed letter is drawn. Memory is the peak of the largest process, computing
time that of all of them. Rounds take turns, so that a slow moment of the machine hits both; each figure is the best of them.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import pty
import select
import shutil
import signal
import struct
import sys
import tempfile
import termios
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from lab.clients import ClientMissing, client_environment, default_clients_folder, install_client
from lab.terminal import prepare_home

from bench.agent_endpoint import Asked, Endpoint, Play, agent_endpoint, play_prompt
from bench.bench_agent import NEWEST, RESUMED
from bench.bench_messages import SESSION
from bench.figures import Figure, python, run_process
from bench.surgery_peers import Row
from stenograph.disk.projects import project_folder_name

OURS = "steno agent"
CALLS = 200
TURNS = 200
PIECES = 25_000
ROUNDS = 3
_LONGEST = 600.0
_QUIET = 2.5
_TICKS = os.sysconf("SC_CLK_TCK") if hasattr(os, "sysconf") else 100
#: What each draws when its input is there.
_MARKS = {OURS: b"for commands", NEWEST: "❯".encode()}
_ANSWER = "## What was done\n\n" + "\n".join(
    f"- Step {number}: read `src/part_{number}.py` and changed **two** lines." for number in range(20)
)
# Questions of a client to its terminal, and what an ordinary one answers.
_ANSWERS = {b"\x1b[6n": b"\x1b[1;1R", b"\x1b[c": b"\x1b[?62c", b"\x1b[?u": b"\x1b[?0u"}


class Console:
    """One program in a pseudo-terminal; a context manager."""

    def __init__(self, name: str, command: Sequence[str], home: Path, url: str) -> None:
        self._name = name
        self._seen = b""
        self.began = time.monotonic()
        environment = {**client_environment(home, url), "DISABLE_AUTO_COMPACT": "1"}
        self._pid, self._terminal = pty.fork()
        if self._pid == 0:
            os.chdir(home / "work")
            os.execvpe(command[0], list(command), environment)
        fcntl.ioctl(self._terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))

    def __enter__(self) -> Console:
        return self

    def __exit__(self, *_: object) -> None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._pid, signal.SIGKILL)
        with contextlib.suppress(ChildProcessError):
            os.waitpid(self._pid, 0)
        os.close(self._terminal)

    def look(self, seconds: float = 0.02) -> bytes:
        """What was drawn since the last look."""
        if not select.select([self._terminal], [], [], seconds)[0]:
            return b""
        try:
            data = os.read(self._terminal, 1 << 16)
        except OSError:
            raise RuntimeError(f"{self._name} ended: {self._seen[-500:]!r}") from None
        for question, answer in _ANSWERS.items():
            if question in data:
                os.write(self._terminal, answer)
        self._seen = (self._seen + data)[-100_000:]
        return data

    def wait_for(self, mark: bytes, since: int = 0) -> None:
        deadline = time.monotonic() + _LONGEST
        while mark not in self._seen[since:]:
            if time.monotonic() > deadline:
                raise RuntimeError(f"{self._name} did not draw {mark!r}")
            self.look()

    def ready(self) -> float:
        """Seconds from the start until a typed letter is drawn."""
        self.wait_for(_MARKS[self._name])
        place = len(self._seen)
        os.write(self._terminal, b"Q")
        self.wait_for(b"Q", place)
        took = time.monotonic() - self.began
        os.write(self._terminal, b"\x7f")
        return took

    def submit(self, text: str, rest: float = 0.5) -> None:
        for start in range(0, len(text), 500):
            os.write(self._terminal, text[start : start + 500].encode())
            self.rest(0.1)
        self.rest(rest)
        os.write(self._terminal, b"\r")

    def rest(self, seconds: float) -> None:
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            self.look()

    def wait_until_quiet(self) -> None:
        """Both redraw a clock as long as they work."""
        deadline, drawn = time.monotonic() + _LONGEST, time.monotonic()
        while time.monotonic() - drawn < _QUIET and time.monotonic() < deadline:
            if self.look():
                drawn = time.monotonic()

    def cost(self) -> tuple[float, float]:
        """(seconds of computing time so far, peak memory in MB)"""
        spent = peak = 0.0
        for process in _family(self._pid):
            with contextlib.suppress(OSError, ValueError, IndexError):  # one that ended has no memory
                fields = Path(f"/proc/{process}/stat").read_text().rpartition(") ")[2].split()
                spent += (int(fields[11]) + int(fields[12])) / _TICKS
                status = Path(f"/proc/{process}/status").read_text()
                peak = max(peak, int(status.partition("VmHWM:")[2].split()[0]) / 1000)
        return spent, peak


def _family(top: int) -> list[int]:
    parents: dict[int, int] = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError, ValueError, IndexError):
            parents[int(path.parent.name)] = int(path.read_text().rpartition(") ")[2].split()[1])
    family = [top]
    for process in family:
        family += [child for child, parent in parents.items() if parent == process]
    return family


class Arena:
    def __init__(self, commands: dict[str, Sequence[str]], endpoint: Endpoint, scratch: Path) -> None:
        self.commands = commands
        self.endpoint = endpoint
        self.scratch = scratch

    def home(self, name: str) -> Path:
        home = self.scratch / name.replace(" ", "-")
        prepare_home(home, home / "work")
        return home

    def open(self, name: str, *more: str) -> Console:
        return Console(name, [*self.commands[name], *more], self.home(name), self.endpoint.url)

    def answered(self, console: Console, requests: int) -> float:
        """When the first of so many requests came; waits until all were answered and the screen rests."""
        first = self.came(console, requests, pause=0.5)
        console.wait_until_quiet()
        return first

    def came(self, console: Console, requests: int, pause: float = 0.1) -> float:
        """When the first of so many requests came; waits for all of them."""
        deadline = time.monotonic() + _LONGEST
        times: list[Asked] = []
        while len(times) < requests and time.monotonic() < deadline:
            console.rest(pause)
            times += self.endpoint.take_times()
        if len(times) < requests:
            raise RuntimeError(f"{len(times)} of {requests} requests came")
        return times[0].arrived


def measure() -> Iterator[Figure | Row]:
    commands: dict[str, Sequence[str]] = {OURS: (sys.executable, "-m", "stenograph", "agent")}
    try:
        commands[NEWEST] = (str(install_client(default_clients_folder(os.environ), NEWEST)),)
    except ClientMissing as missing:
        yield Row(f"{NEWEST}: {missing}")
        return
    with (
        tempfile.TemporaryDirectory(dir=os.environ.get("STENO_BENCH_TMP"), ignore_cleanup_errors=True) as name,
        agent_endpoint() as endpoint,
    ):
        arena = Arena(commands, endpoint, Path(name).resolve())
        yield from _measure_start(arena)
        yield from _measure_work(arena, f"memory of {CALLS} calls", _calls(), CALLS + 1, by_memory=True)
        yield from _measure_turns(arena)
        yield from _measure_work(arena, f"computing time of {PIECES:,} events", Play(pieces=PIECES), 1, by_memory=False)
        yield from _measure_resume(arena)


def _calls() -> Play:
    return Play(step=[{"tool": "Bash", "input": {"command": "true", "description": "Nothing"}}], times=CALLS)


def _measure_start(arena: Arena) -> Iterator[Figure | Row]:
    least = dict.fromkeys(arena.commands, float("inf"))
    for number in range(ROUNDS + 1):
        for name in arena.commands:
            with arena.open(name) as console:
                took = console.ready()
            if number:  # the first makes what is kept for later starts
                least[name] = min(least[name], took)
    for name, seconds in least.items():
        yield Row(f"{name}: a prompt that takes input after {1000 * seconds:.0f} ms")
    yield Figure("console: to the prompt", least[NEWEST] / least[OURS], " times as fast", 1.8, "at least", f"as {NEWEST}")


def _measure_work(arena: Arena, what: str, play: Play, requests: int, *, by_memory: bool) -> Iterator[Figure | Row]:
    found: dict[str, float] = {}
    for name in arena.commands:
        with arena.open(name, "--dangerously-skip-permissions") as console:
            console.ready()
            console.rest(1.0)
            before, _ = console.cost()
            arena.endpoint.take_times()
            console.submit(play_prompt(play))
            arena.answered(console, requests)
            spent, peak = console.cost()
            found[name] = peak if by_memory else spent - before
    unit = "MB" if by_memory else "s"
    yield Row(f"{what}: " + ", ".join(f"{name} {value:.1f} {unit}" for name, value in found.items()))
    bound = 1 / 3 if by_memory else 1.0
    yield Figure(f"console: {what}", found[OURS] / found[NEWEST], " of the client's", round(bound, 2), "at most")


def _measure_turns(arena: Arena) -> Iterator[Figure | Row]:
    """Prompts one after the other, each answered with a page of Markdown."""
    found: dict[str, float] = {}
    for name in arena.commands:
        with arena.open(name, "--dangerously-skip-permissions") as console:
            console.ready()
            console.rest(1.0)
            arena.endpoint.take_times()
            console.submit(play_prompt(Play(end=[{"text": _ANSWER}])))
            arena.answered(console, 1)
            # What a prompt without a play of its own gets is what the last play ended with.
            for _ in range(TURNS - 1):
                console.submit("And then?", rest=0.1)
                arena.came(console, 1)
                console.rest(0.2)
            console.wait_until_quiet()
            _, found[name] = console.cost()
    what = f"memory of {TURNS} turns"
    yield Row(f"{what}: " + ", ".join(f"{name} {value:.1f} MB" for name, value in found.items()))
    yield Figure(f"console: {what}", found[OURS] / found[NEWEST], " of the client's", 0.33, "at most")


def _measure_resume(arena: Arena) -> Iterator[Figure | Row]:
    kind = "compacted"
    session = arena.scratch / "resumed.jsonl"
    run_process(python(RESUMED[kind][0].format(path=str(session))))
    least = dict.fromkeys(arena.commands, float("inf"))
    for _ in range(2):
        for name in arena.commands:
            home = arena.home(name)
            folder = home / ".claude" / "projects" / project_folder_name(str((home / "work").resolve()))
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir(parents=True)
            text = session.read_text(encoding="utf-8").replace('"/home/user/project"', f'"{home / "work"}"')
            (folder / f"{SESSION}.jsonl").write_text(text, encoding="utf-8")
            arena.endpoint.take_times()
            with arena.open(name, "--resume", SESSION, "--dangerously-skip-permissions", play_prompt(Play())) as console:
                least[name] = min(least[name], arena.answered(console, 1) - console.began)
    yield Row(f"resume of 100 MB ({kind}): " + ", ".join(f"{name} {value:.2f} s" for name, value in least.items()))
    ratio = least[OURS] / least[NEWEST]
    yield Figure("console: resume of 100 MB, to the first request", ratio, " of the client's time", 1.0, "at most")
