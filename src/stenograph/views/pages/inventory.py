"""What session files hold, counted."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stenograph.redact import Mask, Masker
from stenograph.views.pages.page import Document, FindingPage, Page, finding_pages

if TYPE_CHECKING:
    from stenograph.analysis import FileInventory, Inventory, RecordCounts


class CountsPage(Page, frozen=True):
    """What one or more files contain."""

    lines: int
    damaged: int
    """Lines that are not JSON objects."""
    human_turns: int
    """User records with string content."""
    tool_calls: int
    releases: dict[str, int]
    """Records that carry a release, by release."""
    types: dict[str, int]
    """Records by type; one without a type counts as `unknown`."""
    kinds: dict[str, int]
    """The same, with subtypes: `system/compact_boundary`."""
    stop_reasons: dict[str, int]
    """Of assistant lines; none counts as `null`."""
    blocks: dict[str, int]
    """Content blocks by type; those inside a tool's result are not counted."""


class FileCounts(Page, frozen=True):
    """One file."""

    id: str | None
    """The session's id; for a subagent's file, the id of the session that its lines name."""
    path: str
    size: int
    """In bytes."""
    agents: int
    """How many of the counted files of subagents are this session's."""
    counts: CountsPage
    findings: tuple[FindingPage, ...]
    """The first hundred."""


class InventoryPage(Document, frozen=True, tag="inventory/1"):
    """`steno inventory`: what session files contain, counted by line."""

    sessions: tuple[FileCounts, ...]
    agents: tuple[FileCounts, ...]
    """Files of subagents."""
    session_totals: CountsPage
    agent_totals: CountsPage
    failures: tuple[FindingPage, ...]
    """Files that could not be read."""


def inventory_page(inventory: Inventory) -> InventoryPage:
    """The names of kinds come from the files: a secret in one is masked."""
    mask = Masker().mask
    return InventoryPage(
        sessions=tuple(_file(file, mask) for file in inventory.sessions),
        agents=tuple(_file(file, mask) for file in inventory.agents),
        session_totals=_counts(inventory.session_totals, mask),
        agent_totals=_counts(inventory.agent_totals, mask),
        failures=finding_pages(inventory.failures),
    )


def _file(file: FileInventory, mask: Mask) -> FileCounts:
    return FileCounts(
        id=file.session_id,
        path=str(file.path),
        size=file.size,
        agents=file.agents,
        counts=_counts(file.counts, mask),
        findings=finding_pages(file.findings),
    )


def _counts(counts: RecordCounts, mask: Mask) -> CountsPage:
    members = {name: getattr(counts, name) for name in CountsPage.__struct_fields__}
    for name, counted in members.items():
        if isinstance(counted, dict):
            members[name] = {mask(key): number for key, number in counted.items()}
    return CountsPage(**members)
