"""Whether a file is in the Claude config directories that are served, links resolved. Reads no file.

A home may hold links that its user never made: a clone of a repository or a restored backup brings them along.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from pathlib import Path

from msgspec.structs import replace

from stenograph.disk import projects_folder
from stenograph.family import Family, read_family


class Boundary:
    def __init__(self, homes: Iterable[Path]) -> None:
        # `projects` may be on another disk.
        roots = {os.path.realpath(folder) for home in homes for folder in (home, projects_folder(home))}
        self._roots = tuple(os.path.join(root, "") for root in roots)  # noqa: PTH118 - with a slash at its end

    def contains(self, path: Path) -> bool:
        return os.path.realpath(path).startswith(self._roots)

    def checker(self) -> Callable[[Path], bool]:
        """The same for one list of files: resolving every path from its root takes longer than the list does."""
        folders: dict[str, bool] = {}

        def contains(path: Path) -> bool:
            if os.path.islink(path):  # noqa: PTH114 - never raises
                return self.contains(path)
            folder = os.path.dirname(path)  # noqa: PTH120 - a list has thousands
            if folder not in folders:
                folders[folder] = os.path.join(os.path.realpath(folder), "").startswith(self._roots)  # noqa: PTH118
            return folders[folder]

        return contains

    def family(self, session: Path) -> Family:
        """A session's files, without those that a link takes from outside."""
        family = read_family(session)
        if not self.contains(session):  # a copy from the archive, which restores no links
            return family
        contains = self.checker()
        return replace(
            family,
            agents=tuple(
                agent if agent.meta is None or contains(agent.meta) else replace(agent, meta=None)
                for agent in family.agents
                if contains(agent.path)
            ),
            tool_results=tuple(filter(contains, family.tool_results)),
            others=tuple(filter(contains, family.others)),
        )
