"""What a search ignores: version control, and what .gitignore names.

As in ripgrep, .gitignore counts inside a repository only, with those of the folders above; the last match decides.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

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
    import re

    from pathspec import GitIgnoreSpec
    from pathspec.patterns.gitignore.spec import GitIgnoreSpecPattern

    patterns = []
    for line in text.splitlines():
        try:
            patterns.append(GitIgnoreSpecPattern(line))
        except (ValueError, re.error):
            continue
    return GitIgnoreSpec(patterns)
