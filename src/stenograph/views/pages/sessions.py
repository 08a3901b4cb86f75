"""Which sessions are there, and what is here as a whole."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from stenograph.family import is_session_id
from stenograph.views.pages.costs import price_of
from stenograph.views.pages.page import Document, FindingPage, Page, finding_pages, utc

if TYPE_CHECKING:
    from stenograph.analysis import Spent, UsageTable
    from stenograph.sessions import Listing, SessionInfo


class SessionRow(Page, frozen=True):
    """One session in a list."""

    id: str
    short_id: str
    """The shortest prefix of the id that no other session has, of at least four characters."""
    path: str
    project: str | None
    """The directory it began in; null if no line says."""
    title: str | None
    """As lists show it: a title from a user or client, or else the first meaningful prompt."""
    first_prompt: str | None
    custom_title: str | None
    """Given by a user or a command."""
    tag: str | None
    status: str
    """`running`, `done`, `interrupted` or `failed`."""
    started: datetime | None
    """The first timestamp in the file."""
    modified: datetime
    """When the file last changed."""
    last_record: datetime
    """When its last record was written, or when the file last changed if no record has a time."""
    size: int
    """Of the session's own file, in bytes."""
    release: str | None
    git_branch: str | None
    entrypoint: str | None
    """How the client was started, in its own words: `cli`, `sdk-py`."""
    slug: str | None
    """The client's own name for the conversation."""
    summary: str | None
    """The last summary that a client wrote in the session's own file."""
    pull_requests: tuple[str, ...]
    """Addresses that the client noted."""
    turns: int | None
    """Of the branch that a client would resume; null if they were not counted."""
    usd: float | None
    """What it cost, subagents included; null if the index does not know it. A call counts for one session only, even if a resume
    or fork copied it."""
    usd_estimated: bool
    """Part of it is estimated, because old releases did not record all output."""
    usd_unpriced: bool
    """Some calls have no price and are not in it."""
    tape: str
    """What happened, a letter each: `p` prompt, `e` change, `b` shell, `r` read, `g` subagent, `w` web, `o` other tool and `x`
    error. Empty if the session is not indexed, or the list does not draw it."""
    steps: int
    """Lines of the conversation; a lower bound unless `steps_exact`."""
    steps_exact: bool
    hidden: str | None
    """Why lists hide it by default: `empty`, `name`, `warm-up`, `sidechain`, `print`, `sdk`, `short` or `unanswered`; null if
    they show it."""
    archived: bool
    """Only the archive still has it."""


class GroupPage(Page, frozen=True):
    """Hidden sessions of one kind in one project."""

    kind: str
    """`print` for print mode, or `sdk`."""
    project: str
    sessions: int
    last_record: datetime
    """Of the newest of them."""
    size: int
    """Of all their files."""


class SessionsPage(Document, frozen=True, tag="sessions/1"):
    """`steno ls`: sessions, newest first."""

    sessions: tuple[SessionRow, ...]
    hidden: dict[str, int]
    """How many were left out, by reason."""
    groups: tuple[GroupPage, ...]
    """Sessions of print mode and the SDK that were left out, by project, newest first."""
    sort: str
    """What they are sorted by."""
    older: int
    """How many were left out because of the limit."""
    unseen: int
    """Files that were not read, all older than those listed. If there are any, `hidden` and `older` are lower bounds."""
    findings: tuple[FindingPage, ...]
    """What could not be read, or is unusual."""


def sessions_page(
    listing: Listing,
    sort: str = "last",
    tapes: Mapping[Path, str] | None = None,
    costs: Mapping[Path, Spent] | None = None,
) -> SessionsPage:
    """`tapes` and `costs`, by path: what the index knows of the sessions."""
    return SessionsPage(
        sessions=tuple(
            session_row(info, tape=(tapes or {}).get(info.path, ""), spent=(costs or {}).get(info.path))
            for info in listing.sessions
        ),
        hidden=listing.hidden,
        groups=tuple(
            GroupPage(group.kind, group.project, group.sessions, group.last_record, group.size) for group in listing.groups
        ),
        sort=sort,
        older=listing.older,
        unseen=listing.unseen,
        findings=finding_pages(listing.findings),
    )


def session_row(info: SessionInfo, *, tape: str = "", spent: Spent | None = None) -> SessionRow:
    price = price_of(spent)
    return SessionRow(
        id=info.id,
        short_id=info.short_id or (info.id[:_SHORT_ID] if is_session_id(info.id) else info.id),
        path=os.fspath(info.path),
        project=info.cwd,
        title=info.title,
        first_prompt=info.first_prompt,
        custom_title=info.custom_title,
        tag=info.tag,
        status=info.status.value,
        started=utc(info.created),
        modified=info.modified,
        last_record=info.last_record,
        size=info.size,
        release=info.release,
        git_branch=info.branch,
        entrypoint=info.entrypoint,
        slug=info.slug,
        summary=info.summary,
        pull_requests=info.pull_requests,
        turns=info.turns,
        usd=price.usd,
        usd_estimated=price.is_estimated,
        usd_unpriced=price.is_unpriced,
        tape=tape,
        steps=info.steps,
        steps_exact=info.steps_exact,
        hidden=info.hidden,
        archived=info.archived,
    )


