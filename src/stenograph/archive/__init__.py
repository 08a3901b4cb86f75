"""Originals kept, a journal of edits, edits done as a whole or not at all, undo and restore."""

from stenograph.archive.archive import Archive, default_archive_folder
from stenograph.archive.change import Change, Recovery
from stenograph.archive.journal import Entry, FileChange, State
from stenograph.archive.removal import Removal, plan_removal

__all__ = [
    "Archive",
    "Change",
    "Entry",
    "FileChange",
    "Recovery",
    "Removal",
    "State",
    "default_archive_folder",
    "plan_removal",
]
