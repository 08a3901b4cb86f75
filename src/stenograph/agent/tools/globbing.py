"""Path patterns as git and ripgrep read them, by pathspec; the files of a folder, and which of them a search ignores.

Paths are relative and written with `/`. Hidden files count. Links are not followed.
"""

from __future__ import annotations

import itertools
import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec


#: (relative path, is it a folder) -> is it ignored
IsIgnored: TypeAlias = Callable[[str, bool], bool]

_MAGIC = re.compile(r"[*?\[{\\]")
#: `{a,b}` thirty times would be a billion patterns.
_MOST_ALTERNATIVES = 1000


class GlobError(ValueError):
    """An invalid pattern; the text says why."""


class Glob:
    """Matches paths themselves; `covers` also what is below a match."""

    def __init__(self, pattern: str, *, braces: bool = True, flags: int = 0) -> None:
        """Raises GlobError."""
        body = pattern.removeprefix("./")
        self._patterns = [_compile(each, pattern, flags) for each in (_alternatives(body) if braces else [body])]

    def matches(self, relative: str) -> bool:
        return any(found is not None and found.lastgroup is None for found in self._found(relative))

    def covers(self, relative: str) -> bool:
        return any(found is not None for found in self._found(relative))

    def _found(self, relative: str) -> Iterator[re.Match[str] | None]:
        return (pattern.match(relative) for pattern in self._patterns)


def _compile(alternative: str, pattern: str, flags: int) -> re.Pattern[str]:
    from pathspec.patterns.gitignore.base import GitIgnorePatternError
    from pathspec.patterns.gitignore.spec import GitIgnoreSpecPattern

    if alternative.startswith(("!", "#")):  # special in a .gitignore only
        alternative = "\\" + alternative
    try:
        translated, _ = GitIgnoreSpecPattern.pattern_to_regex(alternative)
        if translated is None:
            raise GlobError(f"error parsing glob '{pattern}': unclosed character class; missing ']'")
        return re.compile(translated, flags | re.DOTALL)
    except (GitIgnorePatternError, re.error) as error:
        raise GlobError(f"error parsing glob '{pattern}': {error}") from None


def _alternatives(pattern: str) -> list[str]:
    """The patterns that `{a,b}` expands to."""
    waiting, found = [pattern], []
    while waiting:
        text = waiting.pop()
        if (braces := _first_braces(text, pattern)) is None:
            found.append(text)
            continue
        begin, commas, end = braces
        edges = [begin, *commas, end]
        waiting += [text[:begin] + text[a + 1 : b] + text[end + 1 :] for a, b in itertools.pairwise(edges)]
        if len(waiting) + len(found) > _MOST_ALTERNATIVES:
            raise GlobError(f"error parsing glob '{pattern}': more than {_MOST_ALTERNATIVES} alternatives")
    return found


def _first_braces(text: str, pattern: str) -> tuple[int, list[int], int] | None:
    """Where the first outermost braces begin, are divided and end."""
    begin, depth, at = -1, 0, 0
    commas: list[int] = []
    while at < len(text):
        sign = text[at]
        if sign == "\\":
            at += 1
        elif sign == "[":
            at = max(at, text.find("]", at + 2 + (text[at + 1 : at + 2] in ("!", "^"))))
        elif sign == "{":
            depth += 1
            begin = at if depth == 1 else begin
        elif sign == "," and depth == 1:
            commas.append(at)
        elif sign == "}" and depth:
            depth -= 1
            if not depth:
                return begin, commas, at
        at += 1
    if depth:
        raise GlobError(
            f"error parsing glob '{pattern}': unclosed alternate group; missing '}}' (maybe escape '{{' with '[{{]'?)"
        )
    return None


def fixed_part(pattern: str) -> tuple[str, str]:
    """`src/x/**/*.py` -> (`src/x`, `**/*.py`)"""
    parts = pattern.split("/")
    count = next((index for index, part in enumerate(parts) if _MAGIC.search(part)), len(parts) - 1)
    count = min(count, len(parts) - 1)
    return "/".join(parts[:count]) or ("/" if count else ""), "/".join(parts[count:])


def walk_files(folder: Path, is_ignored: IsIgnored | None = None) -> Iterator[str]:
    """Relative paths of the regular files below a folder, by name. Unlistable folders are skipped."""
    waiting = _entries(folder, "")
    while waiting:
        relative, entry = waiting.pop()
        try:
            is_folder = entry.is_dir(follow_symlinks=False)
            is_file = not is_folder and entry.is_file(follow_symlinks=False)
        except OSError:
            continue
        if not (is_folder or is_file) or (is_ignored is not None and is_ignored(relative, is_folder)):
            continue
        if is_folder:
            waiting += _entries(folder, f"{relative}/")
        else:
            yield relative


def _entries(folder: Path, below: str) -> list[tuple[str, os.DirEntry[str]]]:
    """Last name first."""
    try:
        with os.scandir(folder / below) as found:
            return [(f"{below}{entry.name}", entry) for entry in sorted(found, key=lambda entry: entry.name, reverse=True)]
    except OSError:
        return []


VERSION_CONTROL = (".git", ".svn", ".hg", ".bzr", ".jj", ".sl")
#: Bytes of a .gitignore.
_LONGEST = 1024 * 1024


class Ignored:
    """To be asked about every path on the way down: nothing below an ignored folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._below: dict[str, GitIgnoreSpec | None] = {}
        self._above: list[tuple[str, GitIgnoreSpec | None]] = []
        self._counts = False
        for parent in (folder, *folder.parents):
            if parent != folder:
                self._above.insert(0, (folder.relative_to(parent).as_posix(), _read(parent)))
            if (parent / ".git").exists():
                self._counts = True
                break

    def __call__(self, relative: str, is_folder: bool) -> bool:
        name = relative.rpartition("/")[2]
        if name in VERSION_CONTROL and is_folder:
            return True
        if not self._counts:
            return False
        path = f"{relative}/" if is_folder else relative
        is_ignored = False
        for below, spec in self._above:
            is_ignored = _verdict(spec, f"{below}/{path}", is_ignored)
        parts = relative.split("/")
        for depth in range(len(parts)):
            below = "/".join(parts[:depth])
            is_ignored = _verdict(self._of(below), path[len(below) + bool(below) :], is_ignored)
        return is_ignored

    def _of(self, below: str) -> GitIgnoreSpec | None:
        if below not in self._below:
            self._below[below] = _read(self._folder / below)
        return self._below[below]


def _verdict(spec: GitIgnoreSpec | None, path: str, so_far: bool) -> bool:
    include = None if spec is None else spec.check_file(path).include
    return so_far if include is None else include


def _read(folder: Path) -> GitIgnoreSpec | None:
    """Without the lines that git can't read either."""
    try:
        with (folder / ".gitignore").open("rb") as file:
            text = file.read(_LONGEST).decode("utf-8", "replace")
    except OSError:
        return None
    from pathspec import GitIgnoreSpec
    from pathspec.patterns.gitignore.spec import GitIgnoreSpecPattern

    patterns = []
    for line in text.splitlines():
        try:
            patterns.append(GitIgnoreSpecPattern(line))
        except (ValueError, re.error):
            continue
    return GitIgnoreSpec(patterns)
