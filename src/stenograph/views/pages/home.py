"""The viewer's first page: sessions by day, what can narrow them, and what runs now."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from stenograph.sessions import SORTS
from stenograph.views.pages.page import Document, FindingPage, Page, finding_pages
from stenograph.views.pages.sessions import SessionRow, session_row
from stenograph.views.pages.tapes import TICKS, family_of

if TYPE_CHECKING:
    from stenograph.analysis import Spent
    from stenograph.index import Tick
    from stenograph.sessions import Listing, SessionInfo

#: Rows of one page.
ROWS = 60
#: A facet's sparkline: so many spans of days.
_BINS, _DAYS = 12, 3


class HomeQuery(Page, frozen=True):
    """How the list was filtered; empty if it was not."""

    project: str = ""
    status: str = ""
    tag: str = ""
    words: str = ""
    hidden: str = ""
    """Show the sessions that lists leave out for this reason."""
    expiring: bool = False
    """Only sessions that Claude Code deletes soon."""
    sort: str = "last"
    """`last`, `cost`, `size` or `turns`."""
    page: int = 1


class HomeRow(Page, frozen=True):
    """One session."""

    session: SessionRow
    models: tuple[str, ...] = ()
    """The last one last; empty if the session is not indexed yet."""
    agents: int = 0
    """Subagents that have files of their own."""


class Drawn(NamedTuple):
    """What the index knows of a session in the list."""

    tape: str
    models: tuple[str, ...]
    agents: int


_UNKNOWN = Drawn("", (), 0)


class ProjectFacet(Page, frozen=True):
    """A project."""

    project: str
    sessions: int
    activity: tuple[int, ...]
    """Number of sessions per three-day span, by last record; the last span ends today."""


class LivePage(Page, frozen=True):
    """A session that is running."""

    id: str
    title: str | None
    project: str | None
    turn: int
    step: str
    """What it is doing: a tool and its task."""
    since: datetime | None
    """When that began."""
    context: int | None
    """Tokens sent with the last call."""
    context_window: int | None
    """Tokens that its model takes; null for a model that is not known."""
    text: str
    """The last thing the model said."""


class ViewerHomePage(Document, frozen=True, tag="home/1"):
    """The viewer's first page."""

    query: HomeQuery
    rows: tuple[HomeRow, ...]
    found: int
    """Sessions that match the query, those on other pages included."""
    total: int
    """Sessions that lists show."""
    projects: tuple[ProjectFacet, ...]
    """Newest first."""
    statuses: dict[str, int]
    tags: dict[str, int]
    hidden: dict[str, int]
    """Sessions that lists leave out, by reason."""
    live: tuple[LivePage, ...]
    expiring: int
    """Sessions that Claude Code deletes within `expiring_days`; 0 if it deletes none."""
    expiring_days: int
    overdue: int
    """Those of them that Claude Code deletes the next time it starts."""
    findings: tuple[FindingPage, ...]


def home_page(
    listing: Listing,
    query: HomeQuery,
    *,
    counted: Callable[[list[SessionInfo]], list[SessionInfo]] = lambda found: found,
    drawn: Callable[[Sequence[SessionInfo]], Mapping[Path, Drawn]] = lambda _: {},
    costs: Callable[[Sequence[Path]], Mapping[Path, Spent]] = lambda _: {},
    live: Callable[[Sequence[SessionInfo]], Iterable[LivePage]] = lambda _: (),
    expiring: Mapping[Path, bool] | None = None,
    expiring_days: int = 7,
    now: datetime | None = None,
) -> ViewerHomePage:
    """The page of all sessions of a listing; `expiring` are those that Claude Code deletes soon and that are not
    archived, with whether they are overdue.

    `counted` counts the turns of those on the page, or of all to sort them; `drawn` and `costs` say what the index knows of them.
    """
    expiring = expiring or {}
    now = now or datetime.now(UTC)
    shown = [info for info in listing.sessions if info.hidden is None]

    def expires(info: SessionInfo) -> bool:
        return info.path in expiring

    pool = [info for info in listing.sessions if info.hidden == query.hidden] if query.hidden else shown
    found = [info for info in pool if _matches(info, query) and (not query.expiring or expires(info))]
    if query.sort == "turns":
        found = counted(found)
    found.sort(key=SORTS.get(query.sort, SORTS["last"]))
    if query.sort == "cost":
        spent = costs([info.path for info in found])
        found.sort(key=lambda info: -spent[info.path].cost if info.path in spent else 0)
    page = max(1, query.page)
    rows = found[(page - 1) * ROWS : page * ROWS]
    rows = rows if query.sort == "turns" else counted(rows)
    known, spending = drawn(rows), costs([info.path for info in rows])
    running = [info for info in found if info.status.value == "running"]
    return ViewerHomePage(
        query=query,
        rows=tuple(_row(info, known.get(info.path, _UNKNOWN), spending.get(info.path)) for info in rows),
        found=len(found),
        total=len(shown),
        projects=_projects(shown, now),
        statuses=dict(Counter(info.status.value for info in shown)),
        tags=dict(Counter(info.tag for info in shown if info.tag).most_common(30)),
        hidden=dict(Counter(info.hidden for info in listing.sessions if info.hidden)),
        live=tuple(live(running[:4])) if page == 1 and not query.hidden else (),
        expiring=sum(map(expires, shown)),
        expiring_days=expiring_days,
        overdue=sum(expiring.get(info.path, False) for info in shown),
        findings=finding_pages(listing.findings),
    )


def _row(info: SessionInfo, drawn: Drawn, spent: Spent | None) -> HomeRow:
    return HomeRow(session=session_row(info, tape=drawn.tape, spent=spent), models=drawn.models, agents=drawn.agents)


def tape_letters(ticks: Iterable[Tick]) -> str:
    """A letter for each prompt and tool call, as in `timeline`."""
    return "".join("p" if not tick.tool else "x" if tick.failed else TICKS[family_of(tick.tool)] for tick in ticks)


def _matches(info: SessionInfo, query: HomeQuery) -> bool:
    if query.project and info.project != query.project:
        return False
    if (query.status and info.status.value != query.status) or (query.tag and info.tag != query.tag):
        return False
    if not query.words:
        return True
    texts = (info.title, info.first_prompt, info.project, info.branch, info.tag, info.slug, info.id)
    text = "\n".join(each for each in texts if each).casefold()
    return all(word in text for word in query.words.casefold().split())


def _projects(sessions: Sequence[SessionInfo], now: datetime) -> tuple[ProjectFacet, ...]:
    counts: Counter[str] = Counter()
    bins: dict[str, list[int]] = {}
    newest: dict[str, datetime] = {}
    for info in sessions:
        name = info.project
        counts[name] += 1
        newest[name] = max(newest.get(name, info.last_record), info.last_record)
        place = _BINS - 1 - (now - info.last_record).days // _DAYS
        row = bins.setdefault(name, [0] * _BINS)
        if 0 <= place < _BINS:
            row[place] += 1
    names = sorted(counts, key=lambda name: newest[name], reverse=True)
    return tuple(ProjectFacet(name, counts[name], tuple(bins[name])) for name in names)
