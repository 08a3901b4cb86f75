"""What is wrong with the families of session files: files that are missing, files that nobody owns.

Only sidecars are opened.
"""

from __future__ import annotations

from collections.abc import Iterator
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


def findings_around(file: FileReport) -> Iterator[Finding]:
    """What is wrong in the family of one file."""
    # Sessions under other names were copied: their families stayed behind.
    if not is_session_id(session_name(file.path)) or is_agent_file(file.path):
        return
    folder = file.path.parent
    family = find_family(folder, session_name(file.path))
    present = {agent.agent_id for agent in family.agents}
    for agent, line in file.agents.items():
        if agent not in present and not (folder / agent_file_name(agent)).exists():
            yield Finding("missing-agent-file", file.path, line)
    yield from read_metas(family.agents)[1]
    yield from (finding for finding in family.findings if finding.code not in HARMLESS)


def findings_of_folders(files: list[FileReport]) -> Iterator[Finding]:
    """What is wrong with directories all of whose files were checked, so that owners can be missed."""
    owners = {(file.path.parent, file.session_id) for file in files if not is_agent_file(file.path)}
    for file in files:
        if is_agent_file(file.path) and not _has_owner(file.path, owners):
            yield Finding("agent-without-session", file.path)
    for folder in sorted({folder for folder, _ in owners}):
        yield from _odd_in_folder(folder)


def _has_owner(agent: Path, owners: set[tuple[Path, str | None]]) -> bool:
    project, session_id = owner_of(agent)
    if project != agent.parent:
        return True  # without its session it is a finding of the project's
    return (project, session_id) in owners or (project / f"{session_id}{LINES_SUFFIX}").exists()


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
