from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.cli.running import SOURCE, assert_one_clear_line, run
from tests.homes import LONG_AGO, session_id, text, turns, user, write_session

from stenograph.cli._text import width
from stenograph.sessions import glance

ONE, TWO = session_id(0xAAAA0001), session_id(0xBBBB0002)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    home = tmp_path / "home"
    write_session(home, ONE, turns(6, "Rewrite the parser"), modified=LONG_AGO + 10)
    write_session(home, TWO, turns(7, "Fix the lexer"))
    write_session(home, session_id(3), turns(1))
    write_session(home, session_id(4), [])
    return home


def test_ls_shows_newest_first_and_says_what_it_hid(home: Path) -> None:
    done = run("ls", "--home", home)
    assert done.returncode == 0
    assert [line.split()[:2] for line in done.stdout.splitlines()] == [["aaaa0001", "completed"], ["bbbb0002", "completed"]]
    assert "Rewrite the parser" in done.stdout.splitlines()[0]
    assert done.stderr == "2 hidden (1 empty, 1 short): --all shows them\n"


def test_ls_all_shows_everything(home: Path) -> None:
    done = run("ls", "--all", "--home", home)
    assert len(done.stdout.splitlines()) == 4
    assert done.stderr == ""


def test_ls_limits_and_says_so(home: Path) -> None:
    done = run("ls", "--limit", "1", "--home", home)
    assert len(done.stdout.splitlines()) == 1
    assert "1 older" in done.stderr


def test_ls_json_has_the_promised_keys_and_utc_times(home: Path) -> None:
    listing = json.loads(run("ls", "--json", "--home", home, environment={"TZ": "Asia/Tokyo"}).stdout)
    assert listing["hidden"] == {"empty": 1, "short": 1}
    first = listing["sessions"][0]
    assert first["id"] == ONE
    assert first["modified"] == "2023-11-14T22:13:30Z"
    assert (first["steps"], first["steps_exact"], first["status"]) == (12, True, "completed")
    assert set(first) == {
        *("id", "path", "project", "folder", "title", "first_prompt", "custom_title", "tag", "status", "created", "modified"),
        *("size", "release", "branch", "entrypoint", "steps", "steps_exact", "hidden"),
    }


def test_dates_for_people_are_local(home: Path) -> None:
    assert "2023-11-15 07:13" in run("ls", "--home", home, environment={"TZ": "Asia/Tokyo"}).stdout


def test_ls_of_a_project_without_sessions_matches_nothing(home: Path) -> None:
    done = run("ls", "--project", "/nowhere", "--home", home)
    assert (done.returncode, done.stdout) == (1, "")
    assert len(run("ls", "--project", "/home/user/work", "--home", home).stdout.splitlines()) == 2


def test_shared_options_stand_before_or_after_the_command(home: Path) -> None:
    assert run("--home", home, "ls").stdout == run("ls", "--home", home).stdout != ""


def test_the_overview_names_homes_projects_and_what_to_try(home: Path) -> None:
    done = run("--home", home)
    assert done.returncode == 0
    for words in (str(home), "4 sessions, 1 project", "/home/user/work", "aaaa0001", "steno ls"):
        assert words in done.stdout
    overview = json.loads(run("--home", home, "--json").stdout)
    assert (overview["sessions"], overview["hidden"], len(overview["newest"])) == (4, 2, 2)


def test_without_sessions_the_overview_says_where_it_looked() -> None:
    done = run()
    assert done.returncode == 0
    assert "~/.claude/projects" in done.stdout
    assert "--demo" in done.stdout


def test_the_demo_shows_sessions() -> None:
    done = run("--demo", "ls", "--all")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout


def test_inventory_prints_the_tables_of_seed_001(home: Path) -> None:
    done = run("inventory", "aaaa", "--home", home)
    assert done.returncode == 0
    header, row = done.stdout.splitlines()[1:3]
    assert header.split("  ")[0] == "session"
    assert row.split()[:5] == [ONE, "12", "-", "6", "6"]
    for heading in ("Record kinds", "Stop reasons", "Content blocks"):
        assert heading in done.stdout
    counted = json.loads(run("inventory", home, "--json").stdout)
    assert counted["session_totals"]["human_turns"] == 14
    assert [session["lines"] for session in counted["sessions"]] == [2, 0, 12, 14]


def test_rename_and_tag_append_and_say_how_to_undo(home: Path) -> None:
    path = home / "projects" / "-home-user-work" / f"{ONE}.jsonl"
    assert run("rename", "aaaa", "New name", "--home", home).returncode == 0
    done = run("rename", "New name", "It's newer", "--home", home)
    assert "steno rename aaaa0001 'New name'" in done.stdout
    assert json.loads(run("rename", ONE, "Third", "--json", "--home", home).stdout)["before"] == "It's newer"
    assert run("tag", "aaaa", "keep", "--home", home).returncode == 0
    assert "[keep] Third" in run("ls", "--home", home).stdout
    assert "steno tag aaaa0001 'keep'" in run("tag", "aaaa", "--clear", "--home", home).stdout
    assert (glance(path).custom_title, glance(path).tag) == ("Third", None)


