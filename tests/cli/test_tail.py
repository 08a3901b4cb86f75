"""`steno tail` on a session that another process writes."""

from __future__ import annotations

import json
import os
import selectors
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.cli.running import SOURCE, run
from tests.homes import session_id, turns, write_session

# Writes as clients do, and as they do when things go wrong; waits for a line on its input before each step.
_WRITER = r"""
import json, os, sys, time
path, second = sys.argv[1:3]
number = 10
def line(kind, content, **more):
    global number
    number += 1
    message = {"role": kind, "content": content, "id": f"m{number}", "model": "claude-x"}
    record = {"type": kind, "uuid": f"w{number}", "parentUuid": None, "isSidechain": False, "message": message, **more}
    return json.dumps(record).encode() + b"\n"
def append(data, where=path):
    os.makedirs(os.path.dirname(where), exist_ok=True)
    with open(where, "ab") as file:
        file.write(data)
        file.flush()
def step():
    sys.stdin.readline()
step(); append(line("user", "Plain prompt"))
step()
torn = line("assistant", [{"type": "text", "text": "Torn in \u00fc halves"}])
middle = torn.index(b"\\u00fc") + 3
append(torn[:middle]); time.sleep(0.5); append(torn[middle:])
step(); append(line("assistant", [{"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "make"}}]))
step(); append(line("user", "Agent told", isSidechain=True, agentId="abc"), path[:-6] + "/subagents/agent-abc.jsonl")
step(); append(line("user", [{"type": "tool_result", "tool_use_id": "t1", "content": "made it"}]))
step()
with open(path, "r+b") as file:
    file.truncate(len(file.readline()))
step(); append(line("user", "After the cut"))
step(); append(json.dumps({"type": "system", "subtype": "compact_boundary", "uuid": "c1", "parentUuid": None,
                    "compactMetadata": {"trigger": "manual", "preTokens": 1234}}).encode() + b"\n")
step(); append(line("user", "<command-name>/clear</command-name>\n<command-message>clear</command-message>"), second)
step(); append(line("user", "After clear"), second)
step()
"""


class _Lines:
    """The lines of a process, each waited for no longer than is reasonable."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        assert process.stdout is not None
        self._file = process.stdout
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._file, selectors.EVENT_READ)
        self._waiting = ""
        self.seen: list[str] = []

    def until(self, wanted: str, seconds: float = 20) -> None:
        end = time.monotonic() + seconds
        while not any(wanted in line for line in self.seen):
            left = end - time.monotonic()
            assert left > 0, (wanted, self.seen)
            if self._selector.select(left):
                piece = os.read(self._file.fileno(), 65536).decode()
                assert piece, (wanted, self.seen)
                *whole, self._waiting = (self._waiting + piece).split("\n")
                self.seen += whole


@pytest.fixture
def path(tmp_path: Path) -> Path:
    records = [{**record, "uuid": f"s{number}"} for number, record in enumerate(turns(2))]
    return write_session(tmp_path, session_id(1), records)


@pytest.fixture
def tail(path: Path) -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen(
        [sys.executable, "-m", "stenograph", "tail", str(path), "-n", "1"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(SOURCE), "PYTHONUTF8": "1"},
    )
    yield process
    if process.poll() is None:
        process.kill()
    process.communicate()


@pytest.fixture
def writer(path: Path) -> Iterator[subprocess.Popen[str]]:
    second = path.with_name(f"{session_id(2)}.jsonl")
    process = subprocess.Popen([sys.executable, "-c", _WRITER, str(path), str(second)], stdin=subprocess.PIPE, text=True)
    yield process
    process.communicate("\n" * 20)


def test_a_session_is_followed_through_everything_its_writer_does(
    tail: subprocess.Popen[str], writer: subprocess.Popen[str]
) -> None:
    lines = _Lines(tail)
    lines.until("Done.")
    assert writer.stdin is not None
    for told in (
        "> Plain prompt",
        "Torn in ü halves",
        "● Bash $ make",
        "  │ > Agent told",
        "    made it",
        "── the file was truncated or rewritten ──",
        "> After the cut",
        "┊ compacted (manual, 1,234 tokens)",
        f"── /clear: following the new session {session_id(2)} ──",
        "> After clear",
    ):
        writer.stdin.write("\n")
        writer.stdin.flush()
        lines.until(told)
    for once in ("> Do it", "Done.", "> Plain prompt", "Torn in ü halves"):
        assert sum(once in line for line in lines.seen) == 1, lines.seen
    tail.send_signal(signal.SIGINT)
    assert tail.wait(timeout=10) == 0
    assert tail.stderr is not None
    assert tail.stderr.read() == ""


def test_once_shows_what_is_there_and_ends(path: Path) -> None:
    done = run("tail", path, "--once", "-n", "2")
    assert done.returncode == 0
    assert done.stdout.splitlines() == [f"── {session_id(1)} ──", "", "> Do it", "", "  Done.", "", "> Do it", "", "  Done."]


def test_last_is_followed_where_none_is_named(path: Path) -> None:
    done = run("tail", "--home", path.parent.parent.parent, "--once", "--json", "-n", "1")
    events = [json.loads(line) for line in done.stdout.splitlines()]
    assert [(event["event"], event["record"]["uuid"]) for event in events] == [("record", "s2"), ("record", "s3")]
