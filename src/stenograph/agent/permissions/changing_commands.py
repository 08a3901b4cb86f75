"""Shell commands that change only the files that they name: acceptEdits allows them, as in the client."""

from __future__ import annotations

import re

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
    if options is None or not all(map(options.hold, given)):
        return None
    files = [word for word in arguments if word not in given and word != "--"]
    if name in ("cp", "mv"):
        # The last one may be a directory, in which there is a link of that name.
        files += [f"{files[-1]}/{file.rstrip('/').rpartition('/')[2]}" for file in files[:-1]]
    return files or None