#: Of an id, where it is not known what other sessions there are.
_SHORT_ID = 8
#: Rows of the overview.
OVERVIEW_ROWS = 8


class HomePage(Page, frozen=True):
    """A Claude config directory: the one that contains `projects`."""

    path: str
    exists: bool


class ProjectRow(Page, frozen=True):
    """The sessions of one project."""

    project: str
    """The directory they began in, or the name of their project directory if no line says."""
    sessions: int
    modified: datetime
    """When their newest record was written."""


class OverviewPage(Document, frozen=True, tag="overview/1"):
    """`steno` without a command: projects, newest sessions and totals."""

    homes: tuple[HomePage, ...]
    projects: tuple[ProjectRow, ...]
    """Newest first."""
    newest: tuple[SessionRow, ...]
    """The newest sessions that lists show."""
    days: dict[str, int]
    """For each local day that occurs in `newest`: how many sessions of that day lists show."""
    costs: dict[str, float]
    """What the calls of each of these days cost, in dollars; empty if the index does not know it."""
    usd: float | None
    """What the calls of the last 30 days cost; null if the index does not know it."""
    usd_estimated: bool
    """Part of it is estimated."""
    running: int
    sessions: int
    hidden: int
    """Sessions that lists leave out by default."""
    size: int
    """Of all session files together, in bytes."""
    expiring: int
    """Sessions that Claude Code deletes within `expiring_days` and that the archive does not keep."""
    expiring_days: int
    overdue: int
    """Those of them that Claude Code deletes the next time it starts."""
    has_last: bool
    """Whether `last` selects a session. Empty files and files that clients do not list never count."""
    findings: tuple[FindingPage, ...]
    """What could not be read, or is unusual."""


def overview_page(
    listing: Listing,
    homes: Sequence[Path],
    costs: Mapping[Path, Spent] | None = None,
    days: UsageTable | None = None,
    *,
    expiring: int = 0,
    expiring_days: int = 7,
    overdue: int = 0,
) -> OverviewPage:
    """`costs` of the newest sessions by their paths and `days` of the last 30 days, where the index knows them."""
    from stenograph.sessions import with_turns

    shown = [info for info in listing.sessions if info.hidden is None]
    newest = with_turns(shown[:OVERVIEW_ROWS])
    met = Counter(map(_day, shown))
    spent = {} if days is None else {row.name: row.spent for row in days.rows}
    price = price_of(None if days is None else days.total.spent)
    return OverviewPage(
        homes=tuple(HomePage(os.fspath(home), os.path.isdir(home)) for home in homes),  # noqa: PTH112 - never raises
        projects=tuple(
            ProjectRow(name, len(found), max(info.last_record for info in found))
            for name, found in _by_project(listing.sessions).items()
        ),
        newest=tuple(session_row(info, spent=(costs or {}).get(info.path)) for info in newest),
        days={name: met[name] for name in dict.fromkeys(map(_day, newest))},
        costs={name: price_of(spent[name]).usd or 0.0 for name in dict.fromkeys(map(_day, newest)) if name in spent},
        usd=price.usd,
        usd_estimated=price.is_estimated,
        running=sum(info.status.value == "running" for info in shown),
        sessions=len(listing.sessions),
        hidden=len(listing.sessions) - len(shown),
        size=sum(info.size for info in listing.sessions),
        expiring=expiring,
        expiring_days=expiring_days,
        overdue=overdue,
        has_last=any(info.hidden not in ("empty", "name", "sidechain") for info in listing.sessions),
        findings=finding_pages(listing.findings),
    )


def _day(info: SessionInfo) -> str:
    from stenograph.views.text import local_time

    return local_time(info.last_record)[: len("2026-01-31")]


def _by_project(sessions: list[SessionInfo]) -> dict[str, list[SessionInfo]]:
    """Sessions by project directory, each under the working directory that its newest lines name, else the directory's name."""
    from stenograph.sessions import project_names

    folders: dict[Path, list[SessionInfo]] = {}
    for info in sessions:
        folders.setdefault(info.path.parent, []).append(info)
    projects: dict[str, list[SessionInfo]] = {}
    for folder, name in project_names({folder: (info.cwd for info in found) for folder, found in folders.items()}).items():
        projects.setdefault(name, []).extend(folders[folder])
    return projects
