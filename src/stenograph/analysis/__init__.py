"""Questions about sessions: files changed, differences, inventories."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stenograph._exports import lazy_exports
from stenograph.analysis.compare import compare
from stenograph.analysis.inventory import FileInventory, Inventory, RecordCounts, take_inventory

if TYPE_CHECKING:
    from stenograph.analysis.changes import CHANGING_TOOLS, REASONS, FileChange, changed_files
    from stenograph.analysis.compare import Comparison, Side

_MODULES = {
    "CHANGING_TOOLS": "changes",
    "Comparison": "compare",
    "FileChange": "changes",
    "REASONS": "changes",
    "Side": "compare",
    "changed_files": "changes",
}

__all__ = [
    "CHANGING_TOOLS",
    "REASONS",
    "Comparison",
    "FileChange",
    "FileInventory",
    "Inventory",
    "RecordCounts",
    "Side",
    "changed_files",
    "compare",
    "take_inventory",
]

__getattr__, __dir__ = lazy_exports(__name__, _MODULES, __all__)
