"""`steno resume` and `steno tail` with real clients."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from lab.clients import client_environment, run_client
from tests.cli.running import SOURCE, run
from tests.conftest import Client

from stenograph.testing.scripted_api import ScriptedApi, script_prompt

RELEASES = ["2.0.76", "2.1.45", "2.1.325"]


def _steno(program: Path, home: Path, api: ScriptedApi, *arguments: str) -> subprocess.CompletedProcess[str]:
    """`steno` in the client's own environment, started from a folder that is not the session's."""
    environment = client_environment(home, api.url)
    environment["PATH"] = f"{program.parent}{os.pathsep}{environment['PATH']}"
    environment["PYTHONPATH"] = str(SOURCE)
    return subprocess.run(
        [sys.executable, "-m", "stenograph", *arguments],
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


@pytest.mark.sample
@pytest.mark.clients
@pytest.mark.parametrize("release", RELEASES)
def test_the_client_goes_on_with_the_session(release: str, client: Client, tmp_path: Path) -> None:
    program = client(release)
    work = tmp_path / "some.work ü"
    work.mkdir()
    home = tmp_path / "home"
    first, second = (
        script_prompt([[{"type": "text", "text": "One."}]], "First"),
        script_prompt([[{"type": "text", "text": "Two."}]], "Second"),
    )
    with ScriptedApi() as api:
        began = run_client(program, home=home, cwd=work, args=["-p", first], base_url=api.url)
        assert began.returncode == 0, began.stderr
        # Print mode of 2.0.x leaves empty files beside the session.
        (path,) = (each for each in (home / ".claude" / "projects").glob("*/*-*-*-*-*.jsonl") if b"First" in each.read_bytes())
        before = path.read_bytes()
        asked = len(api.requests)
        done = _steno(program, home, api, "resume", path.stem[:13], "--", "-p", second)
        assert (done.returncode, done.stdout.strip()) == (0, "Two."), done.stderr
        sent = [json.dumps(request.body["messages"]) for request in api.requests[asked:]]
    assert any("First SCRIPT" in messages and "One." in messages and "Second SCRIPT" in messages for messages in sent)
    assert path.read_bytes().startswith(before)
    shown = run("tail", path, "--once", "-n", "2").stdout.splitlines()
    assert [line.strip() for line in shown if line.strip() in ("One.", "Two.")] == ["One.", "Two."]


@pytest.mark.clients
@pytest.mark.parametrize("release", RELEASES)
def test_the_client_goes_on_with_a_file_outside_any_home(release: str, client: Client, tmp_path: Path) -> None:
    """Rule 8."""
    program = client(release)
    work = tmp_path / "work"
    work.mkdir()
    home = tmp_path / "home"
    first, second = (
        script_prompt([[{"type": "text", "text": "One."}]], "First"),
        script_prompt([[{"type": "text", "text": "Two."}]]),
    )
    with ScriptedApi() as api:
        assert run_client(program, home=home, cwd=work, args=["-p", first], base_url=api.url).returncode == 0
        (path,) = (each for each in (home / ".claude" / "projects").glob("*/*-*-*-*-*.jsonl") if b"First" in each.read_bytes())
        path = path.rename(tmp_path / path.name)
        asked = len(api.requests)
        done = _steno(program, home, api, "resume", str(path), "--", "-p", second)
        assert (done.returncode, done.stdout.strip()) == (0, "Two."), done.stderr
        sent = [json.dumps(request.body["messages"]) for request in api.requests[asked:]]
    assert any("First SCRIPT" in messages and "One." in messages for messages in sent)
