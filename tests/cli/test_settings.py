from __future__ import annotations

import json
import os
import sys
import tempfile
from pathlib import Path

import pytest
from tests.cli.running import SOURCE, assert_one_clear_line, run, run_in_terminal, run_unprivileged
from tests.homes import session_id, turns, write_session

from stenograph.config import AgentSettings, ArchiveSettings, Config, ListSettings
from stenograph.sessions import ACTIVE_SECONDS


@pytest.fixture
def homes(tmp_path: Path) -> list[Path]:
    """Three homes with a session each, number 1 to 3."""
    folders = [tmp_path / name for name in ("one", "two", "three")]
    for number, folder in enumerate(folders, 1):
        write_session(folder, session_id(number), turns(6))
    return folders


def write_config(text: str) -> Path:
    path = Path(os.environ["XDG_CONFIG_HOME"]) / "stenograph" / "config.toml"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def listed(*arguments: str | Path, client_home: Path | None = None) -> list[str]:
    environment = {} if client_home is None else {"CLAUDE_CONFIG_DIR": str(client_home)}
    return [line[:8] for line in run("ls", *arguments, environment=environment).stdout.splitlines()[1:]]


def test_the_command_line_beats_the_environment_beats_the_config_file(homes: list[Path]) -> None:
    write_config(f"homes = [{str(homes[0])!r}]")
    assert listed() == ["00000001"]
    assert listed(client_home=homes[1]) == ["00000002"]
    assert listed("--home", homes[2], client_home=homes[1]) == ["00000003"]


def test_several_homes_are_listed_together(homes: list[Path]) -> None:
    assert len(listed("--home", homes[0], "--home", homes[1])) == 2


def test_the_config_file_sets_what_ls_shows(homes: list[Path]) -> None:
    write_session(homes[0], session_id(4), [])
    write_config("[ls]\nall = true\nlimit = 1\n")
    assert len(listed("--home", homes[0])) == 1
    assert len(listed("--home", homes[0], "--limit", "0")) == 2


def test_a_config_file_can_be_named(homes: list[Path], tmp_path: Path) -> None:
    named = tmp_path / "other.toml"
    named.write_text("color = 'always'\nactive_seconds = 1e12\n")
    write_session(homes[0], session_id(1), [*turns(6), turns(1)[0]])
    assert "\x1b[32mrunning" in run("ls", "--config", named, "--home", homes[0]).stdout


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("colour = 'auto'", "colour"),
        ("[ls]\nlimitt = 3", "ls.limitt"),
        ("homes = 3", "homes"),
        ("color = 'pink'", "color"),
        ("homes = [", "TOML"),
        ("homes = ['']", "homes"),
        ("active_seconds = -1", "active_seconds"),
        ("active_seconds = nan", "active_seconds"),
        ("active_seconds = inf", "active_seconds"),
        ("[ls]\nlimit = -1", "ls.limit"),
        (f"active_seconds = {'7' * 5000}", "TOML"),
        (f"active_seconds = {'7' * 400}", "active_seconds"),
        (f"homes = {'[' * 3000}{']' * 3000}", "nested"),
        ('homes = ["a\\u0000b"]', "homes"),
    ],
)
def test_a_config_file_that_can_not_be_understood_is_one_line_with_key_and_file(text: str, named: str) -> None:
    path = write_config(text)
    done = run("ls")
    assert_one_clear_line(done)
    assert named in done.stderr
    assert str(path) in done.stderr


def test_doctor_tells_a_broken_config_file_as_a_problem_and_goes_on() -> None:
    path = write_config("homes = 3")
    found = json.loads(run("doctor", "--json").stdout)
    (problem,) = found["problems"]
    assert problem["code"] == "config"
    assert str(path) in problem["detail"]
    assert found["homes"]
    assert run("doctor", "--strict").returncode == 1
    missing = json.loads(run("doctor", "--json", "--config", "missing.toml").stdout)
    assert [problem["code"] for problem in missing["problems"]] == ["config"]


