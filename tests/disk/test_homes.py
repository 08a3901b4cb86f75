from __future__ import annotations

import os
from pathlib import Path

import pytest

from stenograph.disk import default_homes, projects_folder, resolve_homes


@pytest.fixture
def user(tmp_path: Path) -> Path:
    return tmp_path / "user"


def environ(user: Path, **more: str) -> dict[str, str]:
    return {"HOME": str(user), "USERPROFILE": str(user), **more}


def test_without_any_home_the_usual_one_is_named(user: Path) -> None:
    assert default_homes(environ(user)) == [user / ".claude"]


def test_both_usual_homes_are_found_where_they_exist(user: Path) -> None:
    (user / ".config" / "claude").mkdir(parents=True)
    assert default_homes(environ(user)) == [user / ".config" / "claude"]
    (user / ".claude").mkdir()
    assert default_homes(environ(user)) == [user / ".claude", user / ".config" / "claude"]


def test_the_variable_wins_over_the_usual_homes_even_when_it_names_nothing(user: Path) -> None:
    (user / ".claude").mkdir(parents=True)
    assert default_homes(environ(user, CLAUDE_CONFIG_DIR="/elsewhere")) == [Path("/elsewhere")]


@pytest.mark.parametrize("value", ["", " ", ",", " , "])
def test_an_empty_variable_counts_as_none(user: Path, value: str) -> None:
    assert default_homes(environ(user, CLAUDE_CONFIG_DIR=value)) == [user / ".claude"]


def test_the_variable_may_hold_several_homes(user: Path) -> None:
    homes = default_homes(environ(user, CLAUDE_CONFIG_DIR="/a, /b,,/a"))
    assert homes == [Path("/a"), Path("/b")]


def test_a_folder_with_a_comma_in_its_name_is_one_home(user: Path) -> None:
    # 2.1.325 made `a,b/projects` for CLAUDE_CONFIG_DIR=…/a,b
    (user / "a,b").mkdir(parents=True)
    assert default_homes(environ(user, CLAUDE_CONFIG_DIR=str(user / "a,b"))) == [user / "a,b"]


def test_the_variable_is_normalised_to_nfc() -> None:
    assert default_homes({"CLAUDE_CONFIG_DIR": "/e\u0301"}) == [Path("/\u00e9")]


def test_without_a_named_user_the_system_is_asked() -> None:
    assert default_homes({}) == [Path(os.environ["HOME"]) / ".claude"]


def test_homes_a_user_names_replace_the_default_ones(user: Path) -> None:
    named = [Path("/b"), Path("/a"), Path("/b")]
    assert resolve_homes(named, environ(user)) == [Path("/b"), Path("/a")]
    assert resolve_homes([], environ(user)) == [user / ".claude"]


def test_the_projects_folder_may_be_given_as_the_home(tmp_path: Path) -> None:
    assert projects_folder(tmp_path) == tmp_path / "projects"
    (tmp_path / "projects").mkdir()
    assert projects_folder(tmp_path / "projects") == tmp_path / "projects"


def test_a_home_that_happens_to_be_called_projects_is_a_home(tmp_path: Path) -> None:
    (tmp_path / "projects" / "projects").mkdir(parents=True)
    assert projects_folder(tmp_path / "projects") == tmp_path / "projects" / "projects"


def test_the_same_home_under_two_names_counts_once(tmp_path: Path) -> None:
    (tmp_path / "home" / "projects").mkdir(parents=True)
    (tmp_path / "link").symlink_to("home")
    named = [tmp_path / "home", tmp_path / "link", tmp_path / "home" / "projects", tmp_path / "home" / ".." / "home"]
    assert resolve_homes(named, {}) == [tmp_path / "home"]
    assert default_homes({"CLAUDE_CONFIG_DIR": ",".join(map(str, named))}) == [tmp_path / "home"]


def test_a_usual_home_that_is_a_link_to_the_other_counts_once(user: Path) -> None:
    (user / ".claude").mkdir(parents=True)
    (user / ".config").mkdir()
    (user / ".config" / "claude").symlink_to(user / ".claude")
    assert default_homes(environ(user)) == [user / ".claude"]
