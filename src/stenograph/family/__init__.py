"""The files of one session: its own file, its subagents and their metadata, spilled results, and who owns what."""

from stenograph.family.files import (
    AgentFile,
    AgentLayout,
    Family,
    FolderContents,
    ProjectListing,
    SessionFile,
    find_family,
    list_contents,
    list_project,
    list_projects,
)
from stenograph.family.meta import AgentMeta, read_metas
from stenograph.family.owners import named_owner, owner_of, read_family
from stenograph.family.places import (
    LINES_SUFFIX,
    agent_file_name,
    agents_folder,
    history_folder,
    is_agent_file,
    is_session_id,
    meta_path,
    results_folder,
    session_folder,
    session_name,
)

__all__ = [
    "LINES_SUFFIX",
    "AgentFile",
    "AgentLayout",
    "AgentMeta",
    "Family",
    "FolderContents",
    "ProjectListing",
    "SessionFile",
    "agent_file_name",
    "agents_folder",
    "find_family",
    "history_folder",
    "is_agent_file",
    "is_session_id",
    "list_contents",
    "list_project",
    "list_projects",
    "meta_path",
    "named_owner",
    "owner_of",
    "read_family",
    "read_metas",
    "results_folder",
    "session_folder",
    "session_name",
]
