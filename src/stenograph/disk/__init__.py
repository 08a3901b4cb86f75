"""Bytes and paths: homes, project directories, lines with offsets, and the one writer. Does not know what a line holds."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stenograph._exports import lazy_exports

if TYPE_CHECKING:
    from stenograph.disk.file_state import FileState, changed, mode_of, state_of
    from stenograph.disk.findings import Finding, redacted_repr
    from stenograph.disk.folders import make_folder, missing_folders, remove_empty_folder, sync_folder
    from stenograph.disk.homes import absolute_path, default_homes, distinct_homes, projects_folder, resolve_homes, resolved_file
    from stenograph.disk.lines import (
        Ends,
        Line,
        read_blocks,
        read_ends,
        read_from,
        read_line_blocks,
        read_lines,
        read_slice,
        read_whole,
        scan_line_blocks,
    )
    from stenograph.disk.locking import PRIVATE
    from stenograph.disk.projects import chosen_project_folder, find_project_folders, project_folder_name, project_folder_names
    from stenograph.disk.writer import (
        UNFINISHED,
        LockedFile,
        StagedFile,
        append_lines,
        delete_file,
        discard,
        lock,
        move_file,
        put_in_place,
        remove_file,
        replace_file,
        stage_file,
        unfinished_beside,
        write_all,
        write_atomically,
        write_user_file,
    )

_MODULES = {
    "file_state": "FileState changed mode_of state_of",
    "findings": "Finding redacted_repr",
    "folders": "make_folder missing_folders remove_empty_folder sync_folder",
    "homes": "absolute_path default_homes distinct_homes projects_folder resolve_homes resolved_file",
    "lines": "Ends Line read_blocks read_ends read_from read_line_blocks read_lines read_slice read_whole scan_line_blocks",
    "locking": "PRIVATE",
    "projects": "chosen_project_folder find_project_folders project_folder_name project_folder_names",
    "writer": (
        "UNFINISHED LockedFile StagedFile append_lines delete_file discard lock move_file put_in_place remove_file"
        " replace_file stage_file unfinished_beside write_all write_atomically write_user_file"
    ),
}

__all__ = [
    "PRIVATE",
    "UNFINISHED",
    "Ends",
    "FileState",
    "Finding",
    "Line",
    "LockedFile",
    "StagedFile",
    "absolute_path",
    "append_lines",
    "changed",
    "chosen_project_folder",
    "default_homes",
    "delete_file",
    "discard",
    "distinct_homes",
    "find_project_folders",
    "lock",
    "make_folder",
    "missing_folders",
    "mode_of",
    "move_file",
    "project_folder_name",
    "project_folder_names",
    "projects_folder",
    "put_in_place",
    "read_blocks",
    "read_ends",
    "read_from",
    "read_line_blocks",
    "read_lines",
    "read_slice",
    "read_whole",
    "redacted_repr",
    "remove_empty_folder",
    "remove_file",
    "replace_file",
    "resolve_homes",
    "resolved_file",
    "scan_line_blocks",
    "stage_file",
    "state_of",
    "sync_folder",
    "unfinished_beside",
    "write_all",
    "write_atomically",
    "write_user_file",
]

__getattr__, __dir__ = lazy_exports(__name__, _MODULES, __all__)
