"""What pages and the API ask: one method per question, each with one masked page value as its answer.

Methods block; the server calls them in threads.
"""

from __future__ import annotations

import secrets
import threading
import time
from collections.abc import Callable, Hashable, Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace

from stenograph.errors import UsageError
from stenograph.redact import Masker
from stenograph.sessions import (
    SessionFilter,
    choose_branch,
    date_or_age,
    list_sessions,
)
from stenograph.turns import Branch, Session, Turn, round_types
from stenograph.views import (
    SecretPage,
    mask_page,
    overview_page,
    quoted,
    record_page,
    records_page,
    session_page,
    sessions_page,
    steps_page,
    summary_page,
    turns_page,
)
from stenograph.web.errors import RequestError
from stenograph.web.index_thread import IndexThread
from stenograph.web.loading import AnswerCache, stamp_of
from stenograph.web.parameters import (
    CheckQuery,
    EditBody,
    FilesQuery,
    MessagesQuery,
    NoQuery,
    RecordQuery,
    RecordsQuery,
    ReleaseQuery,
    RevealBody,
    ScopeQuery,
    SearchQuery,
    SessionsQuery,
    StepsQuery,
    TurnsQuery,
    UndoBody,
    UsageQuery,
)
from stenograph.web.shelf import Shelf, Viewer

if TYPE_CHECKING:
    from stenograph.analysis import KnownSession
    from stenograph.archive import Archive
    from stenograph.index import Cast, IndexStore, Tick
    from stenograph.views import (
        ArchivePage,
        CheckPage,
        EditPage,
        EditsPage,
        FilesPage,
        LostPage,
        MessagesPage,
        OverviewPage,
        ReconciliationPage,
        RecordPage,
        RecordsPage,
        ResumabilityPage,
        ResumePage,
        SearchPage,
        SessionPage,
        SessionsPage,
        StatsPage,
        StepsPage,
        SummaryPage,
        TimelinePage,
        TurnsPage,
        UndoPage,
        UsagePage,
        WastePage,
    )

#: Bytes of a session that takes longer to load than a reader wants to wait.
_PREVIEWED = 8_000_000
#: How long a question waits for new calls to be counted, in seconds.
_USAGE_PATIENCE = 5.0
#: How long a list waits for the first costs, and how long it shows them before they are counted again, in seconds.
_COST_PATIENCE = 0.2
_COUNTED_SECONDS = 15.0
#: How long a page waits for sessions to be read for what was avoidable, in seconds.
_WASTE_PATIENCE = 1.0
#: Sessions whose difference from Claude Code's own figure is explained.
_EXPLAINED = 6
#: How long an answer says that a session is running after it ended.
_STATUS_SECONDS = 10.0


