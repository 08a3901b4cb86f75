"""One server for all processes of a test run, which ends when the last of them is gone, however it went.

Everyone who uses the server holds a shared lock on a file; a keeper process, which started the server, ends it as soon as it
can lock that file for itself alone. The system drops the locks of processes that die, so nothing is left behind by a worker
that was killed. POSIX only. Knows nothing of the receiver but how it is launched.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from lab.locks import one_at_a_time
from lab.receivers.install import ReceiverMissing
from lab.receivers.server import START_TIMEOUT, Launch, Receiver, Server, copy_fresh

if sys.platform != "win32":
    import fcntl

#: How often the keeper looks whether anybody is left.
LOOK_EVERY = 0.5
_ATTEMPTS = 2  # another program may take the port between the choice and the start


@contextlib.contextmanager
def shared_server(receiver: Receiver, installed: Path, folder: Path) -> Iterator[str]:
    """The address of the one server that lives in `folder`, started when it is not there yet.

    Raises ReceiverMissing when it does not come up.
    """
    if sys.platform == "win32":
        raise ReceiverMissing(f"{receiver.name} is shared by POSIX locks, which Windows has not")
    folder.mkdir(parents=True, exist_ok=True)
    address = folder / "address"
    with (folder / "users").open("a") as users:
        fcntl.flock(users, fcntl.LOCK_SH)  # waits while a keeper is ending a server
        with one_at_a_time(folder / "start", _ATTEMPTS * START_TIMEOUT):
            for _ in range(_ATTEMPTS):
                if not address.exists():
                    _start_keeper(receiver, installed, folder)
        if not address.exists():
            raise ReceiverMissing(f"{receiver.name} {receiver.version} is installed and did not start")
        yield address.read_text()


def _start_keeper(receiver: Receiver, installed: Path, folder: Path) -> None:
    """Returns when there is an address, or the keeper gave up."""
    work = Path(tempfile.mkdtemp(prefix=f"{receiver.name}.", dir=folder))
    copy_fresh(installed, work)
    launch = work / "launch.json"
    launch.write_text(json.dumps(dataclasses.asdict(receiver.launch(installed, work))))
    command = [sys.executable, "-m", "lab.receivers", str(launch), str(folder)]
    with (folder / "keeper.log").open("ab") as log:
        keeper = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True)
    deadline = time.monotonic() + START_TIMEOUT
    while not (folder / "address").exists() and keeper.poll() is None and time.monotonic() < deadline:
        time.sleep(0.05)
    # It outlives this process on purpose, for the others: told so, `Popen` does not warn when it is collected.
    keeper.returncode = keeper.returncode or 0


def keep(launch: Launch, folder: Path) -> int:
    """Run a server until nobody uses it. 0 when it was ended so, 1 when it ended or failed by itself."""
    address = folder / "address"
    with (folder / "users").open("a") as users:
        server = Server(launch)
        try:
            if not server.wait_until_healthy(lambda: _is_used(users)):
                return 1
            written = folder / f"address.{os.getpid()}"
            written.write_text(server.address)
            written.rename(address)
            while server.is_alive():
                if not _is_used(users):
                    return 0
                time.sleep(LOOK_EVERY)
            return 1
        finally:
            address.unlink(missing_ok=True)
            server.stop()


def _is_used(users: IO[str]) -> bool:
    """Where nobody uses it the file stays locked: who comes then waits until the server is gone, and starts another."""
    try:
        fcntl.flock(users, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    return False
