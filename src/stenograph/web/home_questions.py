"""What is asked about all sessions together: lists, searches, checks, what is kept."""

from __future__ import annotations

import itertools
from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from msgspec.structs import replace

from stenograph.errors import StenographError, UsageError
from stenograph.sessions import SessionFilter, SessionInfo, date_or_age, list_sessions, with_turns
from stenograph.views import Drawn, mask_page, overview_page, sessions_page, tape_letters
from stenograph.web.loading import VerdictCache
from stenograph.web.parameters import CheckQuery, SearchQuery, SessionsQuery
from stenograph.web.shelf import Shelf, Viewer

if TYPE_CHECKING:
    from stenograph.index import Cast, Found, IndexStore, SyncReport, Tick
    from stenograph.views import ArchivePage, CheckPage, OverviewPage, ResumabilityPage, SearchPage, SessionsPage

#: Bytes of the sessions on a page that are read to count turns that the index does not know.
_COUNTED_BYTES = 32 << 20
#: Sessions whose tapes are kept.
_MOST_DRAWN = 500
#: How long one request looks for what releases would lose, and again for what helps. A session of 4 MB takes a second or more.
_LOOKING_SECONDS = 3.0
#: How long one search takes at most, and counting what it would find with other filters. Other questions wait for that.
_LONGEST_SEARCH, _LONGEST_COUNT = 8.0, 2.0


class Portable(NamedTuple):
    """Sessions that being one chain helps."""

    #: Their paths.
    saved: frozenset[str]
    #: How many others there was no time to look at.
    unknown: int


class _TapeCache:
    """The tapes of sessions, while their files are the same."""

    def __init__(self) -> None:
        self._kept: OrderedDict[Path, tuple[int, datetime, str]] = OrderedDict()

    def known(self, sessions: Sequence[SessionInfo]) -> tuple[dict[Path, str], list[Path]]:
        """What is known of some sessions, and the paths of the others."""
        known: dict[Path, str] = {}
        for info in sessions:
            kept = self._kept.get(info.path)
            if kept is not None and kept[:2] == (info.size, info.modified):
                known[info.path] = kept[2]
        return known, [info.path for info in sessions if info.path not in known]

    def keep(self, sessions: Iterable[SessionInfo], found: Mapping[Path, str]) -> None:
        for info in sessions:
            self._kept[info.path] = info.size, info.modified, found[info.path]
        while len(self._kept) > _MOST_DRAWN:
            self._kept.popitem(last=False)


