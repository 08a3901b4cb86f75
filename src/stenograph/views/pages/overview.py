"""What is here: homes, projects and the newest sessions."""

from __future__ import annotations

import os
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from stenograph.views.pages.page import Document, FindingPage, Page, finding_pages
from stenograph.views.pages.sessions import SessionRow, session_row

if TYPE_CHECKING:
    from stenograph.sessions import Listing, SessionInfo

NEWEST = 6


class HomePage(Page, frozen=True):
    """A home of clients: the directory that holds `projects`."""

    path: str
    exists: bool


class ProjectRow(Page, frozen=True):
    """The sessions of one project."""

    project: str
    """The directory they began in; the name of their folder where no line says it."""
    sessions: int
    modified: datetime
    """When the newest of them last changed."""


class OverviewPage(Document, frozen=True, tag="overview/1"):
    """`steno` without a command: what is here."""

    homes: tuple[HomePage, ...]
    projects: tuple[ProjectRow, ...]
    """Newest first."""
    newest: tuple[SessionRow, ...]
    """The newest sessions that lists show."""
    sessions: int
    hidden: int
    """How many of them lists leave out by default."""
    size: int
    """Of all session files together, in bytes."""
    has_last: bool
    """Whether `last` selects one of them. Empty files and files that clients do not list never count."""
    findings: tuple[FindingPage, ...]
    """What could not be read, or is unusual."""


def overview_page(listing: Listing, homes: Sequence[Path]) -> OverviewPage:
    """The page of a listing of everything in some homes."""
    shown = [info for info in listing.sessions if info.hidden is None]
    return OverviewPage(
        homes=tuple(HomePage(os.fspath(home), os.path.isdir(home)) for home in homes),  # noqa: PTH112 - never raises
        projects=tuple(ProjectRow(name, len(found), found[0].modified) for name, found in _by_project(listing.sessions).items()),
        newest=tuple(session_row(info) for info in shown[:NEWEST]),
        sessions=len(listing.sessions),
        hidden=len(listing.sessions) - len(shown),
        size=sum(info.size for info in listing.sessions),
        has_last=any(info.hidden not in ("empty", "name", "sidechain") for info in listing.sessions),
        findings=finding_pages(listing.findings),
    )


def _by_project(sessions: list[SessionInfo]) -> dict[str, list[SessionInfo]]:
    """Sessions by project folder, each under the working folder that its newest lines name, else the folder's name."""
    folders: dict[Path, list[SessionInfo]] = {}
    for info in sessions:
        folders.setdefault(info.path.parent, []).append(info)
    projects: dict[str, list[SessionInfo]] = {}
    for folder, found in folders.items():
        name = next((info.cwd for info in found if info.cwd), folder.name)
        projects.setdefault(name, []).extend(found)
    return projects
