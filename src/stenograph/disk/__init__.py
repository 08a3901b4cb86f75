"""Bytes and paths: homes, project folders, lines with offsets, and the one writer.

In: paths and bytes. Out: paths, lines and findings. Knows nothing of what a line holds.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from stenograph._exports import lazy_exports
from stenograph.disk.findings import Finding
from stenograph.disk.homes import default_homes, projects_folder, resolve_homes
from stenograph.disk.lines import Ends, Line, read_blocks, read_ends, read_lines, read_whole
from stenograph.disk.projects import chosen_project_folder, find_project_folders, project_folder_name, project_folder_names
from stenograph.disk.redacted_repr import redacted_repr
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
    move_file,
    put_in_place,
    remove_empty_folder,
    remove_file,
    replace_file,
    stage_file,
    state_of,
    sync_folder,
    unfinished_beside,
    write_all,
    write_atomically,
    write_user_file,
)

if TYPE_CHECKING:
    from stenograph.disk.homes import distinct_homes
    from stenograph.disk.lines import read_slice
    from stenograph.disk.places import absolute_path, resolved_file
    from stenograph.disk.writer import UNFINISHED

_MODULES = {
    "UNFINISHED": "writer",
    "distinct_homes": "homes",
    "resolved_file": "places",
    "read_slice": "lines",
    "absolute_path": "places",
}

__all__ = [
    "UNFINISHED",
    "Ends",
    "FileState",
    "Finding",
    "Line",
    "LockedFile",
    "StagedFile",
    "absolute_path",
    "append_lines",
    "chosen_project_folder",
    "default_homes",
    "delete_file",
    "discard",
    "distinct_homes",
    "find_project_folders",
    "lock",
    "make_folder",
    "missing_folders",
    "move_file",
    "project_folder_name",
    "project_folder_names",
    "projects_folder",
    "put_in_place",
    "read_blocks",
    "read_ends",
    "read_lines",
    "read_slice",
    "read_whole",
    "redacted_repr",
    "remove_empty_folder",
    "remove_file",
    "replace_file",
    "resolve_homes",
    "resolved_file",
    "stage_file",
    "state_of",
    "sync_folder",
    "unfinished_beside",
    "write_all",
    "write_atomically",
    "write_user_file",
]

__getattr__, __dir__ = lazy_exports(__name__, _MODULES, __all__)
