"""Shell commands that change only the files that they name: acceptEdits allows them, as in the client."""

from __future__ import annotations

import os
import re
from pathlib import Path

from stenograph.agent.permissions.known_options import KnownOptions
from stenograph.agent.permissions.shell_parts import Part

_OPTIONS = {
    "cp": KnownOptions(),
    "mkdir": KnownOptions("pv"),
    "mv": KnownOptions(),
    "rm": KnownOptions("rfdv"),
    "rmdir": KnownOptions("pv"),
    "touch": KnownOptions("acm"),
}
#: Files and directories that are looked at before a directory is moved.
_MOST_ENTRIES = 20_000
#: Of sed: replace, without what runs or writes something else.
_REPLACEMENT = re.compile(r"s([/|#,])(?:(?!\1)[^\\\n]|\\.)*\1(?:(?!\1)[^\\\n]|\\.)*\1[gi]?")


def changed_by(part: Part) -> list[str] | None:
    """The files that a command names, all of which it may change; None for any other command."""
    name, *arguments = part.words
    if not part.is_literal:
        return None
    if name == "sed":
        match arguments:
            case ["-i", program, *files] if files and _REPLACEMENT.fullmatch(program):
                return None if any(file.startswith("-") for file in files) else files
        return None
    options = _OPTIONS.get(name)
    given = [word for word in arguments if word.startswith("-") and word != "--"]
    if options is None or not all(map(options.hold, given)) or arguments.count("--") > 1:
        return None
    files = [word for word in arguments if word not in given and word != "--"]
    if name in ("cp", "mv"):
        # The last one may be a directory, in which there is a link of that name.
        files += [f"{files[-1]}/{file.rstrip('/').rpartition('/')[2]}" for file in files[:-1]]
    return files or None


def moved_by(part: Part) -> list[str]:
    """What `mv` moves, for a part that `changed_by` knows."""
    name, *arguments = part.words
    return [word for word in arguments if word != "--"][:-1] if name == "mv" else []


def may_redirect(path: Path, cwd: Path) -> bool:
    """Whether a name that is inside may lead outside once this is moved.

    A relative link then leads to another file, and in a moved working directory `..` is another directory.
    """
    holds_cwd = (os.path.realpath(cwd) + os.sep).startswith(os.path.realpath(path) + os.sep)
    return holds_cwd or os.path.islink(path) or _holds_links(path)  # noqa: PTH114 - Path.is_symlink raises without rights


def _holds_links(path: Path) -> bool:
    """Whether there may be a link in a directory. Nothing is in a file, nor in what is not there yet."""
    waiting: list[str | Path] = [path]
    count = 0
    while waiting:
        try:
            with os.scandir(waiting.pop()) as found:
                entries = list(found)
        except (FileNotFoundError, NotADirectoryError):
            continue
        except OSError:
            return True
        count += len(entries)
        if count > _MOST_ENTRIES or any(entry.is_symlink() for entry in entries):
            return True
        waiting += [entry.path for entry in entries if entry.is_dir(follow_symlinks=False)]
    return False
