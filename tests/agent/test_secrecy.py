"""Commands can't read the keys of the process that started them."""

from __future__ import annotations

import inspect
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tests.conftest import Need

from stenograph.agent.permissions import secrecy
from stenograph.agent.tools.shell import command_environment

#: Reads the environment of its parent as a command would, before and after it is hidden.
_TRY = """
import subprocess, os
def tried():
    read = f"cat /proc/{os.getpid()}/environ; cat /proc/$PPID/environ; tr x x < /proc/{os.getpid()}/mem | head -c 1"
    return b"sk-secret" in subprocess.run(["/bin/sh", "-c", read], env={"PATH": os.environ["PATH"]}, capture_output=True).stdout
before = tried()
hidden = hide_process()
print(before, hidden, tried())
"""


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has /proc")
def test_an_unprivileged_user_s_commands_do_not_reach_the_key_through_proc(need: Need) -> None:
    python = shutil.which("python3", path="/usr/bin:/bin")
    if python is None:
        need("python", "there is no system Python that every user may run")
    command = [python, "-c", inspect.getsource(secrecy) + _TRY]
    nobody = 65534 if os.geteuid() == 0 else None
    done = subprocess.run(
        command,
        env={"PATH": "/usr/bin:/bin", "ANTHROPIC_API_KEY": "sk-secret"},
        cwd="/",
        capture_output=True,
        text=True,
        check=True,
        timeout=30,
        user=nobody,
        group=nobody,
    )
    assert done.stdout == "True True False\n"


def test_the_agent_hides_itself_before_it_runs_anything() -> None:
    source = (Path(secrecy.__file__).parents[2] / "cli" / "agent.py").read_text(encoding="utf-8")
    assert source.index("hide_process()") < source.index("asyncio.run(")


def test_commands_get_no_key() -> None:
    assert "ANTHROPIC_API_KEY" not in command_environment({"ANTHROPIC_API_KEY": "sk-secret"}, {})
