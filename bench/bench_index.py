"""The index beside agentsview, claude-code-log and fast-resume: the same home, each tool in a user directory of its own.

`STENO_BENCH_MB` is the size of the generated home (500), `STENO_BENCH_GROWTH` the sizes for growth in MB, with commas
(100,500,5000), and `STENO_BENCH_BIG_MB` that of the one large session (1000). Peers are stopped after ten minutes.
claude-code-log and fast-resume have no index of tool output that a command can search: only agentsview's search is compared.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from bench.bench_turns import write_session
from bench.figures import CORPUS, ROOT, Figure, ProcessCost
from bench.surgery_tools import NO_NETWORK, ToolFailed, pypi_environment
from bench.usage_home import make_home

PATIENCE = 600.0
WORD = "kaben"
ROUNDS = 5
_MB = 1_000_000


class Contender(NamedTuple):
    name: str
    build: Sequence[str]
    #: None: it can't search what tools printed.
    search: Sequence[str] | None = None
    #: What starts and stops the server that its search asks.
    start: Sequence[str] | None = None
    stop: Sequence[str] | None = None


def measure() -> Iterator[Figure]:
    size = int(os.environ.get("STENO_BENCH_MB", "500"))
    with tempfile.TemporaryDirectory() as scratch:
        user = Path(scratch) / "user"
        make_home(user / ".claude", size=size * _MB)
        yield from _beside_peers(user, f"{size} MB")
        yield from _alone(user)
    if CORPUS.is_dir():
        with tempfile.TemporaryDirectory() as scratch:
            user = Path(scratch) / "user"
            folder = user / ".claude" / "projects"
            for number, path in enumerate(sorted(CORPUS.rglob("*.jsonl"))):
                target = folder / f"-p{number % 40}" / f"{number:08x}-2222-4333-8444-555555555555.jsonl"
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(path, target)
            yield from _beside_peers(user, "public corpus")
    yield from _turn_of_a_large_session(int(os.environ.get("STENO_BENCH_BIG_MB", "1000")))
    yield from _growth([int(each) for each in os.environ.get("STENO_BENCH_GROWTH", "100,500,5000").split(",") if each])


def _beside_peers(user: Path, what: str) -> Iterator[Figure]:
    ours = Contender("steno", _steno("search", WORD, "--json"), _steno("search", WORD, "--json"))
    first = _first(ours, user)
    assert first is not None
    print(f"       {what}: steno {first.wall:.1f} s, {first.memory:.0f} MB", flush=True)
    costs, searches = {}, {}
    for peer in _peers():
        own = user.with_name(f"user-{peer.name}")
        shutil.copytree(user, own, symlinks=True, dirs_exist_ok=True, copy_function=os.link)
        cost = _first(peer, own)
        told = "stopped after ten minutes" if cost is None else f"{cost.wall:.1f} s, {cost.memory:.0f} MB"
        print(f"       {what}: {peer.name} {told}", flush=True)
        costs[peer.name] = PATIENCE if cost is None else cost.wall
        if peer.search and cost is not None:
            searches[peer.name] = _search(peer, peer.search, own)
        shutil.rmtree(own)
    if "agentsview" in costs:
        yield Figure(f"first index of {what}, times as fast as agentsview", costs["agentsview"] / first.wall, "", 10, "at least")
    for name in sorted(costs.keys() - {"agentsview"}):
        yield Figure(
            f"first index of {what}, times as fast as {name}", costs[name] / first.wall, "", 0, "at least", "(for comparison)"
        )
    warm = min(_run(_steno("search", WORD, "--json"), user).wall for _ in range(ROUNDS))
    yield Figure(f"warm search of {what}", warm * 1000, " ms", 120, "at most")
    for name, seconds in searches.items():
        yield Figure(f"warm search of {what} beside {name}", warm / seconds, "", 1, "at most")


def _alone(user: Path) -> Iterator[Figure]:
    """What needs no peer: memory, size, and one appended line."""
    store = next((user / "data" / "stenograph").glob("index-*.sqlite"))
    sources = sum(path.stat().st_size for path in (user / ".claude").rglob("*") if path.is_file())
    yield Figure("size of the store", store.stat().st_size / sources, "", 0.4, "at most", "of the sources")
    shutil.rmtree(user / "data")
    yield Figure("peak memory of the first index", _tree_memory(_steno("search", WORD, "--json"), user), " MB", 250, "at most")
    session = max((user / ".claude" / "projects").glob("*/*.jsonl"), key=lambda path: path.stat().st_size)
    waits = []
    for _ in range(ROUNDS):
        with session.open("ab") as file:
            file.write(json.dumps({"type": "custom-title", "customTitle": "Bench", "sessionId": session.stem}).encode() + b"\n")
        waits.append(_run(_steno("search", WORD, "--json"), user).wall)
    yield Figure("search after one appended line", min(waits) * 1000, " ms", 150, "at most")


def _turn_of_a_large_session(size: int) -> Iterator[Figure]:
    with tempfile.TemporaryDirectory() as scratch:
        user = Path(scratch)
        path = user / ".claude" / "projects" / "-p" / "11111111-2222-4333-8444-555555555555.jsonl"
        path.parent.mkdir(parents=True)
        write_session(path, size * _MB)
        _run(_steno("search", "walrus"), user, codes=(0, 1))
        shown = ["show", str(path), "--no-pager", "--turn", "900" if size >= 1000 else "3"]
        wall = min(_run(_steno(*shown), user).wall for _ in range(ROUNDS))
        yield Figure(f"turn {shown[-1]} of a session of {size} MB", wall * 1000, " ms", 100, "at most", "(whole process)")


def _growth(sizes: Sequence[int]) -> Iterator[Figure]:
    """Seconds per 100 MB, as a plot of text, and how much more the largest home costs per byte than the smallest."""
    pace: dict[int, float] = {}
    for size in sizes:
        with tempfile.TemporaryDirectory() as scratch:
            user = Path(scratch)
            make_home(user / ".claude", size=size * _MB)
            wall = _run(_steno("search", WORD, "--json"), user).wall
            warm = min(_run(_steno("search", WORD, "--json"), user).wall for _ in range(ROUNDS))
            pace[size] = wall / size * 100
            print(f"       {size:>6,} MB  {wall:7.1f} s  search {warm * 1000:.0f} ms", flush=True)
    for size, seconds in pace.items():
        print(f"       {size:>6,} MB  {seconds:5.2f} s per 100 MB  {'━' * max(1, round(24 * seconds / max(pace.values())))}")
    if len(pace) > 1:
        yield Figure(
            "cost per byte of the largest home beside the smallest", pace[max(pace)] / pace[min(pace)], "", 1.5, "at most"
        )


def _steno(*words: str) -> list[str]:
    return [sys.executable, "-m", "stenograph", *words]


def _peers() -> Iterator[Contender]:
    for package, release, make in (
        ("agentsview", "0.46.1", _agentsview),
        ("claude-code-log", "1.7.0", _claude_code_log),
        ("fast-resume", "2.14.0", _fast_resume),
    ):
        try:
            yield make(pypi_environment(package, release))
        except ToolFailed as error:
            print(f"       {package}: {error}", flush=True)


def _agentsview(python: Path) -> Contender:
    # Scripts name the interpreter of the directory in which they were installed before it was moved.
    program = [str(python), str(python.with_name("agentsview"))]
    daemon = [*program, "daemon"]
    return Contender(
        "agentsview", [*program, "sync"], [*program, "session", "search", WORD], [*daemon, "start"], [*daemon, "stop"]
    )


def _claude_code_log(python: Path) -> Contender:
    return Contender("claude-code-log", [str(python), str(python.with_name("claude-code-log")), "--all-projects"])


def _fast_resume(python: Path) -> Contender:
    return Contender("fast-resume", [str(python.with_name("fr")), "--json", "--limit", "1", WORD])


def _search(peer: Contender, search: Sequence[str], user: Path) -> float:
    """Its quickest search, of a server that is running where it has one."""
    try:
        if peer.start:
            _run(peer.start, user, has_daemon=True)
        return min(_run(search, user, has_daemon=True).wall for _ in range(ROUNDS))
    finally:
        if peer.stop:
            _run(peer.stop, user, codes=(0, 1), has_daemon=True)


def _first(contender: Contender, user: Path) -> ProcessCost | None:
    try:
        return _run(contender.build, user, codes=(0, 1))
    except TimeoutError:
        return None


def _environment(user: Path, *, has_daemon: bool = False) -> Mapping[str, str]:
    """From nothing: no tool sees the files of whoever runs this, nor the network."""
    return {
        "PATH": os.environ["PATH"],
        "HOME": str(user),
        "XDG_DATA_HOME": str(user / "data"),
        "XDG_CACHE_HOME": str(user / "cache"),
        "XDG_CONFIG_HOME": str(user / "config"),
        "PYTHONPATH": str(ROOT / "src"),
        "LANG": "C.UTF-8",
        **({} if has_daemon else {"AGENTSVIEW_NO_DAEMON": "1"}),
        **NO_NETWORK,
        "NO_PROXY": "127.0.0.1,localhost",
    }


def _run(command: Sequence[str], user: Path, codes: Sequence[int] = (0,), *, has_daemon: bool = False) -> ProcessCost:
    """One whole process. Raises TimeoutError."""
    import subprocess
    import threading

    quiet = subprocess.DEVNULL
    start = time.perf_counter()
    environ = _environment(user, has_daemon=has_daemon)
    process = subprocess.Popen(command, stdin=quiet, stdout=quiet, stderr=quiet, env=environ, cwd=user)
    is_late = threading.Event()

    def stop() -> None:
        is_late.set()
        process.kill()

    watch = threading.Timer(PATIENCE, stop)
    watch.start()
    try:
        _, status, usage = os.wait4(process.pid, 0)
    finally:
        watch.cancel()
    wall = time.perf_counter() - start
    process.returncode = os.waitstatus_to_exitcode(status)
    if is_late.is_set():
        raise TimeoutError(command[0])
    if process.returncode not in codes:
        raise SystemExit(f"{' '.join(command)[:200]} ended with {process.returncode}")
    return ProcessCost(wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024)


def _tree_memory(command: Sequence[str], user: Path) -> float:
    """The highest resident memory of a process and of those that it starts, all together, in MB; where /proc tells."""
    import subprocess

    quiet = subprocess.DEVNULL
    process = subprocess.Popen(command, stdin=quiet, stdout=quiet, stderr=quiet, env=_environment(user), cwd=user)
    most = 0.0
    while process.poll() is None:
        pids, total = [process.pid], 0.0
        while pids:
            pid = pids.pop()
            try:
                total += int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * 4096 / _MB
                pids += map(int, Path(f"/proc/{pid}/task/{pid}/children").read_text().split())
            except (OSError, IndexError, ValueError):
                continue  # it has ended
        most = max(most, total)
        time.sleep(0.02)
    return most
