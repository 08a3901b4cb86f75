"""Homes -> every file that belongs into the store, with its state."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from enum import StrEnum
from pathlib import Path

from msgspec import Struct

from stenograph.disk import Finding, distinct_homes
from stenograph.family import ProjectListing, SessionFile, find_family, list_homes, named_owner


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


def find_sources(homes: Sequence[Path]) -> tuple[list[IndexedFile], list[Finding]]:
    """The session files of some homes, those of their subagents, and spilled results. Opens none."""
    listings, findings = list_homes(distinct_homes(homes))
    return [source for listing in listings for source in _sources(listing)], findings


def _sources(listing: ProjectListing) -> Iterator[IndexedFile]:
    home = listing.folder.parent.parent
    by_name = {file.session_id: file for file in listing.sessions}
    for file in listing.sessions:
        yield from _source(file.path, file, home, FilePart.SESSION)
    for name in listing.session_folders:
        if owner := by_name.get(name):
            family = find_family(listing.folder, name)
            for agent in family.agents:
                yield from _source(agent.path, owner, home, FilePart.AGENT, agent.agent_id)
            for result in family.tool_results:
                yield from _source(result, owner, home, FilePart.RESULT)
    for agent in listing.loose_agents:
        if owner := by_name.get(named_owner(agent.path) or ""):
            yield from _source(agent.path, owner, home, FilePart.AGENT, agent.agent_id)


def _source(path: Path, session: SessionFile, home: Path, part: FilePart, agent: str | None = None) -> Iterator[IndexedFile]:
    try:
        state = os.stat(path)  # noqa: PTH116 - half the time of the path's own
    except OSError:
        return  # gone since the directory was listed
    changed = max(state.st_ctime_ns, state.st_mtime_ns)
    yield IndexedFile(path, session, home, part, agent, state.st_dev, state.st_ino, state.st_size, changed)
