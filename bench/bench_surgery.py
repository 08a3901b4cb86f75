"""What it costs to clone a session of 100 MB, beside copying the file and parsing its lines once, and beside other tools."""

from __future__ import annotations

import os
import re
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import orjson

from bench.figures import CORPUS, FIXTURES, Figure, best, run_process
from bench.surgery_peers import Row, compare_tools
from stenograph.archive import Archive
from stenograph.surgery.clone import apply_clone, plan_clone

SIZE = 100_000_000
SESSION = "5e550000-0000-4000-8000-000000000001"
AGENTS = ("a1d29ca1ec38d5109", "acea3684fe3ad8f0f", "ac59923e17d50fd40")
UUID = re.compile(rb"([0-9a-f]{8})(-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})")


def write_session(path: Path) -> int:
    """The largest session at hand again and again, each time with other ids, and three agents; returns the bytes written."""
    source = CORPUS if CORPUS.is_dir() else FIXTURES
    largest = max(source.rglob("*.jsonl"), key=lambda each: each.stat().st_size)
    lines = b"".join(line + b"\n" for line in largest.read_bytes().split(b"\n") if line.startswith(b"{") and line.endswith(b"}"))
    path.parent.mkdir(parents=True)
    for agent in AGENTS:
        path.with_suffix("").joinpath("subagents").mkdir(parents=True, exist_ok=True)
        path.with_suffix("").joinpath("subagents", f"agent-{agent}.jsonl").write_bytes(
            b'{"type":"user","agentId":"%b"}\n' % agent.encode()
        )
    written = copies = 0
    with path.open("wb") as file:
        while written < SIZE:
            copies += 1
            written += file.write(UUID.sub(lambda found: b"%08x" % (int(found[1], 16) ^ copies) + found[2], lines))  # noqa: B023
    return written


def copy_and_parse(path: Path) -> None:
    shutil.copyfile(path, path.with_suffix(".copy"))
    with path.open("rb") as lines:
        for line in lines:
            orjson.loads(line)


def measure() -> Iterator[Figure | Row]:
    with tempfile.TemporaryDirectory(dir=os.environ.get("STENO_BENCH_TMP")) as name:
        path = Path(name) / "projects" / "p" / f"{SESSION}.jsonl"
        size = write_session(path)
        archive = Archive(Path(name) / "archive")
        # By computing time: on a busy machine the longer of two waits more often for its turn.
        clones = path.parent.with_name("clones")
        contenders = {
            "bare": lambda: copy_and_parse(path),
            "ours": lambda: apply_clone(plan_clone(path, to_project=clones), archive),
        }
        costs = best(contenders, rounds=7)
        environ = {"XDG_DATA_HOME": f"{name}/data", "HOME": name}
        whole = run_process([sys.executable, "-m", "stenograph", "clone", str(path), "--json"], environ)
        note = (
            f"[{size / 1e6:.0f} MB: {costs['ours']:.2f} s against {costs['bare']:.2f} s; the command {whole.wall:.2f} s in all]"
        )
        yield Figure("clone, time / copying and orjson.loads once", costs["ours"] / costs["bare"], "x", 3, "at most", note)
        yield Figure("steno clone, memory", whole.memory, " MB", 150, "at most")
        shutil.rmtree(clones)
        yield from compare_tools(path, Path(name))
