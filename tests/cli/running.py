"""Running `steno` as a user does: a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

SOURCE = Path(__file__).resolve().parent.parent.parent / "src"


# Everything is imported first: the other user may not be able to read the interpreter's own files.
_AS_NOBODY = """
import difflib, importlib, json, os, sys
from stenograph.cli import main
from stenograph.cli._group import COMMANDS
for place, _ in COMMANDS.values():
    importlib.import_module(place.partition(":")[0])
import stenograph.cli._listing, stenograph.cli._progress, stenograph.cli.overview, stenograph.sessions
if os.geteuid() == 0:
    os.setgroups([])
    os.setegid(65534)
    os.seteuid(65534)
sys.argv[0] = "steno"
main()
"""


def run(*arguments: str | Path, environment: Mapping[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    """Run `steno` with these arguments, the environment changed as given."""
    return _run(["-m", "stenograph"], arguments, environment)


def run_unprivileged(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    """The same where permissions count: root, whom none stops, becomes nobody."""
    return _run(["-c", _AS_NOBODY], arguments, {"HOME": "/nonexistent", "XDG_CONFIG_HOME": "/nonexistent"})


def _run(
    program: Sequence[str], arguments: Sequence[str | Path], environment: Mapping[str, str] | None
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *program, *map(str, arguments)],
        capture_output=True,
        text=True,
        encoding="utf-8",
        errors="surrogateescape",
        env={**os.environ, "PYTHONPATH": str(SOURCE), **(environment or {})},
        check=False,
        timeout=60,
    )


def assert_one_clear_line(done: subprocess.CompletedProcess[str], code: int = 2) -> None:
    assert done.returncode == code, done.stderr
    assert done.stderr.startswith("steno: "), done.stderr
    assert done.stderr.count("\n") == 1, done.stderr
    assert "Traceback" not in done.stderr
