"""Commands in bubblewrap: what they can change, see and reach."""

from __future__ import annotations

import shutil
import socket
import stat
import threading
import time
from pathlib import Path

import pytest
from lab.observatory.scenes import say, text, tool
from tests.agent.world import world_at
from tests.conftest import Need

from stenograph.agent import find_sandbox
from stenograph.errors import UsageError


@pytest.fixture
def sandbox(need: Need) -> str:
    try:
        return find_sandbox({"PATH": "/usr/bin:/bin"})
    except UsageError as error:
        need("sandbox", str(error))


def _run(tmp_path: Path, sandbox: str, command: str) -> str:
    with world_at(tmp_path, {"one": [say(tool("Bash", command=command)), say(text("Done."))]}) as world:
        (world.cwd / ".git" / "hooks").mkdir(parents=True, exist_ok=True)
        (world.cwd / ".claude").mkdir(exist_ok=True)
        world.run("Go. [scene one]", allowed=["Bash"], sandbox=sandbox)
        return str(world.asked()[-1]["messages"][-1]["content"])


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("echo kept > inside.txt && cat inside.txt", "kept"),
        ("cd / && pwd", "/"),
        ("echo x > /tmp/its-own && cat /tmp/its-own", "x"),
    ],
)
def test_a_command_works_in_the_project(sandbox: str, tmp_path: Path, command: str, expected: str) -> None:
    assert expected in _run(tmp_path, sandbox, command)


@pytest.mark.parametrize(
    "command",
    [
        "echo x > {outside}/file",
        "echo x > .git/hooks/pre-commit",
        "echo x > .claude/settings.json",
        "mv .git .git2",
        "rm -r {outside}",
        "python3 -c 'import socket; socket.create_connection((\"127.0.0.1\", {port}), 3)'",
    ],
)
def test_a_command_changes_and_reaches_nothing_else(sandbox: str, tmp_path: Path, command: str) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "there").touch()
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        result = _run(tmp_path, sandbox, command.format(outside=outside, port=port) + " && echo it-worked")
    assert "'is_error': True" in result
    assert [path.name for path in outside.iterdir()] == ["there"]
    assert not (tmp_path / "outside" / "file").exists()


def test_a_command_sees_no_other_process(sandbox: str, tmp_path: Path) -> None:
    """So no key in the environment of another one."""
    count = _run(tmp_path, sandbox, "ls -d /proc/[0-9]* | wc -l | sed 's/^/processes: /'")
    assert int(count.partition("processes: ")[2].split("'")[0].split("\\n")[0]) < 8


def test_a_command_does_not_see_tokens_of_mcp_servers(sandbox: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not even if our data directory is one that it may change."""
    command = "cat data/stenograph/*; cat data/stenograph/mcp-logins/*"
    with world_at(tmp_path, {"one": [say(tool("Bash", command=command)), say(text("Done."))]}) as world:
        data = world.cwd / "data" / "stenograph"
        (data / "mcp-logins").mkdir(parents=True)
        (data / "mcp-logins" / "one.json").write_text("a-token")
        (data / "other.json").write_text("something-else")
        monkeypatch.setenv("XDG_DATA_HOME", str(world.cwd / "data"))
        world.run("Go. [scene one]", allowed=["Bash"], sandbox=sandbox)
        result = str(world.asked()[-1]["messages"][-1]["content"])
    assert "something-else" in result
    assert "a-token" not in result


def test_tokens_are_hidden_where_our_data_directory_is_a_link(
    sandbox: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One with an absolute target: bubblewrap makes no directory through it."""
    command = "cat data/stenograph/mcp-logins/* elsewhere/stenograph/mcp-logins/*; echo it-worked"
    with world_at(tmp_path, {"one": [say(tool("Bash", command=command)), say(text("Done."))]}) as world:
        logins = world.cwd / "elsewhere" / "stenograph" / "mcp-logins"
        logins.mkdir(parents=True)
        (logins / "one.json").write_text("a-token")
        (world.cwd / "data").symlink_to(world.cwd / "elsewhere")
        monkeypatch.setenv("XDG_DATA_HOME", str(world.cwd / "data"))
        world.run("Go. [scene one]", allowed=["Bash"], sandbox=sandbox)
        result = str(world.asked()[-1]["messages"][-1]["content"])
    assert "it-worked" in result
    assert "a-token" not in result


def test_a_command_does_not_see_tokens_that_are_stored_while_it_runs(
    sandbox: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    login = tmp_path / "data" / "stenograph" / "mcp-logins" / "one.json"
    waits = f"touch begun; while [ ! -e stored ]; do sleep 0.05; done; cat {login}; echo it-worked"

    def store() -> None:
        while not (tmp_path / "work" / "begun").exists():
            time.sleep(0.05)
        login.parent.mkdir(parents=True, exist_ok=True)
        login.write_text("a-token")
        (tmp_path / "work" / "stored").touch()

    storing = threading.Thread(target=store, daemon=True)
    storing.start()
    result = _run(tmp_path, sandbox, waits)
    storing.join()
    assert "it-worked" in result
    assert "a-token" not in result
    assert stat.S_IMODE(login.parent.stat().st_mode) == 0o700


def test_a_command_runs_where_our_data_directory_can_not_be_made(
    sandbox: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "data").touch()
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    assert "it-worked" in _run(tmp_path, sandbox, "echo it-worked")


def test_a_missing_sandbox_is_named(tmp_path: Path) -> None:
    assert shutil.which("bwrap", path=str(tmp_path)) is None
    with pytest.raises(UsageError, match="needs bubblewrap, which is not installed"):
        find_sandbox({"PATH": str(tmp_path)})


def test_a_sandbox_that_does_not_work_is_not_used(tmp_path: Path) -> None:
    fake = tmp_path / "bwrap"
    fake.write_text("#!/bin/sh\necho 'bwrap: No permissions to create new namespace' >&2\nexit 1\n")
    fake.chmod(0o755)
    with pytest.raises(UsageError, match="bubblewrap does not work here"):
        find_sandbox({"PATH": f"{tmp_path}:/usr/bin:/bin"})
