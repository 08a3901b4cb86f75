from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import click
import pytest
from tests.cli.running import assert_one_clear_line, run, run_unprivileged
from tests.homes import LONG_AGO, session_id, turns, user, write_session

from stenograph.cli import _run
from stenograph.cli._group import steno
from stenograph.sessions import glance
from stenograph.testing.lines import text

ONE, TWO = session_id(0xAAAA0001), session_id(0xBBBB0002)
#: How it was started here, and so what a hint has to begin with.
PROGRAM = "python -m stenograph"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    home = tmp_path / "home"
    write_session(home, ONE, turns(6, "Rewrite the parser"), modified=LONG_AGO + 10)
    write_session(home, TWO, turns(7, "Fix the lexer"))
    write_session(home, session_id(3), turns(1))
    write_session(home, session_id(4), [])
    return home


def rows(done: subprocess.CompletedProcess[str]) -> list[str]:
    """The lines of a list below its header."""
    return done.stdout.splitlines()[1:]


def test_ls_shows_newest_first_and_says_what_it_hid(home: Path) -> None:
    done = run("ls", "--home", home)
    assert done.returncode == 0
    header, *rows = done.stdout.splitlines()
    assert header.split() == ["id", "status", "last", "turns", "project", "title"]
    assert [line.split()[:2] for line in rows] == [[ONE, "done"], [TWO, "done"]]
    assert "Rewrite the parser" in rows[0]
    assert done.stderr == "2 hidden (1 empty, 1 short); use --all\n"


def test_ls_all_shows_everything(home: Path) -> None:
    done = run("ls", "--all", "--home", home)
    assert len(rows(done)) == 4
    assert done.stderr == ""


def test_ls_limits_and_says_so(home: Path) -> None:
    done = run("ls", "--limit", "1", "--home", home)
    assert len(rows(done)) == 1
    assert "1 more session not listed" in done.stderr


def test_ls_json_has_the_promised_keys_and_utc_times(home: Path) -> None:
    listing = json.loads(run("ls", "--json", "--home", home, environment={"TZ": "Asia/Tokyo"}).stdout)
    assert listing["hidden"] == {"empty": 1, "short": 1}
    first = listing["sessions"][0]
    assert first["id"] == ONE
    assert first["modified"] == "2023-11-14T22:13:30Z"
    assert (first["turns"], first["steps"], first["steps_exact"], first["status"]) == (6, 12, True, "done")
    assert set(first) == {
        *("id", "path", "project", "title", "first_prompt", "custom_title", "tag", "status", "started", "modified"),
        *("size", "release", "git_branch", "entrypoint", "steps", "steps_exact", "hidden"),
        *("last_record", "turns", "slug", "summary", "pull_requests", "short_id", "usd", "usd_estimated", "usd_unpriced", "tape"),
        "archived",
    }


def test_dates_for_people_are_local(home: Path) -> None:
    assert "2023-11-15 07:13" in run("ls", "--home", home, environment={"TZ": "Asia/Tokyo"}).stdout


def test_ls_of_a_project_without_sessions_matches_nothing(home: Path) -> None:
    done = run("ls", "--project", "/nowhere", "--home", home)
    assert (done.returncode, done.stdout) == (1, "")
    assert len(rows(run("ls", "--project", "/home/user/work", "--home", home))) == 2


def test_shared_options_stand_before_or_after_the_command(home: Path) -> None:
    assert run("--home", home, "ls").stdout == run("ls", "--home", home).stdout != ""


def test_the_overview_names_homes_projects_and_what_to_try(home: Path) -> None:
    done = run("--home", home)
    assert done.returncode == 0
    for words in (
        "2 sessions in 1 project",
        "aaaa0001-0000-4000-8000-000000000000  ",
        "2 hidden (ls --all)",
        f"{PROGRAM} --home {home} ls",
    ):
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
    assert row.split()[:5] == [ONE, "12", "6", "6", "0"]
    for heading in ("Record kinds", "Stop reasons", "Content blocks"):
        assert heading in done.stdout
    counted = json.loads(run("inventory", home, "--json").stdout)
    assert counted["session_totals"]["human_turns"] == 14
    assert [session["counts"]["lines"] for session in counted["sessions"]] == [2, 0, 12, 14]


