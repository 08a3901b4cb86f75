"""The store's model calls -> tokens and money by day, model, project and more, each call once.

In: a synced store, prices, a time zone. Out: rows and their total. A figure says how it is known: measured (counted by the API
and priced by the table), estimated (output of old releases that recorded only its beginning, from the length of what was
written), or unpriced (a model without a price). Interrupted responses are not charged by Claude Code: they are counted apart, as
are copies.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, date, datetime, timedelta, tzinfo
from enum import StrEnum
from operator import add
from pathlib import Path

from msgspec import Struct, structs

from stenograph.analysis.call_sums import (
    COUNTS,
    DATED,
    DAY,
    EARLIEST,
    EVERY,
    FROM,
    LATEST,
    PRICED,
    CallSums,
    price_key,
    sum_calls,
    sum_days,
    sum_groups,
)
from stenograph.index import ADVISOR, AGENT, FAST, SIDECHAIN, US, IndexStore, counted_in
from stenograph.pricing import PerToken, Tariff

#: Of a subagent that nothing in its session's files tells the type of.
UNKNOWN_TYPE = "(unknown)"
_HOUR = 3600
_BLOCK = 5 * _HOUR
BLOCK = timedelta(seconds=_BLOCK)


class UsageBy(StrEnum):
    DAY = "day"
    WEEK = "week"
    MONTH = "month"
    MODEL = "model"
    PROJECT = "project"
    SESSION = "session"
    AGENT = "agent"
    TOOL = "tool"
    BRANCH = "branch"
    BLOCK = "block"


class UsageScope(Struct, frozen=True):
    """Which calls count. Times are seconds since 1970, `until` is exclusive."""

    homes: tuple[Path, ...]
    since: float | None = None
    until: float | None = None
    #: Only calls in the files of sessions with these ids; None: of all.
    sessions: tuple[str, ...] | None = None


class Spent(Struct):
    """What some calls used and cost. Amounts are picodollars."""

    calls: int = 0
    input: int = 0
    #: With `estimated_output`.
    output: int = 0
    cache_read: int = 0
    cache_write_5m: int = 0
    cache_write_1h: int = 0
    #: Part of the output.
    thinking: int = 0
    web_searches: int = 0
    #: Part of the output that no line counts.
    estimated_output: int = 0
    measured: int = 0
    estimated: int = 0
    unpriced_calls: int = 0
    unpriced_tokens: int = 0

    @property
    def cost(self) -> int:
        return self.measured + self.estimated

    @property
    def tokens(self) -> int:
        return self.input + self.output + self.cache_read + self.cache_write_5m + self.cache_write_1h


class KindCosts(Struct):
    """What each kind of token cost, in picodollars; together `Spent.cost`."""

    input: int = 0
    #: With estimated output.
    output: int = 0
    cache_read: int = 0
    cache_write_5m: int = 0
    cache_write_1h: int = 0
    web_searches: int = 0


class UsageRow(Struct):
    """One day, model, project …"""

    #: What it is called, for a person and for a program: `2026-11-16`, a model's name, a path, a session's id.
    name: str
    spent: Spent
    #: By model, the dearest first.
    models: dict[str, Spent]
    sessions: int
    #: Of a day, week, month or block: when it begins and ends; of a session: its first and last call.
    start: datetime | None = None
    end: datetime | None = None
    #: Of a session: its file, whether or not it is there, and its project.
    path: Path | None = None
    project: str | None = None


class UsageTable(Struct):
    by: UsageBy
    rows: list[UsageRow]
    total: UsageRow
    #: Responses that were interrupted: not charged, so in no row.
    interrupted: Spent
    #: Lines of calls that another file has too.
    copies: int
    #: Models without a price, with their calls.
    unpriced: dict[str, int]
    #: The total cost by kind of token.
    kinds: KindCosts
    #: The times of the first and the last call, by day, week, month and block.
    first: datetime | None = None
    last: datetime | None = None


class _Price(Struct, frozen=True, eq=False):
    """What tokens of some calls cost; one value for each model, speed, place and length of prompt."""

    model: str
    #: The model as it is shown.
    name: str
    is_advisor: bool
    #: Picodollars per token, None without a price, and per search.
    rates: PerToken | None
    search: int


#: Sums over some calls: calls, input, output, cache read, written for five minutes and an hour, searches, thinking, estimated.
_Sums = list[int]


def usage_table(
    store: IndexStore, scope: UsageScope, tariff: Tariff, *, by: UsageBy = UsageBy.DAY, zone: tzinfo | None = None
) -> UsageTable:
    """Tokens and money in rows. `zone` is the time zone of days; None: the system's."""
    if by is UsageBy.AGENT:
        from stenograph.analysis.agent_types import name_agents  # reads sessions, which no other table does

        name_agents(store, scope.homes)
    where, values = _where(store, scope)
    finder = _Finder(store, scope, by, zone)
    summed = _summed(store, where, values, tariff, finder)
    cells: dict[object, dict[_Price, _Sums]] = {}
    everything: dict[_Price, _Sums] = {}
    for dimension, price, sums in _priced(summed.groups, tariff, finder):
        for key, share in finder.shares(dimension, price, sums):
            _add(cells.setdefault(key, {}), price, share)
            _add(everything, price, share)
    sessions = _sessions(summed.sessions, finder, tariff)
    total = UsageRow("total", Spent(), {}, len(set().union(*sessions.values())))
    rows = []
    for key, cell in cells.items():
        row = finder.row(key, len(sessions.get(key, ())))
        _fill(row, cell)
        if row.spent.calls or row.spent.tokens:
            rows.append(row)
    _fill(total, everything)
    if by is UsageBy.TOOL:
        total = _of_calls(total, usage_table(store, scope, tariff, by=UsageBy.MODEL))
    if by in _TIMES:
        rows.sort(key=lambda row: (row.start is None, row.start or datetime.min.replace(tzinfo=UTC)))
    else:
        rows.sort(key=lambda row: (-row.spent.cost, -row.spent.tokens, row.name))
    for row in (*rows, total):
        row.models = dict(sorted(row.models.items(), key=lambda each: (-each[1].cost, -each[1].tokens, each[0])))
    unpriced = {model: spent.unpriced_calls for model, spent in total.models.items() if spent.unpriced_calls}
    most = dict(sorted(unpriced.items(), key=lambda each: -each[1]))
    interrupted, copies = _left_out(summed.left_out)
    kinds = [_kinds(price, sums) for price, sums in everything.items()]
    costs = KindCosts(*map(sum, zip(*kinds, strict=True))) if kinds else KindCosts()
    first, last = _period(store, where, values) if by in _TIMES else (None, None)
    return UsageTable(by, rows, total, interrupted, copies, most, costs, first, last)


