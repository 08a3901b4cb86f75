"""The files of one session: its own file, its sub-agents and their metadata, spilled results, and who owns what."""

from stenograph.family.files import (
    LINES_SUFFIX,
    AgentFile,
    AgentLayout,
    Family,
    ProjectListing,
    SessionFile,
    find_family,
    is_agent_file,
    is_session_id,
    list_project,
    list_projects,
)

__all__ = [
    "LINES_SUFFIX",
    "AgentFile",
    "AgentLayout",
    "Family",
    "ProjectListing",
    "SessionFile",
    "find_family",
    "is_agent_file",
    "is_session_id",
    "list_project",
    "list_projects",
]
