"""`steno clone`, as a user reads what it says; what it writes is tested in tests/surgery."""

from __future__ import annotations

import json
import os
import re
import shutil
from pathlib import Path

import pytest
from tests.cli.running import run
from tests.corpora import FIXTURES
from tests.homes import assistant, session_id, turns, user, write_session

from stenograph.testing.lines import text

#: Two prompts, of which the second was edited, so that there are two branches.
REWOUND = next((FIXTURES / "recorded" / "2.1.325").rglob("278ff95e-*.jsonl"))
_UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")


@pytest.fixture
def session(tmp_path: Path) -> Path:
    folder = tmp_path / "home" / "projects" / "-home-user-project"
    folder.mkdir(parents=True)
    return Path(shutil.copy(REWOUND, folder))


@pytest.mark.parametrize("where", [(), ("--turn", "1")])
def test_the_ids_that_are_told_are_those_of_what_is_written(where: tuple[str, ...], session: Path) -> None:
    told = json.loads(run("clone", session, *where, "--json").stdout)
    old, new = (set(_UUID.findall(path.read_text(encoding="utf-8"))) for path in (session, Path(told["path"])))
    assert told["ids"] == len(new - old)


def test_what_is_left_out_is_named_with_its_unit_in_one_order(session: Path) -> None:
    shown = run("clone", session, "--turn", "1", "--dry-run").stdout.splitlines()
    left_out = [line.removeprefix("Left out: ") for line in shown if line.startswith("Left out: ")]
    assert {line.split()[0] for line in left_out} == {"file", "last-prompt", "lines", "metadata", "request"}
    assert left_out == sorted(left_out)
    assert "the message" not in "".join(left_out)
    whole, kept = (len(path.read_bytes().splitlines()) for path in (session, _cloned(session)))
    assert sum(int(line.rpartition("(")[2].rstrip(")")) for line in left_out) == whole - kept


def _cloned(session: Path) -> Path:
    return Path(json.loads(run("clone", session, "--turn", "1", "--json").stdout)["path"])


def test_the_heading_says_that_its_tokens_are_of_all_branches(session: Path) -> None:
    lines = [json.loads(line) for line in session.read_bytes().splitlines()]
    spent = {line["message"]["id"]: line["message"]["usage"]["output_tokens"] for line in lines if line["type"] == "assistant"}
    shown = run("show", session, "--no-pager").stdout.splitlines()[:5]
    assert any(f"{sum(spent.values())} out on all branches" in line for line in shown)
    assert any("branch 1 of 2" in line for line in shown)


def test_a_clone_is_resumed_and_not_a_session_that_is_newer(tmp_path: Path) -> None:
    """A clone keeps the times of its original, so that `last` is another session."""
    work, home, programs = (tmp_path / name for name in ("work", "home", "bin"))
    for folder in (work, programs):
        folder.mkdir()
    client = programs / "claude"
    client.write_text('#!/bin/sh\necho "$PWD" "$@"\n')
    client.chmod(0o755)
    records = [user("First"), assistant(text("One.")), user("Second"), assistant(text("Two."))]
    for number, record in enumerate(records):
        record |= {
            "cwd": str(work),
            "uuid": f"{number:08}-0000-4000-8000-000000000000",
            "parentUuid": f"{number - 1:08}-0000-4000-8000-000000000000" if number else None,
            "timestamp": f"2026-01-31T12:00:0{number}.000Z",
            "sessionId": session_id(1),
        }
    old = write_session(home, session_id(1), records)
    write_session(home, session_id(2), turns(1), modified=2_000_000_000)
    world = {"PATH": f"{programs}{os.pathsep}{os.environ['PATH']}"}
    done = run("--home", home, "clone", old.stem, "--turn", "1", "--resume", environment=world)
    assert done.returncode == 0, done.stderr
    (copy,) = (path for path in home.rglob("*.jsonl") if path.stem not in (session_id(1), session_id(2)))
    told = done.stdout.splitlines()[-1]
    assert told.startswith(f"{work} --resume ")
    assert copy.stem in told
    assert "Second" not in copy.read_text()


@pytest.mark.parametrize("other", ["--dry-run", "--json"])
def test_what_is_not_written_or_read_by_a_program_is_not_resumed(other: str, session: Path) -> None:
    done = run("clone", session, "--resume", other)
    assert (done.returncode, "--resume conflicts with" in done.stderr) == (2, True)