def spent_in(store: IndexStore, scope: UsageScope, tariff: Tariff) -> Spent:
    """What all calls together used and cost."""
    where, values = _where(store, scope)
    finder = _Finder(store, scope, UsageBy.MODEL, UTC)
    groups = sum_groups(store, finder.dimension, price_key(tariff.thresholds), where, values)
    found = [_spent(price, sums) for _, price, sums in _priced(groups, tariff, finder)]
    return Spent(*map(sum, zip(*found, strict=True))) if found else Spent()


def block_at(store: IndexStore, scope: UsageScope, moment: datetime) -> datetime | None:
    """The beginning of the block of five hours that is open at a moment; None: none is."""
    begin = max(_block_starts(store, *_where(store, scope)).values(), default=None)
    return begin if begin is not None and begin <= moment < begin + BLOCK else None


def counted_sessions(store: IndexStore, scope: UsageScope) -> list[Path]:
    """The files of the sessions that have a call which counts, whether or not they are there."""
    where, values = _where(store, scope)
    counted = f"SELECT c.session {FROM}{where} AND {COUNTS}"
    rows = store.connection.execute(f"SELECT folder, name FROM usage_sessions WHERE id IN ({counted})", values)
    return [_session_file(folder, name) for folder, name in rows]


def _session_file(folder: bytes, name: str) -> Path:
    return Path(os.fsdecode(folder)) / f"{name}.jsonl"


def session_costs(store: IndexStore, homes: Sequence[Path], sessions: Iterable[Path], tariff: Tariff) -> dict[Path, Spent]:
    """What some sessions cost, as far as calls of theirs are known; each call counts for one session only."""
    wanted = set(sessions)
    scope = UsageScope(tuple(homes), sessions=tuple({path.stem for path in wanted}))
    rows = usage_table(store, scope, tariff, by=UsageBy.SESSION).rows if wanted else []
    return {row.path: row.spent for row in rows if row.path in wanted}