def test_a_configured_home_that_is_missing_is_a_problem_to_doctor_only(homes: list[Path], tmp_path: Path) -> None:
    write_config(f"homes = [{str(homes[0])!r}, {str(tmp_path / 'gone')!r}]")
    assert listed() == ["00000001"]
    (problem,) = json.loads(run("doctor", "--json").stdout)["problems"]
    assert problem["code"] == "no-home"
    assert str(tmp_path / "gone") in problem["detail"]
    assert json.loads(run("doctor", "--json", "--home", homes[0]).stdout)["problems"] == []


def test_a_named_home_that_is_missing_is_a_problem_to_doctor(tmp_path: Path) -> None:
    (problem,) = json.loads(run("doctor", "--json", "--home", tmp_path / "gone").stdout)["problems"]
    assert (problem["code"], problem["detail"]) == ("no-home", f"directory not found: {tmp_path / 'gone'}")


def test_doctor_marks_a_missing_home_only_if_it_is_a_problem(tmp_path: Path) -> None:
    none = run("doctor", environment={"HOME": str(tmp_path), "CLAUDE_CONFIG_DIR": ""}).stdout
    assert none.startswith("  No problems\n")
    assert f"  sessions  {tmp_path / '.claude'}  does not exist\n" in none.replace("~", str(tmp_path))
    assert "\n! " not in none
    named = run("doctor", "--home", tmp_path / "gone").stdout
    assert named.startswith("  1 problem\n")
    assert f"\n! sessions  {tmp_path / 'gone'}  does not exist\n" in named


def test_every_key_of_the_config_file_is_documented() -> None:
    page = (SOURCE.parent / "docs" / "config.md").read_text()
    tables = {"ls": ListSettings, "archive": ArchiveSettings, "agent": AgentSettings}
    inner = [f"{table}.{name}" for table, kind in tables.items() for name in kind.__struct_fields__]
    for key in (*Config.__struct_encode_fields__, *inner):
        if key not in tables:
            assert f"\n| `{key}` |" in page


def test_a_usual_config_file_that_can_not_be_read_is_passed_over_and_told_by_doctor(homes: list[Path]) -> None:
    """A folder in its place stands for whatever can't be read; permissions stop nobody who is root."""
    path = write_config("")
    path.unlink()
    path.mkdir()
    assert listed("--home", homes[0]) == ["00000001"]
    assert run("ls", "--home", homes[0]).stderr == ""
    (problem,) = json.loads(run("doctor", "--json", "--home", homes[0]).stdout)["problems"]
    assert (problem["code"], str(path) in problem["detail"], "defaults" in problem["fix"]) == ("config", True, True)
    assert_one_clear_line(run("ls", "--config", path, "--home", homes[0]))


@pytest.mark.skipif(sys.platform == "win32", reason="needs the permissions of POSIX systems")
@pytest.mark.parametrize("closed", ["stenograph/config.toml", "stenograph", "."])
def test_a_closed_config_file_stops_nobody_but_who_named_it(closed: str) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        write_session(folder / "home", session_id(1), turns(6)).chmod(0o644)
        config = folder / "config" / "stenograph" / "config.toml"
        config.parent.mkdir(parents=True)
        config.write_text("homes = 3")
        place = folder / "config" / closed
        place.chmod(0o000)
        (data := folder / "data").mkdir()
        data.chmod(0o777)
        world = {"XDG_CONFIG_HOME": str(folder / "config"), "XDG_DATA_HOME": str(data)}
        done = run_unprivileged("ls", "--home", folder / "home", environment=world)
        assert (done.returncode, done.stderr, done.stdout.splitlines()[1][:8]) == (0, "", "00000001")
        told = json.loads(run_unprivileged("doctor", "--json", "--home", folder / "home", environment=world).stdout)
        assert [problem["code"] for problem in told["problems"]] == ["config"]
        assert_one_clear_line(run_unprivileged("ls", "--config", config, "--home", folder / "home", environment=world))
        place.chmod(0o755)


def test_each_default_stands_in_one_place() -> None:
    assert Config().active_seconds == ACTIVE_SECONDS
    assert f"[default: {ListSettings().limit}]" in run("ls", "--help").stdout


def test_color_is_chosen_for_commands_that_read_no_settings() -> None:
    assert "\x1b[" in run("--color", "always", "schema", "show", "2.1.325").stdout
    for off in (["--color", "never"], ["--no-color"], ["--plain"]):
        assert "\x1b[" not in run_in_terminal(*off, "schema", "show", "2.1.325", columns=80)
