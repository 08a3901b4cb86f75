"""What a search passes over: folders of version control, and what .gitignore names.

In: the folder that is searched. Out: whether a path below it is left out. As ripgrep does it, .gitignore counts inside a
repository only, those of the folders above included, and the last pattern that matches decides. Does not read
other lists of that kind.
"""

from __future__ import annotations

import re
from pathlib import Path

from msgspec import Struct

from stenograph.agent.tools.globbing import GlobError, compile_glob

VERSION_CONTROL = (".git", ".svn", ".hg", ".bzr", ".jj", ".sl")
#: Longer lists are no lists.
_LONGEST = 1024 * 1024


class _Rule(Struct, frozen=True):
    pattern: re.Pattern[str]
    is_negated: bool
    folders_only: bool


class Ignored:
    """Asked about every path on the way down: what is below a folder that is left out is never asked about."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._rules: dict[str, list[_Rule]] = {}
        self._above: list[tuple[str, list[_Rule]]] = []
        self._counts = False
        for parent in (folder, *folder.parents):
            if parent != folder:
                self._above.insert(0, (folder.relative_to(parent).as_posix(), _rules(parent)))
            if (parent / ".git").exists():
                self._counts = True
                break

    def __call__(self, relative: str, is_folder: bool) -> bool:
        name = relative.rpartition("/")[2]
        if name in VERSION_CONTROL and is_folder:
            return True
        if not self._counts:
            return False
        is_left_out = False
        for below, rules in self._above:
            is_left_out = _verdict(rules, f"{below}/{relative}", is_folder, is_left_out)
        parts = relative.split("/")
        for depth in range(len(parts)):
            rules = self._rules_of("/".join(parts[:depth]))
            is_left_out = _verdict(rules, "/".join(parts[depth:]), is_folder, is_left_out)
        return is_left_out

    def _rules_of(self, below: str) -> list[_Rule]:
        if below not in self._rules:
            self._rules[below] = _rules(self._folder / below)
        return self._rules[below]


def _verdict(rules: list[_Rule], relative: str, is_folder: bool, so_far: bool) -> bool:
    for rule in rules:
        if (is_folder or not rule.folders_only) and rule.pattern.fullmatch(relative):
            so_far = not rule.is_negated
    return so_far


def _rules(folder: Path) -> list[_Rule]:
    try:
        with (folder / ".gitignore").open("rb") as file:
            text = file.read(_LONGEST).decode("utf-8", "replace")
    except OSError:
        return []
    rules: list[_Rule] = []
    for line in text.splitlines():
        pattern = line.rstrip()
        if not pattern or pattern.startswith("#"):
            continue
        is_negated = pattern.startswith("!")
        pattern = pattern.removeprefix("!").removeprefix("\\")
        try:
            compiled = compile_glob(pattern.rstrip("/"))
        except GlobError:
            continue  # git passes it over as well
        rules.append(_Rule(compiled, is_negated, pattern.endswith("/")))
    return rules
