"""Questions about sessions: files changed, differences, inventories."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stenograph._exports import lazy_exports

if TYPE_CHECKING:
    from stenograph.analysis.blame import Blame, LineWriter, blame_file
    from stenograph.analysis.changes import REASONS, FileChange, changed_files, matching_lines
    from stenograph.analysis.comparing import Comparison, Side, compare, renames
    from stenograph.analysis.context import (
        PARTS,
        CallContext,
        Resident,
        context_of,
        prompt_images,
        shape_of,
        standing_notes,
        tools_found,
    )
    from stenograph.analysis.costs import SessionSpent, call_spent, session_spent, sum_spent
    from stenograph.analysis.inventory import FileInventory, Inventory, RecordCounts, take_inventory
    from stenograph.analysis.reconcile import Reconciled, reconcile_sessions
    from stenograph.analysis.stats import KnownSession, Stats, ToolStats, TurnLink, known_sessions, stats_of
    from stenograph.analysis.statusline import StatusInput, UsageStatus, read_status_input, status_now
    from stenograph.analysis.unlisted import Unlisted, unlisted_sessions
    from stenograph.analysis.usage import Spent, UsageBy, UsageRow, UsageScope, UsageTable, session_costs, usage_table
    from stenograph.analysis.waste import WasteFinding, WasteKind, find_waste

_MODULES = {
    "blame": "Blame LineWriter blame_file",
    "changes": "REASONS FileChange changed_files matching_lines",
    "comparing": "Comparison Side compare renames",
    "context": "PARTS CallContext Resident context_of prompt_images shape_of standing_notes tools_found",
    "costs": "SessionSpent call_spent session_spent sum_spent",
    "inventory": "FileInventory Inventory RecordCounts take_inventory",
    "reconcile": "Reconciled reconcile_sessions",
    "stats": "KnownSession Stats ToolStats TurnLink known_sessions stats_of",
    "statusline": "StatusInput UsageStatus read_status_input status_now",
    "unlisted": "Unlisted unlisted_sessions",
    "usage": "Spent UsageBy UsageRow UsageScope UsageTable session_costs usage_table",
    "waste": "WasteFinding WasteKind find_waste",
}

__all__ = [
    "PARTS",
    "REASONS",
    "Blame",
    "CallContext",
    "Comparison",
    "FileChange",
    "FileInventory",
    "Inventory",
    "KnownSession",
    "LineWriter",
    "Reconciled",
    "RecordCounts",
    "Resident",
    "SessionSpent",
    "Side",
    "Spent",
    "Stats",
    "StatusInput",
    "ToolStats",
    "TurnLink",
    "Unlisted",
    "UsageBy",
    "UsageRow",
    "UsageScope",
    "UsageStatus",
    "UsageTable",
    "WasteFinding",
    "WasteKind",
    "blame_file",
    "call_spent",
    "changed_files",
    "compare",
    "context_of",
    "find_waste",
    "known_sessions",
    "matching_lines",
    "prompt_images",
    "read_status_input",
    "reconcile_sessions",
    "renames",
    "session_costs",
    "session_spent",
    "shape_of",
    "standing_notes",
    "stats_of",
    "status_now",
    "sum_spent",
    "take_inventory",
    "tools_found",
    "unlisted_sessions",
    "usage_table",
]

__getattr__, __dir__ = lazy_exports(__name__, _MODULES, __all__)
