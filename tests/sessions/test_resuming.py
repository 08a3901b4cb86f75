"""How a client is made to go on with a session: rules 1, 2 and 8 of the resume contract."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.homes import session_id, user, write_session

from stenograph.disk import project_folder_name
from stenograph.sessions.resuming import command_line, plan_resume
from stenograph.testing import lines


def _written(home: Path, cwds: list[str], project: str, identity: str = session_id(1)) -> Path:
    return write_session(home, identity, [user("x", cwd=cwd, uuid=str(place)) for place, cwd in enumerate(cwds)], project=project)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "some work"
    made.mkdir()
    return made


def test_the_client_is_started_where_the_session_ran(tmp_path: Path, folder: Path) -> None:
    home = tmp_path / "home" / ".claude"
    path = _written(home, [str(folder)], project_folder_name(str(folder)))
    plan = plan_resume(path, ["--model", "opus"], environ={"HOME": str(home.parent)})
    assert plan.command == ("claude", "--resume", session_id(1), "--model", "opus")
    assert (plan.folder, plan.environment, plan.problem) == (folder, {}, "")
    assert command_line(plan) == f"cd -- '{folder}' && claude --resume {session_id(1)} --model opus"


def test_the_folder_that_the_project_folder_is_named_for_is_right_not_the_last_one(tmp_path: Path, folder: Path) -> None:
    """A client that changed its folder on the way still keeps the session where it began (rule 1)."""
    below = folder / "below"
    below.mkdir()
    path = _written(tmp_path / ".claude", [str(folder), str(below)], project_folder_name(str(folder)))
    assert plan_resume(path, environ={"HOME": str(tmp_path)}).folder == folder


def test_another_home_is_named_in_the_environment(tmp_path: Path, folder: Path) -> None:
    path = _written(tmp_path / "other", [str(folder)], project_folder_name(str(folder)))
    plan = plan_resume(path, environ={"HOME": str(tmp_path)})
    assert plan.environment == {"CLAUDE_CONFIG_DIR": str(tmp_path / "other")}
    assert f"CLAUDE_CONFIG_DIR={tmp_path / 'other'} claude" in command_line(plan)
    assert plan_resume(path, environ={"CLAUDE_CONFIG_DIR": str(tmp_path / "other")}).environment == {}


def test_a_folder_that_is_gone_is_said_and_the_command_still_known(tmp_path: Path) -> None:
    path = _written(tmp_path / ".claude", ["/nowhere/at/all"], "-nowhere-at-all")
    plan = plan_resume(path, environ={"HOME": str(tmp_path)})
    assert (plan.folder, plan.cwd) == (None, "/nowhere/at/all")
    assert plan.problem == "its directory /nowhere/at/all does not exist here"
    assert command_line(plan) == f"cd -- /nowhere/at/all && claude --resume {session_id(1)}"


def test_a_file_outside_any_home_is_resumed_by_its_path(tmp_path: Path, folder: Path) -> None:
    """Rule 8."""
    path = _written(tmp_path / "home", [str(folder)], project_folder_name(str(folder))).rename(tmp_path / "copy.jsonl")
    plan = plan_resume(path, environ={"HOME": str(tmp_path)})
    assert (plan.command, plan.folder, plan.environment) == (("claude", "--resume", str(path)), folder, {})


def test_a_session_under_another_project_folder_is_resumed_by_its_path(tmp_path: Path, folder: Path) -> None:
    """Rule 1: by its id a client would not find it."""
    path = _written(tmp_path / ".claude", [str(folder)], "-somewhere-else")
    assert plan_resume(path, environ={"HOME": str(tmp_path)}).command[2] == str(path)


@pytest.mark.parametrize("cwd", ["-", "work", "../up", "~", "--help"])
def test_a_folder_that_is_not_told_from_the_root_is_none(tmp_path: Path, cwd: str) -> None:
    plan = plan_resume(_written(tmp_path / ".claude", [cwd], "-x"), environ={"HOME": str(tmp_path)})
    assert (plan.cwd, plan.problem) == (None, "its directory is not recorded")


def test_a_folder_of_a_windows_machine_is_said_to_be_elsewhere(tmp_path: Path) -> None:
    plan = plan_resume(_written(tmp_path / ".claude", ["C:\\work"], "C--work"), environ={"HOME": str(tmp_path)})
    assert plan.problem == "its directory C:\\work does not exist here"


def test_a_session_without_a_working_folder_says_so(tmp_path: Path) -> None:
    path = write_session(tmp_path / ".claude", session_id(1), [lines.user(None, "x")])
    plan = plan_resume(path, environ={"HOME": str(tmp_path)})
    assert (plan.cwd, plan.problem) == (None, "its directory is not recorded")
    assert command_line(plan) == f"claude --resume {path}"
