"""Bytes and paths: homes, project folders, session families, lines with offsets, and the one writer.

In: paths and bytes. Out: paths, lines and findings. Knows nothing of what a line holds.
"""

from stenograph.disk.families import (
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
from stenograph.disk.lines import Ends, Line, read_ends, read_lines, read_whole
from stenograph.disk.projects import chosen_project_folder, find_project_folders, project_folder_name
from stenograph.disk.releases import NEWEST, release_numbers
from stenograph.disk.writer import FileState, LockedFile, append_lines, lock, replace_file, state_of

__all__ = [
    "NEWEST",
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
    "append_lines",
    "chosen_project_folder",
    "default_homes",
    "find_family",
    "find_project_folders",
    "is_agent_file",
    "is_session_id",
    "list_project",
    "list_projects",
    "lock",
    "project_folder_name",
    "projects_folder",
    "read_ends",
    "read_lines",
    "read_whole",
    "release_numbers",
    "replace_file",
    "resolve_homes",
    "state_of",
]
