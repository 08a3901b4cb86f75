"""Questions about sessions: files changed, differences, inventories."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stenograph._exports import lazy_exports

if TYPE_CHECKING:
    from stenograph.analysis.changes import REASONS, FileChange, changed_files
    from stenograph.analysis.comparing import Comparison, Side, compare
    from stenograph.analysis.context import PARTS, Resident, context_of, shape_of
    from stenograph.analysis.inventory import FileInventory, Inventory, RecordCounts, take_inventory
    from stenograph.analysis.reconcile import Reconciled, reconcile_sessions
    from stenograph.analysis.stats import KnownSession, Stats, ToolStats, TurnLink, known_sessions, stats_of
    from stenograph.analysis.statusline import StatusInput, UsageStatus, read_status_input, status_now
    from stenograph.analysis.usage import Spent, UsageBy, UsageRow, UsageScope, UsageTable, session_costs, usage_table
    from stenograph.analysis.waste import WasteFinding, WasteKind, find_waste

_MODULES = {
    "FileInventory": "inventory",
    "Inventory": "inventory",
    "RecordCounts": "inventory",
    "take_inventory": "inventory",
    "Comparison": "comparing",
    "FileChange": "changes",
    "REASONS": "changes",
    "Side": "comparing",
    "compare": "comparing",
    "changed_files": "changes",
    "Reconciled": "reconcile",
    "Spent": "usage",
    "StatusInput": "statusline",
    "UsageBy": "usage",
    "UsageRow": "usage",
    "UsageScope": "usage",
    "UsageStatus": "statusline",
    "UsageTable": "usage",
    "read_status_input": "statusline",
    "reconcile_sessions": "reconcile",
    "status_now": "statusline",
    "session_costs": "usage",
    "usage_table": "usage",
    "KnownSession": "stats",
    "Stats": "stats",
    "ToolStats": "stats",
    "TurnLink": "stats",
    "known_sessions": "stats",
    "stats_of": "stats",
    "WasteFinding": "waste",
    "WasteKind": "waste",
    "find_waste": "waste",
    "PARTS": "context",
    "Resident": "context",
    "context_of": "context",
    "shape_of": "context",
}

__all__ = [
    "PARTS",
    "REASONS",
    "Comparison",
    "FileChange",
    "FileInventory",
    "Inventory",
    "KnownSession",
    "Reconciled",
    "RecordCounts",
    "Resident",
    "Side",
    "Spent",
    "Stats",
    "StatusInput",
    "ToolStats",
    "TurnLink",
    "UsageBy",
    "UsageRow",
    "UsageScope",
    "UsageStatus",
    "UsageTable",
    "WasteFinding",
    "WasteKind",
    "changed_files",
    "compare",
    "context_of",
    "find_waste",
    "known_sessions",
    "read_status_input",
    "reconcile_sessions",
    "session_costs",
    "shape_of",
    "stats_of",
    "status_now",
    "take_inventory",
    "usage_table",
]

__getattr__, __dir__ = lazy_exports(__name__, _MODULES, __all__)
