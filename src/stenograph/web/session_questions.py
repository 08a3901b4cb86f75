"""What is asked about one session: each question one method, each answer one masked page value."""

from __future__ import annotations

from datetime import datetime
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING

from msgspec.structs import replace

from stenograph.errors import UsageError
from stenograph.sessions import choose_branch
from stenograph.turns import Branch, Session, Turn, round_types
from stenograph.views import (
    mask_page,
    record_page,
    records_page,
    session_page,
    steps_page,
    summary_page,
    turns_page,
)
from stenograph.web.errors import RequestError
from stenograph.web.parameters import (
    FilesQuery,
    MessagesQuery,
    NoQuery,
    RecordQuery,
    RecordsQuery,
    ReleaseQuery,
    StepsQuery,
    TurnsQuery,
)
from stenograph.web.shelf import Shelf, Viewer

if TYPE_CHECKING:
    from stenograph.index import IndexStore
    from stenograph.views import (
        CheckPage,
        FilesPage,
        LostPage,
        MessagesPage,
        RecordPage,
        RecordsPage,
        ResumePage,
        SessionPage,
        StepsPage,
        SummaryPage,
        TimelinePage,
        TurnsPage,
    )

#: Bytes of a session that takes longer to load than a reader wants to wait.
_PREVIEWED = 8_000_000


class SessionQuestions(Shelf):
    def __init__(self, viewer: Viewer) -> None:
        super().__init__(viewer)
        self._compared: dict[str, tuple[Session, FilesQuery, FilesPage]] = {}

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
        def look(store: IndexStore) -> TimelinePage | None:
            opened = open_session(store, file.path)
            return None if opened is None else timeline_preview(replace(opened, family=self.boundary.family(file.path)), turn)

        page = self._index.look(look)
        return None if page is None else mask_page(page, self.masker.mask)

    def session(self, session_id: str, query: TurnsQuery) -> SessionPage:
        """A session to read, some turns of it. Raises SessionNotFoundError, UnreadableError, UsageError."""
        session = self.load(session_id)
        page = session_page(
            session,
            _branch(session, query.branch),
            wanted=partial(_is_wanted, query),
            title=session.title,
            agents=query.agents,
            copies=self.copies(session_id),
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
        return mask_page(check_page(report, self.command), self.masker.mask)


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