class HomeQuestions(Shelf):
    def __init__(self, viewer: Viewer) -> None:
        super().__init__(viewer)
        self._tapes = _TapeCache()
        #: What was found in a state of the index.
        self._casts: tuple[tuple[int, int], dict[Path, Cast]] = ((0, 0), {})
        self._resumability = VerdictCache(self._resumed)
        self._portability = VerdictCache(_is_saved)

    def overview(self) -> OverviewPage:
        return mask_page(overview_page(self.listing(), self.homes), self.masker.mask)

    def sessions(self, query: SessionsQuery) -> SessionsPage:
        """Raises UsageError."""
        now = datetime.now(UTC)
        wanted = SessionFilter(
            since=None if query.since is None else date_or_age(query.since, now),
            until=None if query.until is None else date_or_age(query.until, now),
            title=query.title,
            project=query.project,
            tag=query.tag,
            status=query.status,
            branch=query.branch,
        )
        is_listed = self._is_listed()
        with self._listing:
            self._recall()
            found = list_sessions(
                self.homes,
                everything=query.all,
                where=lambda info: is_listed(info) and wanted.matches(info),
                sort=query.sort,
                limit=query.offset + query.limit,
                turns=True,
                active_seconds=self.config.active_seconds,
                cache=self._lists,
                also=self._kept(),
            )
        page = sessions_page(replace(found, sessions=found.sessions[query.offset :]))
        return mask_page(page, self.masker.mask)

    def ticks(self, paths: Sequence[Path]) -> Mapping[Path, Sequence[Tick]]:
        """What happened in some sessions, from the index as it is: a list does not wait for it."""
        from stenograph.index import session_ticks

        return self._index.peek(lambda store: session_ticks(store, paths))

    def drawn(self, sessions: Sequence[SessionInfo]) -> Mapping[Path, Drawn]:
        """What a list draws of some sessions. A tape is read once for each state of a file; subagents have files of their own."""
        from stenograph.index import session_casts, session_ticks

        tapes, untaped = self._tapes.known(sessions)
        if self._casts[0] != (state := self._index.state):
            self._casts = state, {}
        casts = self._casts[1]
        uncast = [info.path for info in sessions if info.path not in casts]

        def look(store: IndexStore) -> tuple[Mapping[Path, Sequence[Tick]], Mapping[Path, Cast]]:
            return session_ticks(store, untaped), session_casts(store, uncast)

        if untaped or uncast:
            ticks, found = self._index.peek(look)
            tapes |= {path: tape_letters(ticks.get(path, ())) for path in untaped}
            casts |= found
            # The index may be behind a file that was just written.
            self._tapes.keep((info for info in sessions if info.path in casts and casts[info.path].size == info.size), tapes)
        else:
            self._index.continue_soon()
        return {path: Drawn(tape, casts[path].models, casts[path].agents) for path, tape in tapes.items() if path in casts}

    def counted(self, sessions: list[SessionInfo]) -> list[SessionInfo]:
        """With the turns of the branch that a client would resume."""
        return with_turns(sessions, _COUNTED_BYTES, self._lists)

    def search(self, query: SearchQuery) -> SearchPage:
        """Raises UsageError."""
        from stenograph.index import KINDS_BY_NAME, Filter, count_facets, parse_query, search
        from stenograph.views import search_page

        now = datetime.now(UTC)
        names = [name for name in query.kinds.split(",") if name]
        if not set(names) <= KINDS_BY_NAME.keys():
            raise UsageError(f"unknown kind of text; use {', '.join(KINDS_BY_NAME)}")
        narrowed = Filter(
            homes=tuple(self.homes),
            kinds=frozenset(KINDS_BY_NAME[name] for name in names),
            project=query.project,
            branch=query.branch,
            release=query.release,
            tool=query.tool,
            file=query.file,
            only_errors=query.errors,
            since=None if query.since is None else date_or_age(query.since, now),
            until=None if query.until is None else date_or_age(query.until, now),
        )
        sought = parse_query(query.q)
        # The index counts what a link leads to as well.
        has_facets = query.facets and self._served_files() is None

        def answer(store: IndexStore, report: SyncReport) -> SearchPage:
            try:
                with store.within(_LONGEST_SEARCH):
                    found = search(store, sought, narrowed, limit=query.limit, lines=query.lines, newest=query.newest)
            except TimeoutError:
                raise UsageError("the search took too long; use fewer words, or longer ones") from None
            facets = None
            if has_facets:
                with suppress(TimeoutError), store.within(_LONGEST_COUNT):
                    facets = count_facets(store, sought, narrowed)
            return search_page(query.q, sought, self._within(found), report, self.masker.mask, facets=facets)

        return self._index.ask(answer)

    def _within(self, found: Found) -> Found:
        """Without what is in files outside: the index is also the command line's, and knows them."""
        contains = self.boundary.checker()
        hits = []
        for hit in found.hits:
            lines = tuple(line for line in hit.lines if hit.archived or contains(line.file))
            if (hit.archived or contains(hit.path)) and (lines or not hit.lines):
                hits.append(replace(hit, lines=lines))
        return replace(found, hits=tuple(hits), total=found.total - len(found.hits) + len(hits))

    def expiring(self) -> dict[Path, bool]:
        """Sessions as last listed that Claude Code deletes soon and that are not archived as they are; whether it is overdue."""
        from stenograph.archive import expiring_sessions, overdue, unkept

        if self._is_demo:
            return {}
        found = expiring_sessions(self._archive_folder, self.homes, files=self._lists.files)
        late = {each.file.path for each in overdue(found)}
        return {each.file.path: each.file.path in late for each in unkept(found)}

    def kept(self) -> ArchivePage:
        """What the archive has, and what Claude Code deletes soon. Raises UnreadableError."""
        from stenograph.archive import SOON, Archive, expiring_sessions, open_kept, overdue, retention_of, unkept
        from stenograph.views import archive_page

        store = open_kept(self._archive_folder)
        try:
            sessions, totals = (store.sessions(), store.totals()) if store else ([], None)
        finally:
            if store:
                store.close()
        edits = Archive(self._archive_folder)
        soon = [] if self._is_demo else unkept(expiring_sessions(self._archive_folder, self.homes))
        return archive_page(
            self._archive_folder,
            totals,
            sum(each.has_own_file and not each.path.exists() for each in sessions),
            (sum(1 for _ in edits.entries()), *edits.originals()),
            automatic=self.config.archive.keep,
            installed=(),
            retention=[] if self._is_demo else [retention_of(home) for home in self.homes],
            expiring=len(soon),
            overdue=len(overdue(soon)),
            within=SOON,
        )

    def check(self, query: CheckQuery) -> CheckPage:
        """Raises UsageError."""
        from stenograph.check import check
        from stenograph.views import check_page

        since = None if query.since is None else date_or_age(query.since, datetime.now(UTC))
        served = self._served_files()
        places = [home for home in self.homes if home.is_dir()] if served is None else [file.path for file in served]
        return mask_page(check_page(check(places, since=since, jobs=1), self.command), self.masker.mask)

    def check_resuming(self, paths: Sequence[Path]) -> tuple[ResumabilityPage, ...]:
        """What clients would lose of some sessions: of the first ones, as many as there is time to look at."""
        found = self._resumability.get(paths, _LOOKING_SECONDS)
        return tuple(row for path in itertools.takewhile(found.__contains__, paths) for row in found[path])

    def find_portable(self, page: CheckPage) -> Portable:
        """Of the sessions that the page shows as losing something or as damaged: those that being one chain helps."""
        from stenograph.check import IN_THE_TREE
        from stenograph.views.html import SHOWN_PLACES

        damage = [each for each in page.damage if each.code in IN_THE_TREE]
        damaged = {place.path for each in damage for place in each.places}
        losing = [row.path for row in page.resume if row.path in damaged and (not row.whole or row.refused)]
        resumed = {row.path for row in page.resume}
        shown = [place.path for each in damage for place in each.places[:SHOWN_PLACES] if place.path not in resumed]
        asked = [Path(path) for path in dict.fromkeys(losing + shown)]
        found = self._portability.get(asked, _LOOKING_SECONDS)
        return Portable(frozenset(str(path) for path, is_saved in found.items() if is_saved), len(asked) - len(found))

    def _resumed(self, path: Path) -> tuple[ResumabilityPage, ...]:
        from stenograph.check import check
        from stenograph.views import check_page

        return check_page(check([path], jobs=1, resuming=True), self.command).resume


def _is_saved(path: Path) -> bool:
    from stenograph.surgery import is_saved_by_portability

    try:
        return is_saved_by_portability(path)
    except StenographError:  # its own row says so
        return False
