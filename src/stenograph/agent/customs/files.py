"""Which files of the user and of the project are read as commands, skills and agents.

What they say is sent before anybody trusts the project. So, as with its CLAUDE.md, a project's file may be a link only to what is
inside the project, and a rule can deny reading any file. What is read of a project is part of what the user trusts
(`permissions.trust`), which knows nothing of additional directories: no link may lead there either.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from enum import StrEnum
from pathlib import Path

from msgspec import Struct

from stenograph.agent.engine.options import AgentOptions


class CustomSource(StrEnum):
    USER = "user"
    PROJECT = "project"


class CustomFile(Struct, frozen=True):
    path: Path
    #: That holds all of its kind and source.
    folder: Path
    source: CustomSource


class CustomFiles:
    def __init__(self, options: AgentOptions, may_read: Callable[[Path], bool]) -> None:
        """`may_read`: whether no rule denies reading a file."""
        self._may_read = may_read
        #: One line for each file or folder that was skipped.
        self.problems: list[str] = []
        folders = {CustomSource.USER: options.home, CustomSource.PROJECT: options.cwd / ".claude"}
        self._folders = {source: folder for source, folder in folders.items() if source in options.sources}
        self._project = os.path.realpath(options.cwd)
        # In the user's own directory it is the user who made the links.
        self._own_folder = os.path.realpath(options.home)

    def of_kind(self, name: str, pattern: str) -> list[CustomFile]:
        """The user's first, each in the order of names."""
        return [
            CustomFile(path, folder / name, source)
            for source, folder in self._folders.items()
            # A project's folder could be a link to the whole disk.
            if os.path.isdir(folder / name) and self._is_for_us(folder / name, folder)  # noqa: PTH112 - Path.is_dir raises without rights
            for path in sorted((folder / name).glob(pattern))
            if self._is_for_us(path, folder)
        ]

    def _is_for_us(self, path: Path, folder: Path) -> bool:
        if not self._may_read(path):
            why = "a rule denies reading it"
        elif os.path.realpath(folder) != self._own_folder and not Path(os.path.realpath(path)).is_relative_to(self._project):
            why = "it is a link to outside the project"
        else:
            return True
        if os.path.exists(path):  # noqa: PTH110 - Path.exists raises without rights
            self.problems.append(f"skipped {path}: {why}")
        return False