class Library(Shelf):
    """The sessions of some homes, asked about."""

    def __init__(self, viewer: Viewer) -> None:
        super().__init__(viewer)
        self._can_edit = viewer.allow_edits
        # No client deletes the sessions of the demo, which has no index of its own either.
        self._is_demo = viewer.index is None
        #: Placeholders are the same for as long as the server runs, and say nothing to who does not have its key.
        self.masker = Masker(secrets.token_bytes(32))
        self._answers = AnswerCache()
        self._compared: dict[str, tuple[Session, FilesQuery, FilesPage]] = {}
        self._costs: Mapping[Path, float] = {}
        self._counting: threading.Thread | None = None
        self._counted_until = 0.0
        # Its own: to count what everything cost takes long, and lists need the other one.
        self._usage = IndexThread(self.homes, viewer.index)

    def answer(self, session_id: str | None, key: Hashable, make: Callable[[], bytes]) -> bytes:
        """What was made for a key, made anew when a file of the session has changed, or soon where it is about none.

        Raises as `make` does.
        """
        if session_id is None:
            return self._answers.get(key, object(), make)
        # Whether a session is running depends on the time too.
        state = stamp_of(self.file(session_id).path), int(time.time() / _STATUS_SECONDS)
        return self._answers.get((session_id, key), state, make)

    def preview(self, session_id: str, turn: int) -> TimelinePage | None:
        """One turn of a large session that is not loaded, from the index; None where the session can as well be loaded.

        Raises SessionNotFoundError, UnreadableError.
        """
        from stenograph.index import open_session
        from stenograph.views import timeline_preview

        file = self.file(session_id)
        if file.size < _PREVIEWED or self._cache.has(file.path):
            return None
        # Nothing is indexed for it now: the session would be loaded beside that. Lists and searches do.
        opened = self._index.look(lambda store: open_session(store, file.path))
        page = None if opened is None else timeline_preview(opened, turn)
        return None if page is None else mask_page(page, self.masker.mask)

    def ticks(self, paths: Sequence[Path]) -> Mapping[Path, Sequence[Tick]]:
        """What happened in some sessions, from the index as it is: a list does not wait for it."""
        from stenograph.index import session_ticks

        return self._index.peek(lambda store: session_ticks(store, paths))

    def casts(self, paths: Sequence[Path]) -> Mapping[Path, Cast]:
        """Models and subagents of some sessions, from the index as it is."""
        from stenograph.index import session_casts

        return self._index.peek(lambda store: session_casts(store, paths))

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
        with self._listing:
            self._recall()
            found = list_sessions(
                self.homes,
                everything=query.all,
                where=None if wanted == SessionFilter() else wanted.matches,
                sort=query.sort,
                limit=query.offset + query.limit,
                turns=True,
                active_seconds=self.config.active_seconds,
                cache=self._lists,
                also=self._kept(),
            )
        page = sessions_page(replace(found, sessions=found.sessions[query.offset :]))
        return mask_page(page, self.masker.mask)

    def session(self, session_id: str, query: TurnsQuery) -> SessionPage:
        """A session to read, some turns of it. Raises SessionNotFoundError, UnreadableError, UsageError."""
        session = self.load(session_id)
        page = session_page(
            session,
            _branch(session, query.branch),
            wanted=partial(_is_wanted, query),
            title=session.title,
            agents=query.agents,
        )
        return mask_page(page, self.masker.mask)

    def turns(self, session_id: str, query: TurnsQuery) -> TurnsPage:
        """Raises SessionNotFoundError, UnreadableError, UsageError."""
        session = self.load(session_id)
        branch = _branch(session, query.branch)
        rounds = {node: found.value for node, found in round_types(session).items()}
        shown = [turn for turn in branch.turns if _is_wanted(query, turn)]
        return mask_page(turns_page(session, shown, branch, rounds, results=query.results), self.masker.mask)

    def records(self, session_id: str, query: RecordsQuery) -> RecordsPage:
        """Raises SessionNotFoundError, UnreadableError, RequestError."""
        path = self.path(session_id, query.agent)
        page = records_page(session_id, path, agent_id=query.agent, first=query.first, limit=query.limit)
        return mask_page(page, self.masker.mask)

    def record(self, session_id: str, line: int, query: RecordQuery) -> RecordPage:
        """Raises SessionNotFoundError, UnreadableError, RequestError."""
        page = record_page(session_id, self.path(session_id, query.agent), line, agent_id=query.agent)
        if page is None:
            raise RequestError(404, "line-not-found", "the file has fewer lines")
        return mask_page(page, self.masker.mask)

    def steps(self, session_id: str, query: StepsQuery) -> StepsPage:
        """Raises SessionNotFoundError, UnreadableError, UsageError."""
        session = self.load(session_id)
        turns = None if query.branch is None else _branch(session, query.branch).turns
        page = steps_page(session, turns, self.masker.mask)
        return replace(page, steps=page.steps[query.offset : query.offset + query.limit])

    def summary(self, session_id: str, _: NoQuery) -> SummaryPage:
        """Raises SessionNotFoundError, UnreadableError."""
        return mask_page(summary_page(self.load(session_id)), self.masker.mask)

    def files(self, session_id: str, query: FilesQuery) -> FilesPage:
        """Raises SessionNotFoundError, UnreadableError, UsageError."""
        from stenograph.analysis import changed_files
        from stenograph.views import files_page

        session = self.load(session_id)
        known = self._compared.get(session_id)
        if known is not None and known[0] is session and known[1] == query:
            return known[2]
        turns = None if query.branch is None else _branch(session, query.branch).turns
        found = [each for each in changed_files(session, turns) if each.changed or not query.changed]
        page = files_page(session, found, self.masker.mask)
        # Pages of a session that runs are made several times for each state of it.
        self._compared = {session_id: (session, query, page)}
        return page

    def messages(self, session_id: str, query: MessagesQuery) -> MessagesPage:
        """Raises SessionNotFoundError, UnreadableError, UsageError."""
        from stenograph.messages import read_for_resume, resume_messages
        from stenograph.records import gc_paused
        from stenograph.sessions import as_unreadable
        from stenograph.views import message_pages, messages_page

        file, release = self.file(session_id), _release(query.release)
        with as_unreadable(file.path), gc_paused():
            graph = read_for_resume(file.path, release)
            resume = resume_messages(graph, release)
        found = islice(message_pages(resume, graph), query.offset, query.offset + query.limit)
        page = replace(messages_page(session_id, str(file.path), resume), messages=tuple(found))
        return mask_page(page, self.masker.mask)

    def lost(self, session_id: str, query: ReleaseQuery) -> LostPage:
        """Raises SessionNotFoundError, UnreadableError, UsageError."""
        from stenograph.graph import build_graph
        from stenograph.messages import lost
        from stenograph.records import gc_paused, read_all_records
        from stenograph.sessions import as_unreadable
        from stenograph.views import lost_page

        file, release = self.file(session_id), _release(query.release)
        with as_unreadable(file.path), gc_paused():
            found = lost(build_graph([(file.path, "", read_all_records(file.path))]), release)
        return mask_page(lost_page(session_id, str(file.path), found), self.masker.mask)

    def resume(self, session_id: str, _: NoQuery) -> ResumePage:
        """Raises SessionNotFoundError, UnreadableError."""
        from stenograph.sessions import plan_resume
        from stenograph.views import resume_page

        file = self.file(session_id)
        return mask_page(resume_page(session_id, str(file.path), plan_resume(file.path)), self.masker.mask)

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
        return self._index.ask(
            lambda store, report: search_page(
                query.q,
                sought,
                search(store, sought, narrowed, limit=query.limit, lines=query.lines, newest=query.newest),
                report,
                self.masker.mask,
                facets=count_facets(store, sought, narrowed) if query.facets else None,
            )
        )

    def expiring(self) -> frozenset[Path]:
        """Sessions that Claude Code deletes soon and that are not archived as they are."""
        from stenograph.archive import expiring_sessions

        if self._is_demo:
            return frozenset()
        return frozenset(each.file.path for each in expiring_sessions(self._archive_folder, self.homes) if not each.is_kept)

    def costs(self, paths: Sequence[Path]) -> Mapping[Path, float]:
        """What some sessions cost in dollars, as far as it is known: a list does not wait long for it."""
        with self._lock:
            counting = self._counting
            if counting is None or (not counting.is_alive() and time.monotonic() > self._counted_until):
                counting = self._counting = threading.Thread(target=self._count, daemon=True, name="steno-costs")
                counting.start()
        if not self._costs:
            counting.join(_COST_PATIENCE)
        known = self._costs
        return {path: known[path] for path in paths if path in known}

    def _count(self) -> None:
        rows = self.usage(UsageQuery(by="session")).rows
        self._costs = {
            Path(row.path): row.cost_micro_usd / 1_000_000 for row in rows if row.path and row.calls > row.unpriced_calls
        }
        self._counted_until = time.monotonic() + _COUNTED_SECONDS

    def usage(self, query: UsageQuery) -> UsagePage:
        """Raises UsageError."""
        from stenograph.analysis import UsageBy, UsageScope, usage_table
        from stenograph.index import sync_usage
        from stenograph.pricing import Tariff
        from stenograph.views import usage_page

        now, tariff = datetime.now().astimezone(), Tariff()
        since = None if query.since is None else date_or_age(query.since, now)
        until = None if query.until is None else date_or_age(query.until, now)

        def answer(store: IndexStore) -> UsagePage:
            report = sync_usage(store, self.homes, archived=self._usage.archived(), seconds=_USAGE_PATIENCE)
            table = usage_table(store, UsageScope(tuple(self.homes), since, until), tariff, by=UsageBy(query.by))
            titles = {info.path: info.title for info in self.listing().sessions} if query.by == "session" else None
            return usage_page(
                table, report, timezone=str(now.tzinfo), prices=tariff.source, since=since, until=until, titles=titles
            )

        return mask_page(self._usage.peek(answer), self.masker.mask)

    def reconciliation(self, query: UsageQuery) -> ReconciliationPage:
        """Our figures beside Claude Code's own; the greatest differences are explained. Raises UsageError."""
        from stenograph.analysis import reconcile_sessions
        from stenograph.pricing import Tariff
        from stenograph.views import reconciliation_page

        since = None if query.since is None else date_or_age(query.since, datetime.now().astimezone())
        found = self._usage.peek(
            lambda store: reconcile_sessions(store, tuple(self.homes), Tariff(), since=since, explain=_EXPLAINED)
        )
        return reconciliation_page(found, mask=self.masker.mask)

    def waste(self, query: ScopeQuery) -> WastePage:
        """Avoidable cost, of the sessions that are known or can be read soon. Raises UsageError."""
        from stenograph.analysis import find_waste
        from stenograph.views import waste_page

        found = self._known(query)
        cost = sum(each.facts.cost for each in found)
        return waste_page(find_waste(found), sessions=len(found), cost=cost, mask=self.masker.mask)

    def stats(self, query: ScopeQuery) -> StatsPage:
        """What happened, of the sessions that are known or can be read soon. Raises UsageError."""
        from stenograph.analysis import stats_of
        from stenograph.views import stats_page

        return stats_page(stats_of(self._known(query)), self.masker.mask)

    def _known(self, query: ScopeQuery) -> list[KnownSession]:
        """The sessions with a call in some time, once their calls are counted. Raises UsageError."""
        from stenograph.analysis import known_sessions
        from stenograph.index import sync_usage
        from stenograph.pricing import Tariff

        now = datetime.now().astimezone()
        since = None if query.since is None else date_or_age(query.since, now)
        until = None if query.until is None else date_or_age(query.until, now)

        def answer(store: IndexStore) -> list[KnownSession]:
            sync_usage(store, self.homes, archived=self._usage.archived(), seconds=_USAGE_PATIENCE)
            return known_sessions(store, self.homes, Tariff(), since=since, until=until, seconds=_WASTE_PATIENCE)

        return self._usage.peek(answer)

    def kept(self) -> ArchivePage:
        """What the archive has, and what Claude Code deletes soon. Raises UnreadableError."""
        from stenograph.archive import SOON, Archive, expiring_sessions, open_kept, retention_of, unkept
        from stenograph.views import archive_page

        store = open_kept(self._archive_folder)
        try:
            sessions, totals = (store.sessions(), store.totals()) if store else ([], None)
        finally:
            if store:
                store.close()
        edits = Archive(self._archive_folder)
        return archive_page(
            self._archive_folder,
            totals,
            sum(each.has_own_file and not each.path.exists() for each in sessions),
            (sum(1 for _ in edits.entries()), *edits.originals()),
            automatic=self.config.archive.keep,
            installed=(),
            retention=[] if self._is_demo else [retention_of(home) for home in self.homes],
            expiring=0 if self._is_demo else len(unkept(expiring_sessions(self._archive_folder, self.homes))),
            within=SOON,
        )

    def deleted(self, session_id: str) -> datetime | None:
        """When Claude Code deletes a session unless it changes; None: never, or it is kept. Raises SessionNotFoundError."""
        from stenograph.archive import retention_of

        path = self.file(session_id).path
        home = next((home for home in self.homes if path.is_relative_to(home)), None)
        if self._is_demo or home is None:
            return None
        return retention_of(home).end_of(path.stat().st_mtime_ns)

    def check_session(self, session_id: str, _: NoQuery) -> CheckPage:
        """Raises SessionNotFoundError, UnreadableError."""
        from stenograph.check import check
        from stenograph.views import check_page

        report = check([self.file(session_id).path], jobs=1, resuming=True)
        return mask_page(check_page(report, command), self.masker.mask)

    def check(self, query: CheckQuery) -> CheckPage:
        """Raises UsageError."""
        from stenograph.check import check
        from stenograph.views import check_page

        since = None if query.since is None else date_or_age(query.since, datetime.now(UTC))
        places = [home for home in self.homes if home.is_dir()]
        return mask_page(check_page(check(places, since=since, jobs=1), command), self.masker.mask)

    def check_resuming(self, paths: Sequence[Path]) -> tuple[ResumabilityPage, ...]:
        """What clients would lose of some sessions."""
        from stenograph.check import check
        from stenograph.views import check_page

        return check_page(check(paths, jobs=1, resuming=True), command).resume if paths else ()

    def reveal(self, body: RevealBody) -> SecretPage:
        """Raises RequestError."""
        secret = self.masker.secret_of(body.placeholder)
        if secret is None:
            raise RequestError(404, "secret-not-found", "this secret was not shown since the viewer started; reload the page")
        return SecretPage(body.placeholder, secret)

    def edits(self, session_id: str, _: NoQuery) -> EditsPage:
        """Raises SessionNotFoundError."""
        from stenograph.archive import find_edits
        from stenograph.views import edits_page

        archive = self._archive()
        found = find_edits(archive, str(self.file(session_id).path), self.homes, only_homes=True)
        return mask_page(edits_page(archive, found), self.masker.mask)

    def edit(self, session_id: str, body: EditBody) -> EditPage:
        """Raises SessionNotFoundError, UsageError, DiskError, RequestError."""
        from stenograph.surgery import attempt, make_plan, refuse_idle_selectors
        from stenograph.views import edit_page

        archive = self._archive(writes=body.apply)
        refuse_idle_selectors(body.edits)
        plan = make_plan(self.file(session_id).path, body.edits, prune=body.prune)
        attempted = attempt(plan, archive, is_applied=body.apply, active_seconds=self.config.active_seconds)
        self._answers.clear()
        refusal = None if self._can_edit else EDITS_ARE_OFF
        return mask_page(edit_page(plan, attempted, command, previewing=True, refusal=refusal), self.masker.mask)

    def undo(self, session_id: str, body: UndoBody) -> UndoPage:
        """Raises SessionNotFoundError, UsageError, DiskError, RequestError."""
        from stenograph.archive import find_edits, undo_edit
        from stenograph.views import undo_page

        archive = self._archive(writes=True)
        found = find_edits(archive, str(self.file(session_id).path), self.homes, only_homes=True)
        if body.entry is not None and all(edit.number != body.entry for edit in found):
            raise RequestError(404, "edit-not-found", "the session has no edit with this number")
        undone = undo_edit(archive, found, body.entry, active_seconds=self.config.active_seconds)
        self._answers.clear()
        if undone is None:
            raise RequestError(404, "edit-not-found", "the session has no edit to undo")
        return mask_page(undo_page(undone, command), self.masker.mask)

    def _archive(self, *, writes: bool = False) -> Archive:
        from stenograph.archive import Archive

        if writes and not self._can_edit:
            raise RequestError(403, "read-only", EDITS_ARE_OFF)
        return Archive(self._archive_folder)


EDITS_ARE_OFF = "the viewer was started without --allow-edits"


def command(*words: str) -> str:
    """A command line of ours that can be pasted."""
    return " ".join(["steno", *(quoted(word) for word in words)])


def _is_wanted(query: TurnsQuery, turn: Turn) -> bool:
    return query.first <= turn.number < query.first + query.limit


def _branch(session: Session, number: int | None) -> Branch:
    """Raises RequestError."""
    try:
        return choose_branch(session, number)
    except UsageError as error:
        raise RequestError(404, "branch-not-found", str(error)) from error


def _release(named: str | None) -> str:
    """Raises UsageError for what is not a release."""
    from stenograph.releases import NEWEST, release_numbers

    release_numbers(named or NEWEST)
    return named or NEWEST
