"""What it costs to count the usage of a large home, beside ccusage on the same files: cold, warm, and after one more line."""

from __future__ import annotations

import json
import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from lab.ccusage import VERSION, install_ccusage
from lab.clients import default_clients_folder

from bench.figures import Figure, ProcessCost, run_process
from bench.usage_home import make_home

SIZE = int(os.environ.get("STENO_BENCH_USAGE_MB", "500")) * 1_000_000
ROUNDS = 5
LINE = {
    "type": "assistant", "uuid": "one-more", "timestamp": "2026-11-01T12:00:00.000Z", "version": "2.1.325",
    "message": {
        "id": "msg_one_more", "role": "assistant", "model": "claude-opus-5-5", "stop_reason": "end_turn", "content": [],
        "usage": {"input_tokens": 5, "output_tokens": 5},
    },
}  # fmt: skip


def measure() -> Iterator[Figure]:
    ccusage = str(install_ccusage(default_clients_folder(os.environ)))
    with tempfile.TemporaryDirectory() as name:
        home = Path(name) / "home"
        size = make_home(home, size=SIZE).bytes
        data = Path(name) / "data"
        store = {"XDG_DATA_HOME": str(data), "XDG_CONFIG_HOME": str(data)}
        ours = [sys.executable, "-m", "stenograph", "--home", str(home), "usage", "--json"]
        theirs = [ccusage, "daily", "--json", "--offline"]
        lookup = {"HOME": str(home), "CLAUDE_CONFIG_DIR": str(home)}
        runs: dict[str, list[ProcessCost]] = {"cold": [], "warm": [], "more": [], "status": [], "ccusage": []}
        session = max((home / "projects").glob("*/*.jsonl"), key=lambda path: path.stat().st_size)
        for number in range(ROUNDS):
            for file in data.glob("*/*"):
                file.unlink()
            runs["cold"].append(run_process(ours, store))
            runs["ccusage"].append(run_process(theirs, lookup))
            runs["warm"].append(run_process(ours, store))
            with session.open("a") as lines:
                message = {**LINE["message"], "id": f"msg_one_more_{number}"}  # type: ignore[dict-item]
                lines.write(json.dumps({**LINE, "message": message}) + "\n")
            runs["more"].append(run_process(ours, store))
            runs["status"].append(run_process(_status_line(home, session), store))
    wall = {name: min(run.wall for run in costs) for name, costs in runs.items()}
    note = f"[{size / 1e6:.0f} MB: {', '.join(f'{name} {seconds:.2f} s' for name, seconds in wall.items())}, ccusage {VERSION}]"
    yield Figure("usage, cold / ccusage", wall["cold"] / wall["ccusage"], "x", 1, "at most", note)
    cpu = {name: min(run.cpu for run in costs) for name, costs in runs.items()}
    yield Figure("usage, cold / ccusage, CPU time", cpu["cold"] / cpu["ccusage"], "x", 1, "at most")
    yield Figure("usage, ccusage / warm", wall["ccusage"] / wall["warm"], "x", 8, "at least")
    yield Figure("usage, after one more line", wall["more"] * 1000, " ms", 120, "at most")
    yield Figure("usage, cold, memory", max(run.memory for run in runs["cold"]), " MB", 250, "at most")
    yield Figure("usage --statusline, whole process", wall["status"] * 1000, " ms", 80, "at most")


def _status_line(home: Path, session: Path) -> list[str]:
    given = json.dumps({"transcript_path": str(session), "model": {"id": "claude-opus-5-5"}})
    ours = f"{sys.executable} -m stenograph --home {home} usage --statusline"
    return ["/bin/sh", "-c", f"echo '{given}' | {ours}"]
