"""The agent as a user starts it: a process of its own, in a world."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from typing import Any

from tests.agent.world import FAKE_KEY, World
from tests.cli.running import SOURCE, completed
from tests.forking import can_fork, run_forked


def started(
    world: World, *arguments: str, environment: dict[str, str] | None = None, through: Sequence[str] = (), **given: Any
) -> subprocess.Popen[str]:
    """The agent under way, `through` a program that starts it. The rest is for Popen."""
    return subprocess.Popen(
        [*through, sys.executable, "-m", "stenograph", *_arguments(world, arguments)],
        cwd=given.pop("cwd", world.cwd),
        env={"PYTHONPATH": str(SOURCE), **_environment(world), **(environment or {})},
        stdin=subprocess.DEVNULL,
        stdout=given.pop("stdout", subprocess.PIPE),
        stderr=given.pop("stderr", subprocess.PIPE),
        text=True,
        **given,
    )


def steno(
    world: World, *arguments: str, environment: dict[str, str] | None = None, **given: Any
) -> subprocess.CompletedProcess[str]:
    """A run to its end."""
    if can_fork(environment or {}) and given.keys() <= {"cwd"}:
        cwd = given.pop("cwd", world.cwd)
        done = run_forked(_arguments(world, arguments), {**_environment(world), **(environment or {})}, cwd=cwd)
        return completed(arguments, *done)
    with started(world, *arguments, environment=environment, **given) as process:
        output, errors = process.communicate(timeout=60)
    return subprocess.CompletedProcess(arguments, process.returncode, output, errors)


def _arguments(world: World, arguments: Sequence[str]) -> list[str]:
    return ["agent", "-p", *arguments, "--home", str(world.home), "--dangerously-skip-permissions"]


def _environment(world: World) -> dict[str, str]:
    return {
        "PATH": os.environ["PATH"],
        "HOME": str(world.home.parent),
        "ANTHROPIC_BASE_URL": world.stage.url,
        "ANTHROPIC_API_KEY": FAKE_KEY,
    }
