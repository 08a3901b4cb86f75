"""`steno demo --copy`, and the bug report of `steno doctor`."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from tests.cli.running import assert_one_clear_line, run
from tests.homes import session_id, turns, write_session

SECRET = "sentinelkingfisher"


def test_a_copy_of_the_demo_can_be_edited(tmp_path: Path) -> None:
    done = run("demo", "--copy", tmp_path / "demo")
    assert (done.returncode, done.stderr) == (0, "")
    assert "Copied 8 sessions to " in done.stdout  # as many as the demo's README lists
    assert run("rename", "4583", "Mine", "--home", tmp_path / "demo").returncode == 0
    assert_one_clear_line(run("demo", "--copy", tmp_path / "demo"))


def test_a_report_has_no_word_of_sessions_settings_or_paths(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = tmp_path / SECRET
    records = [record | {"cwd": f"/home/{SECRET}", "gitBranch": SECRET, "version": SECRET} for record in turns(6, SECRET)]
    write_session(home, session_id(1), records, project=f"-home-{SECRET}")
    (home / "projects" / f"-home-{SECRET}" / f"{SECRET}.jsonl").write_text("{")
    (tmp_path / "c.toml").write_text(f"{SECRET} = 1\n")
    monkeypatch.setenv("TERM", SECRET)
    for options in ((), ("--config", tmp_path / "c.toml"), ("--home", tmp_path / f"{SECRET}-missing")):
        done = run("doctor", "--report", "--home", home, *options)
        assert done.returncode == 0, done.stderr
        assert "- stenograph: " in done.stdout
        assert "2 sessions" in done.stdout
        shown = done.stdout + done.stderr
        assert SECRET not in shown
        assert str(tmp_path) not in shown
        assert sys.executable not in shown
