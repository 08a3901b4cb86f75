"""Bytes and paths: homes, project folders, session families, lines with offsets, and the one writer.

In: paths and bytes. Out: paths, lines and findings. Knows nothing of what a line holds.
"""

from stenograph.disk.families import (
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
from stenograph.disk.findings import Finding
from stenograph.disk.homes import default_homes, projects_folder, resolve_homes
from stenograph.disk.lines import Ends, Line, read_blocks, read_ends, read_lines, read_whole
from stenograph.disk.projects import chosen_project_folder, find_project_folders, project_folder_name
from stenograph.disk.releases import NEWEST, PROVED, release_numbers
from stenograph.disk.writer import (
    FileState,
    LockedFile,
    StagedFile,
    append_lines,
    delete_file,
    discard,
    lock,
    make_folder,
    missing_folders,
    put_in_place,
    remove_empty_folder,
    replace_file,
    stage_file,
    state_of,
    sync_folder,
    unfinished_beside,
    write_all,
)

__all__ = [
    "LINES_SUFFIX",
    "NEWEST",
    "PROVED",
    "AgentFile",
    "AgentLayout",
    "Ends",
    "Family",
    "FileState",
    "Finding",
    "Line",
    "LockedFile",
    "ProjectListing",
    "SessionFile",
    "StagedFile",
    "append_lines",
    "chosen_project_folder",
    "default_homes",
    "delete_file",
    "discard",
    "find_family",
    "find_project_folders",
    "is_agent_file",
    "is_session_id",
    "list_project",
    "list_projects",
    "lock",
    "make_folder",
    "missing_folders",
    "project_folder_name",
    "projects_folder",
    "put_in_place",
    "read_blocks",
    "read_ends",
    "read_lines",
    "read_whole",
    "release_numbers",
    "remove_empty_folder",
    "replace_file",
    "resolve_homes",
    "stage_file",
    "state_of",
    "sync_folder",
    "unfinished_beside",
    "write_all",
]
