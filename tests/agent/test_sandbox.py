"""Commands in bubblewrap: what they can change, see and reach."""

from __future__ import annotations

import shutil
import socket
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