def test_doctor_counts_and_names_problems_with_their_cure(home: Path) -> None:
    found = json.loads(run("doctor", "--json", "--home", home).stdout)
    assert found["facts"]["homes"][0]["sessions"] == 4
    assert found["problems"] == []
    (home / "projects" / "-home-user-work" / f"{session_id(9)}.jsonl").symlink_to("nowhere")
    assert run("doctor", "--home", home).returncode == 0
    done = run("doctor", "--strict", "--home", home)
    assert done.returncode == 1
    assert "Remove the link" in done.stdout


def test_doctor_runs_no_client(tmp_path: Path) -> None:
    client = tmp_path / "claude"
    client.write_text(f"#!/bin/sh\ntouch {tmp_path}/was-run\n")
    client.chmod(0o755)
    done = run("doctor", environment={"PATH": f"{tmp_path}:{os.environ['PATH']}"})
    assert str(client) in done.stdout
    assert not (tmp_path / "was-run").exists()


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_prints_a_script(shell: str) -> None:
    done = run("completion", shell)
    assert done.returncode == 0
    assert "_STENO_COMPLETE" in done.stdout


def test_sessions_complete_by_id_and_by_title(home: Path) -> None:
    def complete(*words: str) -> str:
        asked = {"_STENO_COMPLETE": "bash_complete", "COMP_WORDS": " ".join(words), "COMP_CWORD": str(len(words) - 1)}
        return run(environment={"CLAUDE_CONFIG_DIR": str(home), **asked}).stdout

    assert ONE in complete("steno", "rename", "aaaa")
    assert "Rewrite the parser" in complete("steno", "rename", "rewr")
    assert "inventory" in complete("steno", "inv")


def test_a_reader_that_stops_early_is_no_error(home: Path) -> None:
    done = subprocess.run(
        f"{sys.executable} -m stenograph ls --all --home {home} | true; exit ${{PIPESTATUS[0]}}",
        shell=True,
        executable="/bin/bash",
        capture_output=True,
        text=True,
        check=False,
    )
    assert "Traceback" not in done.stderr
    assert done.returncode == 0


def test_titles_can_not_move_the_cursor(tmp_path: Path) -> None:
    evil = "\x1b[2Jgone\x07 \x9b31m \u202ereversed\nsecond line"
    path = write_session(
        tmp_path, ONE, [*turns(6), {"type": "custom-title", "customTitle": evil}, {"type": "tag", "tag": "\x1b[0m"}]
    )
    assert glance(path).custom_title == evil
    assert "\\x1b[2Jgone\\x07 \\x9b31m \\u202ereversed second line" in run("ls", "--home", tmp_path).stdout
    for arguments in (("ls",), (), ("rename", ONE, "x"), ("tag", ONE, "y")):
        done = run(*arguments, "--home", tmp_path)
        assert done.returncode == 0
        for character in ("\x1b", "\x07", "\x9b", "\u202e"):
            assert character not in done.stdout


@pytest.mark.parametrize("environment", [{"NO_COLOR": "1", "FORCE_COLOR": "1"}, {}])
def test_colour_is_off_in_a_pipe_and_under_no_color(tmp_path: Path, environment: dict[str, str]) -> None:
    write_session(tmp_path, ONE, [*turns(6), user([text("[Request interrupted by user]")])])
    assert "\x1b" not in run("ls", "--home", tmp_path, environment=environment).stdout


def test_colour_can_be_forced_and_refused(tmp_path: Path) -> None:
    write_session(tmp_path, ONE, [*turns(6), user([text("[Request interrupted by user]")])])
    assert "\x1b[33minterrupted\x1b[0m" in run("ls", "--home", tmp_path, environment={"FORCE_COLOR": "1"}).stdout
    assert "\x1b" not in run("ls", "--no-color", "--home", tmp_path, environment={"FORCE_COLOR": "1"}).stdout


def test_names_of_any_bytes_are_printed_and_kept_in_json(tmp_path: Path) -> None:
    folder = os.fsdecode(b"-caf\xe9")
    write_session(tmp_path, ONE, [record | {"cwd": None} for record in turns(6)], project=folder)
    assert "-caf\\udce9" in run("ls", "--home", tmp_path).stdout
    assert json.loads(run("ls", "--json", "--home", tmp_path).stdout)["sessions"][0]["folder"] == folder


def test_the_version_is_printed() -> None:
    assert run("--version").stdout.startswith("steno 0.")


def test_an_unknown_command_is_one_clear_line() -> None:
    assert_one_clear_line(run("lss"))


@pytest.mark.skipif(sys.platform == "win32", reason="needs a pseudo-terminal")
def test_a_list_fits_the_terminal(tmp_path: Path) -> None:
    import pty

    write_session(tmp_path, ONE, turns(6, "日本語のとても長い題名" * 20))
    outside, inside = pty.openpty()
    command = [sys.executable, "-m", "stenograph", "ls", "--no-color", "--home", str(tmp_path)]
    with subprocess.Popen(command, stdout=inside, env={**os.environ, "COLUMNS": "90", "PYTHONPATH": str(SOURCE)}) as child:
        os.close(inside)
        shown = os.read(outside, 10_000).decode()
        child.wait()
    os.close(outside)
    assert shown.startswith("aaaa0001")
    assert shown.endswith("…\r\n")
    assert 88 <= width(shown.rstrip()) <= 90
