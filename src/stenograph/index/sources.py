"""Homes -> every file that belongs into the store, with its state."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import NamedTuple

from msgspec import Struct

from stenograph.disk import Finding, distinct_homes
from stenograph.family import ProjectListing, SessionFile, agent_id_of, list_homes, list_session_folder, named_owner


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


class FoundFile(NamedTuple):
    """A file as a listing saw it. To make a source of it takes longer than to see that it has not changed."""

    path: bytes
    #: As `IndexedFile.identity`.
    identity: tuple[int, int, int, int]
    make: Callable[[], IndexedFile]


def find_sources(homes: Sequence[Path]) -> tuple[list[FoundFile], list[Finding]]:
    """The session files of some homes, those of their subagents, and spilled results. Opens none."""
    listings, findings = list_homes(distinct_homes(homes))
    return [source for listing in listings for source in _sources(listing)], findings


def _sources(listing: ProjectListing) -> Iterator[FoundFile]:
    """Every search looks at every file, so a file that a scan has seen is not asked for its status again."""
    home = listing.folder.parent.parent
    by_name = {file.session_id: file for file in listing.sessions}
    for file, status in zip(listing.sessions, listing.statuses, strict=True):
        yield _found(file.path, status, file, home, FilePart.SESSION)
    folder = str(listing.folder)
    for name in listing.session_folders:
        if owner := by_name.get(name):
            below = list_session_folder(f"{folder}{os.sep}{name}", [])
            for entry in below.agent_entries():
                yield _found(entry.path, entry.stat(), owner, home, FilePart.AGENT)
            for entry in below.tool_results:
                yield _found(entry.path, entry.stat(), owner, home, FilePart.RESULT)
    for agent in listing.loose_agents:
        if (owner := by_name.get(named_owner(agent.path) or "")) and (state := _state_of(agent.path)) is not None:
            yield _found(agent.path, state, owner, home, FilePart.AGENT, agent.agent_id)


def _state_of(path: Path) -> os.stat_result | None:
    try:
        return os.stat(path)  # noqa: PTH116 - half the time of the path's own
    except OSError:
        return None  # gone since the directory was listed


def _found(
    path: str | Path, state: os.stat_result, session: SessionFile, home: Path, part: FilePart, agent: str | None = None
) -> FoundFile:
    identity = state.st_dev, state.st_ino, state.st_size, max(state.st_ctime_ns, state.st_mtime_ns)
    return FoundFile(os.fsencode(path), identity, partial(_source, path, identity, session, home, part, agent))


def _source(
    path: str | Path, identity: tuple[int, int, int, int], session: SessionFile, home: Path, part: FilePart, agent: str | None
) -> IndexedFile:
    place = Path(path)
    if part is FilePart.AGENT and agent is None:
        agent = agent_id_of(place)
    return IndexedFile(place, session, home, part, agent, *identity)