def _of_calls(total: UsageRow, by_model: UsageTable) -> UsageRow:
    """The total of a table whose rows count tool calls: it counts calls."""
    return UsageRow(total.name, by_model.total.spent, by_model.total.models, total.sessions)


def _add(known: dict[_Price, _Sums], price: _Price, sums: _Sums) -> None:
    before = known.get(price)
    known[price] = sums if before is None else list(map(add, before, sums))


def _fill(row: UsageRow, cell: Mapping[_Price, _Sums]) -> None:
    models: dict[str, list[int]] = {}
    for price, sums in cell.items():
        spent, known = _spent(price, sums), models.get(price.name)
        models[price.name] = spent if known is None else list(map(add, known, spent))
    row.models = {model: Spent(*amounts) for model, amounts in models.items()}
    row.spent = Spent(*map(sum, zip(*models.values(), strict=True)))


def _spent(price: _Price, sums: _Sums) -> list[int]:
    """The fields of `Spent`."""
    calls, given, output, read, short, hour, searches, thinking, estimated = sums
    spent = [0 if price.is_advisor else calls, given, output + estimated, read, short, hour, thinking, searches, estimated]
    rates = price.rates
    if rates is None:
        return [*spent, 0, 0, calls, given + output + read + short + hour + estimated]
    guessed = estimated * rates.output
    return [*spent, sum(_kinds(price, sums)) - guessed, guessed, 0, 0]


def _kinds(price: _Price, sums: _Sums) -> list[int]:
    """The fields of `KindCosts`."""
    _, given, output, read, short, hour, searches, _, estimated = sums
    rates = price.rates
    if rates is None:
        return [0] * 6
    return [
        given * rates.input,
        (output + estimated) * rates.output,
        read * rates.cache_read,
        short * rates.cache_write_5m,
        hour * rates.cache_write_1h,
        searches * price.search,
    ]


_TIMES = (UsageBy.DAY, UsageBy.WEEK, UsageBy.MONTH, UsageBy.BLOCK)
_DIMENSIONS = {
    UsageBy.BLOCK: f"CASE WHEN {DATED} THEN c.time / {_HOUR} END",
    UsageBy.MODEL: "0",
    UsageBy.PROJECT: "c.session",
    UsageBy.SESSION: "c.session",
    UsageBy.AGENT: f"CASE WHEN NOT c.flags & {AGENT | SIDECHAIN} THEN -1 ELSE c.agent_type END",
    UsageBy.TOOL: "c.tools",
    UsageBy.BRANCH: "c.branch",
}


def _summed(store: IndexStore, where: str, values: list[object], tariff: Tariff, finder: _Finder) -> CallSums:
    price = price_key(tariff.thresholds)
    if finder.by in (UsageBy.DAY, UsageBy.WEEK, UsageBy.MONTH) and where == EVERY:
        return sum_days(store, finder.dimension, price)
    return sum_calls(store, finder.dimension, price, where, values, models=finder.by is UsageBy.MODEL)


def _priced(groups: Iterable[Sequence[int]], tariff: Tariff, finder: _Finder) -> Iterator[tuple[object, _Price, _Sums]]:
    lengths = [0, *(above + 1 for above in tariff.thresholds)]
    prices: dict[int, _Price] = {}
    for dimension, packed, *sums in groups:
        if (price := prices.get(packed)) is None:
            model, flags = finder.names[packed >> 16], packed >> 4 & PRICED
            is_fast, is_us = bool(flags & FAST), bool(flags & US)
            rates = tariff.rate(model, prompt=lengths[packed & 15], is_fast=is_fast, is_us=is_us)
            name = tariff.row(model) or model or "(unknown)"
            price = prices[packed] = _Price(model, name, bool(flags & ADVISOR), rates, tariff.web_search)
        yield dimension, price, sums


def _period(store: IndexStore, where: str, values: list[object]) -> tuple[datetime | None, datetime | None]:
    """When the first and the last call was."""
    dated = f"SELECT c.time {FROM}{where} AND {COUNTS} AND {DATED} ORDER BY c.time"  # from the index
    ends = [store.connection.execute(f"{dated} {order} LIMIT 1", values).fetchone() for order in ("", "DESC")]
    first, last = (datetime.fromtimestamp(end[0], UTC) if end else None for end in ends)
    return first, last