def test_rename_and_tag_append_and_say_how_to_undo(home: Path) -> None:
    path = home / "projects" / "-home-user-work" / f"{ONE}.jsonl"
    assert run("rename", "aaaa", "New name", "--home", home).returncode == 0
    done = run("rename", "New name", "It's newer", "--home", home)
    assert done.stdout.endswith(f"Undo: {PROGRAM} --home {home} rename {ONE} 'New name'\n")
    assert json.loads(run("rename", ONE, "Third", "--json", "--home", home).stdout)["before"] == "It's newer"
    assert run("tag", "aaaa", "keep", "--home", home).returncode == 0
    assert "[keep] Third" in run("ls", "--home", home).stdout
    assert f"Undo: {PROGRAM} --home {home} tag {ONE} keep\n" in run("tag", "aaaa", "--clear", "--home", home).stdout
    assert (glance(path).custom_title, glance(path).tag) == ("Third", None)


def test_doctor_counts_and_names_problems_with_their_cure(home: Path) -> None:
    found = json.loads(run("doctor", "--json", "--home", home).stdout)
    assert found["homes"][0]["sessions"] == 4
    assert found["problems"] == []
    (home / "projects" / "-home-user-work" / f"{session_id(9)}.jsonl").symlink_to("nowhere")
    assert run("doctor", "--home", home).returncode == 0
    done = run("doctor", "--strict", "--home", home)
    assert done.returncode == 1
    assert "Delete the link" in done.stdout


def test_doctor_says_what_looks_into_the_sessions_themselves(home: Path) -> None:
    assert f"damage and drift in sessions: {PROGRAM} --home {home} check" in run("doctor", "--home", home).stdout


def test_doctor_runs_no_client(tmp_path: Path) -> None:
    client = tmp_path / "claude"
    client.write_text(f"#!/bin/sh\ntouch {tmp_path}/was-run\n")
    client.chmod(0o755)
    done = run("doctor", environment={"PATH": f"{tmp_path}:{os.environ['PATH']}"})
    assert str(client) in done.stdout
    assert not (tmp_path / "was-run").exists()


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
    assert "\x1b[1;33minterrupted\x1b[0m" in run("ls", "--home", tmp_path, environment={"FORCE_COLOR": "1"}).stdout
    assert "\x1b" not in run("ls", "--no-color", "--home", tmp_path, environment={"FORCE_COLOR": "1"}).stdout


def test_names_of_any_bytes_are_printed_and_kept_in_json(tmp_path: Path) -> None:
    folder = os.fsdecode(b"-caf\xe9")
    write_session(tmp_path, ONE, [record | {"cwd": None} for record in turns(6)], project=folder)
    assert "-caf\\udce9" in run("ls", "--home", tmp_path).stdout
    assert json.loads(run("ls", "--json", "--home", tmp_path).stdout)["sessions"][0]["path"].split("/")[-2] == folder


def test_the_version_is_printed() -> None:
    assert run("--version").stdout.startswith("steno 0.")


def test_an_unknown_command_is_one_clear_line_with_the_nearest() -> None:
    for typed, meant in (("lss", "ls"), ("invent", "inventory"), ("renmae", "rename")):
        done = run(typed)
        assert_one_clear_line(done)
        assert f'; did you mean "{meant}"' in done.stderr
    done = run("qqqqqq")
    assert_one_clear_line(done)
    assert "did you mean" not in done.stderr


