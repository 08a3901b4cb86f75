"""What every measurement needs: best of several rounds, one contender after the other, and a line of text per figure."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
CORPUS = Path(os.environ.get("STENO_CORPUS") or ROOT.parent / "shared" / "corpus")
FIXTURES = ROOT / "tests" / "fixtures" / "recorded"
# An installed program has its bytecode; without it every start compiles a hundred modules.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)


class Figure(NamedTuple):
    """One measured number with the bound that it has to keep."""

    what: str
    value: float
    unit: str
    bound: float
    # "at most" or "at least".
    sense: str
    note: str = ""

    @property
    def kept(self) -> bool:
        return self.value <= self.bound if self.sense == "at most" else self.value >= self.bound

    def __str__(self) -> str:
        verdict = "ok    " if self.kept else "MISSED"
        return f"{verdict} {self.what}: {self.value:.2f}{self.unit} ({self.sense} {self.bound:g}{self.unit}) {self.note}".rstrip()


def best(contenders: Mapping[str, Callable[[], object]], rounds: int) -> dict[str, float]:
    """The least CPU seconds of each contender, in turns, so that a slow moment of the machine hits all of them."""
    least = dict.fromkeys(contenders, float("inf"))
    for _ in range(rounds):
        for name, run in contenders.items():
            start = time.process_time()
            run()
            least[name] = min(least[name], time.process_time() - start)
    return least


class ProcessCost(NamedTuple):
    wall: float
    cpu: float
    # Highest resident memory, in MB.
    memory: float


def run_process(command: Sequence[str], environ: Mapping[str, str] | None = None) -> ProcessCost:
    """One whole process, with what it cost; its output is thrown away."""
    start = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, env={**os.environ, **(environ or {})}, cwd=ROOT)
    _, status, usage = os.wait4(process.pid, 0)
    wall = time.perf_counter() - start
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{' '.join(command)[:200]} ended with {process.returncode}")
    return ProcessCost(wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024)


def best_process(
    contenders: Mapping[str, Sequence[str]], rounds: int, environ: Mapping[str, str] | None = None
) -> dict[str, ProcessCost]:
    """Each whole process at its best (by wall time and by CPU apart), in turns."""
    runs: dict[str, list[ProcessCost]] = {name: [] for name in contenders}
    for _ in range(rounds):
        for name, command in contenders.items():
            runs[name].append(run_process(command, environ))
    return {
        name: ProcessCost(min(r.wall for r in costs), min(r.cpu for r in costs), max(r.memory for r in costs))
        for name, costs in runs.items()
    }


def python(code: str) -> list[str]:
    return [sys.executable, "-c", code]


def corpus_lines() -> list[bytes]:
    """The lines of the public corpus where it is at hand, else of the repository's recordings; objects only."""
    folder = CORPUS if CORPUS.is_dir() else FIXTURES
    lines: list[bytes] = []
    for path in sorted(folder.rglob("*.jsonl")):
        lines += [line for line in path.read_bytes().split(b"\n") if line.startswith(b"{") and line.endswith(b"}")]
    return lines