def _left_out(rows: Iterable[Sequence[int]]) -> tuple[Spent, int]:
    """What is in no row: responses that were interrupted, and how many lines are copies."""
    interrupted, copies = [0] * 6, 0
    for counted, *sums in rows:
        if counted:
            interrupted = [one + other for one, other in zip(interrupted, sums, strict=True)]
        else:
            copies += sums[0]
    return Spent(*interrupted), copies


def _sessions(rows: Iterable[tuple[int, int, int]], finder: _Finder, tariff: Tariff) -> dict[object, set[int]]:
    """The sessions behind each row."""
    found: dict[object, set[int]] = {}
    prices: dict[int, _Price] = {}
    for dimension, session, model in rows:
        if (price := prices.get(model)) is None:
            name = finder.names[model] if model else ""
            price = prices[model] = _Price(name, tariff.row(name) or name or "(unknown)", False, None, 0)
        for key, _ in finder.shares(dimension, price, []):
            found.setdefault(key, set()).add(session)
    return found


def _where(store: IndexStore, scope: UsageScope) -> tuple[str, list[object]]:
    homes = f"IN ({', '.join('?' * len(scope.homes))})"
    named: list[object] = [os.fsencode(home) for home in scope.homes]
    others = store.connection.execute(f"SELECT 1 FROM usage_sessions WHERE home NOT {homes} LIMIT 1", named).fetchone()
    where = f" WHERE c.session IN (SELECT id FROM usage_sessions WHERE home {homes})" if others else EVERY
    values = list(named) if others else []
    if len(scope.homes) > 1:
        counts, of_homes = counted_in(scope.homes)
        where += f" AND (NOT c.counted OR ({counts}))"
        values += of_homes
    if scope.sessions is not None:
        named_so = f"SELECT id FROM usage_sessions WHERE name IN ({', '.join('?' * len(scope.sessions))})"
        where += f" AND c.file IN (SELECT id FROM usage_files WHERE session IN ({named_so}))"
        values += scope.sessions
    if scope.since is not None or scope.until is not None:
        where += " AND c.time >= ? AND c.time < ?"
        values += known_times(scope.since, scope.until)
    return where, values


def known_times(since: float | None, until: float | None) -> tuple[int, int]:
    """A range of time within the times that count as known; the end is exclusive."""
    first = EARLIEST if since is None else max(int(since), EARLIEST)
    return first, LATEST if until is None else min(int(until), LATEST)


class _Finder:
    """From a row of the query to the rows of the answer that it belongs to."""

    def __init__(self, store: IndexStore, scope: UsageScope, by: UsageBy, zone: tzinfo | None) -> None:
        self.by = by
        self.names: dict[int, str] = dict(store.connection.execute("SELECT id, name FROM usage_names"))
        self._zone = zone
        self.blocks: dict[object, datetime] = {}
        self._keys: dict[object, object] = {}
        self._sessions: dict[object, tuple[bytes, str, str | None]] = {}
        self.dimension = _DIMENSIONS.get(by, "")
        if by in (UsageBy.PROJECT, UsageBy.SESSION):
            found = store.connection.execute("SELECT id, folder, name, project FROM usage_sessions")
            self._sessions = {row[0]: row[1:] for row in found}
        elif by is UsageBy.BLOCK:
            # Whatever the range of time: where a block begins depends on the calls before it.
            everywhen = _where(store, structs.replace(scope, since=None, until=None))
            self.blocks = _block_starts(store, *everywhen)
        elif not self.dimension:
            first, last = store.connection.execute(
                # Each from the index.
                f"SELECT (SELECT min(c.time) {FROM} WHERE {DATED}), (SELECT max(c.time) {FROM} WHERE {DATED})"
            ).fetchone()
            self.dimension = f"CASE WHEN {DATED} THEN (c.time + {_offset(first, last, zone)}) / {DAY} END"

    def shares(self, dimension: object, price: _Price, sums: _Sums) -> list[tuple[object, _Sums]]:
        if self.by is UsageBy.MODEL:
            return [(price.name, sums)]
        if self.by is UsageBy.TOOL:
            return _by_tool(self.names[_number(dimension)], sums)
        if dimension not in self._keys:
            self._keys[dimension] = self._key(dimension)
        return [(self._keys[dimension], sums)]

    def _key(self, dimension: object) -> object:
        match self.by:
            case UsageBy.BLOCK:
                return self.blocks.get(dimension)
            case UsageBy.PROJECT:
                folder, _, project = self._sessions[dimension]
                return project or Path(os.fsdecode(folder)).name
            case UsageBy.AGENT:
                number = _number(dimension)
                return "main" if number < 0 else self.names[number] or UNKNOWN_TYPE
            case UsageBy.BRANCH:
                return self.names[_number(dimension)] or "(none)"
            case UsageBy.SESSION:
                return dimension
        return None if dimension is None else self._begin(_number(dimension))

    def row(self, key: object, sessions: int) -> UsageRow:
        row = UsageRow("(unknown)" if key is None else str(key), Spent(), {}, sessions)
        if isinstance(key, date):
            row.start, row.end = self._span(key)
            row.name = f"{key.astimezone(self._zone):%Y-%m-%d %H:%M}" if isinstance(key, datetime) else key.isoformat()
            if self.by is UsageBy.MONTH:
                row.name = row.name[:7]
        elif self.by is UsageBy.SESSION:
            folder, name, project = self._sessions[key]
            row.name = name or "(unknown)"
            row.path = _session_file(folder, name) if name else None
            row.project = project
        return row

    def _begin(self, number: int) -> date:
        """The first day of the day, week or month that a day is in, counted from 1970."""
        day = date(1970, 1, 1) + timedelta(days=number)
        if self.by is UsageBy.WEEK:
            return day - timedelta(days=day.weekday())
        return day.replace(day=1) if self.by is UsageBy.MONTH else day

    def _span(self, key: date) -> tuple[datetime, datetime]:
        if isinstance(key, datetime):
            return key, key + BLOCK
        if self.by is UsageBy.MONTH:
            end = (key.replace(day=28) + timedelta(days=5)).replace(day=1)
        else:
            end = key + timedelta(days=7 if self.by is UsageBy.WEEK else 1)
        return self._midnight(key), self._midnight(end)

    def _midnight(self, day: date) -> datetime:
        at = datetime(day.year, day.month, day.day, tzinfo=self._zone)
        return at if self._zone is not None else at.astimezone()


