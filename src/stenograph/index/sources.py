"""Homes -> every file that belongs into the store, with its state."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from pathlib import Path

from msgspec import Struct

from stenograph.disk import Finding, distinct_homes
from stenograph.family import (
    LINES_SUFFIX,
    ProjectListing,
    SessionFile,
    agent_id_of,
    list_homes,
    list_session_folder,
    named_owner,
    session_of,
)


class FilePart(StrEnum):
    """What a file is to its session."""

    SESSION = "session"
    AGENT = "agent"
    #: A tool's output that was too long for the session's file.
    RESULT = "result"


class IndexedFile(Struct, frozen=True):
    """A file that belongs into the store."""

    path: Path
    session: SessionFile
    home: Path
    part: FilePart
    agent: str | None
    device: int
    inode: int
    size: int
    changed_ns: int
    #: Of a file that only the archive has: writes a copy and returns its path.
    unpack: Callable[[], Path] | None = None

    @property
    def identity(self) -> tuple[int, int, int, int]:
        """The same for as long as the file is."""
        return self.device, self.inode, self.size, self.changed_ns


class Sources(Struct, frozen=True):
    """The files of some homes: the paths of all, and those that are not as the store knows them."""

    present: set[bytes]
    changed: list[IndexedFile]
    findings: list[Finding]


def find_sources(homes: Sequence[Path], known: Mapping[bytes, tuple[int, ...]]) -> Sources:
    """The session files of some homes, those of their subagents, and spilled results. Opens none.

    `known` are the identities of files by path. Every search looks at every file: nothing is made of one that has not changed.
    """
    listings, findings = list_homes(distinct_homes(homes))
    sources = Sources(set(), [], findings)
    for listing in listings:
        _look_at(listing, known, sources)
    return sources


def identity_of(status: os.stat_result) -> tuple[int, int, int, int]:
    """As `IndexedFile.identity`."""
    return status.st_dev, status.st_ino, status.st_size, max(status.st_ctime_ns, status.st_mtime_ns)


def _look_at(listing: ProjectListing, known: Mapping[bytes, tuple[int, ...]], sources: Sources) -> None:
    home = listing.folder.parent.parent
    by_name = {entry.name[: -len(LINES_SUFFIX)]: entry for entry in listing.session_entries}

    def look(
        path: str, status: os.stat_result, owner: os.DirEntry[str], part: FilePart = FilePart.SESSION, agent: str | None = None
    ) -> None:
        sources.present.add(name := os.fsencode(path))
        if known.get(name) != (identity := identity_of(status)):
            place = Path(path)
            agent = agent_id_of(place) if part is FilePart.AGENT and agent is None else agent
            sources.changed.append(IndexedFile(place, session_of(owner), home, part, agent, *identity))

    for entry in listing.session_entries:
        look(entry.path, entry.stat(), entry)
    folder = str(listing.folder)
    for name in listing.session_folders:
        if owner := by_name.get(name):
            below = list_session_folder(f"{folder}{os.sep}{name}", [])
            for entry in below.agent_entries():
                look(entry.path, entry.stat(), owner, FilePart.AGENT)
            for entry in below.tool_results:
                look(entry.path, entry.stat(), owner, FilePart.RESULT)
    for loose in listing.loose_agents:
        if (owner := by_name.get(named_owner(loose.path) or "")) and (status := status_of(loose.path)) is not None:
            look(str(loose.path), status, owner, FilePart.AGENT, loose.agent_id)


def status_of(path: Path) -> os.stat_result | None:
    try:
        return os.stat(path)  # noqa: PTH116 - half the time of the path's own
    except OSError:
        return None  # gone since the directory was listed
