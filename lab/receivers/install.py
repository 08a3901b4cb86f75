"""A receiver's release in a virtual environment of its own, kept in the user's cache between runs.

In: a `Receiver`, a folder, the environment for the installer. Out: the folder of the installation, with `fresh`, a working
folder as a first start leaves it. Where packages come from is the machine's own affair. Knows nothing of what a receiver does.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from lab.locks import one_at_a_time
from lab.receivers.server import Receiver, Server, programs_of

INSTALL_TIMEOUT = 900.0
#: Written last: an installation without it was cut short, and is made anew.
WHOLE = "whole"


class ReceiverMissing(Exception):  # noqa: N818 - a reason to skip, said in one line, not a failure of the package
    """A receiver is not installed and can't be, or does not run here; the text is the reason."""


def default_receivers_folder(environ: Mapping[str, str]) -> Path:
    """`$STENO_RECEIVERS`, else `stenograph/receivers` in the user's cache folder."""
    if chosen := environ.get("STENO_RECEIVERS"):
        return Path(chosen)
    cache = environ.get("XDG_CACHE_HOME") or os.path.join(environ.get("HOME") or Path.home(), ".cache")  # noqa: PTH118
    return Path(cache) / "stenograph" / "receivers"


def install_receiver(receivers: Path, receiver: Receiver, environ: Mapping[str, str] = os.environ) -> Path:
    """The folder of the installed receiver, installed first when it is missing; `environ` is what the installer gets.

    Raises ReceiverMissing when that fails, or when the receiver does not come up once it is installed.
    """
    folder = receivers / f"{receiver.name}-{receiver.version}"
    if (folder / WHOLE).exists():
        return folder
    receivers.mkdir(parents=True, exist_ok=True)
    try:
        with one_at_a_time(receivers / f"{folder.name}.lock", INSTALL_TIMEOUT):
            if not (folder / WHOLE).exists():  # another process may have installed it while this one waited
                _install(folder, receiver, environ)
    except TimeoutError:
        raise ReceiverMissing(f"another process is still installing {receiver.name}") from None
    return folder


def _install(folder: Path, receiver: Receiver, environ: Mapping[str, str]) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    try:
        # In place, not renamed into it: the programs of a virtual environment hold its path.
        _install_packages(folder, receiver, environ)
        _start_once(folder, receiver)
        (folder / WHOLE).touch()
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise


def _install_packages(folder: Path, receiver: Receiver, environ: Mapping[str, str]) -> None:
    # Modules are compiled once, here, or each start would take twice as long.
    environ = {name: value for name, value in environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    _run([sys.executable, "-m", "venv", str(folder)], receiver, environ)
    python = str(programs_of(folder) / "python")
    pip = [python, "-m", "pip", "--disable-pip-version-check", "install", "--quiet"]
    pins = [receiver.requirement, *(["--constraint", str(receiver.constraints)] if receiver.constraints else [])]
    downloads = folder / "downloads"
    try:
        # uv takes a third of pip's time, but does not read pip's settings: where it finds no index, pip may.
        _run([*pip, "uv"], receiver, environ)
        uv = [str(programs_of(folder) / "uv"), "pip", "install", "--quiet", "--python", python]
        _run([*uv, "--compile-bytecode", "--cache-dir", str(downloads), *pins], receiver, environ)
    except ReceiverMissing:
        _run([*pip, *pins], receiver, environ)
    shutil.rmtree(downloads, ignore_errors=True)


def _start_once(folder: Path, receiver: Receiver) -> None:
    """Proves that the installation runs, and leaves a new database behind."""
    fresh = folder / "fresh"
    fresh.mkdir()
    server = Server(receiver.launch(folder, fresh))
    try:
        if not server.wait_until_healthy():
            raise ReceiverMissing(f"{receiver.name} {receiver.version} was installed and did not start")
    finally:
        server.stop()


def _run(command: Sequence[str], receiver: Receiver, environ: Mapping[str, str]) -> None:
    """Raises ReceiverMissing when it fails; its words are left out, they name the machine's package index."""
    try:
        done = subprocess.run(
            command, env=dict(environ), stdin=subprocess.DEVNULL, capture_output=True, check=False, timeout=INSTALL_TIMEOUT
        )
    except (OSError, subprocess.TimeoutExpired) as failed:
        raise ReceiverMissing(f"{receiver.name} could not be installed ({type(failed).__name__})") from None
    if done.returncode:
        raise ReceiverMissing(f"{receiver.name} {receiver.version} could not be installed (exit code {done.returncode})")
