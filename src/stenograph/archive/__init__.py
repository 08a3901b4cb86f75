"""Originals kept, a journal of edits, edits done entirely or not at all, undo and restore."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stenograph._exports import lazy_exports
from stenograph.archive.archive import Archive, default_archive_folder
from stenograph.archive.change import Change, Recovery
from stenograph.archive.history import Undone, find_edits, undo_edit
from stenograph.archive.journal import Entry, JournaledFile, State
from stenograph.archive.labels import LabelChange, rename_session, tag_session
from stenograph.archive.purge import ArchivePurge
from stenograph.archive.removal import Removal, plan_removal

if TYPE_CHECKING:
    from stenograph.archive.live import refuse_open
    from stenograph.archive.settings import as_before, make_change

_MODULES = {
    "as_before": "settings",
    "make_change": "settings",
    "refuse_open": "live",
}

__all__ = [
    "Archive",
    "ArchivePurge",
    "Change",
    "Entry",
    "JournaledFile",
    "LabelChange",
    "Recovery",
    "Removal",
    "State",
    "Undone",
    "as_before",
    "default_archive_folder",
    "find_edits",
    "make_change",
    "plan_removal",
    "refuse_open",
    "rename_session",
    "tag_session",
    "undo_edit",
]

__getattr__, __dir__ = lazy_exports(__name__, _MODULES, __all__)
