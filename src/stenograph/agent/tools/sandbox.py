"""Commands in a sandbox of bubblewrap: they see the machine, change only the session's directories, and reach no network.

They see no other process, and so no key in its environment. `/tmp` is their own. What a client or git would run by itself, such
as hooks and settings, stays as it is even inside those directories.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
from collections.abc import Iterable, Mapping
from pathlib import Path

from stenograph.disk import make_folder
from stenograph.errors import UnwritableError, UsageError

_PROGRAM = "bwrap"
_MACHINE = ("--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--tmpfs", "/tmp")
_ALONE = ("--unshare-pid", "--unshare-ipc", "--unshare-net", "--die-with-parent")
#: They decide what runs without being asked for.
_KEPT = (".claude", ".mcp.json", ".git/hooks", ".git/config", ".vscode", ".envrc")
_PATIENCE = 10


def find_sandbox(environ: Mapping[str, str]) -> str:
    """The program, tried out. Raises UsageError."""
    program = shutil.which(_PROGRAM, path=environ.get("PATH"))
    if program is None:
        raise UsageError("--sandbox needs bubblewrap, which is not installed", hint="install the package bubblewrap")
    try:
        tried = subprocess.run([program, *_MACHINE, *_ALONE, "true"], capture_output=True, timeout=_PATIENCE, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise UsageError("bubblewrap could not be started", why=type(error).__name__) from None
    if tried.returncode:
        why = tried.stderr.decode("utf-8", "replace").strip().splitlines()[:1]
        raise UsageError("bubblewrap does not work here", why="".join(why), hint="run without --sandbox")
    return program


def sandboxed(program: str, folders: Iterable[Path], cwd: Path, hidden: Path | None = None) -> list[str]:
    """What to put before a command. `hidden`: a directory of ours that is empty for it."""
    command = [program, *_MACHINE, *_ALONE]
    places = sorted(set(folders), key=lambda folder: len(folder.parts))  # a directory before those inside of it
    for folder in places:
        command += ("--bind", str(folder), str(folder))
    for folder in places:
        # Mounted by itself, so that it can't be moved away with what is kept inside.
        if (folder / ".git").is_dir():
            command += ("--bind", str(folder / ".git"), str(folder / ".git"))
        kept = (folder / name for name in _KEPT)
        command += (part for path in kept if path.exists() for part in ("--ro-bind", str(path), str(path)))
    if hidden is not None and (place := _made(hidden)):
        command += ("--tmpfs", place)
    return [*command, "--chdir", str(cwd)]


def _made(folder: Path) -> str:
    """Made if it is missing: what is put there while the command runs, perhaps by another session, is hidden too.

    Without links, in which bubblewrap can't mount. Empty if there is no such directory.
    """
    with contextlib.suppress(UnwritableError):
        make_folder(folder)
    place = os.path.realpath(folder)
    return place if os.path.isdir(place) else ""  # noqa: PTH112 - text, as it is given to the program
