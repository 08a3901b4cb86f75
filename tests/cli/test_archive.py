"""`steno archive`: what is kept, what expires, and how keeping is installed."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest
from lab.clients import client_environment, run_client
from tests.cli.running import SOURCE, run
from tests.conftest import Client
from tests.homes import session_id, turns, write_session

from stenograph.archive import expiring_sessions
from stenograph.testing.scripted_api import ScriptedApi, script_prompt

DAY = 86_400


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """Three sessions: one past its time, one that expires in two days, one of today."""
    now = time.time()
    for number, days in ((1, 40), (2, 28), (3, 0)):
        write_session(tmp_path / "home", session_id(number), turns(3, f"Prompt {number}"), modified=now - days * DAY)
    return tmp_path / "home"


def asked(*arguments: str | Path) -> Any:
    done = run(*arguments, "--json")
    assert done.returncode in (0, 1), done.stderr
    return json.loads(done.stdout)


def test_it_shows_what_is_kept_and_what_is_not(home: Path) -> None:
    page = asked("archive", "--home", home)
    assert (page["kept"]["sessions"], page["expiring"], page["automatic"]) == (0, 2, False)
    assert page["retention"] == [{"home": str(home), "days": 30, "configured": False}]
    kept = asked("archive", "keep", "--home", home)
    assert (kept["kept"], kept["unchanged"], kept["files"]) == (3, 0, 3)
    page = asked("archive", "--home", home)
    assert (page["kept"]["sessions"], page["kept"]["only_here"], page["expiring"]) == (3, 0, 0)
    next((home / "projects").rglob(f"{session_id(1)}.jsonl")).unlink()
    assert asked("archive", "--home", home)["kept"]["only_here"] == 1
    again = asked("archive", "keep", "--home", home)
    assert (again["kept"], again["unchanged"], again["read"]) == (0, 2, 0)


def test_one_session_is_kept_by_its_name(home: Path) -> None:
    assert asked("archive", "keep", session_id(2), "--home", home)["kept"] == 1
    rows = asked("archive", "--expiring", "7d", "--home", home)["sessions"]
    assert [(row["id"], row["kept"]) for row in rows] == [(session_id(1), False), (session_id(2), True)]


@pytest.mark.parametrize(
    ("settings", "expiring"),
    [
        ({}, [1, 2]),
        ({"cleanupPeriodDays": 365}, []),
        ({"cleanupPeriodDays": 30}, [1, 2]),
        ({"cleanupPeriodDays": 5}, [1, 2, 3]),
        ({"cleanupPeriodDays": 0}, []),
        ({"cleanupPeriodDays": "ten"}, [1, 2]),
    ],
)
def test_what_expires_follows_the_clients_settings(
    home: Path, tmp_path: Path, settings: dict[str, object], expiring: list[int]
) -> None:
    (home / "settings.json").write_text(json.dumps(settings))
    found = [each.file.session_id for each in expiring_sessions(tmp_path / "archive", [home])]
    assert found == [session_id(number) for number in expiring]


def test_the_time_can_be_given(home: Path) -> None:
    assert [row["id"] for row in asked("archive", "--expiring", "1d", "--home", home)["sessions"]] == [session_id(1)]
    assert run("archive", "--expiring", "soon", "--home", home).returncode == 2


def test_a_list_of_what_expires_reads_well(home: Path) -> None:
    shown = run("archive", "--expiring", "--home", home).stdout.splitlines()
    assert shown[0].startswith("  Claude Code will delete 2 sessions by ")
    assert shown[0].endswith(", none kept")
    assert session_id(1) in shown[3]
    assert shown[-1].startswith("  try: ")


@pytest.mark.parametrize("words", [("search", "Prompt"), ("history", "a.py"), ("usage",), ("stats",), ("waste",)], ids=" ".join)
def test_sessions_are_kept_by_what_syncs_the_index_once_that_is_configured(words: tuple[str, ...], home: Path) -> None:
    config = Path(os.environ["XDG_CONFIG_HOME"]) / "stenograph" / "config.toml"
    config.parent.mkdir(parents=True)
    run(*words, "--home", home)
    assert asked("archive", "--home", home)["kept"]["sessions"] == 0
    config.write_text("[archive]\nkeep = true\n")
    run(*words, "--home", home)
    page = asked("archive", "--home", home)
    assert (page["kept"]["sessions"], page["automatic"]) == (3, True)


def test_the_overview_warns_about_sessions_that_are_deleted_soon(home: Path) -> None:
    page = asked("--home", home)
    assert (page["expiring"], page["expiring_days"], page["overdue"]) == (2, 7, 1)
    told = "Claude Code will delete 2 sessions: 1 the next time it starts, the others within 7 days"
    assert f"\n! {told}\n  try: " in run("--home", home).stdout
    assert f"\n! {told}\n  try: " in run("archive", "--home", home).stdout
    run("archive", "keep", "--home", home)
    assert "will delete" not in run("--home", home).stdout


@pytest.mark.parametrize(
    ("days", "told"), [(300, "delete 1 session the next time it starts\n"), (28, "delete 1 session within 7 days\n")]
)
def test_a_deletion_that_is_long_overdue_is_not_announced_for_the_next_days(days: int, told: str, tmp_path: Path) -> None:
    write_session(tmp_path, session_id(1), turns(3), modified=time.time() - days * DAY)
    assert told in run("--home", tmp_path).stdout


def test_doctor_warns_about_sessions_that_are_deleted_soon(home: Path) -> None:
    (warning,) = asked("doctor", "--home", home)["warnings"]
    assert warning["detail"].startswith("Claude Code will delete 2 sessions: 1 the next time")
    assert "archive keep" in warning["fix"]
    run("archive", "keep", "--home", home)
    assert asked("doctor", "--home", home)["warnings"] == []


def test_nothing_threatens_the_demo() -> None:
    done = run("--demo", "archive")
    assert (done.returncode, done.stderr) == (0, "")
    assert "will delete" not in done.stdout


def test_the_demo_is_not_kept() -> None:
    assert run("--demo", "archive", "keep").returncode == 2


# Installing

SETTINGS = '{\n\t"env": {"A": "1"},\n\t"hooks": {"Stop": []}\n}\n'


def test_the_hook_is_installed_and_removed_without_a_trace(home: Path) -> None:
    path = home / "settings.json"
    path.write_text(SETTINGS)
    plan = run("archive", "install", "--home", home)
    assert plan.returncode == 0
    assert "archive keep --quiet" in plan.stdout
    assert path.read_text() == SETTINGS
    assert run("archive", "install", "--dry-run", "--home", home).returncode == 0
    assert path.read_text() == SETTINGS
    done = asked("archive", "install", "--apply", "--home", home)
    assert (done["applied"], done["way"]) == (True, "hook")
    hooks = json.loads(path.read_text())["hooks"]
    assert set(hooks) == {"SessionStart", "Stop", "SessionEnd"}
    assert asked("archive", "--home", home)["installed"] == [str(path)]
    assert asked("archive", "install", "--apply", "--home", home)["changed"] is False
    assert run("archive", "uninstall", "--apply", "--home", home).returncode == 0
    assert path.read_text() == SETTINGS
    assert asked("archive", "uninstall", "--home", home)["changed"] is False


def test_the_hook_finds_the_home_from_any_directory(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(home.parent)
    assert run("archive", "install", "--apply", "--home", home.name).returncode == 0
    hooks = json.loads((home / "settings.json").read_text())["hooks"]
    assert f" --home {home} archive keep" in hooks["Stop"][0]["hooks"][0]["command"]


def test_the_hook_keeps_sessions_in_the_background(home: Path) -> None:
    run("archive", "install", "--apply", "--home", home)
    (command,) = {
        hook["command"]
        for groups in json.loads((home / "settings.json").read_text())["hooks"].values()
        for group in groups
        for hook in group["hooks"]
    }
    subprocess.run(["sh", "-c", command], input=b"{}", check=True, timeout=10, env={**os.environ, "PYTHONPATH": str(SOURCE)})
    until = time.monotonic() + 30
    while asked("archive", "--home", home)["kept"]["sessions"] < 3 and time.monotonic() < until:
        time.sleep(0.2)
    assert asked("archive", "--home", home)["kept"]["sessions"] == 3


def systemctl(folder: Path, exit_code: int) -> dict[str, str]:
    """A system where `systemctl` notes what it is asked for."""
    program = folder / "bin" / "systemctl"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\necho "$@" >> {folder}/asked\nexit {exit_code}\n')
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    return {"PATH": f"{program.parent}{os.pathsep}{os.environ['PATH']}"}


def test_the_timer_is_installed_and_removed(home: Path, tmp_path: Path) -> None:
    environment = systemctl(tmp_path, 0)
    units = Path(os.environ["XDG_CONFIG_HOME"]) / "systemd" / "user"
    done = run("archive", "install", "--timer", "--apply", "--home", home, environment=environment)
    assert done.returncode == 0, done.stderr
    service = (units / "stenograph-archive.service").read_text()
    assert f'"--home" "{home}" "archive" "keep" "--quiet"' in service
    assert "Persistent=true" in (units / "stenograph-archive.timer").read_text()
    assert (tmp_path / "asked").read_text().splitlines() == [
        "--user daemon-reload",
        "--user enable --now stenograph-archive.timer",
    ]
    assert asked("archive", "--home", home)["installed"] == [str(units / "stenograph-archive.timer")]
    assert run("archive", "uninstall", "--timer", "--apply", "--home", home, environment=environment).returncode == 0
    assert list(units.iterdir()) == []


def test_a_timer_that_systemd_refuses_is_not_left_behind(home: Path, tmp_path: Path) -> None:
    done = run("archive", "install", "--timer", "--apply", "--home", home, environment=systemctl(tmp_path, 1))
    assert done.returncode == 2
    assert list((Path(os.environ["XDG_CONFIG_HOME"]) / "systemd" / "user").iterdir()) == []


@pytest.mark.clients
@pytest.mark.parametrize("release", ["2.0.76", "2.1.325"])
def test_a_real_client_keeps_its_session(release: str, client: Client, tmp_path: Path) -> None:
    program = client(release)
    work = tmp_path / "work"
    work.mkdir()
    home = tmp_path / "home"
    (home / ".claude").mkdir(parents=True)
    done = run("archive", "install", "--apply", "--home", home / ".claude")
    assert done.returncode == 0, done.stderr
    with ScriptedApi() as api:
        prompt = script_prompt([[{"type": "text", "text": "One."}]], "First")
        began = run_client(program, home=home, cwd=work, args=["-p", prompt], base_url=api.url)
        environment = client_environment(home, api.url)
    assert began.returncode == 0, began.stderr
    data = {"XDG_DATA_HOME": environment.get("XDG_DATA_HOME") or str(home / ".local" / "share")}
    until = time.monotonic() + 30
    page: Any = {"kept": {"sessions": 0}}
    while not page["kept"]["sessions"] and time.monotonic() < until:
        time.sleep(0.2)
        page = json.loads(run("archive", "--home", home / ".claude", "--json", environment=data).stdout)
    assert page["kept"]["sessions"] >= 1


@pytest.mark.clients
@pytest.mark.parametrize("release", ["2.0.76", "2.1.45", "2.1.325"])
def test_a_real_client_resumes_a_restored_session(release: str, client: Client, tmp_path: Path) -> None:
    program = client(release)
    work = tmp_path / "work"
    work.mkdir()
    home = tmp_path / "home"
    first, second = (
        script_prompt([[{"type": "text", "text": "One."}]], "First"),
        script_prompt([[{"type": "text", "text": "Two."}]], "Second"),
    )
    with ScriptedApi() as api:
        assert run_client(program, home=home, cwd=work, args=["-p", first], base_url=api.url).returncode == 0
        (path,) = (each for each in (home / ".claude" / "projects").glob("*/*-*-*-*-*.jsonl") if b"First" in each.read_bytes())
        old = time.time() - 40 * DAY
        os.utime(path, (old, old))
        before = path.read_bytes()
        assert asked("archive", "keep", "--home", home / ".claude")["kept"] >= 1
        path.unlink()
        lost = run_client(program, home=home, cwd=work, args=["-p", "--resume", path.stem, second], base_url=api.url)
        assert lost.returncode != 0
        done = asked("restore", path.stem[:13], "--apply", "--home", home / ".claude")
        assert (done["applied"], done["files"][0]["renewed"]) == (True, True)
        assert path.read_bytes() == before
        sent = len(api.requests)
        resumed = run_client(program, home=home, cwd=work, args=["-p", "--resume", path.stem, second], base_url=api.url)
        assert resumed.returncode == 0, resumed.stderr
        messages = [json.dumps(request.body["messages"]) for request in api.requests[sent:]]
    assert any("First SCRIPT" in each and "One." in each and "Second SCRIPT" in each for each in messages)


def test_a_session_is_restored_after_a_plan(home: Path) -> None:
    path = next((home / "projects").rglob(f"{session_id(1)}.jsonl"))
    before = path.read_bytes()
    assert run("restore", session_id(1), "--home", home).returncode == 2
    asked("archive", "keep", "--home", home)
    assert asked("restore", session_id(1), "--home", home)["changed"] is False
    path.unlink()
    plan = run("restore", session_id(1)[:8], "--home", home)
    assert (plan.returncode, path.exists()) == (0, False)
    assert "Apply: " in plan.stdout
    done = asked("restore", session_id(1), "--apply", "--home", home)
    assert path.read_bytes() == before
    path.write_bytes(before + b"{}\n")
    refused = run("restore", session_id(1), "--apply", "--home", home)
    assert refused.returncode == 3
    assert path.read_bytes() == before + b"{}\n"
    path.write_bytes(before)
    assert run("undo", "--apply", "--entry", str(done["entry"])).returncode == 0
    assert not path.exists()