def test_help_names_the_program_as_it_was_started() -> None:
    assert run("--help").stdout.startswith(f"Usage: {PROGRAM} [OPTIONS]")
    assert f"try: {PROGRAM} ls --help\n" in run("ls", "--nonsense").stderr
    code = "import sys; sys.argv[0] = '/usr/bin/steno'; from stenograph.cli import main; main()"
    done = subprocess.run([sys.executable, "-c", code, "ls", "--help"], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("Usage: steno ls [OPTIONS]")


@pytest.mark.proof
def test_an_undo_can_be_pasted_whatever_the_title(tmp_path: Path) -> None:
    """The shell that runs the line proves it: the title is what it was, byte for byte."""
    home = tmp_path / "a home's"
    path = write_session(home, ONE, turns(6))
    for title in ("-n", 'it\'s $HOME `x` "y"', "bell\x07 and \u202eback", "caf\u00e9 \u65e5\u672c \\ 'x'\x1b"):
        assert run("rename", "--home", home, ONE, "--", title).returncode == 0
        hint = run("rename", "--home", home, ONE, "x").stdout.splitlines()[-1].removeprefix("Undo: ")
        assert "\x1b" not in hint
        assert "\u202e" not in hint
        line = hint.replace("python", sys.executable, 1)
        subprocess.run(["bash", "-c", line], check=True, capture_output=True, env={**os.environ, "LC_ALL": "C.UTF-8"})
        assert glance(path).custom_title == title
    run("tag", "--home", home, ONE, "--", "-two words")
    hint = run("tag", "--home", home, ONE, "other").stdout.splitlines()[-1].removeprefix("Undo: ")
    subprocess.run(["bash", "-c", hint.replace("python", sys.executable, 1)], check=True, capture_output=True)
    assert glance(path).tag == "-two words"


def test_a_first_title_says_what_the_session_was_shown_as(tmp_path: Path) -> None:
    write_session(tmp_path, ONE, turns(6, "Rewrite\x1b the parser"))
    assert run("rename", ONE, "x", "--home", tmp_path).stdout.splitlines()[1:] == [
        "It was shown as: Rewrite\\x1b the parser",
        f"Undo: {PROGRAM} --home {tmp_path} rename {ONE} --clear",
    ]


def test_a_first_title_can_be_taken_back_byte_for_byte_and_given_again(tmp_path: Path) -> None:
    path = write_session(tmp_path, ONE, turns(6, "Rewrite the parser"))
    before, state = path.read_bytes(), path.stat()
    nothing = run("rename", ONE, "--clear", "--home", tmp_path)
    assert nothing.stdout == f"{ONE} had no custom title; nothing was written\n"
    hint = run("rename", ONE, "x", "--home", tmp_path).stdout.splitlines()[-1].removeprefix("Undo: ")
    renamed = path.read_bytes()
    done = subprocess.run(
        ["bash", "-c", hint.replace("python", sys.executable, 1)], check=True, capture_output=True, text=True
    ).stdout.splitlines()
    assert done[0] == f"Cleared the title of {ONE}"
    assert (path.read_bytes(), path.stat().st_mtime_ns) == (before, state.st_mtime_ns)
    assert glance(path).custom_title is None
    subprocess.run(["bash", "-c", done[-1].removeprefix("Undo: ").replace("python", sys.executable, 1) + " --apply"], check=True)
    assert path.read_bytes() == renamed
    for wrong in (("rename", ONE), ("rename", ONE, "x", "--clear")):
        assert_one_clear_line(run(*wrong, "--home", tmp_path))


def test_an_old_title_in_the_middle_of_a_long_file_is_not_forgotten(tmp_path: Path) -> None:
    filler = user("x" * 1000)
    labels = [{"type": "custom-title", "customTitle": "Middle"}, {"type": "tag", "tag": "kept"}]
    write_session(tmp_path, ONE, [*turns(6), *[filler] * 200, *labels, *[filler] * 200])
    assert json.loads(run("rename", ONE, "x", "--json", "--home", tmp_path).stdout)["before"] == "Middle"
    assert json.loads(run("tag", ONE, "--clear", "--json", "--home", tmp_path).stdout)["before"] == "kept"


def test_clearing_a_tag_that_is_not_there_writes_nothing(tmp_path: Path) -> None:
    path = write_session(tmp_path, ONE, turns(6))
    before = path.read_bytes()
    done = run("tag", ONE, "--clear", "--home", tmp_path)
    assert (done.returncode, done.stdout) == (0, f"{ONE} had no tag; nothing was written\n")
    assert path.read_bytes() == before


def test_the_demo_is_read_only() -> None:
    demo = json.loads(run("--demo", "ls", "--json").stdout)["sessions"][0]["path"]
    before = Path(demo).read_bytes()
    for arguments in (("--demo", "rename", "last", "x"), ("tag", "last", "x", "--demo"), ("rename", demo, "x")):
        done = run(*arguments)
        assert_one_clear_line(done)
        assert "the demo is read-only" in done.stderr
    assert Path(demo).read_bytes() == before


def test_json_may_be_asked_for_before_the_command(home: Path) -> None:
    for command in (("ls",), ("doctor",), ("inventory", ONE), ("completion", "bash"), ("rename", ONE, "x")):
        assert json.loads(run("--json", "--home", home, *command).stdout)


def test_homes_before_and_after_the_command_add_up(home: Path, tmp_path: Path) -> None:
    write_session(tmp_path / "other", session_id(7), turns(6))
    done = run("--home", home, "ls", "--home", tmp_path / "other")
    assert len(rows(done)) == 3
    assert len(rows(run("--home", home, "ls", "--home", home))) == 2


def test_the_project_is_found_however_it_is_spelt(home: Path, tmp_path: Path) -> None:
    for spelling in ("/home/user/work/", "/home/user/../user/work"):
        assert len(rows(run("ls", "--project", spelling, "--home", home))) == 2
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    folder = str(tmp_path / "real")
    name = "".join(character if character.isalnum() else "-" for character in folder)
    write_session(home, session_id(8), [record | {"cwd": folder} for record in turns(6)], project=name)
    user_home = {"HOME": str(tmp_path)}
    for spelling in ("~/real/", "~/link", "real", "./link/"):
        listed = run("ls", "--project", spelling, "--home", home, environment=user_home)
        assert rows(listed)[0].startswith("00000008"), spelling
    nothing = run("ls", "--project", "~/nothing/", "--home", home, environment=user_home)
    assert (nothing.returncode, nothing.stderr) == (1, "note: no sessions of project ~/nothing/\n")


def test_projects_are_found_by_what_the_list_shows_or_a_part_of_it(home: Path) -> None:
    for shown in ("work", "…/work", "/home/us…", "-home-user-work", "WOR", "user/w"):
        assert len(rows(run("ls", "--project", shown, "--home", home))) == 2, shown
    for other in ("…/play", "…"):
        assert run("ls", "--project", other, "--home", home).returncode == 1, other
    write_session(home, session_id(9), [record | {"cwd": "/srv/work"} for record in turns(6)], project="-srv-work")
    assert len(rows(run("ls", "--project", "work", "--home", home))) == 3
    assert [line[:8] for line in rows(run("ls", "--project", "/srv/work", "--home", home))] == ["00000009"]


def test_a_windows_path_of_another_machine_is_taken_as_it_is(tmp_path: Path) -> None:
    folder = "C:\\Users\\a\\work"
    write_session(tmp_path, ONE, [record | {"cwd": folder} for record in turns(6)], project="C--Users-a-work")
    assert rows(run("ls", "--project", folder + "\\", "--home", tmp_path))[0].startswith("aaaa0001")


def test_a_list_of_which_everything_is_hidden_matches_nothing(tmp_path: Path) -> None:
    write_session(tmp_path, ONE, turns(1))
    done = run("ls", "--home", tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (1, "", "1 hidden (1 short); use --all\n")


def test_an_overview_of_hidden_sessions_has_no_empty_heading(tmp_path: Path) -> None:
    write_session(tmp_path, ONE, turns(1))
    done = run("--home", tmp_path)
    assert done.returncode == 0
    assert done.stdout.splitlines()[:3] == ["  0 sessions in 1 project", "", "  1 hidden (ls --all)"]
    assert f"{PROGRAM} --home {tmp_path} ls --all " in done.stdout


def test_hints_repeat_the_options_quoted(tmp_path: Path) -> None:
    home = tmp_path / "my home"
    write_session(home, ONE, turns(6))
    config = tmp_path / "c.toml"
    config.write_text("")
    assert f"{PROGRAM} --home '{home}' --config {config} show " in run("--home", home, "--config", config).stdout
    assert f"{PROGRAM} --demo doctor" in run("--demo").stdout


def test_inventory_names_releases_agents_and_the_place_of_the_first_finding(tmp_path: Path) -> None:
    versions = [record | {"version": "2.0.42", "sessionId": ONE} for record in turns(2)]
    path = write_session(tmp_path, ONE, versions, tail=b"broken\nbroken\n")
    write_session(tmp_path, "agent-1a2b3c4", versions[:1])
    lines = run("inventory", ONE, "--home", tmp_path).stdout.splitlines()
    header, row, agents = lines[1:4]
    assert (header.split()[0], row.split()[0], row.split()[-1]) == ("session", ONE, "1")
    assert agents.split()[:3] == ["agents'", "files", "1"]
    assert f"{ONE}  2.0.42 (4)" in lines
    assert lines[-1] == f"damaged-line-not-json  2  first: {path}:5"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_output_that_can_not_be_written_is_one_clear_line(home: Path) -> None:
    for arguments in (["ls", "--home", str(home)], ["ls", "--json", "--home", str(home)], ["--help"]):
        with Path("/dev/full").open("w") as full:
            done = subprocess.run(
                [sys.executable, "-m", "stenograph", *arguments], stdout=full, stderr=subprocess.PIPE, text=True, check=False
            )
        assert_one_clear_line(done)
        assert "cannot write the output: No space left on device" in done.stderr
    with Path("/dev/full").open("w") as full:  # nor can it be said
        assert subprocess.run([sys.executable, "-m", "stenograph", "lss"], stderr=full, check=False).returncode == 2


@pytest.mark.skipif(sys.platform == "win32", reason="needs a POSIX shell")
def test_a_closed_stdout_is_one_clear_line(home: Path) -> None:
    path = home / "projects" / "-home-user-work" / f"{ONE}.jsonl"
    before = path.read_bytes()
    for command in ("ls", f"rename {ONE} x"):
        line = f"{sys.executable} -m stenograph {command} --home {home} >&-"
        done = subprocess.run(["/bin/sh", "-c", line], stderr=subprocess.PIPE, text=True, check=False)
        assert_one_clear_line(done)
        assert "cannot write the output" in done.stderr
    assert path.read_bytes() == before


def test_ls_json_tells_what_could_not_be_read(home: Path) -> None:
    assert json.loads(run("ls", "--json", "--home", home).stdout)["findings"] == []
    link = home / "projects" / "-home-user-work" / f"{session_id(9)}.jsonl"
    link.symlink_to("nowhere")
    (finding,) = json.loads(run("ls", "--json", "--home", home).stdout)["findings"]
    assert (finding["code"], finding["path"]) == ("broken-link", str(link))


def test_a_linked_session_is_no_problem_to_doctor(home: Path, tmp_path: Path) -> None:
    path = home / "projects" / "-home-user-work" / f"{ONE}.jsonl"
    path.rename(tmp_path / "elsewhere.jsonl")
    path.symlink_to(tmp_path / "elsewhere.jsonl")
    found = json.loads(run("doctor", "--json", "--home", home).stdout)
    assert found["problems"] == []
    assert "fts5" not in found
    assert run("doctor", "--strict", "--home", home).returncode == 0


def test_names_of_files_break_no_row(tmp_path: Path) -> None:
    """Also one as long as an id."""
    for name in ("a\nb\x1b[2J", "\n\x1b[2J\u202e\x9b" + "x" * 29):
        write_session(tmp_path, name, turns(6))
    done = run("ls", "--all", "--home", tmp_path)
    assert len(rows(done)) == 2
    assert done.stdout.replace("\n", "").isprintable()
    counted = run("inventory", tmp_path)
    assert counted.stdout.replace("\n", "").isprintable()


@pytest.mark.parametrize("title", ["\u200d", "\u200d\u0301", "\x85", " \u2003 "])
def test_a_title_of_which_nothing_can_be_seen_is_none(tmp_path: Path, title: str) -> None:
    write_session(tmp_path, ONE, [*turns(6), {"type": "custom-title", "customTitle": title}])
    assert run("ls", "--home", tmp_path).stdout.rstrip("\n").endswith("(no prompt)")


@pytest.mark.parametrize("timestamp", ["0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-14:00"])
def test_timestamps_beyond_all_dates_stop_nothing(tmp_path: Path, timestamp: str) -> None:
    write_session(tmp_path, ONE, [record | {"timestamp": timestamp} for record in turns(6)])
    for arguments in (("ls", "--json"), ("ls",), ("--json",), ()):
        done = run(*arguments, "--home", tmp_path, environment={"TZ": "Pacific/Kiritimati"})
        assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(run("ls", "--json", "--home", tmp_path).stdout)["sessions"][0]["started"] is None


def _said(prompt: str, day: int, number: int = 6, **members: str) -> list[dict[str, Any]]:
    return [{**record, "timestamp": f"2026-01-{day:02}T12:00:00Z", **members} for record in turns(number, prompt)]


@pytest.fixture
def various(tmp_path: Path) -> Path:
    """Three sessions of two projects; the files' times are the wrong way round."""
    write_session(tmp_path, ONE, [*_said("Parser", 1, gitBranch="main"), {"type": "tag", "tag": "keep"}], modified=LONG_AGO + 99)
    other = {"cwd": "/srv/lantern-shop"}
    write_session(
        tmp_path, TWO, [*_said("Checkout", 10, 9, **other), *_said("More", 10, 1, **other)[:1]], project="-srv-lantern-shop"
    )
    write_session(tmp_path, session_id(0xCCCC0003), _said("Docs", 20, gitBranch="docs"), modified=LONG_AGO + 1)
    return tmp_path


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ((), "cba"),
        (("--since", "2026-01-05"), "cb"),
        (("--until", "2026-01-15", "--since", "2026-01-05"), "b"),
        (("--tag", "keep"), "a"),
        (("--status", "interrupted"), "b"),
        (("--branch", "docs"), "c"),
        (("--title", "pars"), "a"),
        (("--project", "lantern"), "b"),
        (("--sort", "title"), "bca"),
        (("--sort", "turns"), "bac"),
        (("--sort", "started", "--limit", "1"), "c"),
    ],
)
def test_ls_filters_and_sorts(various: Path, options: tuple[str, ...], expected: str) -> None:
    done = run("ls", "--home", various, *options)
    assert "".join(line[0] for line in rows(done)) == expected, done.stderr


