"""Running `steno` as a user does: a process of its own."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

SOURCE = Path(__file__).resolve().parent.parent.parent / "src"


# Everything is imported first: the other user may not be able to read the interpreter's own files.
_AS_NOBODY = """
import difflib, importlib, json, os, platform, shutil, sys, tomllib
from stenograph.cli import main
from stenograph.cli._group import COMMANDS
for place, _ in COMMANDS.values():
    importlib.import_module(place.partition(":")[0])
import stenograph.check, stenograph.drift, stenograph.sessions
import stenograph.turns.reader
import pkgutil, stenograph.views
for package in (stenograph.views, stenograph.check, stenograph.sessions):
    for module in pkgutil.walk_packages(package.__path__, package.__name__ + "."):
        importlib.import_module(module.name)
stenograph.drift.load_registry()
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


def run_unprivileged(*arguments: str | Path, environment: Mapping[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    """The same where permissions count: root, whom none stops, becomes nobody."""
    world = {"HOME": "/nonexistent", "XDG_CONFIG_HOME": "/nonexistent", **(environment or {})}
    return _run(["-c", _AS_NOBODY], arguments, world)


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


def run_in_terminal(
    *arguments: str | Path, columns: int = 80, environment: Mapping[str, str] | None = None, answers: str = ""
) -> str:
    """What a terminal of so many columns shows of `steno`, stderr too; `answers` are typed ahead."""
    import pty

    outside, inside = pty.openpty()
    world = {
        **os.environ,
        "TERM": "xterm",
        "COLUMNS": str(columns),
        "PAGER": "cat",
        "PYTHONPATH": str(SOURCE),
        **(environment or {}),
    }
    with subprocess.Popen(
        [sys.executable, "-m", "stenograph", *map(str, arguments)], stdin=inside, stdout=inside, stderr=inside, env=world
    ) as child:
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
        child.wait()
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
