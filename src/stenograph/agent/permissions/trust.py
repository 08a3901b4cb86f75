"""Which projects may run hooks, servers and commands of their own, as the user decided.

Trust is given to a directory with exactly what its files ask for: a change of that, as by a `git pull`, needs trust again. It is
kept in our own state directory, never in the client's home. Nothing else in a project's files needs trust.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from stenograph.client_settings import SettingsFile
from stenograph.config import state_folder
from stenograph.disk import make_folder, read_whole, write_atomically
from stenograph.errors import DiskError

_FILE = "trusted-projects.json"
_SERVERS = ".mcp.json"
#: Commands and skills that allow tools while they run.
_GRANTING = ((".claude/commands", "**/*.md"), (".claude/skills", "*/SKILL.md"))
#: Members of a project's settings that need trust.
_MEMBERS = ("env", "hooks", "enabledMcpjsonServers", "enableAllProjectMcpServers")
_OF_PERMISSIONS = ("allow", "additionalDirectories", "defaultMode")


class _Trusted(Struct):
    #: Digest by directory.
    projects: dict[str, str] = {}


class ProjectTrust:
    def __init__(self, project: Path, files: Sequence[SettingsFile], environ: Mapping[str, str]) -> None:
        self._project = os.path.realpath(project)
        #: What needs trust and is not in settings.
        self.beside_settings = [
            *(["MCP servers"] if (project / _SERVERS).exists() else []),
            *(["commands or skills"] if _granting(project) else []),
        ]
        self._beside = _beside(project)
        self._digest = _digest(self._beside, files)
        folder = state_folder(environ)
        self._path = folder and folder / _FILE

    @property
    def is_needed(self) -> bool:
        """Whether the project's files ask for anything that needs trust."""
        return bool(self._digest)

    @property
    def is_given(self) -> bool:
        return bool(self._digest) and self._read().projects.get(self._project) == self._digest

    def remember(self) -> None:
        """Raises DiskError."""
        if self._path is None or not self._digest:
            return
        trusted = self._read()
        trusted.projects[self._project] = self._digest
        make_folder(self._path.parent)
        write_atomically(self._path, msgspec.json.format(msgspec.json.encode(trusted)) + b"\n", mode=0o600)

    def remember_with(self, files: Sequence[SettingsFile]) -> None:
        """Trust the project with these settings files instead, and with all else as it was found. Raises DiskError."""
        self._digest = _digest(self._beside, files)
        self.remember()

    def _read(self) -> _Trusted:
        try:
            return msgspec.json.decode(read_whole(self._path), type=_Trusted) if self._path else _Trusted()
        except (DiskError, OSError, ValueError):  # none yet, or not ours: nothing is trusted
            return _Trusted()


def _granting(project: Path) -> list[Path]:
    root = os.path.realpath(project)
    # What leads elsewhere is not read as such a file. A folder could lead to the whole disk.
    folders = [(project / name, pattern) for name, pattern in _GRANTING if _is_below(project / name, root)]
    return sorted(path for folder, pattern in folders for path in folder.glob(pattern) if _is_below(path, root))


def _is_below(path: Path, root: str) -> bool:
    return Path(os.path.realpath(path)).is_relative_to(root)


def _beside(project: Path) -> dict[str, str] | None:
    """Digests of the files that are not settings; None if there are none."""
    granting = _granting(project)
    found: dict[str, str] = {}
    # Whether one of them allows tools is not for this to judge: any change needs trust again.
    for path in (project / _SERVERS, *granting):
        with contextlib.suppress(DiskError, OSError):
            found[str(path.relative_to(project))] = _sha256(read_whole(path))
    return found if found or granting else None


def _digest(beside: dict[str, str] | None, files: Sequence[SettingsFile]) -> str:
    """Of everything that needs trust; empty if there is nothing."""
    asked: dict[str, Any] = dict(beside or {})
    for file in files:
        if not file.scope.is_of_project:
            continue
        permissions = file.values.get("permissions")
        wanted = {name: file.values[name] for name in _MEMBERS if file.values.get(name)}
        if isinstance(permissions, dict):
            wanted |= {name: permissions[name] for name in _OF_PERMISSIONS if permissions.get(name)}
        if wanted:
            asked[file.scope] = wanted
    if not asked and beside is None:
        return ""
    return _sha256(msgspec.json.encode(asked, order="deterministic"))


def _sha256(data: bytes) -> str:
    import hashlib  # a few milliseconds, and most projects ask for nothing

    return hashlib.sha256(data).hexdigest()
