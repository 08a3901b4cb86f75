"""Kept originals, a journal of edits, edits that are all or nothing, undo and restore."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stenograph._exports import lazy_exports
from stenograph.archive.archive import Archive, default_archive_folder
from stenograph.archive.change import Change, Recovery
from stenograph.archive.history import Undone, find_edits, find_removal, plan_undo, removed_title, undo_edit
from stenograph.archive.journal import Entry, JournaledFile, State
from stenograph.archive.labels import LabelChange, clear_title, rename_session, tag_session
from stenograph.archive.place import place_of_file
from stenograph.archive.purge import ArchivePurge
from stenograph.archive.removal import Removal, plan_removal

if TYPE_CHECKING:
    from stenograph.archive.keeping import KeepReport, keep_sessions, read_facts
    from stenograph.archive.kept import KeptFile, KeptSession, KeptStore, KeptTotals, open_kept
    from stenograph.archive.live import refuse_open
    from stenograph.archive.restoring import (
        RestorePlan,
        find_kept,
        kept_title,
        open_kept_to_restore,
        plan_restore,
        restore_session,
        restore_to,
    )
    from stenograph.archive.retention import (
        SOON,
        ExpiringSession,
        Retention,
        expiring_sessions,
        kept_states,
        overdue,
        retention_of,
        unkept,
    )
    from stenograph.archive.schedule import (
        Timer,
        crontab_line,
        has_keep_hook,
        install_timer,
        plan_keep_hook,
        plan_keep_hook_removal,
        plan_timer,
        uninstall_timer,
    )
    from stenograph.archive.settings import as_before, make_change

_MODULES = {
    "keeping": "KeepReport keep_sessions read_facts",
    "kept": "KeptFile KeptSession KeptStore KeptTotals open_kept",
    "live": "refuse_open",
    "restoring": "RestorePlan find_kept kept_title open_kept_to_restore plan_restore restore_session restore_to",
    "retention": "SOON ExpiringSession Retention expiring_sessions kept_states overdue retention_of unkept",
    "schedule": "Timer crontab_line has_keep_hook install_timer plan_keep_hook plan_keep_hook_removal plan_timer uninstall_timer",
    "settings": "as_before make_change",
}

__all__ = [
    "SOON",
    "Archive",
    "ArchivePurge",
    "Change",
    "Entry",
    "ExpiringSession",
    "JournaledFile",
    "KeepReport",
    "KeptFile",
    "KeptSession",
    "KeptStore",
    "KeptTotals",
    "LabelChange",
    "Recovery",
    "Removal",
    "RestorePlan",
    "Retention",
    "State",
    "Timer",
    "Undone",
    "as_before",
    "clear_title",
    "crontab_line",
    "default_archive_folder",
    "expiring_sessions",
    "find_edits",
    "find_kept",
    "find_removal",
    "has_keep_hook",
    "install_timer",
    "keep_sessions",
    "kept_states",
    "kept_title",
    "make_change",
    "open_kept",
    "open_kept_to_restore",
    "overdue",
    "place_of_file",
    "plan_keep_hook",
    "plan_keep_hook_removal",
    "plan_removal",
    "plan_restore",
    "plan_timer",
    "plan_undo",
    "read_facts",
    "refuse_open",
    "removed_title",
    "rename_session",
    "restore_session",
    "restore_to",
    "retention_of",
    "tag_session",
    "undo_edit",
    "uninstall_timer",
    "unkept",
]

__getattr__, __dir__ = lazy_exports(__name__, _MODULES, __all__)