def test_ls_counts_turns_exactly(tmp_path: Path) -> None:
    write_session(tmp_path, ONE, _said("Go", 1, 250))
    (row,) = json.loads(run("ls", "--json", "--home", tmp_path).stdout)["sessions"]
    assert row["turns"] == 250
    assert rows(run("ls", "--home", tmp_path))[0].split()[4] == "250"


def test_sessions_of_print_mode_and_the_sdk_are_hidden_and_counted(tmp_path: Path) -> None:
    for number, entrypoint in enumerate(("cli", "sdk-cli", "sdk-cli", "sdk-py")):
        write_session(tmp_path, session_id(number), _said("Go", 1, entrypoint=entrypoint))
    done = run("ls", "--home", tmp_path)
    assert len(rows(done)) == 1
    assert done.stderr == "3 hidden (2 print mode, 1 SDK); use --all\n"
    assert len(rows(run("ls", "--all", "--home", tmp_path))) == 4
    assert "1 session in 1 project" in run("--home", tmp_path).stdout


@pytest.mark.skipif(sys.platform == "win32", reason="needs the permissions of POSIX systems")
def test_doctor_names_what_cannot_be_read_or_written() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        path = write_session(folder, ONE, turns(6))
        (folder / "data" / "stenograph" / "archive").mkdir(parents=True)
        environment = {"XDG_DATA_HOME": str(folder / "data")}
        assert f"{folder}/data/stenograph/archive" in run("doctor", "--home", folder, environment=environment).stdout
        path.chmod(0o000)
        found = json.loads(run_unprivileged("doctor", "--json", "--home", folder, environment=environment).stdout)
    assert found["archive_directory"] == f"{folder}/data/stenograph/archive"
    assert {(problem["code"], problem["path"]) for problem in found["problems"]} == {
        ("unreadable-file", str(path)),
        ("archive", f"{folder}/data/stenograph/archive"),
    }


