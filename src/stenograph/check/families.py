"""What is wrong with the families of session files: files that are missing, files that nobody owns.

Only sidecars are opened.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from stenograph.check.codes import HARMLESS
from stenograph.check.file import FileReport
from stenograph.disk import Finding
from stenograph.errors import DiskError
from stenograph.family import (
    LINES_SUFFIX,
    agent_file_name,
    find_family,
    is_agent_file,
    is_session_id,
    list_project,
    owner_of,
    read_metas,
    session_name,
)


def family_findings(looked: Iterable[FileReport], *, whole_folders: bool) -> Iterator[Finding]:
    """What is wrong around the files. `whole_folders`: all files of their directories were checked, so owners can be missed."""
    files = list(looked)
    for file in files:
        # Sessions under other names were copied: their families stayed behind.
        if is_session_id(session_name(file.path)) and not is_agent_file(file.path):
            yield from _in_the_family(file)
    if whole_folders:
        owners = {(file.path.parent, file.session_id) for file in files if not is_agent_file(file.path)}
        for file in files:
            if is_agent_file(file.path) and not _has_owner(file.path, owners):
                yield Finding("agent-without-session", file.path)
        for folder in sorted({file.path.parent for file in files if not is_agent_file(file.path)}):
            yield from _odd_in_folder(folder)


def _has_owner(agent: Path, owners: set[tuple[Path, str | None]]) -> bool:
    project, session_id = owner_of(agent)
    if project != agent.parent:
        return True  # without its session it is a finding of the project's
    return (project, session_id) in owners or (project / f"{session_id}{LINES_SUFFIX}").exists()


def _in_the_family(file: FileReport) -> Iterator[Finding]:
    folder = file.path.parent
    family = find_family(folder, session_name(file.path))
    present = {agent.agent_id for agent in family.agents}
    for agent, line in file.agents.items():
        if agent not in present and not (folder / agent_file_name(agent)).exists():
            yield Finding("missing-agent-file", file.path, line)
    yield from read_metas(family.agents)[1]
    yield from (finding for finding in family.findings if finding.code not in HARMLESS)


def _odd_in_folder(folder: Path) -> Iterator[Finding]:
    try:
        listing = list_project(folder)
    except DiskError as error:
        yield Finding("unreadable", folder, detail=str(error))
        return
    present = {session.session_id for session in listing.sessions}
    for name in sorted(set(listing.session_folders) - present):
        yield Finding("folder-without-session", folder / name)
    yield from (finding for finding in listing.findings if finding.code not in HARMLESS)
