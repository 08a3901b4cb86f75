"""Questions about sessions: files changed, differences, inventories."""

from stenograph.analysis.inventory import Counts, FileInventory, Inventory, take_inventory

__all__ = ["Counts", "FileInventory", "Inventory", "take_inventory"]