def _offset(first: int | None, last: int | None, zone: tzinfo | None) -> str:
    """The seconds that local time is ahead of UTC, as SQL: they change with daylight saving time."""
    if first is None or last is None:
        return "0"

    def at(moment: int) -> int:
        offset = datetime.fromtimestamp(moment, UTC).astimezone(zone).utcoffset()
        return 0 if offset is None else int(offset.total_seconds())

    changes: list[tuple[int, int]] = []
    before, moment = at(first), first
    while moment < last:
        later = min(last, moment + 7 * DAY)
        if at(later) != before:
            low, high = moment, later
            while high - low > 1:
                middle = (low + high) // 2
                low, high = (middle, high) if at(middle) == before else (low, middle)
            changes.append((high, before))
            before, moment = at(high), high
        else:
            moment = later
    cases = "".join(f" WHEN c.time < {until} THEN {offset}" for until, offset in changes)
    return f"CASE{cases} ELSE {before} END" if cases else str(before)


def _number(value: object) -> int:
    assert isinstance(value, int)
    return value


def _block_starts(store: IndexStore, where: str, values: list[object]) -> dict[object, datetime]:
    """Hours with calls -> the beginning of their block."""
    hours = store.connection.execute(f"SELECT DISTINCT {_DIMENSIONS[UsageBy.BLOCK]} {FROM}{where} AND c.counted", values)
    return _blocks(hour for (hour,) in hours)


def _blocks(hours: Iterable[object]) -> dict[object, datetime]:
    """Hours with calls -> the beginning of their block: five hours from the hour of the first call after the block before."""
    found: dict[object, datetime] = {}
    start = -(10**9)
    for hour in sorted({hour for hour in hours if isinstance(hour, int)}):
        if hour * _HOUR >= start * _HOUR + _BLOCK:
            start = hour
        found[hour] = datetime.fromtimestamp(start * _HOUR, UTC)
    return found


def _by_tool(tools: str, sums: _Sums) -> list[tuple[object, _Sums]]:
    """A call's tokens in equal parts for the tool calls that it made; the first ones get what can't be divided.

    What is counted is tool calls.
    """
    names = tools.split(",") if tools else ["(no tool)"]
    shares: dict[object, _Sums] = {}
    for place, name in enumerate(names):
        share = [*sums[:1], *(amount // len(names) + (place < amount % len(names)) for amount in sums[1:])]
        known = shares.get(name)
        shares[name] = share if known is None else [one + other for one, other in zip(known, share, strict=True)]
    return list(shares.items())
