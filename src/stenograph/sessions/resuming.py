"""How a client resumes a session: the command, the directory, the environment. Starts and writes nothing.

A client finds a session by its id only in the project directory of where it is started (rule 1), so the right one is
a directory that the session's lines name and that encodes to the file's directory. Anything else is resumed by its path (rule 8).
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path, PurePosixPath, PureWindowsPath

from msgspec import Struct

from stenograph.disk import absolute_path, chosen_project_folder, default_homes, project_folder_names, projects_folder, read_lines
from stenograph.family import is_session_id
from stenograph.records import ChainedRecord, decode, may_name_cwd


class ResumePlan(Struct, frozen=True):
    command: tuple[str, ...]
    #: Where to start it; None: no line says, or it is not on this machine.
    folder: Path | None
    #: As the lines say, also where it is not there.
    cwd: str | None
    #: To be added to the environment: a home other than the one that the client would use.
    environment: dict[str, str]
    #: Why it can't be started from here; empty when it can.
    problem: str = ""


_CLIENT = "claude"


def plan_resume(
    path: Path, arguments: Sequence[str] = (), *, environ: Mapping[str, str] | None = None, client: str = _CLIENT
) -> ResumePlan:
    """How to go on with the session of a file. Raises UnreadableError."""
    environ = os.environ if environ is None else environ
    path = absolute_path(path)
    folders = _working_folders(path)
    home = path.parent.parent.parent if path.parent.parent.name == projects_folder(Path()).name else None
    fitting = [cwd for cwd in folders if _leads_to(cwd, path.parent.name, environ)]
    by_id = home is not None and is_session_id(path.stem) and bool(fitting)
    cwd = fitting[-1] if by_id else next(reversed(folders), None)
    reference = path.stem if by_id else str(path)
    environment: dict[str, str] = {}
    if by_id and home is not None and home != _home_of_client(environ):
        environment["CLAUDE_CONFIG_DIR"] = str(home)
    there = cwd is not None and os.path.isdir(cwd)  # noqa: PTH112 - never raises, whatever the name
    problem = "" if there else "its directory is not recorded" if cwd is None else f"its directory {cwd} does not exist here"
    return ResumePlan(
        (client, "--resume", reference, *arguments), Path(cwd) if there and cwd else None, cwd, environment, problem
    )


def command_line(plan: ResumePlan, quote: Callable[[str], str] = shlex.quote) -> str:
    """The plan as a line for a shell; `quote` makes a text one word of it."""
    words = [f"{name}={quote(value)}" for name, value in plan.environment.items()]
    line = " ".join([*words, *(quote(word) for word in plan.command)])
    return f"cd -- {quote(plan.cwd)} && {line}" if plan.cwd else line


def _working_folders(path: Path) -> dict[str, None]:
    found: dict[str, None] = {}
    for line in read_lines(path):
        if not may_name_cwd(line.data):
            continue
        record = decode(line.data)
        if isinstance(record, ChainedRecord) and isinstance(record.cwd, str) and _is_whole(record.cwd) and not record.isSidechain:
            found.pop(record.cwd, None)
            found[record.cwd] = None
    return found


def _is_whole(cwd: str) -> bool:
    """Whether it is a path from the root, of this machine or a Windows one: another would lead elsewhere from here."""
    return PurePosixPath(cwd).is_absolute() or PureWindowsPath(cwd).is_absolute()


def _leads_to(cwd: str, folder: str, environ: Mapping[str, str]) -> bool:
    return chosen_project_folder(environ) == folder or folder in project_folder_names(cwd)


def _home_of_client(environ: Mapping[str, str]) -> Path:
    return Path(environ.get("CLAUDE_CONFIG_DIR") or default_homes({**environ, "CLAUDE_CONFIG_DIR": ""})[0])
