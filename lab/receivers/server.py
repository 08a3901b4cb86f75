"""One receiver's process: started in a working folder of its own, awaited, ended with all of its children.

In: what to run (`Receiver`), where it is installed, a working folder. Out: its address, until it is stopped. The environment is
built from nothing, so that neither settings nor proxies of the caller reach it. Knows nothing of what a receiver stores.
"""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from lab.receivers.asking import responds

START_TIMEOUT = 180.0
STOP_TIMEOUT = 15.0


@dataclass(frozen=True)
class Launch:
    """One start of a receiver, down to its port; plain values, so that it can be handed to another process."""

    command: list[str]
    environment: dict[str, str]
    work: str
    address: str
    health_path: str


@dataclass(frozen=True)
class Receiver:
    """A pinned release of a trace receiver and how it is run."""

    name: str
    #: The distribution on the package index.
    distribution: str
    version: str
    health_path: str
    #: From the folder of the installation, the working folder and two free ports: the command line and the environment.
    command: Callable[[Path, Path, int, int], tuple[list[str], dict[str, str]]]
    #: The versions of everything that it needs, names and versions only; None to take what the index has.
    constraints: Path | None = None

    @property
    def requirement(self) -> str:
        return f"{self.distribution}=={self.version}"

    def launch(self, installed: Path, work: Path) -> Launch:
        """A start in `work` on ports that are free now."""
        port, second_port = _free_ports(2)
        command, environment = self.command(installed, work, port, second_port)
        folders = [str(programs_of(installed)), "/usr/local/bin", "/usr/bin", "/bin"]
        from_nothing = {
            "HOME": str(work),
            "PATH": os.pathsep.join(folders),
            "LANG": "C.UTF-8",
            "DO_NOT_TRACK": "true",
        }
        return Launch(command, {**from_nothing, **environment}, str(work), f"http://127.0.0.1:{port}", self.health_path)


class Server:
    """A receiver that runs until `stop`."""

    def __init__(self, launch: Launch) -> None:
        self.address = launch.address
        self._health = launch.address + launch.health_path
        with Path(launch.work, "server.log").open("ab") as log:
            # A session of its own makes a process group that can be ended as one.
            self._process = subprocess.Popen(
                launch.command,
                cwd=launch.work,
                env=launch.environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    def is_alive(self) -> bool:
        return self._process.poll() is None

    def wait_until_healthy(self, go_on: Callable[[], bool] = lambda: True) -> bool:
        """Whether it came up, before it ended, before the time was over and while `go_on` said so."""
        deadline = time.monotonic() + START_TIMEOUT
        while self.is_alive() and time.monotonic() < deadline and go_on():
            if responds(self._health):
                return True
            time.sleep(0.1)
        return False

    def stop(self) -> None:
        """End the process and its children: asked first (a clean end leaves a whole database), then made to."""
        for number in (signal.SIGTERM, signal.SIGKILL):
            try:
                os.killpg(self._process.pid, number)
                self._process.wait(STOP_TIMEOUT)
            except ProcessLookupError:
                break
            except subprocess.TimeoutExpired:
                continue
        self._process.wait()


def programs_of(environment: Path) -> Path:
    """Where a virtual environment keeps its programs."""
    return environment / ("Scripts" if sys.platform == "win32" else "bin")


def copy_fresh(installed: Path, work: Path) -> None:
    """A working folder as a first start leaves it: to make the database anew would take seconds of CPU each time."""
    shutil.copytree(installed / "fresh", work, dirs_exist_ok=True)


def _free_ports(count: int) -> list[int]:
    taken = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    try:
        return [int(each.getsockname()[1]) for each in taken]
    finally:
        for each in taken:
            each.close()
