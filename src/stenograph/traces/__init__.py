"""Turns -> spans -> any OpenTelemetry receiver, each once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stenograph._exports import lazy_exports

if TYPE_CHECKING:
    from stenograph.traces.folder import default_trace_folder, is_held, waiting_events
    from stenograph.traces.history import (
        Backfill,
        BackfillReport,
        Candidate,
        Filters,
        backfill,
        bytes_behind,
        find_sessions,
        followed_sessions,
        is_behind,
        select_destinations,
    )
    from stenograph.traces.hook import main
    from stenograph.traces.install import (
        EVENTS,
        commands_in,
        hook_command,
        hooks_for,
        is_installed,
        oldest_release,
        plan_install,
        plan_uninstall,
        shared_hook_command,
    )
    from stenograph.traces.keys import notes_on, notes_on_all
    from stenograph.traces.purge import Purge, plan_purge, purge_session
    from stenograph.traces.reading import ReadFailure
    from stenograph.traces.sending import Probe, probe
    from stenograph.traces.state import TraceState
    from stenograph.traces.worker import send_due

_MODULES = {
    "folder": "default_trace_folder is_held waiting_events",
    "history": (
        "Backfill BackfillReport Candidate Filters backfill bytes_behind find_sessions followed_sessions is_behind"
        " select_destinations"
    ),
    "hook": "main",
    "install": (
        "EVENTS commands_in hook_command hooks_for is_installed oldest_release plan_install plan_uninstall shared_hook_command"
    ),
    "keys": "notes_on notes_on_all",
    "purge": "Purge plan_purge purge_session",
    "reading": "ReadFailure",
    "sending": "Probe probe",
    "state": "TraceState",
    "worker": "send_due",
}

__all__ = [
    "EVENTS",
    "Backfill",
    "BackfillReport",
    "Candidate",
    "Filters",
    "Probe",
    "Purge",
    "ReadFailure",
    "TraceState",
    "backfill",
    "bytes_behind",
    "commands_in",
    "default_trace_folder",
    "find_sessions",
    "followed_sessions",
    "hook_command",
    "hooks_for",
    "is_behind",
    "is_held",
    "is_installed",
    "main",
    "notes_on",
    "notes_on_all",
    "oldest_release",
    "plan_install",
    "plan_purge",
    "plan_uninstall",
    "probe",
    "purge_session",
    "select_destinations",
    "send_due",
    "shared_hook_command",
    "waiting_events",
]

__getattr__, __dir__ = lazy_exports(__name__, _MODULES, __all__)
