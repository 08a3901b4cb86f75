"""What is in a project directory: sessions, and for one session its family of files. Opens no file.

A family is never more than clients are known to write: only a session named by a UUID has directories, and a link to one is a
finding, not the family's. Whoever removes or copies a family relies on that.
"""

from __future__ import annotations

import enum
import functools
import operator
import os
import stat
from collections.abc import Iterable, Sequence
from functools import lru_cache
from pathlib import Path

import msgspec

from stenograph.disk import UNFINISHED, Finding, projects_folder
from stenograph.errors import DiskError, UnreadableError
from stenograph.family.places import (
    AGENT_PREFIX,
    AGENTS_FOLDER,
    LINES_SUFFIX,
    META_SUFFIX,
    RESULTS_FOLDER,
    WORKFLOWS_FOLDER,
    agent_id_of,
    history_folder,
    is_agent_file,
    is_session_id,
)

_NAME = operator.attrgetter("name")
_HIDING = frozenset({"unreadable-folder", "unreadable-file", "broken-link"})


class AgentLayout(enum.Enum):
    """Where an agent's file is."""

    BESIDE = "beside"
    NESTED = "nested"
    WORKFLOW = "workflow"
    PROJECT = "project"


class AgentFile(msgspec.Struct, frozen=True):
    path: Path
    agent_id: str
    layout: AgentLayout
    meta: Path | None = None


class SessionFile(msgspec.Struct, frozen=True):
    session_id: str
    path: Path
    size: int
    mtime_ns: int
    #: False: clients do not list it, nor resume it by id.
    named_by_uuid: bool


class ProjectListing(msgspec.Struct, frozen=True, dict=True):
    """One project directory, as one scan saw it."""

    folder: Path
    #: The files of sessions. Whoever looks only for changes has no use for more, and paths take their time.
    session_entries: list[os.DirEntry[str]]
    #: Agents whose place does not say whose they are.
    loose_agents: list[AgentFile]
    #: Names of session directories; some have no session file.
    session_folders: list[str]
    findings: list[Finding]

    @functools.cached_property
    def sessions(self) -> list[SessionFile]:
        return [session_of(entry) for entry in self.session_entries]


class Family(msgspec.Struct, frozen=True):
    """A session and every file that belongs to it."""

    session_id: str
    #: None: only the session's directory is left.
    path: Path | None
    folder: Path | None
    agents: tuple[AgentFile, ...] = ()
    tool_results: tuple[Path, ...] = ()
    file_history: Path | None = None
    #: Everything else in the session's directory, such as `custom-title.json`.
    others: tuple[Path, ...] = ()
    findings: tuple[Finding, ...] = ()

    def with_findings(self, findings: Iterable[Finding]) -> Family:
        return msgspec.structs.replace(self, findings=(*self.findings, *findings))

    @property
    def hidden_agents(self) -> list[Finding]:
        """What of the directory of agents could not be looked at."""
        return [each for each in self.findings if each.code in _HIDING and each.path and AGENTS_FOLDER in each.path.parts]


class FolderContents(msgspec.Struct, frozen=True):
    """Everything below a directory, by name; links to directories are findings."""

    files: list[Path]
    #: The directory itself first.
    folders: list[Path]
    findings: list[Finding]


class SessionFolder(msgspec.Struct, frozen=True):
    """The files in a session's own directory, all of them and by what they are, each with the status that the scan saw."""

    entries: list[os.DirEntry[str]]
    #: Below `subagents`: lines of agents, and what is known of them.
    nested: list[os.DirEntry[str]]
    of_workflows: list[os.DirEntry[str]]
    tool_results: list[os.DirEntry[str]]

    def agent_entries(self) -> list[os.DirEntry[str]]:
        """The files with lines of agents."""
        return [entry for entry in (*self.nested, *self.of_workflows) if _is_agent_name(entry.name)]


def list_homes(homes: Iterable[Path]) -> tuple[list[ProjectListing], list[Finding]]:
    """Every project folder of the homes; what can't be read is a finding."""
    listings: list[ProjectListing] = []
    findings: list[Finding] = []
    for home in homes:
        try:
            folders, odd = list_projects(projects_folder(home))
        except DiskError as error:
            findings.append(Finding("unreadable", error.path, detail=str(error)))
            continue
        findings += odd
        for folder in folders:
            try:
                listings.append(listing := list_project(folder))
            except DiskError as error:
                findings.append(Finding("unreadable", error.path, detail=str(error)))
            else:
                findings += listing.findings
    return listings, findings


def list_projects(projects: Path) -> tuple[list[Path], list[Finding]]:
    """The project directories in a `projects` directory; none where it is missing. Raises UnreadableError."""
    findings: list[Finding] = []
    folders = [Path(entry.path) for entry in _scan(projects, missing_is_empty=True) if _is_folder(entry, findings)]
    return folders, findings


