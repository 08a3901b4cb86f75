"""A streaming pass over a 2 GB file with one very long line: memory stays bounded by that line."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

from bench.figures import Figure, best_process, corpus_lines, python, run_process

SIZE = 2_000_000_000
LONG_LINE = 300_000_000

WRITE = """
from pathlib import Path
from bench.bench_stream import write_session
write_session(Path({path!r}))
"""
PASS = """
from pathlib import Path
from stenograph.records import read_records
read = sum(located.length + 1 for located in read_records(Path({path!r})))
assert read == Path({path!r}).stat().st_size, read
"""
PEER = """
import orjson
with open({path!r}, "rb") as file:
    for line in file:
        orjson.loads(line)
"""


def write_session(path: Path) -> None:
    """A file of the wanted size: the corpus over and over, the long line in the middle.

    In a process of its own: on Linux the highest memory of a process begins with that of the one that started it.
    """
    chunk = b"".join(line + b"\n" for line in corpus_lines())
    long = b'{"type":"user","message":{"role":"user","content":"' + b"x" * LONG_LINE + b'"}}\n'
    with path.open("wb") as file:
        while file.tell() < SIZE - len(long):
            file.write(chunk)
            if long and file.tell() > SIZE / 2:
                file.write(long)
                long = b""


def measure() -> Iterator[Figure]:
    with tempfile.TemporaryDirectory(dir=os.environ.get("STENO_BENCH_TMP")) as folder:
        path = Path(folder) / "large.jsonl"
        run_process(python(WRITE.format(path=str(path))))
        costs = best_process({"ours": python(PASS.format(path=str(path))), "peer": python(PEER.format(path=str(path)))}, rounds=1)
        gigabytes = path.stat().st_size / 1e9
    ours, peer = costs["ours"], costs["peer"]
    note = f"[{gigabytes:.2f} GB, longest line {LONG_LINE / 1e6:.0f} MB; {ours.wall:.1f} s; "
    note += f"readline and orjson.loads {peer.memory:.0f} MB, {peer.wall:.1f} s]"
    yield Figure("streaming pass, peak memory", ours.memory, " MB", 200 + LONG_LINE / 1e6, "at most", note)
    yield Figure("streaming pass / readline and orjson.loads", ours.wall / peer.wall, "x", 1.5, "at most")
