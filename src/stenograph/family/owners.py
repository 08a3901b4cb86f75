"""Whose agent is it, where its place does not say?

Up to 2.0.x agents are beside the sessions, and other tools keep them in a `subagents` directory of the project: the first line of
the conversation names its session. Later lines may name a session that continued the agent.
"""

from __future__ import annotations

from pathlib import Path

from stenograph.disk import Finding
from stenograph.errors import DiskError
from stenograph.family.files import Family, ProjectListing, find_family, list_project
from stenograph.family.places import AGENTS_FOLDER, is_session_id, session_name


def read_family(session: Path, listing: ProjectListing | None = None) -> Family:
    """A session's file and all files that belong to it; `listing` is that of its project. Never raises."""
    findings: list[Finding] = []
    if listing is None:
        try:
            listing = list_project(session.parent)
        except DiskError as error:
            findings.append(Finding("unreadable-folder", session.parent, detail=str(error)))
    loose = listing.loose_agents if listing else []
    name = session_name(session)
    family = find_family(session.parent, name, loose_agents=[agent for agent in loose if named_owner(agent.path) == name])
    return family.with_findings(findings)


def named_owner(agent: Path) -> str | None:
    """The session that an agent's first line names; None while no whole line does, or it can't be read."""
    from stenograph.records import ChainedRecord, read_records

    try:
        for located in read_records(agent):
            record = located.record
            if isinstance(record, ChainedRecord) and isinstance(record.sessionId, str):
                return record.sessionId
    except DiskError:
        return None
    return None


def owner_of(agent: Path) -> tuple[Path, str | None]:
    """The project directory and the session of an agent's file: as its place says, otherwise as its lines do."""
    for folder in agent.parents:
        if folder.name == AGENTS_FOLDER:
            above = folder.parent
            return (above.parent, above.name) if is_session_id(above.name) else (above, named_owner(agent))
    return agent.parent, named_owner(agent)
