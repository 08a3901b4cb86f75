"""A whole session loaded and read: every turn's text and every tool result, beside orjson over the same lines."""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

from bench.figures import CORPUS, FIXTURES, ROOT, Figure, best_process, python, run_process

SIZES = (1, 10, 100, 500)  # MB
WRITE = """
from pathlib import Path
from bench.bench_turns import write_session
write_session(Path({path!r}), {size})
"""
# Each prints the CPU seconds of the work itself: not those of imports, nor of giving the memory back at the end.
LOAD = """
import time
from pathlib import Path
import stenograph.sessions.loading
from bench.bench_turns import read_all
start = time.process_time()
kept = read_all(Path({path!r}))
print(time.process_time() - start)
"""
PEER = """
import time
import orjson
start = time.process_time()
with open({path!r}, "rb") as file:
    for line in file:
        orjson.loads(line)
print(time.process_time() - start)
"""
STREAM = """
from pathlib import Path
import stenograph
assert sum(len(turn.prompt) + sum(len(call.text) for call in turn.calls) for turn in stenograph.stream(Path({path!r})))
"""

_OWN_IDS = re.compile(rb'"(uuid|parentUuid|leafUuid|logicalParentUuid|messageId)":"')
_API_IDS = re.compile(rb"(toolu_|msg_)0")


def write_session(path: Path, size: int) -> None:
    """Corpus-like lines: whole sessions one after the other, with new ids in every round, up to the size."""
    folder = CORPUS / "public" if CORPUS.is_dir() else FIXTURES
    sources = [p.read_bytes() for p in sorted(folder.rglob("*.jsonl")) if not p.name.startswith("agent-")]
    whole = [source for source in sources if source.startswith(b"{") and source.endswith(b"\n") and b"\n\n" not in source]
    number = 0
    with path.open("wb") as file:
        while file.tell() < size:
            for source in whole:
                tag = b"%x" % number
                file.write(_API_IDS.sub(rb"\g<1>%s" % tag, _OWN_IDS.sub(rb'"\g<1>":"%s-' % tag, source)))
                if file.tell() >= size:
                    break
            number += 1


def read_all(path: Path) -> tuple[object, int]:
    """Load the session and touch every turn's text and every tool result; the session is kept."""
    import stenograph

    session = stenograph.load(path)
    runs = [turn for run in session.agents for turn in run.turns]
    length = 0
    for turn in (*session.all_turns, *runs):
        length += len(turn.prompt)
        for call in turn.calls:
            length += len(call.text) + sum(len(tool.result) for tool in call.tool_calls)
    return session, length


def seconds(commands: dict[str, list[str]], rounds: int) -> dict[str, float]:
    """The least that each command printed, in turns."""
    least = dict.fromkeys(commands, float("inf"))
    for _ in range(rounds):
        for name, command in commands.items():
            printed = subprocess.run(command, check=True, capture_output=True, text=True, cwd=ROOT).stdout
            least[name] = min(least[name], float(printed))
    return least


def measure() -> Iterator[Figure]:
    growth: dict[int, float] = {}
    with tempfile.TemporaryDirectory(dir=os.environ.get("STENO_BENCH_TMP")) as folder:
        for size in SIZES:
            path = Path(folder) / f"{size}.jsonl"
            run_process(python(WRITE.format(path=str(path), size=size * 1_000_000)))
            actual = path.stat().st_size / 1e6
            commands = {"ours": python(LOAD.format(path=str(path))), "peer": python(PEER.format(path=str(path)))}
            took = seconds(commands, rounds=7 if size <= 100 else 2)
            growth[size] = took["ours"] / actual
            if size == 100:
                note = f"[{actual:.0f} MB; ours {took['ours'] * 1e3:.0f} ms, orjson {took['peer'] * 1e3:.0f} ms of CPU]"
                ratio = took["ours"] / took["peer"]
                yield Figure("load of a session, all texts and results / orjson.loads", ratio, "x", 3, "at most", note)
                memory = best_process({"ours": commands["ours"]}, rounds=1)["ours"].memory
                yield Figure("load of a session, memory / file", memory / actual, "x", 3, "at most")
            if size == SIZES[-1]:
                streamed = best_process({"stream": python(STREAM.format(path=str(path)))}, rounds=1)["stream"]
                yield Figure("streaming the turns of 500 MB, peak memory", streamed.memory, " MB", 200, "at most")
            path.unlink()
    note = "[" + ", ".join(f"{size} MB: {cost * 1e3:.1f} ms/MB" for size, cost in growth.items()) + "]"
    yield Figure("load, time per MB at 500 MB / at 10 MB", growth[500] / growth[10], "x", 1.5, "at most", note)
