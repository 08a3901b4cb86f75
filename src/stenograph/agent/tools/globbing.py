"""Glob patterns, as .gitignore and ripgrep read them, and the files of a folder.

In: a pattern, a folder. Out: what matches a path relative to the folder, written with `/`. `*` and `?` stay inside a name, `**`
spans folders, `{a,b}` and `[a-z]` choose; a pattern without `/` matches names at any depth. Hidden files count. Links are not
followed. Does not know tools or limits.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeAlias

#: Says of a path relative to the folder, and whether it is a folder, that it is left out.
LeaveOut: TypeAlias = Callable[[str, bool], bool]

_MAGIC = re.compile(r"[*?\[{\\]")


class GlobError(ValueError):
    """A pattern that can't be understood; the text says why."""


def compile_glob(pattern: str) -> re.Pattern[str]:
    """Matches whole relative paths. Raises GlobError."""
    body = pattern.removeprefix("./")
    anchored = "/" in body.rstrip("/")
    translated = _translate(body.removeprefix("/"))
    if not anchored:
        translated = f"(?:.*/)?{translated}"
    try:
        return re.compile(translated, re.DOTALL)
    except re.error as error:
        raise GlobError(f"error parsing glob '{pattern}': {error}") from None


def _translate(pattern: str) -> str:
    out: list[str] = []
    depth = 0
    at = 0
    while at < len(pattern):
        sign = pattern[at]
        if sign == "*" and pattern.startswith("**", at):
            piece, at = _stars(pattern, at)
            out.append(piece)
            continue
        if sign == "[":
            piece, at = _choice(pattern, at)
            out.append(piece)
            continue
        at += 1
        if sign == "*":
            out.append("[^/]*")
        elif sign == "?":
            out.append("[^/]")
        elif sign == "{":
            depth += 1
            out.append("(?:")
        elif sign == "}" and depth:
            depth -= 1
            out.append(")")
        elif sign == "," and depth:
            out.append("|")
        elif sign == "\\" and at < len(pattern):
            out.append(re.escape(pattern[at]))
            at += 1
        else:
            out.append(re.escape(sign))
    if depth:
        raise GlobError(
            f"error parsing glob '{pattern}': unclosed alternate group; missing '}}' (maybe escape '{{' with '[{{]'?)"
        )
    return "".join(out)


def _stars(pattern: str, at: int) -> tuple[str, int]:
    """`**/` is any folders or none, `/**` at the end all below; inside a name it is `*`."""
    end = at
    while end < len(pattern) and pattern[end] == "*":
        end += 1
    begins = at == 0 or pattern[at - 1] in "/{,"
    if begins and pattern.startswith("/", end):
        return "(?:.*/)?", end + 1
    if begins and (end == len(pattern) or pattern[end] in "},"):
        return ".*", end
    return "[^/]*", end


def _choice(pattern: str, at: int) -> tuple[str, int]:
    end = at + 1
    if end < len(pattern) and pattern[end] in "!^":
        end += 1
    if end < len(pattern) and pattern[end] == "]":  # the first one is meant itself
        end += 1
    end = pattern.find("]", end)
    if end < 0:
        raise GlobError(f"error parsing glob '{pattern}': unclosed character class; missing ']'")
    inside = pattern[at + 1 : end]
    negated = inside[:1] in ("!", "^")
    body = inside[1:] if negated else inside
    escaped = body.replace("\\", "\\\\").replace("[", "\\[").replace("]", "\\]").replace("&&", "&\\&")
    return f"(?!/)[{'^' if negated else ''}{escaped}]", end + 1


def fixed_part(pattern: str) -> tuple[str, str]:
    """The folders that a pattern begins with, and the rest: `src/x/**/*.py` -> (`src/x`, `**/*.py`)."""
    parts = pattern.split("/")
    count = next((index for index, part in enumerate(parts) if _MAGIC.search(part)), len(parts) - 1)
    count = min(count, len(parts) - 1)
    return "/".join(parts[:count]) or ("/" if count else ""), "/".join(parts[count:])


def walk_files(folder: Path, leave_out: LeaveOut | None = None) -> Iterator[str]:
    """Relative paths of the regular files below a folder, in the order of their names. What can't be listed is passed over."""
    waiting = _entries(folder, "")
    while waiting:
        relative, entry = waiting.pop()
        try:
            is_folder = entry.is_dir(follow_symlinks=False)
            is_file = not is_folder and entry.is_file(follow_symlinks=False)
        except OSError:
            continue
        if not (is_folder or is_file) or (leave_out is not None and leave_out(relative, is_folder)):
            continue
        if is_folder:
            waiting += _entries(folder, f"{relative}/")
        else:
            yield relative


def _entries(folder: Path, below: str) -> list[tuple[str, os.DirEntry[str]]]:
    """What is in a folder, the last name first."""
    try:
        with os.scandir(folder / below) as found:
            return [(f"{below}{entry.name}", entry) for entry in sorted(found, key=lambda entry: entry.name, reverse=True)]
    except OSError:
        return []
