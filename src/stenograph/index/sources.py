"""Homes -> every file that belongs into the store, with its state."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from enum import StrEnum
from pathlib import Path

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


def find_sources(homes: Sequence[Path]) -> tuple[list[IndexedFile], list[Finding]]:
    """The session files of some homes, those of their subagents, and spilled results. Opens none."""
    listings, findings = list_homes(distinct_homes(homes))
    return [source for listing in listings for source in _sources(listing)], findings


def _sources(listing: ProjectListing) -> Iterator[IndexedFile]:
    """Every search looks at every file, so a file that a scan has seen is not asked for its status again."""
    home = listing.folder.parent.parent
    by_name = {file.session_id: file for file in listing.sessions}
    for file, status in zip(listing.sessions, listing.statuses, strict=True):
        yield _source(file.path, status, file, home, FilePart.SESSION)
    folder = str(listing.folder)
    for name in listing.session_folders:
        if owner := by_name.get(name):
            below = list_session_folder(f"{folder}{os.sep}{name}", [])
            for entry in below.agent_entries():
                path = Path(entry.path)
                yield _source(path, entry.stat(), owner, home, FilePart.AGENT, agent_id_of(path))
            for entry in below.tool_results:
                yield _source(Path(entry.path), entry.stat(), owner, home, FilePart.RESULT)
    for agent in listing.loose_agents:
        if (owner := by_name.get(named_owner(agent.path) or "")) and (state := _state_of(agent.path)) is not None:
            yield _source(agent.path, state, owner, home, FilePart.AGENT, agent.agent_id)


def _state_of(path: Path) -> os.stat_result | None:
    try:
        return os.stat(path)  # noqa: PTH116 - half the time of the path's own
    except OSError:
        return None  # gone since the directory was listed


def _source(
    path: Path, state: os.stat_result, session: SessionFile, home: Path, part: FilePart, agent: str | None = None
) -> IndexedFile:
    changed = max(state.st_ctime_ns, state.st_mtime_ns)
    return IndexedFile(path, session, home, part, agent, state.st_dev, state.st_ino, state.st_size, changed)
