"""What the rules and the working directories say about a file."""

from __future__ import annotations

import functools
import os
from collections.abc import Iterable, Sequence
from pathlib import Path

from stenograph.agent.permissions.live_policy import LivePolicy
from stenograph.agent.permissions.rules import PathRule, PermissionRule
from stenograph.agent.permissions.sensitive_files import sensitive_names
from stenograph.agent.tools.base import Workspace


class Places:
    """A file's absolute path as named, and with links followed."""

    def __init__(self, path: Path) -> None:
        self.named = os.path.normpath(path)
        self._path = path

    @functools.cached_property
    def all(self) -> frozenset[str]:
        # Of the path as named: `link/..` is not the folder that holds the link.
        return frozenset({self.named, real_path(self._path)})


def real_path(path: Path) -> str:
    try:
        return os.path.realpath(path)
    except ValueError:  # not a file name: the tool says so
        return os.path.normpath(path)


class FileRules:
    def __init__(self, policy: LivePolicy, workspace: Workspace, readable: Sequence[Path] = ()) -> None:
        """`readable`: directories outside the project that may be read."""
        self._policy = policy
        self._workspace = workspace
        self._readable = tuple(readable)
        self._path_rules: dict[PermissionRule, PathRule] = {}

    def path_rule(self, rule: PermissionRule) -> PathRule:
        if rule not in self._path_rules:
            # Only `/x` starts where the rule was written.
            root = rule.root if rule.spec.startswith("/") and not rule.spec.startswith("//") else None
            self._path_rules[rule] = PathRule(rule.spec, root or self._workspace.project)
        return self._path_rules[rule]

    def matches_any(self, rule: PermissionRule, paths: Iterable[Places]) -> bool:
        return any(self.path_rule(rule).matches(path.all) for path in paths)

    def matches_all(self, rule: PermissionRule, path: Places) -> bool:
        return all(self.path_rule(rule).matches([place]) for place in path.all)

    def is_inside(self, path: Places, *, and_readable: bool = False) -> bool:
        """By its name and by where links lead."""
        return all(self._below(place, and_readable=and_readable) is not None for place in path.all)

    def are_ordinary(self, paths: list[Places]) -> bool:
        return bool(paths) and all(self.is_inside(path) and not self.sensitive_names(path) for path in paths)

    def sensitive_names(self, path: Places) -> frozenset[str]:
        """What in a path makes other programs run something: changed only if a rule names it, or in bypassPermissions.

        2.1.325 asks a person even if a rule names it.
        """
        # The project may itself be below such a folder: only what is below the project counts.
        return frozenset().union(*(sensitive_names(Path(self._below(place) or place).parts) for place in path.all))

    def _below(self, place: str, *, and_readable: bool = False) -> str | None:
        folders = (*self._workspace.folders, *self._policy.directories, *(self._readable if and_readable else ()))
        spellings = {spelling.rstrip(os.sep) for folder in folders for spelling in Places(folder).all}
        return next((place[len(one) :] for one in spellings if place == one or place.startswith(one + os.sep)), None)


def names_all(rule: PermissionRule, sensitive: frozenset[str]) -> bool:
    """Whether a rule names such files itself: `src/**` was not written with `src/.git/hooks` in mind."""
    return sensitive.issubset(rule.spec.lower().split("/"))
