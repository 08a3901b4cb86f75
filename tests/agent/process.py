"""The agent as a user starts it: a process of its own, in a world."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from typing import Any

from tests.agent.world import FAKE_KEY, World
from tests.cli.running import SOURCE


def started(
    world: World, *arguments: str, environment: dict[str, str] | None = None, through: Sequence[str] = (), **given: Any
) -> subprocess.Popen[str]:
    """The agent under way, `through` a program that starts it. The rest is for Popen."""
    return subprocess.Popen(
        [
            *through,
            sys.executable,
            "-m",
            "stenograph",
            "agent",
            "-p",
            *arguments,
            "--home",
            str(world.home),
            "--dangerously-skip-permissions",
        ],
        cwd=given.pop("cwd", world.cwd),
        env={
            "PATH": os.environ["PATH"],
            "PYTHONPATH": str(SOURCE),
            "HOME": str(world.home.parent),
            "ANTHROPIC_BASE_URL": world.stage.url,
            "ANTHROPIC_API_KEY": FAKE_KEY,
            **(environment or {}),
        },
        stdin=subprocess.DEVNULL,
        stdout=given.pop("stdout", subprocess.PIPE),
        stderr=given.pop("stderr", subprocess.PIPE),
        text=True,
        **given,
    )


def steno(world: World, *arguments: str, **given: Any) -> subprocess.CompletedProcess[str]:
    """A run to its end."""
    with started(world, *arguments, **given) as process:
        output, errors = process.communicate(timeout=60)
    return subprocess.CompletedProcess(arguments, process.returncode, output, errors)
