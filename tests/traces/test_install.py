"""`steno trace install` and `uninstall`: the change shown, made and taken back, and what real clients do with it."""

from __future__ import annotations

import hashlib
import json
import os
import stat
import subprocess
import sys
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from lab.clients import client_environment, run_client
from lab.terminal import Terminal
from tests.cli.running import SOURCE, assert_one_clear_line, run, run_in_terminal
from tests.conftest import Client
from tests.homes import session_id, write_session
from tests.traces.test_hook import holding

from stenograph.archive import Archive
from stenograph.client_settings import events_known_to
from stenograph.errors import UsageError
from stenograph.testing.lines import user, write
from stenograph.testing.scripted_api import LoopbackServer, LoopbackService, MessagesHandler, ScriptedApi, script_prompt
from stenograph.traces.install import EVENTS, hook_command, oldest_release, plan_uninstall, shared_hook_command

OLD_EVENTS = {"Stop", "SubagentStop", "SessionStart", "SessionEnd"}
ALL_EVENTS = {*OLD_EVENTS, "StopFailure", "PostCompact"}


@pytest.fixture(autouse=True)
def _no_client_on_the_path(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """The machine's own client must not decide."""
    monkeypatch.setenv("PATH", f"{tmp_path_factory.mktemp('bin')}{os.pathsep}/usr/bin{os.pathsep}/bin")


@pytest.fixture
def home() -> Path:
    found = Path(os.environ["HOME"]) / ".claude"
    found.mkdir()
    return found


def hooks_of(settings: Path) -> dict[str, list[dict[str, Any]]]:
    hooks = json.loads(settings.read_bytes()).get("hooks", {})
    return {event: [hook for group in groups for hook in group["hooks"]] for event, groups in hooks.items()}


def ok(*arguments: str | Path) -> str:
    done = run("trace", *arguments)
    assert (done.returncode, "Traceback" in done.stderr) == (0, False), done.stderr
    return done.stdout


# The change


def test_it_is_shown_and_not_made_where_nobody_can_be_asked(home: Path) -> None:
    done = run("trace", "install")
    assert done.returncode == 0
    assert "note: nothing was written\ntry: add --apply\n" in done.stderr
    assert '+    "Stop": [' in done.stdout
    assert f"+++ {home / 'settings.json'}" in done.stdout
    assert list(home.iterdir()) == []


def test_a_person_is_asked(home: Path) -> None:
    for answer, is_made in (("n", False), ("y", True)):
        assert "Apply? [y/N] " in run_in_terminal("trace", "install", answers=f"{answer}\n")
        assert (home / "settings.json").exists() is is_made


def test_every_event_gets_a_hook_that_ends_soon(home: Path) -> None:
    ok("install", "--apply", "--all-events")
    hooks = hooks_of(home / "settings.json")
    assert set(hooks) == ALL_EVENTS
    for event, found in hooks.items():
        (hook,) = found
        assert hook == {"type": "command", "command": hook_command(), "timeout": 2 if event == "SessionEnd" else 10}


def test_again_changes_nothing_and_replaces_an_older_install(home: Path) -> None:
    settings = home / "settings.json"
    ok("install", "--apply")
    before = settings.read_bytes()
    assert "Nothing to do" in ok("install", "--apply")
    assert settings.read_bytes() == before
    older = before.replace(sys.executable.encode(), b"/opt/older/bin/python")
    settings.write_bytes(older)
    ok("install", "--apply")
    assert settings.read_bytes() == before
    # And one of other events.
    ok("install", "--apply", "--all-events")
    assert {event: len(found) for event, found in hooks_of(settings).items()} == dict.fromkeys(EVENTS, 1)


THEIRS = """{
    "model": "opus",
    "permissions": { "allow": [ "Bash(ls:*)" ] },
    "env": {"SOME_TOKEN": "sk-ant-api03-SENTINELsentinel0123456789abcdef"},
    "hooks": {
        "Stop": [
            { "hooks": [ { "type": "command", "command": "say done" } ] }
        ],
        "PostToolUse": []
    },
    "unknown": [1.0, 1e3, "\\u00e9"]
}"""


def test_uninstall_gives_the_file_back_byte_for_byte(home: Path) -> None:
    settings = home / "settings.json"
    settings.write_text(THEIRS)
    settings.chmod(0o644)
    ok("install", "--apply")
    assert hooks_of(settings)["Stop"][0]["command"] == "say done"
    assert len(hooks_of(settings)["Stop"]) == 2
    assert settings.stat().st_mode & 0o777 == 0o644
    ok("install", "--apply", "--all-events")
    ok("uninstall", "--apply")
    assert settings.read_text() == THEIRS
    assert settings.stat().st_mode & 0o777 == 0o644
    assert "Nothing to do" in ok("uninstall", "--apply")


def test_uninstall_after_other_changes_takes_out_our_hooks_alone(home: Path) -> None:
    settings = home / "settings.json"
    settings.write_text(THEIRS)
    ok("install", "--apply", "--all-events")
    settings.write_text(settings.read_text().replace('"opus"', '"sonnet"'))
    ok("uninstall", "--apply")
    assert settings.read_text() == THEIRS.replace('"opus"', '"sonnet"')


def without_hooks(settings: Path) -> bool:
    """Whether no word of us is in a file: our commands name either the script or the command."""
    return b"stenograph" not in settings.read_bytes() and b"steno trace" not in settings.read_bytes()


def test_uninstall_leaves_no_hook_of_an_install_before_an_edit(home: Path) -> None:
    settings = home / "settings.json"
    settings.write_text(THEIRS)
    ok("install", "--apply")
    settings.write_text(settings.read_text().replace('"opus"', '"sonnet"'))
    ok("install", "--apply", "--all-events")
    assert "Removed the hooks from" in ok("uninstall", "--apply")
    assert without_hooks(settings)
    assert settings.read_text() == THEIRS.replace('"opus"', '"sonnet"')
    assert "no hooks are installed" in ok()


@pytest.mark.parametrize(
    ("old", "new"),
    [('"timeout": 10', '"timeout": 60'), (sys.executable, "/opt/older/bin/python")],
    ids=["another time-out", "another Python"],
)
def test_uninstall_leaves_no_hook_of_another_install(old: str, new: str, home: Path) -> None:
    settings = home / "settings.json"
    settings.write_text(THEIRS)
    ok("install", "--apply")
    settings.write_text(settings.read_text().replace(old, new))
    ok("install", "--apply")
    assert new not in settings.read_text()
    ok("uninstall", "--apply")
    assert settings.read_text() == THEIRS


def test_it_is_not_called_done_where_a_hook_would_be_left(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = home / "settings.json"
    ok("install", "--apply")
    monkeypatch.setattr("stenograph.client_settings.files.remove_hooks", lambda text, _: text)
    with pytest.raises(UsageError, match="cannot remove the hooks of steno"):
        plan_uninstall(settings, Archive(tmp_path / "archive"))


def test_hooks_that_were_taken_out_by_hand_and_put_in_again_leave_the_file_of_that_hand(home: Path) -> None:
    settings = home / "settings.json"
    ok("install", "--apply")
    settings.write_text("{ }")
    ok("install", "--apply")
    ok("uninstall", "--apply")
    assert settings.read_text() == "{ }"


def test_a_file_that_we_made_goes_also_after_an_edit_that_was_taken_back(home: Path) -> None:
    settings = home / "settings.json"
    ok("install", "--apply")
    settings.write_text(settings.read_text().replace("{", '{"model": "opus",', 1))
    ok("install", "--apply", "--all-events")
    settings.write_text(settings.read_text().replace('{"model": "opus",', "{", 1))
    ok("uninstall", "--apply")
    assert list(home.iterdir()) == []


def test_a_file_that_we_made_goes_again(home: Path) -> None:
    settings = home / "settings.json"
    ok("install", "--apply")
    ok("uninstall", "--apply")
    assert not settings.exists()
    ok("install", "--apply")
    settings.write_text(settings.read_text().replace('{\n  "hooks"', '{\n  "model": "opus",\n  "hooks"', 1))
    ok("uninstall", "--apply")
    assert json.loads(settings.read_bytes()) == {"model": "opus"}


def test_a_folder_that_we_made_goes_again(tmp_path: Path) -> None:
    project = tmp_path / "project"
    project.mkdir()
    os.chdir(project)
    ok("install", "--local", "--apply")
    assert [path.name for path in (project / ".claude").iterdir()] == ["settings.local.json"]
    ok("uninstall", "--local", "--apply")
    assert list(project.iterdir()) == []


def test_a_folder_that_we_made_goes_with_the_last_file_in_it(tmp_path: Path) -> None:
    project = tmp_path / "project"
    project.mkdir()
    os.chdir(project)
    ok("install", "--local", "--apply")
    ok("install", "--project", "--apply")
    ok("uninstall", "--local", "--apply")
    assert [path.name for path in (project / ".claude").iterdir()] == ["settings.json"]
    ok("uninstall", "--project", "--apply")
    assert list(project.iterdir()) == []
    # One that somebody else made stays, though once there was one of ours.
    (project / ".claude").mkdir()
    ok("install", "--local", "--apply")
    ok("uninstall", "--local", "--apply")
    assert [path.name for path in project.iterdir()] == [".claude"]


def test_uninstall_points_to_hooks_elsewhere(home: Path, tmp_path: Path) -> None:
    ok("install", "--local", "--apply")
    told = ok("uninstall", "--apply")
    local = tmp_path / ".claude" / "settings.local.json"
    assert "Nothing to do" in told
    assert f"{local} also has hooks; to remove them: python -m stenograph trace uninstall --local\n" in told
    ok("install", "--apply")
    ok("install", "--project", "--apply")
    steps = json.loads(ok("uninstall", "--local", "--apply", "--json"))["next"]
    assert [step.partition(": ")[::2] for step in steps] == [
        (f"{home / 'settings.json'} also has hooks; to remove them", "python -m stenograph trace uninstall"),
        (
            f"{tmp_path / '.claude' / 'settings.json'} also has hooks; to remove them",
            "python -m stenograph trace uninstall --project",
        ),
    ]


def test_hooks_in_two_places_are_warned_of(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ok("install", "--apply")
    for place, is_told in (("--project", True), ("--local", False)):
        warnings = json.loads(ok("install", place, "--all-events", "--json"))["warnings"]
        told = f"{home / 'settings.json'} also has the hooks, so each event would be recorded twice; remove one of them"
        assert (told in warnings) is is_told
    # In the user's own folder the project's settings are the home's.
    monkeypatch.chdir(home.parent)
    assert "too" not in ok("install", "--json")


def test_an_undo_takes_the_install_back_as_well(home: Path) -> None:
    settings = home / "settings.json"
    settings.write_text(THEIRS)
    entry = json.loads(ok("install", "--apply", "--json"))["entry"]
    assert run("undo", "--apply", "--entry", str(entry)).returncode == 0
    assert settings.read_text() == THEIRS
    ok("install", "--apply")
    ok("uninstall", "--apply")
    assert settings.read_text() == THEIRS


def test_without_the_archive_our_hooks_still_go(home: Path) -> None:
    settings = home / "settings.json"
    settings.write_text(THEIRS)
    ok("install", "--apply")
    archive = Path(os.environ["XDG_DATA_HOME"]) / "stenograph" / "archive"
    archive.rename(archive.with_name("elsewhere"))
    ok("uninstall", "--apply")
    assert settings.read_text() == THEIRS


def test_a_link_is_written_through(home: Path, tmp_path: Path) -> None:
    real = tmp_path / "dotfiles" / "settings.json"
    real.parent.mkdir()
    real.write_text(THEIRS)
    (home / "settings.json").symlink_to(real)
    ok("install", "--apply")
    assert (home / "settings.json").is_symlink()
    assert "Stop" in hooks_of(real)
    ok("uninstall", "--apply")
    assert (home / "settings.json").is_symlink()
    assert real.read_text() == THEIRS


@pytest.mark.parametrize(
    "text", ["{", '{"a": 1,}', '// mine\n{"a": 1}', "[]", '{"hooks": 7}', '{"hooks": {"Stop": 1}}', "\udcff"]
)
def test_a_file_that_is_no_json_is_left_as_it_is(text: str, home: Path) -> None:
    settings = home / "settings.json"
    settings.write_bytes(text.encode(errors="surrogateescape"))
    for command in ("install", "uninstall"):
        done = run("trace", command, "--apply")
        assert_one_clear_line(done)
        assert "was not changed" in done.stderr
    assert settings.read_bytes() == text.encode(errors="surrogateescape")


def test_keys_beside_the_change_are_masked(home: Path) -> None:
    text = '{"env": {"K": "sk-ant-api03-SENTINELsentinel0123456789abcdef"}}'
    (home / "settings.json").write_text(text)
    for options in (("--json",), ("--apply",)):
        shown = ok("install", *options)
        assert "[anthropic-key:1]" in shown
        assert "SENTINEL" not in shown
    assert "SENTINEL" in (home / "settings.json").read_text()


def test_a_projects_settings_name_no_path_of_this_machine(tmp_path: Path) -> None:
    ok("install", "--project", "--apply")
    settings = tmp_path / ".claude" / "settings.json"
    assert sys.prefix not in settings.read_text()
    # Whoever shares them may have any client.
    assert set(hooks_of(settings)) == OLD_EVENTS
    assert_one_clear_line(run("trace", "install", "--project", "--local"))


def test_it_is_told_where_a_projects_hooks_would_find_no_steno(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    told = "steno is not on PATH here; project hooks do nothing without it"
    for options, is_told in ((("--project",), True), (("--local",), False)):
        assert (told in json.loads(ok("install", *options, "--json"))["warnings"]) is is_told
    steno = tmp_path / "steno"
    steno.write_text("#!/bin/sh\n")
    steno.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    assert told not in json.loads(ok("install", "--project", "--json"))["warnings"]


# What is left to do


@pytest.mark.parametrize("is_named", [False, True])
def test_without_a_destination_it_is_told_what_to_do_next(is_named: bool, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = home / "my.toml" if is_named else Path(os.environ["XDG_CONFIG_HOME"]) / "stenograph" / "config.toml"
    if is_named:
        monkeypatch.setenv("STENO_TRACE_CONFIG", str(file))
    for told in (ok("install", "--apply"), ok("install", "--apply")):  # the second has nothing to do
        lines = told.splitlines()
        why = f"config file not found: {file}" if is_named else "no destination is configured"
        begin = lines.index(f"Nothing is sent yet: {why}")
        assert lines[begin + 1] == f"Add to {file}, for example:"
        assert lines[-1] == "Then: python -m stenograph trace test"
    # What is told is enough.
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("".join(line + "\n" for line in lines[begin + 2 : -1]))
    (destination,) = json.loads(ok("--json"))["destinations"]
    assert destination["endpoint"] == "http://localhost:4318/v1/traces"
    assert json.loads(ok("install", "--apply", "--json"))["next"] == ["Next: python -m stenograph trace test"]


def test_a_broken_config_is_told_after_the_install(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = home / "my.toml"
    file.write_text("projekt = 'SENTINEL'")
    monkeypatch.setenv("STENO_TRACE_CONFIG", str(file))
    told = ok("install", "--apply")
    assert f"Nothing is sent yet: {file}: `projekt` is not a known key" in told
    assert "Fix it, then run: python -m stenograph trace test" in told
    assert "SENTINEL" not in told
    monkeypatch.setenv("STENO_TRACE_OFF", "1")
    assert json.loads(ok("install", "--json"))["next"] == ["Nothing is sent while STENO_TRACE_OFF is set"]


@pytest.mark.parametrize("place", ["home", "project"])
@pytest.mark.parametrize(
    "arguments", [("doctor",), ("trace",), ("trace", "install", "--apply"), ("trace", "uninstall", "--apply")]
)
def test_settings_that_are_not_a_file_do_not_hang_a_command(arguments: tuple[str, ...], place: str) -> None:
    """A FIFO that nobody writes to: whoever opens it to read waits."""
    home = Path(os.environ["HOME"]) / ".claude"
    fifo = (home if place == "home" else Path.cwd() / ".claude") / "settings.json"
    for folder in (home / "projects", fifo.parent):
        folder.mkdir(parents=True, exist_ok=True)
    os.mkfifo(fifo)
    done = subprocess.run(
        [sys.executable, "-m", "stenograph", *arguments], capture_output=True, text=True, timeout=30, check=False
    )
    assert "Traceback" not in done.stderr
    if place == "home" and len(arguments) > 1:
        assert_one_clear_line(done)
        assert f"{fifo} is not a file" in done.stderr
    assert stat.S_ISFIFO(fifo.stat().st_mode)


def test_the_demo_is_not_touched() -> None:
    assert_one_clear_line(run("--demo", "trace", "install", "--apply"))


# What else traces


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"env": {"CLAUDE_CODE_ENABLE_TELEMETRY": "1", "OTEL_TRACES_EXPORTER": "otlp"}}, "Claude Code's own tracing is on"),
        ({"hooks": {"Stop": [{"hooks": [{"command": "uv run langfuse_hook.py SENTINEL"}]}]}}, "another hook traces too (Stop)"),
        ({"enabledPlugins": {"langfuse-observability@x": True}}, "langfuse-observability@x traces too"),
        ({"enabledPlugins": {"stenograph@stenograph": True}}, "reports the same events"),
        ({"disableAllHooks": True}, "no hook runs"),
    ],
)
def test_what_else_traces_is_told(settings: dict[str, Any], told: str, home: Path) -> None:
    (home / "settings.json").write_text(json.dumps(settings))
    warnings = json.loads(ok("install", "--all-events", "--json"))["warnings"]
    assert len(warnings) == 1
    assert told in warnings[0]
    assert "SENTINEL" not in warnings[0]


def test_nothing_is_told_where_nothing_else_traces(home: Path) -> None:
    others = {
        "env": {"CLAUDE_CODE_ENABLE_TELEMETRY": "1", "OTEL_METRICS_EXPORTER": "otlp"},
        "enabledPlugins": {"langfuse@x": False},
    }
    (home / "settings.json").write_text(json.dumps(others))
    assert json.loads(ok("install", "--all-events", "--json"))["warnings"] == []


# Which events


def known_to(release: str | None) -> set[str]:
    return set(events_known_to(release, EVENTS))


def test_events_are_known_since_their_release() -> None:
    assert known_to(None) == known_to("2.0.76") == known_to("2.1.75") == OLD_EVENTS
    assert known_to("2.1.76") == {*OLD_EVENTS, "PostCompact"}
    assert known_to("2.1.77") == {*OLD_EVENTS, "PostCompact"}
    assert known_to("2.1.78") == known_to("2.1.325") == known_to("3.0.0") == ALL_EVENTS


def test_the_newest_session_is_the_one_with_the_last_record_not_the_last_written_file(home: Path) -> None:
    """A title appends a line to an old session and so makes its file the newest."""
    for number, (release, day) in enumerate((("2.0.76", "2025-12-01"), ("2.1.325", "2026-11-01"), ("2.1.45", "2026-02-01"))):
        line = user("u", "Hi", version=release, sessionId=session_id(number)) | {"timestamp": f"{day}T10:00:00.000Z"}
        moment = datetime.fromisoformat(f"{day}T10:00:05+00:00").timestamp()
        write_session(home, session_id(number), [line], modified=moment)
    old = next(home.glob(f"projects/*/{session_id(0)}.jsonl"))
    assert run("rename", str(old), "Renamed").returncode == 0
    os.utime(old)
    assert oldest_release(home, {"PATH": ""}) == "2.1.325"


def test_the_older_of_the_program_and_the_newest_session_counts(home: Path, tmp_path: Path) -> None:
    assert oldest_release(home, {"PATH": ""}) is None
    npm = tmp_path / "npm" / "node_modules" / "@anthropic-ai" / "claude-code"
    npm.mkdir(parents=True)
    (npm / "package.json").write_text('{"name": "@anthropic-ai/claude-code", "version": "2.1.100"}')
    native = tmp_path / "share" / "claude" / "versions"
    native.mkdir(parents=True)
    for number, program in enumerate((npm / "cli.js", native / "2.1.200")):
        program.write_text("#!/bin/sh\nexit 1\n")
        program.chmod(0o755)
        folder = tmp_path / f"bin{number}"
        folder.mkdir()
        (folder / "claude").symlink_to(program)
    assert oldest_release(home, {"PATH": str(tmp_path / "bin0")}) == "2.1.100"
    assert oldest_release(home, {"PATH": str(tmp_path / "bin1")}) == "2.1.200"
    session = home / "projects" / "-work" / "0a5c1e00-0000-4000-8000-000000000001.jsonl"
    write(session, [user("u", "hi", sessionId=session.stem, version="2.1.45", cwd="/work")])
    assert oldest_release(home, {"PATH": str(tmp_path / "bin0")}) == "2.1.45"
    assert oldest_release(home, {"PATH": ""}) == "2.1.45"


def test_a_client_whose_release_can_not_be_told_counts_as_an_old_one(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = home / "projects" / "-work" / "0a5c1e00-0000-4000-8000-000000000001.jsonl"
    write(session, [user("u", "hi", sessionId=session.stem, version="2.1.325", cwd="/work")])
    assert oldest_release(home, os.environ) == "2.1.325"
    wrapper = tmp_path / "bin" / "claude"
    wrapper.parent.mkdir()
    wrapper.write_text('#!/bin/sh\nexec /somewhere/claude "$@"\n')
    wrapper.chmod(0o755)
    monkeypatch.setenv("PATH", f"{wrapper.parent}{os.pathsep}{os.environ['PATH']}")
    assert oldest_release(home, os.environ) is None
    (told,) = json.loads(ok("install", "--apply", "--json"))["warnings"]
    assert f"left out StopFailure and PostCompact: the release of {wrapper} is unknown" in told
    assert set(hooks_of(home / "settings.json")) == OLD_EVENTS


def test_it_is_told_which_events_are_left_out(home: Path) -> None:
    told = json.loads(ok("install", "--json"))["warnings"]
    assert told == [
        "left out StopFailure and PostCompact: an older release would ignore the whole file; to add them, use --all-events"
    ]
    assert home.exists()


# The command


def test_the_command_survives_the_shell_and_a_missing_python(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    odd = tmp_path / 'it\'s a $(folder) "ü"'
    odd.mkdir()
    (odd / "python").symlink_to(sys.executable)
    event = b'{"hook_event_name": "Stop"}'
    state = tmp_path / "state"
    for program in (odd / "python", odd / "gone"):
        monkeypatch.setattr(sys, "executable", str(program))
        with holding(state / "stenograph" / "traces"):
            done = subprocess.run(
                ["sh", "-c", hook_command()],
                input=event,
                capture_output=True,
                env={**os.environ, "XDG_STATE_HOME": str(state)},
                check=False,
                timeout=20,
            )
        assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    assert len(list((state / "stenograph" / "traces" / "spool").iterdir())) == 1


def test_the_shared_command_is_silent_with_a_steno_that_fails_and_without_one(tmp_path: Path) -> None:
    steno = tmp_path / "steno"
    steno.write_text("#!/bin/sh\necho SENTINEL\necho SENTINEL >&2\ntouch ran\nexit 2\n")
    for mode, ran in ((0o644, False), (0o755, True)):
        steno.chmod(mode)
        done = subprocess.run(
            ["sh", "-c", shared_hook_command()],
            capture_output=True,
            cwd=tmp_path,
            env={"PATH": f"{tmp_path}:/usr/bin:/bin"},
            check=False,
            timeout=20,
        )
        assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
        assert (tmp_path / "ran").exists() is ran


def test_the_group_tells_what_is_set_up(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "no hooks are installed" in ok()
    ok("install", "--apply")
    monkeypatch.setenv("STENO_TRACE_URL", "http://receiver.example")
    monkeypatch.setenv("STENO_TRACE_TOKEN", "SENTINEL")
    for options in ((), ("--json",)):
        told = ok(*options)
        assert "settings.json" in told
        assert "http://receiver.example/v1/traces" in told
        assert "plain HTTP" in told
        assert "SENTINEL" not in told
    assert json.loads(ok("--json"))["installed"] == [str(home / "settings.json")]


def test_the_group_tells_what_is_sent_and_what_is_missing(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config = home / "trace.toml"
    monkeypatch.setenv("STENO_TRACE_CONFIG", str(config))
    config.write_text("project = 'p'\n[[destinations]]\nname = 'a'\ntype = 'langfuse'\nurl = 'https://h.example'\n")
    told = ok()
    assert "project p, secrets are masked\n" in told
    assert "note: a: `secret_key` is not set: $LANGFUSE_SECRET_KEY is empty" in told
    text = config.read_text()
    config.write_text(f"redact = false\n{text}[content]\nthinking = false\ntool_outputs = 2000\nprompts = true\n")
    told = ok()
    assert "project p, secrets are not masked, no thinking, 2,000 characters of tool_outputs\n" in told
    assert "note: `redact` is off" in told
    found = json.loads(ok("--json"))
    assert found["settings"]["content"]["tool_outputs"] == 2000
    assert (found["settings"]["project"], found["settings"]["redact"], len(found["notes"])) == ("p", False, 3)
    monkeypatch.setenv("STENO_TRACE_OFF", "1")
    assert json.loads(ok("--json"))["settings"] is None


def test_without_a_destination_the_group_names_the_file() -> None:
    file = Path(os.environ["XDG_CONFIG_HOME"]) / "stenograph" / "config.toml"
    assert f"no destination is configured; add one to {file}" in ok()


def test_settings_of_traces_outside_of_their_table_are_told(tmp_path: Path) -> None:
    config, other = tmp_path / "my.toml", tmp_path / "other.toml"
    config.write_text("[[destinations]]\nname = 'a'\nurl = 'http://h'\n")
    other.write_text("colour = 1\n")
    for words in (("trace", "--config", config), ("trace", "test", "--config", config), ("--config", config, "trace", "status")):
        done = run(*words)
        assert_one_clear_line(done)
        assert "my.toml: `destinations` belongs in the table [trace]" in done.stderr
    assert "`colour` is not a known key" in run("trace", "--config", other).stderr


def test_doctor_has_a_line_on_tracing(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def told() -> str:
        (line,) = (line for line in run("doctor").stdout.splitlines() if line[2:].startswith("tracing"))
        return line[2:].removeprefix("tracing").strip()

    assert told() == "no hooks, no destination"
    ok("install", "--apply")
    monkeypatch.setenv("STENO_TRACE_URL", "http://receiver.example")
    assert told() == f"hooks in {home / 'settings.json'}, destination environment"
    monkeypatch.setenv("STENO_TRACE_OFF", "1")
    assert told() == f"hooks in {home / 'settings.json'}, disabled (STENO_TRACE_OFF is set)"
    monkeypatch.delenv("STENO_TRACE_OFF")
    monkeypatch.setenv("STENO_TRACE_SHAPE", "SENTINEL")
    found = json.loads(run("doctor", "--json").stdout)
    (problem,) = (problem for problem in found["problems"] if problem["code"] == "trace-config")
    assert "$STENO_TRACE_SHAPE must be" in problem["detail"]
    assert "SENTINEL" not in problem["detail"]
    assert found["tracing"]["installed"] == [str(home / "settings.json")]


# Real clients


class Refusing(LoopbackService):
    """An API that refuses every request for good."""

    def __init__(self) -> None:
        class Handler(MessagesHandler):
            def do_POST(self) -> None:  # noqa: N802 - the name is the base class's
                self.rfile.read(int(self.headers.get("content-length") or 0))
                self._send_json(400, {"type": "error", "error": {"type": "invalid_request_error", "message": "scripted"}})

        super().__init__(LoopbackServer(("127.0.0.1", 0), Handler))


def events_in(home: Path) -> list[dict[str, Any]]:
    spool = home / ".local" / "state" / "stenograph" / "traces" / "spool"
    return [json.loads(path.read_bytes()) for path in sorted(spool.glob("*.json"))]


@pytest.mark.clients
@pytest.mark.parametrize(
    ("release", "tool", "events"),
    [
        ("2.0.76", "Task", ["SessionStart", "SubagentStop", "Stop", "SessionEnd"]),
        ("2.1.45", "Task", ["SessionStart", "SubagentStop", "Stop", "SessionEnd"]),
        ("2.1.325", "Agent", ["SessionStart", "SubagentStop", "Stop", "SessionEnd"]),
    ],
)
def test_a_client_reports_its_turn(
    release: str, tool: str, events: list[str], client: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = client(release)
    home, work = tmp_path / "a home", tmp_path / "work"
    (home / ".claude").mkdir(parents=True)
    work.mkdir()
    monkeypatch.setenv("PATH", f"{program.parent}{os.pathsep}{os.environ['PATH']}")
    ok("--home", home / ".claude", "install", "--apply")
    known = ALL_EVENTS if release == "2.1.325" else OLD_EVENTS
    assert set(hooks_of(home / ".claude" / "settings.json")) == known
    agent = {"description": "d", "subagent_type": "general-purpose", "prompt": script_prompt([[{"text": "Sub."}]], "Sub-agent")}
    prompt = script_prompt([[{"tool": tool, "input": {**agent, "run_in_background": False}}], [{"text": "All is done ü."}]], "Go")
    with ScriptedApi() as api, holding(home / ".local" / "state" / "stenograph" / "traces"):
        done = run_client(program, home=home, cwd=work, args=["-p", prompt, "--dangerously-skip-permissions"], base_url=api.url)
    assert (done.returncode, done.stdout.decode().strip(), done.stderr) == (0, "All is done ü.", b"")
    found = events_in(home)
    # 2.0.76 has sub-agents of its own that warm up.
    assert list(dict.fromkeys(event["hook_event_name"] for event in found)) == events
    (stop,) = (event for event in found if event["hook_event_name"] == "Stop")
    transcript = Path(stop["transcript_path"])
    assert transcript.is_file()
    assert {event["transcript_path"] for event in found} == {str(transcript)}
    if release == "2.1.325":  # older ones do not say
        assert stop["answer_sha256"] == hashlib.sha256("All is done ü.".encode()).hexdigest()


@pytest.mark.clients
@pytest.mark.parametrize("release", ["2.0.76", "2.1.45", "2.1.325"])
def test_a_client_runs_a_hook_of_two_settings_once_where_both_are_alike(
    release: str, client: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Why hooks in two places are warned of for a project's settings alone."""
    program = client(release)
    steno = tmp_path / "bin" / "steno"
    steno.parent.mkdir()
    steno.write_text(f"#!/bin/sh\nPYTHONPATH='{SOURCE}' exec '{sys.executable}' -m stenograph \"$@\"\n")
    steno.chmod(0o755)
    for place, times in (("--local", 1), ("--project", 2)):
        home, work = tmp_path / place / "home", tmp_path / place / "work"
        (home / ".claude").mkdir(parents=True)
        work.mkdir()
        monkeypatch.chdir(work)
        for where in ((), (place,)):
            ok("--home", home / ".claude", "install", "--apply", *where)
        path = f"{steno.parent}{os.pathsep}{client_environment(home, '')['PATH']}"
        args = ["-p", script_prompt([[{"text": "Done."}]], "Go")]
        with ScriptedApi() as api, holding(home / ".local" / "state" / "stenograph" / "traces"):
            done = run_client(program, home=home, cwd=work, args=args, base_url=api.url, extra_environment={"PATH": path})
        assert done.returncode == 0, done.stderr
        assert sum(event["hook_event_name"] == "Stop" for event in events_in(home)) == times


def fail_a_turn(program: Path, home: Path, work: Path, environment: Mapping[str, str] | None = None) -> dict[str, Any]:
    """What a client reports of a turn that failed. In a terminal: in print mode it ends without waiting for this hook."""

    def look() -> dict[str, Any] | None:
        return next((event for event in events_in(home) if event["hook_event_name"] == "StopFailure"), None)

    with (
        Refusing() as api,
        Terminal(program, home=home, cwd=work, base_url=api.url, extra_environment=environment) as terminal,
    ):
        terminal.wait_until_ready()
        terminal.submit("Go")
        return terminal.wait_until(look, "a StopFailure in the spool", timeout=40)


@pytest.mark.clients
def test_a_client_reports_a_turn_that_failed(client: Client, tmp_path: Path) -> None:
    program = client("2.1.325")
    home, work = tmp_path / "home", tmp_path / "work"
    (home / ".claude").mkdir(parents=True)
    ok("--home", home / ".claude", "install", "--apply", "--all-events")
    with holding(home / ".local" / "state" / "stenograph" / "traces"):
        event = fail_a_turn(program, home, work)
    assert Path(event["transcript_path"]).is_file()


@pytest.mark.clients
@pytest.mark.parametrize("release", ["2.0.76", "2.1.45"])
def test_older_clients_ignore_settings_with_an_event_they_do_not_know(release: str, client: Client, tmp_path: Path) -> None:
    """Why not every event is written for every client."""
    program = client(release)
    for events, counts in ((OLD_EVENTS, True), ({*OLD_EVENTS, "StopFailure"}, False), ({*OLD_EVENTS, "PostCompact"}, False)):
        home = tmp_path / "-".join(sorted(events))
        (home / ".claude").mkdir(parents=True)
        hooks = {event: [{"hooks": [{"type": "command", "command": "true"}]}] for event in sorted(events)}
        settings = {"env": {"SOME_WORD": "counts"}, "hooks": hooks}
        (home / ".claude" / "settings.json").write_text(json.dumps(settings))
        tell = {"tool": "Bash", "input": {"command": f"printf '%s' \"$SOME_WORD\" > '{home}/told'", "description": "tell"}}
        args = ["-p", script_prompt([[tell], [{"text": "Done."}]], "Go"), "--dangerously-skip-permissions"]
        with ScriptedApi() as api:
            assert run_client(program, home=home, cwd=home, args=args, base_url=api.url).returncode == 0
        assert (home / "told").read_text() == ("counts" if counts else "")
