"""The memory in CLAUDE.md files and their imports, broadest first, each file once.

What counts, and in which order, was asked of 2.1.325.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Callable, Iterable, Iterator
from enum import StrEnum
from pathlib import Path

from msgspec import Struct

from stenograph.agent.tools.base import Workspace
from stenograph.client_settings import ALL_SOURCES

#: Bytes of one file; the rest is cut off. Memory is sent with every request.
LARGEST = 100_000
#: Bytes of all files together, without nested ones.
LARGEST_SUM = 400_000
DEEPEST_IMPORT = 5
_NAMES = ("CLAUDE.md", ".claude/CLAUDE.md", "CLAUDE.local.md")
_LOCAL = "CLAUDE.local.md"
_FENCE = r"^ {0,3}(`{3,}|~{3,})"
_CODE_SPAN = r"(?s)(`+)(?!`).*?(?<!`)\1(?!`)"
_IMPORT = r"(?:^|(?<=\s))@(\S+)"
#: A remark on lines of its own; 2.1.325 leaves it out too.
_REMARK = r"(?sm)^[ \t]*<!--.*?-->[ \t]*(?:\n|\Z)"


class MemoryKind(StrEnum):
    """Whose memory it is, in the client's words (`type` of a nested_memory attachment)."""

    USER = "User"
    PROJECT = "Project"
    LOCAL = "Local"

    @property
    def source(self) -> str:
        """In the words of `--setting-sources`."""
        return self.value.lower()


class MemoryFile(Struct, frozen=True):
    path: Path
    kind: MemoryKind
    text: str


class Memory:
    """Read once a session, so that all its requests begin the same."""

    def __init__(
        self,
        home: Path,
        workspace: Workspace,
        may_read: Callable[[Path], bool] | None = None,
        sources: frozenset[str] = ALL_SOURCES,
    ) -> None:
        """`sources`: whose files are read."""
        self._may_read = may_read
        self._sources = sources
        self._project = Path(os.path.normpath(workspace.project))
        self._additional = tuple(workspace.additional)
        #: One line for each file that was not read whole.
        self.problems: list[str] = []
        self._seen: set[str] = set()
        self._left = LARGEST_SUM
        self.files = list(self._all(home))
        self._read_at_first = frozenset(self._seen)

    def nested_for(self, path: Path) -> list[MemoryFile]:
        """Memory of the directories between the project and a file, outermost first; each file once a session."""
        name = os.path.normpath(path)
        if os.path.dirname(name) == str(self._project):  # noqa: PTH120 - asked for every file that is read
            return []
        path = Path(name)
        if self._project not in path.parents:
            return []
        self._left = LARGEST_SUM
        between = path.parent.relative_to(self._project).parts
        folders = [self._project.joinpath(*between[: count + 1]) for count in range(len(between))]
        return [file for folder in folders for file in self._of_folder(folder)]

    def nested_texts(self, paths: Iterable[Path]) -> list[str]:
        """The same for several files, in the words of 2.1.325."""
        return [
            f"<system-reminder>\nContents of {file.path}:\n\n{file.text}\n</system-reminder>"
            for path in paths
            for file in self.nested_for(path)
        ]

    def forget_nested(self) -> None:
        """After a compaction inner directories' memory is sent again."""
        self._seen = set(self._read_at_first)

    def _all(self, home: Path) -> Iterator[MemoryFile]:
        if MemoryKind.USER.source in self._sources:
            yield from self._with_imports(home / "CLAUDE.md", MemoryKind.USER, home)
        for folder in (*reversed(self._project.parents), self._project):
            yield from self._of_folder(folder)

    def _of_folder(self, folder: Path) -> Iterator[MemoryFile]:
        for name in _NAMES:
            kind = MemoryKind.LOCAL if name == _LOCAL else MemoryKind.PROJECT
            if kind.source in self._sources:
                yield from self._with_imports(folder / name, kind, folder)

    def _with_imports(self, path: Path, kind: MemoryKind, folder: Path, depth: int = 0) -> Iterator[MemoryFile]:
        place = os.path.realpath(path)
        if place in self._seen or not self._is_for_us(path, kind, folder) or (text := self._read(path)) is None:
            return
        self._seen.add(place)
        remembered = re.sub(_REMARK, "", text).strip()
        if remembered:
            yield MemoryFile(path, kind, remembered)
        if depth == DEEPEST_IMPORT:
            return
        for name in imports_in(text):
            imported = _resolve(name, path.parent)
            # Otherwise a project's file could send away any file of the user's.
            if kind is MemoryKind.USER or self._is_inside(imported, folder):
                yield from self._with_imports(imported, kind, folder, depth + 1)
            elif os.path.isfile(imported):  # noqa: PTH113 - Path.is_file raises for what is no name
                self.problems.append(f"{path} imports {imported}, which is outside the project; skipped")

    def _is_for_us(self, path: Path, kind: MemoryKind, folder: Path) -> bool:
        if self._may_read is not None and not self._may_read(path):
            why = "a rule denies reading it"
        elif kind is not MemoryKind.USER and not self._is_inside(path, folder):
            why = "it is a link to outside the project"
        else:
            return True
        problem = f"skipped {path}: {why}"
        # Inner folders are looked at again and again.
        if os.path.isfile(path) and problem not in self.problems:  # noqa: PTH113 - Path.is_file raises for what is no name
            self.problems.append(problem)
        return False

    def _is_inside(self, path: Path, folder: Path) -> bool:
        above = Path(os.path.realpath(path)).parents
        return any(Path(os.path.realpath(one)) in above for one in (folder, self._project, *self._additional))

    def _read(self, path: Path) -> str | None:
        try:
            # A pipe would never end.
            if not stat.S_ISREG(path.stat().st_mode):
                return None
            with path.open("rb") as file:
                data = file.read(LARGEST + 1)
        except (FileNotFoundError, NotADirectoryError):
            return None
        except (OSError, ValueError) as error:  # ValueError: a name that can't be one
            reason = error.strerror if isinstance(error, OSError) else "no such name"
            self.problems.append(f"cannot read {path}: {reason}")
            return None
        if b"\0" in data:
            self.problems.append(f"skipped {path}: it is not text")
            return None
        allowed = min(LARGEST, self._left)
        if len(data) > allowed:
            self.problems.append(f"{path} is too long; only its first {allowed} bytes are used")
        self._left -= min(len(data), allowed)
        # A character cut in half is dropped.
        return data[:allowed].decode("utf-8-sig", errors="ignore" if len(data) > allowed else "replace").replace("\r\n", "\n")


def imports_in(text: str) -> list[str]:
    """The paths behind `@`, outside code."""
    plain: list[str] = []
    fence = ""
    for line in text.split("\n"):
        found = re.match(_FENCE, line)
        if fence:
            if found and found[1].startswith(fence) and not line.strip().strip(fence[0]):
                fence = ""
        elif found:
            fence = found[1]
        else:
            plain.append(line)
    outside = re.sub(_CODE_SPAN, " ", re.sub(_REMARK, "", "\n".join(plain)))
    return [name for name in (found.rstrip(".,;:!?)\"'") for found in re.findall(_IMPORT, outside)) if name]


def _resolve(name: str, folder: Path) -> Path:
    if name.startswith("~/"):
        return Path(os.path.expanduser(name))  # noqa: PTH111 - it does not raise where there is no home
    return Path(os.path.normpath(folder / name))
