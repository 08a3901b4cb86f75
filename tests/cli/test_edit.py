"""`steno edit`, as a user runs it."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from tests.cli.running import assert_one_clear_line, run
from tests.corpora import FIXTURES

#: Forty messages, parallel calls and their results, three turns, as 2.0.76 wrote them.
RICH = next((FIXTURES / "recorded" / "2.0.76" / "print").glob("*/44e51aa6-*.jsonl"))


@pytest.fixture
def session(tmp_path: Path) -> Path:
    folder = tmp_path / "home" / "projects" / "-home-user-project"
    folder.mkdir(parents=True)
    return Path(shutil.copy(RICH, folder))


def _uses(path: Path) -> int:
    return path.read_text(encoding="utf-8").count('"type":"tool_use"')


def test_without_apply_nothing_is_written(session: Path, tmp_path: Path) -> None:
    done = run("edit", session, "--drop-tool-calls", "--tool", "Bash")
    assert done.returncode == 0
    assert "nothing was written: --apply does it" in done.stdout
    assert "messages sent by 2.0.76" in done.stdout
    assert "estimated" in done.stdout
    assert session.read_bytes() == RICH.read_bytes()
    assert [path.name for path in tmp_path.iterdir()] == ["home"]


def test_an_edit_is_applied_and_undone(session: Path) -> None:
    done = run("edit", session, "--drop-tool-calls", "--tool", "Bash", "--apply", "--json")
    found = json.loads(done.stdout)
    assert found["edits"][0]["counts"] == {"tool calls": 5}
    assert found["entry"] == 1
    assert session.read_bytes() != RICH.read_bytes()
    assert run("undo", session).returncode == 0
    assert session.read_bytes() == RICH.read_bytes()


def test_the_same_edit_again_finds_nothing_to_do(session: Path) -> None:
    assert run("edit", session, "--truncate-results", "100", "--apply").returncode == 0
    done = run("edit", session, "--truncate-results", "100", "--apply")
    assert "nothing to do" in done.stdout
    assert "the session stays as it is" in done.stdout


def test_pruned_turns_leave_the_file(session: Path) -> None:
    assert run("edit", session, "--drop-turns", "--keep-last", "1", "--prune", "--apply").returncode == 0
    assert _uses(session) == 1


@pytest.mark.parametrize(
    "options",
    [
        [],
        ["--drop-turns"],
        ["--drop-images", "--turns", "x"],
        ["--compress"],
        ["--compress", "--turns", "2"],
        ["--drop-images", "--before", "yesterday"],
        ["--drop-images", "--before", "2026-01-01", "--older-than", "7d"],
    ],
)
def test_wrong_use_is_told_in_one_line(options: list[str], session: Path) -> None:
    assert_one_clear_line(run("edit", session, *options))


def test_a_session_that_somebody_writes_is_not_touched(session: Path) -> None:
    with session.open("ab"):
        session.touch()
        done = run("edit", session, "--drop-tool-calls", "--apply")
    assert_one_clear_line(done)
    assert session.read_bytes() == RICH.read_bytes()
