from __future__ import annotations

import os
from pathlib import Path

import pytest
from tests.cli.running import assert_one_clear_line, run
from tests.homes import session_id, turns, write_session


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
    return [line[:8] for line in run("ls", *arguments, environment=environment).stdout.splitlines()]


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
    ],
)
def test_a_config_file_that_can_not_be_understood_is_one_line_with_key_and_file(text: str, named: str) -> None:
    path = write_config(text)
    done = run("ls")
    assert_one_clear_line(done)
    assert named in done.stderr
    assert str(path) in done.stderr
