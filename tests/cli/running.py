"""Running `steno` as a user does: a process of its own, forked from one that is ready where that is no difference."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.forking import Forked, can_fork, run_forked

SOURCE = Path(__file__).resolve().parent.parent.parent / "src"


def run(*arguments: str | Path, environment: Mapping[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    """Run `steno` with these arguments, the environment changed as given."""
    if not can_fork(environment or {}):
        return _run(arguments, environment or {})
    return _forked(arguments, environment or {})


def run_unprivileged(*arguments: str | Path, environment: Mapping[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    """The same where permissions count: root, whom none stops, becomes nobody."""
    world = {"HOME": "/nonexistent", "XDG_CONFIG_HOME": "/nonexistent", **(environment or {})}
    return _forked(arguments, world, nobody=True)


def _forked(
    arguments: Sequence[str | Path], environment: Mapping[str, str], *, nobody: bool = False
) -> subprocess.CompletedProcess[str]:
    given = list(map(str, arguments))
    return completed(given, *run_forked(given, {**os.environ, **environment}, nobody=nobody))


def completed(arguments: Sequence[str], code: int, output: bytes, errors: bytes) -> subprocess.CompletedProcess[str]:
    """As `subprocess` tells of a run whose output is text."""
    printed, complaints = (
        part.decode("utf-8", "surrogateescape").replace("\r\n", "\n").replace("\r", "\n") for part in (output, errors)
    )
    return subprocess.CompletedProcess(arguments, code, printed, complaints)


def _run(arguments: Sequence[str | Path], environment: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "stenograph", *map(str, arguments)],
        capture_output=True,
        text=True,
        encoding="utf-8",
        errors="surrogateescape",
        env={**os.environ, "PYTHONPATH": str(SOURCE), **environment},
        check=False,
        timeout=60,
    )


def run_in_terminal(
    *arguments: str | Path, columns: int = 80, environment: Mapping[str, str] | None = None, answers: str = ""
) -> str:
    """What a terminal of so many columns shows of `steno`, stderr too; `answers` are typed ahead."""
    import pty

    outside, inside = pty.openpty()
    world = {**os.environ, "TERM": "xterm", "COLUMNS": str(columns), "PAGER": "cat", **(environment or {})}
    given = list(map(str, arguments))
    child: Forked | subprocess.Popen[bytes]
    if can_fork(environment or {}):
        child = Forked(given, world, (inside, inside, inside))
    else:
        command = [sys.executable, "-m", "stenograph", *given]
        child = subprocess.Popen(command, stdin=inside, stdout=inside, stderr=inside, env={"PYTHONPATH": str(SOURCE), **world})
    os.close(inside)
    os.write(outside, answers.encode())
    shown = b""
    while True:
        try:
            part = os.read(outside, 65536)
        except OSError:  # what Linux says when the last writer is gone
            break
        if not part:
            break
        shown += part
    child.wait(60)
    os.close(outside)
    return shown.decode().replace("\r\n", "\n")


# The form of the design: what happened, why in at most five lines, and what to try.
_WHAT = re.compile(r"(?:error|note): \S.*(?<![a-z]\.)")
_WHY = re.compile(r"  \S.*")


def assert_one_clear_line(done: subprocess.CompletedProcess[str], code: int = 2) -> None:
    assert done.returncode == code, done.stderr
    first, *rest = done.stderr.splitlines()
    assert _WHAT.fullmatch(first), done.stderr
    if rest and rest[-1].startswith("try: "):
        assert not rest.pop().endswith("."), done.stderr
    assert all(_WHY.fullmatch(line) for line in rest), done.stderr
    assert len(rest) <= 5, done.stderr
