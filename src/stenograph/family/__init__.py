"""The files of one session: its own file, its subagents and their metadata, spilled results, and who owns what."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stenograph._exports import lazy_exports

if TYPE_CHECKING:
    from stenograph.family.files import (
        AgentFile,
        AgentLayout,
        Family,
        FolderContents,
        ProjectListing,
        SessionFile,
        find_family,
        folder_link_above,
        list_contents,
        list_homes,
        list_project,
        list_projects,
        list_session_folder,
        session_of,
    )
    from stenograph.family.meta import AgentMeta, read_metas
    from stenograph.family.owners import named_owner, owner_of, read_family
    from stenograph.family.places import (
        LINES_SUFFIX,
        RESULTS_FOLDER,
        agent_file_name,
        agent_id_of,
        agents_folder,
        history_folder,
        is_agent_file,
        is_session_id,
        meta_path,
        results_folder,
        session_by_place,
        session_folder,
        session_name,
    )

_MODULES = {
    "files": (
        "AgentFile AgentLayout Family FolderContents ProjectListing SessionFile find_family folder_link_above list_contents"
        " list_homes list_project list_projects list_session_folder session_of"
    ),
    "meta": "AgentMeta read_metas",
    "owners": "named_owner owner_of read_family",
    "places": (
        "LINES_SUFFIX RESULTS_FOLDER agent_file_name agent_id_of agents_folder history_folder is_agent_file is_session_id"
        " meta_path results_folder session_by_place session_folder session_name"
    ),
}

__all__ = [
    "LINES_SUFFIX",
    "RESULTS_FOLDER",
    "AgentFile",
    "AgentLayout",
    "AgentMeta",
    "Family",
    "FolderContents",
    "ProjectListing",
    "SessionFile",
    "agent_file_name",
    "agent_id_of",
    "agents_folder",
    "find_family",
    "folder_link_above",
    "history_folder",
    "is_agent_file",
    "is_session_id",
    "list_contents",
    "list_homes",
    "list_project",
    "list_projects",
    "list_session_folder",
    "meta_path",
    "named_owner",
    "owner_of",
    "read_family",
    "read_metas",
    "results_folder",
    "session_by_place",
    "session_folder",
    "session_name",
    "session_of",
]

__getattr__, __dir__ = lazy_exports(__name__, _MODULES, __all__)