@pytest.mark.skipif(sys.platform == "win32", reason="needs the permissions of POSIX systems")
def test_a_projects_folder_that_cannot_be_read_is_an_error_and_not_an_empty_one() -> None:
    with tempfile.TemporaryDirectory() as name:
        home = Path(name) / ".claude"
        write_session(home, ONE, turns(6))
        Path(name).chmod(0o755)
        (home / "projects").chmod(0o000)
        done = run_unprivileged(environment={"HOME": name})
    assert_one_clear_line(done)
    assert "Permission denied" in done.stderr


def test_ctrl_c_exits_with_130(monkeypatch: pytest.MonkeyPatch) -> None:
    for stop in (KeyboardInterrupt, click.Abort):

        def interrupted(stop: type[BaseException] = stop, **_: object) -> None:
            raise stop

        monkeypatch.setattr(steno, "main", interrupted)
        assert _run() == 130


def test_long_lists_go_without_turns_unless_sorted_by_them(various: Path) -> None:
    """Whole files have to be read to count them."""
    for options, counted in (
        (("--limit", "101"), False),
        (("--limit", "0", "--sort", "turns"), True),
        (("--limit", "100"), True),
    ):
        found = json.loads(run("ls", "--json", "--home", various, *options).stdout)["sessions"]
        assert [row["turns"] is not None for row in found] == [counted] * 3
        assert ("turns" in run("ls", "--home", various, *options).stdout.splitlines()[0].split()) is counted
