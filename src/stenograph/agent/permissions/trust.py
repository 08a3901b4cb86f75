"""Which projects may run hooks, servers and commands of their own, as the user decided.

Trust is given to a directory with exactly what its files ask for: a change of that, as by a `git pull`, needs trust again. It is
kept in our own state directory, never in the client's home. Nothing else in a project's files needs trust.
"""

from __future__ import annotations

import contextlib
import hashlib
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
_GRANTING = (".claude/commands/**/*.md", ".claude/skills/*/SKILL.md")
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
        self._digest = _digest(project, files)
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

    def _read(self) -> _Trusted:
        try:
            return msgspec.json.decode(read_whole(self._path), type=_Trusted) if self._path else _Trusted()
        except (DiskError, OSError, ValueError):  # none yet, or not ours: nothing is trusted
            return _Trusted()


def _granting(project: Path) -> list[Path]:
    return sorted(path for pattern in _GRANTING for path in project.glob(pattern))


def _digest(project: Path, files: Sequence[SettingsFile]) -> str:
    """Of everything that needs trust; empty if there is nothing."""
    asked: dict[str, Any] = {}
    for file in files:
        if not file.scope.is_of_project:
            continue
        permissions = file.values.get("permissions")
        wanted = {name: file.values[name] for name in _MEMBERS if file.values.get(name)}
        if isinstance(permissions, dict):
            wanted |= {name: permissions[name] for name in _OF_PERMISSIONS if permissions.get(name)}
        if wanted:
            asked[file.scope] = wanted
    with contextlib.suppress(DiskError, OSError):
        asked[_SERVERS] = hashlib.sha256(read_whole(project / _SERVERS)).hexdigest()
    if not asked and not _granting(project):
        return ""
    # Whether one of them allows tools is not for this to judge: any change needs trust again.
    for path in _granting(project):
        with contextlib.suppress(DiskError, OSError):
            asked[str(path.relative_to(project))] = hashlib.sha256(read_whole(path)).hexdigest()
    return hashlib.sha256(msgspec.json.encode(asked, order="deterministic")).hexdigest()
