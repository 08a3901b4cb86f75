"""Commands in a sandbox of bubblewrap: they see the machine, change only the session's directories, and reach no network.

They see no other process, and so no key in its environment. `/tmp` is their own. What a client or git would run by itself, such
as hooks and settings, stays as it is even inside those directories.
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterable, Mapping
from pathlib import Path

from stenograph.errors import UsageError

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


def sandboxed(program: str, folders: Iterable[Path], cwd: Path) -> list[str]:
    """What to put before a command."""
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
    return [*command, "--chdir", str(cwd)]
