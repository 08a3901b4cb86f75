"""What it costs to check a corpus for drift and damage, beside one process that only parses its lines."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from bench.figures import CORPUS, FIXTURES, Figure, best_process, python

#: So many bytes at least: the figure is about the work, not about the start of Python.
ENOUGH = 250_000_000
STENO = [sys.executable, "-m", "stenograph"]
BARE = """
import pathlib, orjson
for path in pathlib.Path({folder!r}).rglob("*.jsonl"):
    with path.open("rb") as lines:
        for line in lines:
            try:
                orjson.loads(line)
            except ValueError:
                pass
"""


def write_corpus(folder: Path) -> int:
    """Copies of the corpus, of the public one where it is at hand; returns the bytes written."""
    source = CORPUS if CORPUS.is_dir() else FIXTURES
    originals = sorted(source.rglob("*.jsonl"))
    written = copies = 0
    while written < ENOUGH:
        copies += 1
        for path in originals:
            copy = folder / str(copies) / path.relative_to(source)
            copy.parent.mkdir(parents=True, exist_ok=True)
            written += copy.write_bytes(path.read_bytes())
    return written


def measure() -> Iterator[Figure]:
    with tempfile.TemporaryDirectory() as name:
        size = write_corpus(Path(name))
        costs = best_process({"bare": python(BARE.format(folder=name)), "ours": [*STENO, "check", name, "--jobs", "2"]}, rounds=5)
    ours, bare = costs["ours"], costs["bare"]
    note = f"[{size / 1e6:.0f} MB: ours {ours.wall:.2f} s in two processes, orjson {bare.wall:.2f} s in one]"
    yield Figure("steno check, speed / one process of orjson.loads", bare.wall / ours.wall, "x", 0.5, "at least", note)
    yield Figure("steno check, memory", ours.memory, " MB", 250, "at most", f"[orjson {bare.memory:.0f} MB]")
