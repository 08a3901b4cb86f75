"""Whatever a user gives: one clear line on stderr, exit code 2, no traceback, nothing of a transcript."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.cli.running import SOURCE, assert_one_clear_line, run, run_unprivileged
from tests.homes import session_id, turns, write_session

ONE, TWO = session_id(0xAAAA0001), session_id(0xAAAA0002)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    for identity in (ONE, TWO):
        write_session(tmp_path, identity, turns(6))
    return tmp_path


@pytest.mark.parametrize(
    "arguments",
    [
        ("inventory", "no such session"),
        ("inventory", "./no-such-file.jsonl"),
        ("rename", ONE, " "),
        ("rename", ONE),
        ("tag", ONE),
        ("tag", ONE, "x", "--clear"),
        ("tag", "./missing.jsonl", "x"),
        ("ls", "--limit", "-1"),
        ("ls", "--nonsense"),
        ("completion", "tcsh"),
        ("ls", "--config", "no-such-config"),
        ("ls", "--demo"),
        ("inventory", ""),
        ("rename", "", "x"),
        ("rename", ONE, ""),
        ("rename", ONE, "\u200b"),
        ("rename", ONE, b"caf\xe9".decode(errors="surrogateescape")),
        ("tag", ONE, ""),
        ("ls", "--project", ""),
        ("ls", "--config", ""),
        ("ls", "--home", ""),
        ("completion", ""),
        ("inventory", "~nobody-of-that-name/x"),
        ("",),
    ],
)
def test_wrong_use_is_one_clear_line(home: Path, arguments: tuple[str, ...]) -> None:
    assert_one_clear_line(run(*arguments, "--home", home))


def test_a_file_that_is_no_session_is_refused(home: Path) -> None:
    for name in ("notes.txt", "notes.jsonl"):
        (home / name).write_text("words\n")
        assert_one_clear_line(run("inventory", home / name))
        assert_one_clear_line(run("rename", home / name, "x"))
        assert (home / name).read_text() == "words\n"


@pytest.mark.parametrize("command", [(), ("ls",), ("inventory", "last"), ("rename", "last", "x")])
def test_an_empty_and_a_missing_home_are_one_clear_line(tmp_path: Path, command: tuple[str, ...]) -> None:
    (tmp_path / "empty").mkdir()
    assert_one_clear_line(run(*command, "--home", tmp_path / "empty"))
    assert_one_clear_line(run(*command, "--home", tmp_path / "missing"))


@pytest.mark.parametrize("command", [(), ("ls",), ("inventory", "last"), ("rename", "last", "x")])
def test_a_home_that_is_missing_is_named_also_beside_others(home: Path, command: tuple[str, ...]) -> None:
    orders: list[tuple[str | Path, ...]] = [
        (*command, "--home", home, "--home", home / "missing"),
        ("--home", home / "missing", *command, "--home", home),
    ]
    for arguments in orders:
        done = run(*arguments)
        assert_one_clear_line(done)
        assert f"directory not found: {home / 'missing'}" in done.stderr


def test_what_is_no_home_is_said_to_be_none(home: Path) -> None:
    project = home / "projects" / "-home-user-work"
    done = run("ls", "--home", project)
    assert_one_clear_line(done)
    assert f"{project} is a project directory; use the home that contains it: {home}" in done.stderr
    done = run("ls", "--home", project / f"{ONE}.jsonl")
    assert_one_clear_line(done)
    assert "is not a directory" in done.stderr


def test_a_session_that_is_being_written_is_not_renamed(tmp_path: Path) -> None:
    path = write_session(tmp_path, ONE, turns(6), tail=b'{"type":"us', modified=time.time())
    before = path.read_bytes()
    for arguments in (("rename", ONE, "x"), ("tag", ONE, "x")):
        done = run(*arguments, "--home", tmp_path)
        assert_one_clear_line(done, 3)
        assert "is being written" in done.stderr
    assert path.read_bytes() == before


def test_ls_without_any_home_is_one_clear_line() -> None:
    assert_one_clear_line(run("ls"))


def test_a_home_with_a_file_for_projects_is_no_crash(tmp_path: Path) -> None:
    (tmp_path / "projects").write_text("")
    done = run("ls", "--home", tmp_path)
    assert done.returncode == 2
    assert "Traceback" not in done.stderr


@pytest.fixture
def open_home() -> Iterator[Path]:
    """A home that any user may reach, unlike tmp_path, whose parents are closed to others."""
    folder = Path(tempfile.mkdtemp(prefix="steno-test-"))
    folder.chmod(0o755)
    for identity in (ONE, TWO):
        write_session(folder, identity, turns(6)).chmod(0o644)
    yield folder
    shutil.rmtree(folder)


@pytest.mark.skipif(sys.platform == "win32", reason="needs the permissions of POSIX systems")
def test_a_file_that_may_not_be_read_is_named_and_the_rest_is_listed(open_home: Path) -> None:
    path = open_home / "projects" / "-home-user-work" / f"{ONE}.jsonl"
    path.chmod(0o000)
    listed = run_unprivileged("ls", "--home", open_home)
    assert listed.returncode == 0, listed.stderr
    assert listed.stdout.splitlines()[1].startswith("aaaa0002")
    assert listed.stderr == f"warning: cannot read {path}: Permission denied\n"
    refused = run_unprivileged("inventory", path)
    assert_one_clear_line(refused)
    assert "Permission denied" in refused.stderr
    assert_one_clear_line(run_unprivileged("rename", path, "x"))
    path.parent.chmod(0o000)
    assert run_unprivileged("ls", "--home", open_home).returncode == 2
    path.parent.chmod(0o755)


@pytest.mark.skipif(sys.platform == "win32", reason="needs the permissions of POSIX systems")
def test_a_session_that_may_not_be_written_is_not_renamed(open_home: Path) -> None:
    path = open_home / "projects" / "-home-user-work" / f"{TWO}.jsonl"
    path.chmod(0o444)
    before = path.read_bytes()
    done = run_unprivileged("rename", TWO, "x", "--home", open_home)
    assert_one_clear_line(done)
    assert f"cannot write to {path}" in done.stderr
    assert path.read_bytes() == before


def test_nothing_of_a_transcript_reaches_an_error(tmp_path: Path) -> None:
    """A secret in every string: titles, prompts, tags, ids of lines. Only a list may show it, also of what a name may mean."""
    secret = "SENTINEL-7f3a"
    records = [
        {**record, "uuid": secret, "cwd": f"/{secret}", "gitBranch": secret, "version": secret, "timestamp": secret}
        for record in turns(6, f"{secret} prompt")
    ]
    labels = [{"type": "custom-title", "customTitle": f"{secret} title"}, {"type": "tag", "tag": secret}]
    for identity in (ONE, TWO):
        write_session(
            tmp_path, identity, [*records, *labels], tail=f'{{"type":"{secret}\n'.encode() + b'{"torn": "' + secret.encode()
        )
    for arguments in (
        ("ls",),
        ("inventory", tmp_path),
        ("rename", "title", "x"),
        ("tag", "prompt", "x"),
        ("doctor",),
        ("ls", "--project", "/nowhere"),
    ):
        done = run(*arguments, "--home", tmp_path, environment={"STENO_DEBUG": "1"})
        assert secret not in done.stderr, arguments


@pytest.mark.parametrize("command", [("inventory",), ("rename", "--", "x")])
def test_an_ambiguous_name_lists_what_it_may_mean(tmp_path: Path, command: tuple[str, ...]) -> None:
    """Newest first, with ids, times, projects and titles, in which secrets are masked."""
    secret = "sk-ant-api03-" + "x9" * 40
    for identity, hour in ((ONE, 9), (TWO, 12)):
        said = [{**record, "timestamp": f"2026-01-01T{hour:02}:00:00Z"} for record in turns(6, f"Job {hour} {secret}")]
        write_session(tmp_path, identity, said)
    name, *rest = command
    done = run(name, "aaaa", *rest[1:], "--home", tmp_path, environment={"TZ": "UTC"})
    assert_one_clear_line(done)
    first, *listed, advice = done.stderr.splitlines()
    assert first == 'error: "aaaa" matches 2 sessions' + ("; nothing was written" if name == "rename" else "")
    assert [(line.split()[:3], "  work  " in line) for line in listed] == [
        (["aaaa0002", "Job", "12"], True),
        (["aaaa0001", "Job", "9"], True),
    ]
    assert secret not in done.stderr
    assert advice == f"try: python -m stenograph {name} aaaa0002 {' '.join([*rest[1:], '--home', str(tmp_path)])}"


@pytest.mark.parametrize("command", ["stats", "show", "turns"])
def test_an_ambiguous_name_lists_no_file_that_is_not_a_session(home: Path, command: str) -> None:
    write_session(home, session_id(0xAAAA0003), [], tail=b"not json\n")
    done = run(command, "aaaa", "--home", home)
    assert_one_clear_line(done)
    assert done.stderr.splitlines()[0] == 'error: "aaaa" matches 2 sessions'
    assert "aaaa0003" not in done.stderr


def test_an_ambiguous_name_lists_files_if_none_is_a_session(tmp_path: Path) -> None:
    for identity in (ONE, TWO):
        write_session(tmp_path, identity, [], tail=b"not json\n")
    done = run("show", "aaaa", "--home", tmp_path)
    assert_one_clear_line(done)
    assert f"{ONE}.jsonl" in done.stderr
    assert f"{TWO}.jsonl" in done.stderr


def test_an_unexpected_error_is_one_line_and_keeps_its_traceback_for_those_who_ask(home: Path) -> None:
    broken = home / "broken"
    broken.mkdir()
    (broken / "sitecustomize.py").write_text(
        "import stenograph.sessions.find as find\n"
        "def fail(*a, **k): raise RuntimeError('what a transcript says')\n"
        "find.list_homes = fail\n"
    )
    path = f"{broken}{os.pathsep}{SOURCE}"
    done = run("ls", "--home", home, environment={"PYTHONPATH": path})
    assert_one_clear_line(done)
    assert "RuntimeError" in done.stderr
    assert "transcript" not in done.stderr
    assert "Traceback" in run("ls", "--home", home, environment={"PYTHONPATH": path, "STENO_DEBUG": "1"}).stderr


LONG = "a" * 5000


@pytest.mark.parametrize(
    "arguments",
    [
        ("ls", "--home", LONG),
        ("ls", "--home", f"{LONG}/projects"),
        ("ls", "--home", "~nosuch"),
        ("ls", "--config", LONG),
        ("inventory", f"./{LONG}"),
        ("inventory", f"~nosuch/{ONE}.jsonl"),
        ("rename", f"{LONG}/{ONE}.jsonl", "x"),
        ("rename", "~nosuch/", "x"),
    ],
)
def test_paths_that_no_system_takes_are_one_clear_line(arguments: tuple[str, ...]) -> None:
    assert_one_clear_line(run(*arguments))


@pytest.mark.parametrize("variable", ["CLAUDE_CONFIG_DIR", "XDG_CONFIG_HOME", "HOME"])
def test_variables_that_no_system_takes_are_no_crash(variable: str) -> None:
    for value in (f"/{LONG}", f"/{LONG}/projects", "~nosuch"):
        for command in ("ls", "doctor"):
            done = run(command, environment={variable: value})
            assert "unexpected" not in done.stderr, (command, value)
            assert done.returncode in (0, 2)
            assert not done.stderr or done.stderr.startswith("error: ")


@pytest.mark.proof
@pytest.mark.skipif(sys.platform == "win32", reason="needs the permissions of POSIX systems")
def test_closed_folders_are_one_clear_line(open_home: Path) -> None:
    closed = open_home / "closed"
    (closed / "projects").mkdir(parents=True)
    write_session(closed / "home", ONE, turns(6))
    closed.chmod(0o000)
    try:
        for arguments in (
            ("ls", "--home", closed),
            ("ls", "--home", closed / "projects"),
            ("ls", "--home", closed / "home"),
            ("--home", closed / "home"),
            ("inventory", closed / "home"),
            ("inventory", closed),
            ("rename", closed / "home" / "x.jsonl", "x"),
            ("ls", "--config", closed / "c.toml"),
        ):
            assert_one_clear_line(run_unprivileged(*arguments))
        for variable in ("CLAUDE_CONFIG_DIR", "HOME"):
            for value in (closed, closed / "home", closed / "projects"):
                for command in ("ls", "doctor", "--json"):
                    done = run_unprivileged(command, environment={variable: str(value)})
                    assert "unexpected" not in done.stderr, (variable, value, command, done.stderr)
                    assert done.returncode in (0, 2)
                    assert not done.stderr or done.stderr.startswith("error: ")
    finally:
        closed.chmod(0o755)


@pytest.mark.skipif(sys.platform == "win32", reason="a folder in use can't be removed there")
@pytest.mark.parametrize(
    "command", ["ls --home x", "ls --project x --home HOME", "inventory .", "rename ./x.jsonl y", "ls --config x"]
)
def test_a_working_folder_that_is_gone_is_one_clear_line(home: Path, command: str) -> None:
    program = (
        f"mkdir gone && cd gone && rmdir ../gone && exec {sys.executable} -m stenograph {command.replace('HOME', str(home))}"
    )
    world = {**os.environ, "PYTHONPATH": str(SOURCE)}
    done = subprocess.run(["/bin/sh", "-c", program], capture_output=True, text=True, check=False, env=world)
    assert_one_clear_line(done)
    assert "cannot write the output" not in done.stderr


def test_without_a_users_folder_a_home_has_to_be_named(home: Path) -> None:
    """No HOME, and a user that the system does not know."""
    program = (
        "import os, sys\nfor name in ('HOME', 'XDG_CONFIG_HOME', 'XDG_STATE_HOME', 'XDG_CACHE_HOME'):\n"
        "    os.environ.pop(name, None)\n"
        "import pwd\ndef unknown(uid): raise KeyError(uid)\npwd.getpwuid = unknown\n"
        "from stenograph.cli import main\nsys.argv[0] = 'steno'\nmain()"
    )

    def steno(*arguments: str) -> subprocess.CompletedProcess[str]:
        world = {**os.environ, "PYTHONPATH": str(SOURCE)}
        return subprocess.run([sys.executable, "-c", program, *arguments], capture_output=True, text=True, check=False, env=world)

    refused = steno("ls")
    assert_one_clear_line(refused)
    assert "--home" in refused.stderr
    assert steno("ls", "--home", str(home)).returncode == 0
    assert steno("doctor", "--home", str(home)).returncode == 0
