from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.homes import LONG_AGO, assistant, session_id, turns, user, write_session

from stenograph.sessions import Status, files_being_written, glance, list_sessions, status
from stenograph.testing.lines import text, tool_use

FAILED = [user("hi"), assistant(text("API Error"), isApiErrorMessage=True)]
OPEN = [user("hi"), assistant(tool_use())]


@pytest.mark.parametrize(
    ("records", "tail", "age", "expected"),
    [
        (turns(1), b"", 1, Status.DONE),
        (OPEN, b"", 119, Status.RUNNING),
        (OPEN, b"", 121, Status.INTERRUPTED),
        (turns(1), b'{"type":', 1, Status.RUNNING),
        (turns(1), b'{"type":', 119, Status.RUNNING),
        (turns(1), b'{"type":', 121, Status.INTERRUPTED),
        ([user("hi"), user("[Request interrupted by user]")], b"", 1, Status.INTERRUPTED),
        (FAILED, b"", 1, Status.FAILED),
        ([], b"", 1, Status.DONE),
    ],
)
def test_the_last_turn_and_the_clock_give_the_status(
    tmp_path: Path, records: list[dict[str, Any]], tail: bytes, age: float, expected: Status
) -> None:
    seen = glance(write_session(tmp_path, session_id(1), records, tail=tail))
    assert status(seen, now=LONG_AGO + age) is expected


def test_how_long_a_session_counts_as_active_is_a_parameter(tmp_path: Path) -> None:
    seen = glance(write_session(tmp_path, session_id(1), OPEN))
    assert status(seen, now=LONG_AGO + 10, active_seconds=5) is Status.INTERRUPTED
    assert status(seen, now=LONG_AGO + 1000, active_seconds=2000) is Status.RUNNING


@pytest.mark.skipif(sys.platform != "linux", reason="who holds a file open is known from /proc only")
@pytest.mark.parametrize(("mode", "expected"), [("ab", Status.RUNNING), ("rb", Status.DONE)])
def test_a_live_writer_makes_a_session_run_and_a_reader_does_not(tmp_path: Path, mode: str, expected: Status) -> None:
    path = write_session(tmp_path, session_id(1), turns(6))
    holder = "import sys\nfile = open(sys.argv[1], sys.argv[2])\nprint('open', flush=True)\nsys.stdin.read()"
    with subprocess.Popen(
        [sys.executable, "-c", holder, str(path), mode], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == b"open\n"
        (info,) = list_sessions([tmp_path], now=LONG_AGO + 3600).sessions
        child.communicate()
    assert info.status is expected
    assert (path.stat().st_dev, path.stat().st_ino) not in files_being_written()


def test_an_old_torn_line_runs_only_where_somebody_holds_the_file_open(tmp_path: Path) -> None:
    seen = glance(write_session(tmp_path, session_id(1), turns(1), tail=b'{"type":'))
    assert status(seen, now=LONG_AGO + 9999, written=True) is Status.RUNNING
    assert status(seen, now=LONG_AGO + 9999) is Status.INTERRUPTED
