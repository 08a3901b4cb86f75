"""Originals kept, a journal of edits, edits done as a whole or not at all, undo and restore."""

from stenograph.archive.archive import Archive, default_archive_folder
from stenograph.archive.change import Change, Recovery
from stenograph.archive.history import Undone, find_edits, undo_edit
from stenograph.archive.journal import Entry, FileChange, State
from stenograph.archive.labels import LabelChange, rename_session, tag_session
from stenograph.archive.removal import Removal, plan_removal

__all__ = [
    "Archive",
    "Change",
    "Entry",
    "FileChange",
    "LabelChange",
    "Recovery",
    "Removal",
    "State",
    "Undone",
    "default_archive_folder",
    "find_edits",
    "plan_removal",
    "rename_session",
    "tag_session",
    "undo_edit",
]
