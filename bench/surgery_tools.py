"""Tools that clone or edit sessions, ours and others', each run alone in a home of its own.

In: the file of a session in some home. Out: the file that the tool made of it, and what the run cost. Other tools are installed
once, in pinned releases, beside the clients that tests use. They get an environment built from nothing, and a proxy where nobody
listens: none of them may update itself, report home or wire itself into a client. Knows nothing of what is in a session.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from lab.clients import default_clients_folder

from bench.figures import ProcessCost

CCS_CLONER = "0.5.0"
COZEMPIC = "1.8.39"
#: What comes nearest to cozempic's standard prescription, which trims results of more than 8 kB.
EDITS = ("--strip-thinking", "all", "--truncate-results", "8000", "--drop-bookkeeping")
LONGEST_RUN = 300.0
LONGEST_INSTALL = 300.0
# Nobody listens on the discard port.
NO_NETWORK = dict.fromkeys(
    ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"), "http://127.0.0.1:9"
)
# Without the first it writes hooks into a client's settings even on a dry run; the others keep it from updating and counting.
COZEMPIC_AT_REST = dict.fromkeys(
    ("NO_AUTO_INIT", "NO_GLOBAL_INIT", "NO_AUTO_UPDATE", "NO_TELEMETRY", "NO_RECEIPTS", "NUDGE_OFF"), "1"
)


class ToolFailed(Exception):  # noqa: N818 - a row of the table that says why it is empty
    """A tool could not be installed, or did not do what it was asked for; the text is the reason, in one line."""


class Tool(NamedTuple):
    name: str
    #: The command line for a session in a home.
    command: Callable[[Path, Path], Sequence[str]]
    #: A clone is a new file in the session's folder; an edit leaves the session where it is.
    clones: bool


def our_tools() -> tuple[Tool, Tool]:
    """`steno clone` and `steno edit`, of this repository."""
    steno = (sys.executable, "-m", "stenograph")
    return (
        Tool("steno clone", lambda session, _home: (*steno, "clone", str(session), "--json"), clones=True),
        Tool("steno edit", lambda session, _home: (*steno, "edit", str(session), *EDITS, "--apply", "--json"), clones=False),
    )


def ccs_cloner() -> Tool:
    """Raises ToolFailed."""

    def install(folder: Path) -> None:
        npm = shutil.which("npm")
        if npm is None:
            raise ToolFailed("not installed: there is no npm")
        # npm walks up to the nearest package.json unless the folder holds one.
        (folder / "package.json").write_text("{}\n", encoding="utf-8")
        run_install([npm, "install", "--silent", "--no-audit", "--no-fund", f"ccs-cloner@{CCS_CLONER}"], folder)

    program = installed(f"ccs-cloner-{CCS_CLONER}", install) / "node_modules" / ".bin" / "ccs-cloner"
    return Tool(
        f"ccs-cloner {CCS_CLONER}",
        lambda session, home: (str(program), "clone", session.stem, "--claude-dir", str(home / ".claude"), "--json"),
        clones=True,
    )


def cozempic() -> Tool:
    """Raises ToolFailed."""
    # By its module: the scripts of an environment name the folder that it was made in.
    program = pypi_environment("cozempic", COZEMPIC)
    return Tool(
        f"cozempic {COZEMPIC}",
        lambda session, _home: (str(program), "-m", "cozempic", "treat", str(session), "-rx", "standard", "--execute"),
        clones=False,
    )


def pypi_environment(package: str, release: str, *also: str) -> Path:
    """The interpreter of an environment that holds one package, installed where it is not there yet. Raises ToolFailed.

    `also` are packages that it needs and does not ask for.
    """

    def install(folder: Path) -> None:
        run_install([sys.executable, "-m", "venv", "--without-pip", str(folder)], folder)
        pip = [sys.executable, "-m", "pip", "--python", str(folder / "bin" / "python"), "--disable-pip-version-check"]
        run_install([*pip, "install", "--quiet", f"{package}=={release}", *also], folder)

    return installed(f"{package}-{release}", install) / "bin" / "python"


def run_tool(tool: Tool, session: Path, home: Path) -> tuple[Path, ProcessCost]:
    """Run a tool on a session; returns the file that it made. Raises ToolFailed."""
    before = set(session.parent.glob("*.jsonl"))
    cost = _run(tool.command(session, home), home)
    if not tool.clones:
        return session, cost
    new = set(session.parent.glob("*.jsonl")) - before
    clones = [path for path in new if not path.name.startswith("agent-")]
    if len(clones) != 1:
        raise ToolFailed(f"wrote {len(clones)} sessions")
    return clones[0], cost


def _run(command: Sequence[str], home: Path) -> ProcessCost:
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(home),
        "XDG_DATA_HOME": str(home / "data"),
        "LANG": "C.UTF-8",
        **{f"COZEMPIC_{name}": value for name, value in COZEMPIC_AT_REST.items()},
        **NO_NETWORK,
    }
    start = time.perf_counter()
    quiet = subprocess.DEVNULL
    process = subprocess.Popen(command, stdin=quiet, stdout=quiet, stderr=quiet, env=environment, cwd=home)
    watch = threading.Timer(LONGEST_RUN, process.kill)
    watch.start()
    try:
        _, status, usage = os.wait4(process.pid, 0)
    finally:
        watch.cancel()
    wall = time.perf_counter() - start
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise ToolFailed(f"ended with {process.returncode} after {wall:.0f} s")
    return ProcessCost(wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024)


def installed(name: str, install: Callable[[Path], None]) -> Path:
    """The folder of a tool in the cache. An install that was stopped never looks whole: it happens in a folder beside."""
    cache = default_clients_folder(os.environ).parent
    folder = cache / name
    if folder.is_dir():
        return folder
    cache.mkdir(parents=True, exist_ok=True)
    scratch = Path(tempfile.mkdtemp(prefix=f"{name}.", dir=cache))
    try:
        install(scratch)
        with contextlib.suppress(OSError):  # another process was quicker
            scratch.rename(folder)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    return folder


def run_install(command: Sequence[str], folder: Path) -> None:
    """Run an installer in a folder. Raises ToolFailed."""
    try:
        done = subprocess.run(command, cwd=folder, capture_output=True, check=False, timeout=LONGEST_INSTALL)
    except subprocess.TimeoutExpired:
        raise ToolFailed(f"not installed: took longer than {LONGEST_INSTALL:.0f} s") from None
    if done.returncode:
        raise ToolFailed(f"not installed: {Path(command[0]).name} ended with {done.returncode}")