#: A path takes longer to make than its file to look at, and a server lists the same ones again and again.
_kept_path = lru_cache(16_384)(Path)


def list_project(folder: Path) -> ProjectListing:
    """Everything in one project directory. Raises UnreadableError when the directory itself can't be read."""
    listing = ProjectListing(folder, [], [], [], [])
    metas: dict[str, Path] = {}
    agents: list[Path] = []
    for entry in _scan(folder):
        name = entry.name
        if name.endswith(LINES_SUFFIX):
            if _status_of_file(entry, listing.findings) is None:
                continue
            if name.startswith(AGENT_PREFIX):
                agents.append(Path(entry.path))
                continue
            listing.session_entries.append(entry)
        elif is_session_id(name):
            if _is_own_folder(entry, listing.findings):
                listing.session_folders.append(name)
        elif name.startswith(AGENT_PREFIX) and name.endswith(META_SUFFIX):
            metas[name[: -len(META_SUFFIX)]] = Path(entry.path)
        elif name.startswith(UNFINISHED):
            listing.findings.append(_finding("left-unfinished", entry, "left by an interrupted write; can be deleted"))
        elif name == AGENTS_FOLDER and _is_own_folder(entry, listing.findings):
            listing.loose_agents.extend(_agents(_files_below(entry.path, listing.findings), AgentLayout.PROJECT))
    listing.loose_agents.extend(_agent(path, AgentLayout.BESIDE, metas.get(path.name[: -len(LINES_SUFFIX)])) for path in agents)
    return listing


def session_of(entry: os.DirEntry[str]) -> SessionFile:
    """The session of a file that a listing has."""
    stem, status = entry.name[: -len(LINES_SUFFIX)], entry.stat()
    return SessionFile(stem, _kept_path(entry.path), status.st_size, status.st_mtime_ns, is_session_id(stem))


def find_family(project: Path, session_id: str, *, loose_agents: Sequence[AgentFile] = ()) -> Family:
    """The family of one session; `loose_agents` are those of a ProjectListing that are this session's.

    Never raises: what can't be read is a finding, and a session of which nothing is left has neither path nor directory.
    """
    main = project / (session_id + LINES_SUFFIX)
    folder = project / session_id
    findings: list[Finding] = []
    has_folder = is_session_id(session_id) and _is_linkless_folder(folder, findings)
    below = list_session_folder(str(folder), findings) if has_folder else SessionFolder([], [], [], [])
    agents = [
        *_agents([entry.path for entry in below.nested], AgentLayout.NESTED),
        *_agents([entry.path for entry in below.of_workflows], AgentLayout.WORKFLOW),
    ]
    known = {str(path) for agent in agents for path in (agent.path, agent.meta)}
    known.update(entry.path for entry in below.tool_results)
    history = history_folder(project.parent.parent, session_id)
    has_history = is_session_id(session_id) and _is_linkless_folder(history, findings)
    return Family(
        session_id=session_id,
        path=main if os.path.isfile(main) else None,  # noqa: PTH113 - never raises
        folder=folder if has_folder else None,
        agents=(*agents, *loose_agents),
        tool_results=tuple(Path(entry.path) for entry in below.tool_results),
        file_history=history if has_history else None,
        others=tuple(Path(entry.path) for entry in below.entries if entry.path not in known),
        findings=tuple(findings),
    )


def list_session_folder(folder: str, findings: list[Finding]) -> SessionFolder:
    """The files in a session's own directory, as entries: every command lists these directories, and paths take their time."""
    found = SessionFolder(_entries_below(folder, findings), [], [], [])
    begin = len(folder) + 1
    for entry in found.entries:
        first, *rest = entry.path[begin:].split(os.sep)  # noqa: PTH206
        if first == AGENTS_FOLDER:
            (found.of_workflows if len(rest) > 1 and rest[0] == WORKFLOWS_FOLDER else found.nested).append(entry)
        elif first == RESULTS_FOLDER and rest:
            found.tool_results.append(entry)
    return found


def list_contents(folder: Path) -> FolderContents:
    """All files and directories below a directory, to any depth. Never raises."""
    contents = FolderContents([], [], [])
    folders: list[str] = []
    contents.files.extend(map(Path, _files_below(str(folder), contents.findings, folders)))
    contents.folders.extend(map(Path, folders))
    return contents


def folder_link_above(path: Path) -> Path | None:
    """A link among a session's own directories above one of its files: what is behind it is not the session's."""
    above: list[Path] = []
    for folder in path.parents:
        if folder.name == "projects":
            return None
        above.append(folder)
        if is_session_id(folder.name):
            return next((each for each in reversed(above) if os.path.islink(each)), None)  # noqa: PTH114 - never raises
    return None


