"""Console agents, ours and others', each run alone in a home of its own against the scripted endpoint.

In: what to play, a home, a working folder. Out: when its requests came, and what the process cost. Others are installed once, in
pinned releases, beside the clients that tests use. All get an environment built from nothing, a key that opens nothing, and the
switches that keep them off the network. Knows nothing of what is measured.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from lab.clients import ClientMissing, client_environment, default_clients_folder, install_client

from bench.agent_endpoint import Asked, Endpoint, Play, play_prompt
from bench.surgery_tools import ToolFailed, installed, pypi_environment, run_install
from stenograph.testing.scripted_api import Json

#: The newest that installs: 1.0.3 to 1.5.0 ask for packages (pi-codemode, chord) in releases that can't be had.
PI = "0.87.1"
#: What it runs in: it asks for 22.19 or newer.
PI_NODE = "22.23.3"
MINI = "2.4.6"
MODEL = "claude-sonnet-4-5"
LONGEST_RUN = 180.0
#: Seconds between two looks at a process. Its peak memory is known up to the last look.
LOOK = 0.02


class Agent(NamedTuple):
    name: str
    #: The command line for a prompt, with further arguments.
    command: Callable[[str, Sequence[str]], Sequence[str]]
    #: A call of its shell, and one of its reader where it has one; `command` and `path` in them are filled in.
    shell: Json
    reader: Json | None
    environment: dict[str, str] = {}  # noqa: RUF012 - never changed
    #: Makes what it needs in a new home, for an endpoint.
    prepare: Callable[[Path, str], None] = lambda _home, _url: None
    #: What ends a run.
    end: Sequence[Json] = ({"text": "Done."},)
    #: It asks for answers as streams.
    streams: bool = True

    def shell_call(self, command: str) -> Json:
        return _filled(self.shell, command)

    def reader_call(self, path: str) -> Json:
        assert self.reader is not None
        return _filled(self.reader, path)


class Run(NamedTuple):
    """One whole process of an agent."""

    #: From the start of the process to the arrival of its first request, in seconds.
    first: float
    #: From the end of each answer to the arrival of the next request.
    gaps: list[float]
    wall: float
    #: Computing time, with that of the processes that it waited for.
    cpu: float
    #: Highest resident memory of the process itself, without those that it started, in MB.
    memory: float
    #: Bytes of the first request's body.
    size: int


def ours() -> Agent:
    """`steno agent`, of this repository."""
    steno = (sys.executable, "-m", "stenograph", "agent")
    return _like_claude("steno agent", steno)


def claude(release: str) -> Agent:
    """Raises ToolFailed."""
    try:
        program = install_client(default_clients_folder(os.environ), release)
    except ClientMissing as missing:
        raise ToolFailed(str(missing)) from None
    return _like_claude(release, (str(program),))


def pi() -> Agent:
    """Raises ToolFailed."""

    def install(folder: Path) -> None:
        npm = shutil.which("npm")
        if npm is None:
            raise ToolFailed("not installed: there is no npm")
        # npm walks up to the nearest package.json unless the folder holds one.
        (folder / "package.json").write_text("{}\n", encoding="utf-8")
        packages = [f"node@{PI_NODE}", f"@earendil-works/pi-coding-agent@{PI}"]
        run_install([npm, "install", "--silent", "--no-audit", "--no-fund", *packages], folder)

    def prepare(home: Path, url: str) -> None:
        settings = home / ".pi" / "agent" / "models.json"
        settings.parent.mkdir(parents=True, exist_ok=True)
        settings.write_text(json.dumps({"providers": {"anthropic": {"baseUrl": url}}}), encoding="utf-8")

    modules = installed(f"pi-{PI}", install) / "node_modules"
    program = (str(modules / "node" / "bin" / "node"), str(modules / ".bin" / "pi"))
    return Agent(
        f"pi {PI}",
        lambda prompt, more: (*program, "-p", "--provider", "anthropic", "--model", MODEL, *more, "--", prompt),
        shell={"tool": "bash", "input": {"command": ""}},
        reader={"tool": "read", "input": {"path": ""}},
        environment={"PI_OFFLINE": "1"},
        prepare=prepare,
    )


def mini() -> Agent:
    """Raises ToolFailed."""
    # It imports mcp (by way of litellm), and does not ask for it.
    program = pypi_environment("mini-swe-agent", MINI, "mcp")
    arguments = ("-m", "minisweagent.run.mini", "-y", "-l", "0", "--exit-immediately", "-m", f"anthropic/{MODEL}-20250929")
    return Agent(
        f"mini-swe-agent {MINI}",
        lambda prompt, more: (str(program), *arguments, *more, "-t", prompt),
        shell={"tool": "bash", "input": {"command": ""}},
        reader=None,
        # The map of costs would be fetched at every start.
        environment={
            "MSWEA_CONFIGURED": "true",
            "MSWEA_SILENT_STARTUP": "1",
            "MSWEA_COST_TRACKING": "ignore_errors",
            "LITELLM_LOCAL_MODEL_COST_MAP": "True",
        },
        end=[{"tool": "bash", "input": {"command": "echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT"}}],
        streams=False,
    )


def run_agent(agent: Agent, endpoint: Endpoint, play: Play, home: Path, more: Sequence[str] = ()) -> Run:
    """Play something to an agent, in the folder `work` of its home. Raises ToolFailed."""
    cwd = home / "work"
    for folder in (cwd, home / "tmp"):
        folder.mkdir(parents=True, exist_ok=True)
    agent.prepare(home, endpoint.url)
    environment = {**client_environment(home, endpoint.url), **agent.environment}
    command = agent.command(play_prompt(play), more)
    endpoint.take_times()  # what an earlier run may have left
    begin = time.monotonic()
    quiet = subprocess.DEVNULL
    process = subprocess.Popen(command, stdin=quiet, stdout=quiet, stderr=quiet, env=environment, cwd=cwd, start_new_session=True)
    cpu, memory = _wait(process, begin)
    wall = time.monotonic() - begin
    asked = endpoint.take_times()
    if process.returncode:
        raise ToolFailed(f"ended with {process.returncode} after {wall:.1f} s and {len(asked)} requests")
    if len(asked) != play.times + 1:
        raise ToolFailed(f"sent {len(asked)} requests in the place of {play.times + 1}")
    if errors := sum(each.errors for each in asked):
        raise ToolFailed(f"{errors} calls failed")
    return Run(asked[0].arrived - begin, _gaps(asked), wall, cpu, memory, asked[0].size)


def _like_claude(name: str, program: Sequence[str]) -> Agent:
    arguments = ("--model", MODEL, "--permission-mode", "bypassPermissions")
    return Agent(
        name,
        lambda prompt, more: (*program, "-p", prompt, *arguments, *more),
        shell={"tool": "Bash", "input": {"command": "", "description": "Run it"}},
        reader={"tool": "Read", "input": {"file_path": ""}},
    )


def _filled(call: Json, value: str) -> Json:
    first, *rest = call["input"]
    return {**call, "input": {first: value, **{name: call["input"][name] for name in rest}}}


def _gaps(asked: Sequence[Asked]) -> list[float]:
    return [later.arrived - earlier.answered for earlier, later in itertools.pairwise(asked)]


def _wait(process: subprocess.Popen[bytes], begin: float) -> tuple[float, float]:
    """Wait for the end of a process; its computing time, and its peak memory in MB."""
    memory = 0.0
    while True:
        pid, status, usage = os.wait4(process.pid, os.WNOHANG)
        if pid:
            break
        memory = _peak_memory(process.pid) or memory
        if time.monotonic() - begin > LONGEST_RUN:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
        time.sleep(LOOK)
    process.returncode = os.waitstatus_to_exitcode(status)
    # Where there is no /proc: at least that of this process, and of what the agent started.
    return usage.ru_utime + usage.ru_stime, memory or usage.ru_maxrss / 1024


def _peak_memory(pid: int) -> float:
    try:
        status = Path(f"/proc/{pid}/status").read_bytes()
    except OSError:
        return 0.0
    _, found, rest = status.partition(b"VmHWM:")
    return int(rest.split()[0]) / 1024 if found else 0.0
