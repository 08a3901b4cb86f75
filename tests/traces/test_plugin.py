"""The plugin folder: what it says, and that real clients take it and report through it."""

from __future__ import annotations

import json
import os
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest
from lab.clients import client_environment, run_client
from tests.cli.running import SOURCE
from tests.conftest import Client
from tests.traces.test_hook import holding
from tests.traces.test_install import events_in, fail_a_turn

from stenograph import __version__
from stenograph.client_settings.events import HOOK_EVENT_SINCE
from stenograph.testing.scripted_api import ScriptedApi, script_prompt
from stenograph.traces.install import EVENTS, hooks_for, shared_hook_command

ROOT = SOURCE.parent
PLUGIN = ROOT / "plugin"


def _json(path: Path) -> Any:
    return json.loads(path.read_bytes())


def test_the_marketplace_leads_to_the_plugin() -> None:
    marketplace = _json(ROOT / ".claude-plugin" / "marketplace.json")
    (entry,) = marketplace["plugins"]
    manifest = _json(PLUGIN / ".claude-plugin" / "plugin.json")
    assert (ROOT / entry["source"]).resolve() == PLUGIN
    assert entry["name"] == manifest["name"] == "stenograph"
    assert manifest["version"] == __version__


def test_its_hooks_are_those_of_the_install_with_newer_events_in_a_file_of_their_own() -> None:
    manifest = _json(PLUGIN / ".claude-plugin" / "plugin.json")
    common, newer = _json(PLUGIN / "hooks" / "hooks.json")["hooks"], _json(PLUGIN / manifest["hooks"])["hooks"]
    assert set(newer) == set(HOOK_EVENT_SINCE)
    assert {**common, **newer} == {event: [{"hooks": [hook]}] for event, hook in hooks_for(shared_hook_command(), EVENTS).items()}
    assert len(common) + len(newer) == len(EVENTS)


@pytest.fixture
def marketplace(tmp_path: Path) -> Path:
    """A copy, so that a client that writes there does so elsewhere."""
    place = tmp_path / "marketplace"
    shutil.copytree(PLUGIN, place / "plugin")
    shutil.copytree(ROOT / ".claude-plugin", place / ".claude-plugin")
    return place


def _environment(home: Path, folder: Path) -> dict[str, str]:
    """A path on which there is `steno`."""
    folder.mkdir()
    steno = folder / "steno"
    steno.write_text(f"#!/bin/sh\nPYTHONPATH='{SOURCE}' exec '{sys.executable}' -m stenograph \"$@\"\n")
    steno.chmod(0o755)
    return {"PATH": f"{folder}{os.pathsep}{client_environment(home, '')['PATH']}"}


@pytest.mark.sample
@pytest.mark.clients
def test_the_newest_client_finds_nothing_wrong_with_it(client: Client, marketplace: Path, tmp_path: Path) -> None:
    program = client("2.1.325")
    for place in (marketplace, marketplace / "plugin"):
        done = run_client(
            program,
            home=tmp_path / "home",
            cwd=tmp_path,
            args=["plugin", "validate", "--strict", str(place)],
            base_url="http://127.0.0.1:9",
        )
        assert (done.returncode, b"Validation passed" in done.stdout) == (0, True), done.stdout + done.stderr


@pytest.mark.clients
@pytest.mark.parametrize("release", ["2.0.76", "2.1.45", "2.1.325"])
def test_a_client_with_the_plugin_reports_its_turn(release: str, client: Client, marketplace: Path, tmp_path: Path) -> None:
    program = client(release)
    home, work = tmp_path / "home", tmp_path / "work"
    work.mkdir()
    environment = _environment(home, tmp_path / "bin")

    def ask(*args: str, url: str) -> bytes:
        done = run_client(program, home=home, cwd=work, args=args, base_url=url, extra_environment=environment)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    with ScriptedApi() as api, holding(home / ".local" / "state" / "stenograph" / "traces"):
        ask("plugin", "marketplace", "add", str(marketplace), url=api.url)
        ask("plugin", "install", "stenograph@stenograph", url=api.url)
        assert events_in(home) == []
        assert ask("-p", script_prompt([[{"text": "Done."}]], "Go"), url=api.url).strip() == b"Done."
        found = events_in(home)
        # 2.0.76 has sub-agents of its own that warm up.
        names = [event["hook_event_name"] for event in found if event["hook_event_name"] != "SubagentStop"]
        assert names == ["SessionStart", "Stop", "SessionEnd"]
        assert len({event["transcript_path"] for event in found}) == 1
        if release == "2.1.325":
            assert Path(fail_a_turn(program, home, work, environment)["transcript_path"]).is_file()


@pytest.mark.clients
def test_without_steno_the_plugin_does_nothing_in_silence(client: Client, marketplace: Path, tmp_path: Path) -> None:
    program = client("2.1.325")
    home, work = tmp_path / "home", tmp_path / "work"
    work.mkdir()
    # Not even a Python of ours on the path.
    environment = {"PATH": f"{Path(shutil.which('node') or '/usr/bin/node').parent}{os.pathsep}/usr/bin{os.pathsep}/bin"}
    with ScriptedApi() as api:
        for args in (
            ["plugin", "marketplace", "add", str(marketplace)],
            ["plugin", "install", "stenograph@stenograph"],
            ["-p", script_prompt([[{"text": "Done."}]], "Go")],
        ):
            done = run_client(program, home=home, cwd=work, args=args, base_url=api.url, extra_environment=environment)
            assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout.strip() == b"Done."
    assert events_in(home) == []