def _files_below(folder: str, findings: list[Finding], folders: list[str] | None = None) -> list[str]:
    return [entry.path for entry in _entries_below(folder, findings, folders)]


def _entries_below(folder: str, findings: list[Finding], folders: list[str] | None = None) -> list[os.DirEntry[str]]:
    """The files below a folder, to any depth. Notes the folders that could be read, the folder itself first."""
    files: list[os.DirEntry[str]] = []
    waiting = [folder]
    while waiting:
        here = waiting.pop()
        try:
            entries = sorted(_scan(here), key=_NAME)
        except UnreadableError as error:
            findings.append(Finding("unreadable-folder", Path(here), detail=str(error)))
            continue
        if folders is not None:
            folders.append(here)
        below = []
        for entry in entries:
            try:
                is_folder = entry.is_dir(follow_symlinks=False)
            except OSError:
                is_folder = False
            if is_folder:
                below.append(entry.path)
            # Half of all files are metadata of agents, and nobody asks for their status.
            elif (entry.name.endswith(META_SUFFIX) and entry.is_file(follow_symlinks=False)) or (
                _status_of_file(entry, findings) is not None
            ):
                files.append(entry)
        waiting += reversed(below)
    return files


def _is_agent_name(name: str) -> bool:
    return name.startswith(AGENT_PREFIX) and name.endswith(LINES_SUFFIX)


def _agents(files: Sequence[str], layout: AgentLayout) -> list[AgentFile]:
    metas = {name[: -len(META_SUFFIX)]: name for name in files if name.endswith(META_SUFFIX)}
    found = []
    for name in files:
        if name.endswith(LINES_SUFFIX) and is_agent_file(path := Path(name)):
            meta = metas.get(name[: -len(LINES_SUFFIX)])
            found.append(_agent(path, layout, None if meta is None else Path(meta)))
    return found


def _agent(path: Path, layout: AgentLayout, meta: Path | None) -> AgentFile:
    return AgentFile(path, agent_id_of(path), layout, meta)


def _scan(folder: Path | str, *, missing_is_empty: bool = False) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return list(entries)
    except OSError as error:
        if missing_is_empty and isinstance(error, FileNotFoundError):
            return []
        raise UnreadableError(f"cannot read {folder}: {error.strerror}", path=Path(folder)) from error


def _status_of_file(entry: os.DirEntry[str], findings: list[Finding]) -> os.stat_result | None:
    """The status of a regular file, links followed; for anything else a finding and None."""
    if not _is_text(entry.name):
        findings.append(_finding("name-not-utf8", entry, "its name is not UTF-8"))
    try:
        linked = entry.is_symlink()
        status = entry.stat()
    except OSError as error:
        kind = "broken-link" if entry.is_symlink() else "unreadable-file"
        findings.append(_finding(kind, entry, f"cannot read {entry.path}: {error.strerror}"))
        return None
    if not stat.S_ISREG(status.st_mode):
        is_folder = stat.S_ISDIR(status.st_mode)
        if linked and is_folder:
            findings.append(_linked(Path(entry.path)))
        else:
            findings.append(_finding("not-a-file", entry, "a directory" if is_folder else "neither a file nor a directory"))
        return None
    if linked:
        findings.append(_finding("linked-file", entry, "a link; its target is read and written"))
    return status


def _is_folder(entry: os.DirEntry[str], findings: list[Finding]) -> bool:
    try:
        if entry.is_dir():
            if not _is_text(entry.name):
                findings.append(_finding("name-not-utf8", entry, "its name is not UTF-8"))
            return True
        if entry.is_symlink() and not os.path.exists(entry.path):  # noqa: PTH110 - never raises
            findings.append(_finding("broken-link", entry, "its target does not exist"))
    except OSError as error:
        findings.append(_finding("unreadable-folder", entry, f"cannot read {entry.path}: {error.strerror}"))
    return False


def _is_own_folder(entry: os.DirEntry[str], findings: list[Finding]) -> bool:
    if not _is_folder(entry, findings):
        return False
    if entry.is_symlink():
        findings.append(_linked(Path(entry.path)))
        return False
    return True


def _is_linkless_folder(path: Path, findings: list[Finding]) -> bool:
    if not os.path.isdir(path):  # noqa: PTH112 - never raises, whatever the name
        return False
    if os.path.islink(path):  # noqa: PTH114 - the same
        findings.append(_linked(path))
        return False
    return True


def _linked(path: Path) -> Finding:
    return Finding("linked-folder", path, detail="a link to a directory; its target does not belong to the session")


def _is_text(name: str) -> bool:
    """False where the system's bytes were not UTF-8: os.fsdecode then leaves lone surrogates."""
    return name.isascii() or not any("\udc80" <= character <= "\udcff" for character in name)


def _finding(code: str, entry: os.DirEntry[str], detail: str) -> Finding:
    return Finding(code, Path(entry.path), detail=detail)
