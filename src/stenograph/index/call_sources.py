"""Homes -> the files with model calls that changed: sessions and subagents, found without opening one."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from msgspec import Struct

from stenograph.disk import Finding, distinct_homes
from stenograph.family import (
    AgentFile,
    AgentLayout,
    agent_id_of,
    is_session_id,
    list_homes,
    list_session_folder,
    session_name,
    session_of,
)
from stenograph.index.sources import IndexedFile, identity_of, status_of


class CallSource(Struct, frozen=True):
    path: Path
    home: Path
    #: The project's directory, and the session's name; empty for an agent of which nothing says whose it is.
    folder: Path
    session: str
    agent: AgentFile | None
    state: tuple[int, int, int, int]
    #: Of a file that only the archive has: writes a copy and returns its path.
    unpack: Callable[[], Path] | None = None

    @property
    def place(self) -> Path:
        """Where it can be read."""
        return self.path if self.unpack is None else self.unpack()

    @property
    def size(self) -> int:
        return self.state[2]


_State = tuple[int, int, int, int]


def find_call_sources(
    homes: Sequence[Path], known: Mapping[bytes, tuple[int, ...]], findings: list[Finding]
) -> tuple[set[bytes], list[CallSource]]:
    """Every file with lines of a session or a subagent, also of subagents whose session is gone: the paths of all, and those that
    are not as they are known."""
    listings, found = list_homes(distinct_homes(homes))
    findings += found
    present: set[bytes] = set()
    changed: list[CallSource] = []
    for listing in listings:
        folder, home = listing.folder, listing.folder.parent.parent
        for entry in listing.session_entries:
            present.add(path := os.fsencode(entry.path))
            if known.get(path) != (state := identity_of(entry.stat())):
                file = session_of(entry)
                changed.append(CallSource(file.path, home, folder, file.session_id, None, state))
        for name in listing.session_folders:
            for entry in list_session_folder(f"{folder}{os.sep}{name}", []).agent_entries():
                present.add(path := os.fsencode(entry.path))
                if known.get(path) != (state := identity_of(entry.stat())):
                    changed.append(_agent_source(entry.path, home, folder, name, state))
        for agent in listing.loose_agents:
            if (status := status_of(agent.path)) is not None:
                present.add(path := os.fsencode(agent.path))
                if known.get(path) != (state := identity_of(status)):
                    changed.append(CallSource(agent.path, home, folder, "", agent, state))
    return present, changed


def session_call_sources(path: Path) -> list[CallSource]:
    """The files of one session, as far as they are where clients put them today."""
    project = path.parent
    name = session_name(path)
    sources = []
    home, folder = project.parent.parent, f"{project}{os.sep}{name}"
    if (status := status_of(path)) is not None:
        sources.append(CallSource(path, home, project, name, None, identity_of(status)))
    if is_session_id(name) and os.path.isdir(folder) and not os.path.islink(folder):  # noqa: PTH112, PTH114 - never raises
        entries = list_session_folder(folder, []).agent_entries()
        sources += [_agent_source(entry.path, home, project, name, identity_of(entry.stat())) for entry in entries]
    return sources


def archived_call_source(file: IndexedFile) -> CallSource:
    session = file.session
    agent = AgentFile(file.path, file.agent, AgentLayout.NESTED) if file.agent else None
    state = (0, 0, file.size, file.changed_ns)
    return CallSource(file.path, file.home, session.path.parent, session.session_id, agent, state, file.unpack)


def _agent_source(name: str, home: Path, folder: Path, session: str, state: _State) -> CallSource:
    """Of an agent in its session's directory. Its metadata are looked for when it is read."""
    path = Path(name)
    return CallSource(path, home, folder, session, AgentFile(path, agent_id_of(path), AgentLayout.NESTED), state)
