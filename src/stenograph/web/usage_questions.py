"""What is asked about tokens, money and time, of all sessions together."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from stenograph.errors import DiskError
from stenograph.sessions import date_or_age
from stenograph.views import mask_page
from stenograph.web.errors import RequestError
from stenograph.web.index_thread import IndexThread
from stenograph.web.parameters import ScopeQuery, UsageQuery
from stenograph.web.shelf import Shelf, Viewer

if TYPE_CHECKING:
    from stenograph.analysis import KnownSession, Spent
    from stenograph.index import IndexStore
    from stenograph.views import ReconciliationPage, StatsPage, UsagePage, WastePage

#: How long a question waits for new calls to be counted, in seconds.
_USAGE_PATIENCE = 5.0
#: How long a list waits for the first costs, and how long it shows them before they are counted again, in seconds.
_COST_PATIENCE = 0.2
_COUNTED_SECONDS = 15.0
_COUNT_LATER = 1.0
#: How long a page waits for sessions to be read for what was avoidable, in seconds.
_WASTE_PATIENCE = 1.0
#: Sessions whose difference from Claude Code's own figure is explained.
_EXPLAINED = 6


class UsageQuestions(Shelf):
    def __init__(self, viewer: Viewer) -> None:
        super().__init__(viewer)
        self._costs: Mapping[Path, Spent] = {}
        self._counting: threading.Thread | None = None
        self._counted_until = 0.0
        # Its own: to count what everything cost takes long, and lists need the other one.
        self._usage = IndexThread(self.homes, viewer.index)

    def close(self) -> None:
        self._usage.close()  # what it still answers may need the other one
        super().close()

    def costs(self, paths: Sequence[Path]) -> Mapping[Path, Spent]:
        """What some sessions cost, as far as it is known: a list does not wait long for it."""
        with self._lock:
            counting = self._counting
            if counting is None or (not counting.is_alive() and time.monotonic() > self._counted_until):
                # The list is made first, unless it would have no costs at all.
                delay = _COUNT_LATER if self._costs else 0.0
                counting = self._counting = threading.Timer(delay, self._count)
                counting.name, counting.daemon = "steno-costs", True
                counting.start()
        if not self._costs:
            counting.join(_COST_PATIENCE)
        known = self._costs
        return {path: known[path] for path in paths if path in known}

    def _count(self) -> None:
        from stenograph.analysis import UsageBy, UsageScope, usage_table
        from stenograph.index import sync_usage
        from stenograph.pricing import Tariff

        def answer(store: IndexStore) -> Mapping[Path, Spent]:
            sync_usage(store, self.homes, archived=self._usage.archived(), seconds=_USAGE_PATIENCE)
            rows = usage_table(store, UsageScope(tuple(self.homes)), Tariff(), by=UsageBy.SESSION).rows
            return {row.path: row.spent for row in rows if row.path}

        try:
            self._costs = self._usage.look(answer)
        except (DiskError, RequestError):  # stopped meanwhile, or the index cannot be opened: lists show no costs
            return
        self._counted_until = time.monotonic() + _COUNTED_SECONDS

    def _served_ids(self) -> tuple[str, ...] | None:
        """The ids of the sessions that are served, if the index knows others too."""
        served = self._served_files()
        if served is None:
            return None
        return tuple(file.session_id for file in served) + tuple(file.session.session_id for file in self._usage.archived())

    def usage(self, query: UsageQuery) -> UsagePage:
        """Raises UsageError."""
        from stenograph.analysis import UsageBy, UsageScope, unlisted_sessions, usage_table
        from stenograph.index import sync_usage
        from stenograph.pricing import Tariff
        from stenograph.views import usage_page

        now, tariff = datetime.now().astimezone(), Tariff()
        since = None if query.since is None else date_or_age(query.since, now)
        until = None if query.until is None else date_or_age(query.until, now)

        def answer(store: IndexStore) -> UsagePage:
            report = sync_usage(store, self.homes, archived=self._usage.archived(), seconds=_USAGE_PATIENCE)
            scope = UsageScope(tuple(self.homes), since, until, self._served_ids())
            table = usage_table(store, scope, tariff, by=UsageBy(query.by))
            is_ranked = query.by == "project"
            listed = () if is_ranked else self.listing().sessions
            hidden = {info.path for info in listed if info.hidden is not None}
            return usage_page(
                table,
                report,
                timezone=str(now.tzinfo),
                prices=tariff.source,
                since=since,
                until=until,
                titles={info.path: info.title for info in listed} if query.by == "session" else None,
                unlisted=unlisted_sessions(store, scope, hidden.__contains__) if not is_ranked else None,
            )

        return mask_page(self._usage.peek(answer), self.masker.mask)

    def reconciliation(self, query: UsageQuery) -> ReconciliationPage:
        """Our figures beside Claude Code's own; the greatest differences are explained. Raises UsageError."""
        from stenograph.analysis import reconcile_sessions
        from stenograph.pricing import Tariff
        from stenograph.views import reconciliation_page

        now = datetime.now().astimezone()
        since = None if query.since is None else date_or_age(query.since, now)
        until = None if query.until is None else date_or_age(query.until, now)
        found = self._usage.peek(
            lambda store: reconcile_sessions(
                store, tuple(self.homes), Tariff(), since=since, until=until, sessions=self._served_ids(), explain=_EXPLAINED
            )
        )
        return reconciliation_page(found, mask=self.masker.mask)

    def waste(self, query: ScopeQuery) -> WastePage:
        """Avoidable cost, of the sessions that are known or can be read soon. Raises UsageError."""
        from stenograph.analysis import find_waste
        from stenograph.views import waste_page

        found = self._known(query)
        return waste_page(find_waste(found), found, self.masker.mask)

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
            found = known_sessions(store, self.homes, Tariff(), since=since, until=until, seconds=_WASTE_PATIENCE)
            contains = self.boundary.checker()
            return [each for each in found if contains(each.path)]

        return self._usage.peek(answer)
