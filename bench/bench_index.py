"""The index beside agentsview, claude-code-log and fast-resume: the same home, each tool in a user directory of its own.

The standard form takes about ten minutes on two cores. `STENO_BENCH_MB` is the size of the generated home (500),
`STENO_BENCH_BIG_MB` that of the one large session (1000), and `STENO_BENCH_GROWTH` the sizes for growth in MB, with commas
(100,500,1000); `STENO_BENCH_GROWTH=100,500,1000,2500,5000` measures up to 5 GB, in a few minutes more. The curve is drawn into
`build/index-growth.svg`. `STENO_BENCH_ONLY=growth` measures nothing else. Peers are stopped after ten minutes
(`STENO_BENCH_PATIENCE`, in seconds); those that take longest come last.

Of claude-code-log only a server can search, of fast-resume a command can, but it has no tool output: only agentsview's search is
compared in time. How often the session that is meant comes first is compared for all of them, with queries on which nothing was
tuned (`tests/index/held_out.json`).
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from bench.figures import CORPUS, ROOT, Figure, ProcessCost
from bench.growth_plot import draw_growth
from bench.index_recall import CLAUDE_CODE_LOG_SEARCH, Expected, Finder, expected_sessions, recall
from bench.surgery_tools import NO_NETWORK, ToolFailed, pypi_environment
from bench.usage_home import make_home, write_long_session

PATIENCE = float(os.environ.get("STENO_BENCH_PATIENCE", "600"))
#: In half of all lines of a generated home, and a common one of the corpus.
WORD = "kaben"
CORPUS_WORD = "test"
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
    #: How it is asked for the sessions of a query.
    find: Finder | None = None


def measure() -> Iterator[Figure]:
    growth = [int(each) for each in os.environ.get("STENO_BENCH_GROWTH", "100,500,1000").split(",") if each]
    if os.environ.get("STENO_BENCH_ONLY") == "growth":
        yield from _growth(growth)
        return
    size = int(os.environ.get("STENO_BENCH_MB", "500"))
    with tempfile.TemporaryDirectory(dir=os.environ.get("STENO_BENCH_TMP")) as scratch:
        user = Path(scratch) / "user"
        make_home(user / ".claude", size=size * _MB)
        yield from _beside_peers(user, f"{size} MB", WORD)
        yield from _alone(user)
    if CORPUS.is_dir():
        with tempfile.TemporaryDirectory(dir=os.environ.get("STENO_BENCH_TMP")) as scratch:
            user = Path(scratch) / "user"
            folder = user / ".claude" / "projects"
            names: dict[Path, str] = {}
            for number, path in enumerate(sorted(CORPUS.rglob("*.jsonl"))):
                names[path] = f"{number:08x}-2222-4333-8444-555555555555"
                target = folder / f"-p{number % 40}" / f"{names[path]}.jsonl"
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(path, target)
            yield from _beside_peers(user, "public corpus", CORPUS_WORD, expected_sessions(names))
    yield from _turn_of_a_large_session(int(os.environ.get("STENO_BENCH_BIG_MB", "1000")))
    yield from _growth(growth)


def _beside_peers(user: Path, what: str, word: str, queries: Sequence[Expected] = ()) -> Iterator[Figure]:
    ours = Contender("steno", _steno("search", word, "--json"), find=_find_ours)
    first = _first(ours, user)
    assert first is not None
    print(f"       {what}: steno {first.wall:.1f} s, {first.memory:.0f} MB", flush=True)
    costs, searches = {}, {}
    for peer in _peers(word):
        own = user.with_name(f"user-{peer.name}")
        shutil.copytree(user, own, symlinks=True, dirs_exist_ok=True)  # not links: they change the files
        cost = _first(peer, own)
        told = f"stopped after {PATIENCE:.0f} s" if cost is None else f"{cost.wall:.1f} s, {cost.memory:.0f} MB"
        print(f"       {what}: {peer.name} {told}", flush=True)
        costs[peer.name] = PATIENCE if cost is None else cost.wall
        if cost is not None:
            try:
                if peer.start:
                    _run(peer.start, own, has_daemon=True)
                if peer.search:
                    searches[peer.name] = min(_run(peer.search, own, has_daemon=True).wall for _ in range(ROUNDS))
                yield from _recall(peer, own, queries)
            finally:
                if peer.stop:
                    _run(peer.stop, own, codes=(0, 1), has_daemon=True)
        shutil.rmtree(own)
    yield from _recall(ours, user, queries)
    if "agentsview" in costs:
        yield Figure(f"first index of {what}, times as fast as agentsview", costs["agentsview"] / first.wall, "", 10, "at least")
    for name in sorted(costs.keys() - {"agentsview"}):
        yield Figure(
            f"first index of {what}, times as fast as {name}", costs[name] / first.wall, "", 0, "at least", "(for comparison)"
        )
    warm = min(_run(ours.build, user).wall for _ in range(ROUNDS))
    yield Figure(f"warm search of {what}", warm * 1000, " ms", 120, "at most")
    for name, seconds in searches.items():
        yield Figure(f"warm search of {what} beside {name}", warm / seconds, "", 1, "at most")


def peer_builds(user: Path, names: Sequence[str]) -> Iterator[tuple[str, ProcessCost | None, Path]]:
    """What peers need until they know a home, and the user directory with what they made, as long as it is there."""
    for peer in _peers(WORD):
        if peer.name in names:
            own = user.with_name(f"user-{peer.name}")
            shutil.copytree(user, own, symlinks=True, dirs_exist_ok=True)  # not links: they change the files
            yield peer.name, _first(peer, own), own
            shutil.rmtree(own, ignore_errors=True)  # one that was stopped may write a last file


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
    with tempfile.TemporaryDirectory(dir=os.environ.get("STENO_BENCH_TMP")) as scratch:
        user = Path(scratch)
        path = user / ".claude" / "projects" / "-p" / "11111111-2222-4333-8444-555555555555.jsonl"
        path.parent.mkdir(parents=True)
        write_long_session(path, size * _MB)
        _run(_steno("search", "walrus"), user, codes=(0, 1))
        shown = ["show", str(path), "--no-pager", "--turn", "900" if size >= 1000 else "3"]
        wall = min(_run(_steno(*shown), user).wall for _ in range(ROUNDS))
        yield Figure(f"turn {shown[-1]} of a session of {size} MB", wall * 1000, " ms", 100, "at most", "(whole process)")


#: A larger home is made of copies of one of this size, in MB: making it line by line would take longer than all measurements.
_MADE = 500


def _growth(sizes: Sequence[int]) -> Iterator[Figure]:
    """The first index and a warm search by size, as a picture and in words, and what a byte costs more in the largest home.

    One home that grows: of each size there are all files of the smaller one.
    """
    wall: dict[int, float] = {}
    cpu: dict[int, float] = {}
    warm: dict[int, float] = {}
    with tempfile.TemporaryDirectory(dir=os.environ.get("STENO_BENCH_TMP")) as scratch:
        user = Path(scratch) / "user"
        files = _growing_files(Path(scratch) / "made", user / ".claude", max(sizes, default=0))
        made = 0
        for size in sorted(sizes):
            while made < size * _MB and (length := next(files, 0)):
                made += length
            shutil.rmtree(user / "data", ignore_errors=True)
            first = _run(_steno("search", WORD, "--json"), user)
            wall[size], cpu[size] = first.wall, first.cpu
            warm[size] = min(_run(_steno("search", WORD, "--json"), user).wall for _ in range(ROUNDS))
            store = next((user / "data" / "stenograph").glob("index-*.sqlite")).stat().st_size
            print(
                f"       {size:>6,} MB  {first.wall:7.1f} s  {first.cpu:6.1f} s of CPU  {first.memory:4.0f} MB"
                f"  store {store / made:.0%}  search {warm[size] * 1000:.0f} ms",
                flush=True,
            )
    if len(wall) > 1:
        picture = draw_growth(ROOT / "build" / "index-growth.svg", wall, warm)
        print(f"       drawn into {picture.relative_to(ROOT)}", flush=True)
        pace = {size: seconds / size for size, seconds in cpu.items()}
        yield Figure(
            "CPU time per byte of the largest home beside the smallest", pace[max(pace)] / pace[min(pace)], "", 1.5, "at most"
        )


def _growing_files(made: Path, home: Path, size: int) -> Iterator[int]:
    """Add sessions to a home, one project directory after the other; yields how many bytes came."""
    make_home(made, size=min(size, _MADE) * _MB)
    projects = made / "projects"
    by_session: dict[str, list[Path]] = {}
    for path in sorted(path for path in projects.rglob("*") if path.is_file()):
        by_session.setdefault("/".join(path.relative_to(projects).parts[:2]).removesuffix(".jsonl"), []).append(path)
    for copy in range(max(1, round(size / _MADE))):
        tag = b"%x" % copy
        for files in by_session.values():
            for path in files:
                project, *rest = path.relative_to(projects).parts
                target = home / "projects" / (f"{project}-{copy}" if copy else project) / Path(*rest)
                target.parent.mkdir(parents=True, exist_ok=True)
                if copy:  # other ids: these are other conversations
                    data = path.read_bytes().replace(b'"msg_', b'"msg_' + tag).replace(b'uuid":"', b'uuid":"' + tag)
                    target.write_bytes(data.replace(b'Uuid":"', b'Uuid":"' + tag))
                else:
                    target.hardlink_to(path)
            yield sum(path.stat().st_size for path in files)


def _steno(*words: str) -> list[str]:
    return [sys.executable, "-m", "stenograph", *words]


def _peers(word: str) -> Iterator[Contender]:
    for package, release, make in (
        ("fast-resume", "2.14.0", _fast_resume),
        ("agentsview", "0.46.1", _agentsview),
        ("claude-code-log", "1.7.0", _claude_code_log),
    ):
        try:
            yield make(pypi_environment(package, release), word)
        except ToolFailed as error:
            print(f"       {package}: {error}", flush=True)


def _agentsview(python: Path, word: str) -> Contender:
    # Scripts name the interpreter of the directory in which they were installed before it was moved.
    program = [str(python), str(python.with_name("agentsview"))]
    daemon = [*program, "daemon"]
    search = [*program, "session", "search"]

    def find(query: str, _: Path) -> list[str]:
        # Without --fts the whole query has to stand in one message.
        return [*search, query, "--fts", "--json", "--limit", "100", "--include-one-shot"]

    def ids(output: str) -> list[set[str]]:
        return [{each} for each in dict.fromkeys(match["session_id"] for match in json.loads(output)["matches"])]

    return Contender("agentsview", [*program, "sync"], [*search, word], [*daemon, "start"], [*daemon, "stop"], Finder(find, ids))


def _claude_code_log(python: Path, _: str) -> Contender:
    def find(query: str, user: Path) -> list[str]:
        store = user / ".claude" / "projects" / "claude-code-log-cache.db"
        return [str(python), "-c", CLAUDE_CODE_LOG_SEARCH, str(store), query]

    build = [str(python), str(python.with_name("claude-code-log")), "--all-projects"]
    return Contender("claude-code-log", build, find=Finder(find, lambda output: [{each} for each in json.loads(output)]))


def _fast_resume(python: Path, word: str) -> Contender:
    program = [str(python.with_name("fr")), "--json", "--limit"]

    def ids(output: str) -> list[set[str]]:
        return [{session["id"]} for session in json.loads(output)["sessions"]]

    return Contender("fast-resume", [*program, "1", word], find=Finder(lambda query, _: [*program, "5", query], ids))


def _our_ids(output: str) -> list[set[str]]:
    return [{hit["id"], *hit["copies"]} for hit in json.loads(output)["hits"]]


_find_ours = Finder(lambda query, _: _steno("search", query, "--json", "--limit", "5", "--lines", "1"), _our_ids)


def _recall(contender: Contender, user: Path, queries: Sequence[Expected]) -> Iterator[Figure]:
    """How many of the sessions that are meant come first, and how many are among the first five."""
    if not queries or contender.find is None:
        return
    first, five = recall(contender.find, queries, user, _environment(user, has_daemon=True))
    is_ours = contender.name == "steno"
    note = f"of {len(queries)} held-out queries" + ("" if is_ours else " (for comparison)")
    yield Figure(f"sessions that {contender.name} finds first", first, "", 0.85 if is_ours else 0, "at least", note)
    yield Figure(f"sessions that {contender.name} finds among five", five, "", 0.9 if is_ours else 0, "at least", note)


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
    process = subprocess.Popen(command, stdin=quiet, stdout=quiet, stderr=quiet, env=environ, cwd=user, start_new_session=True)
    is_late = threading.Event()

    def stop() -> None:
        is_late.set()
        os.killpg(process.pid, signal.SIGKILL)  # with those that it started, which would go on

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
