"""The facts of many sessions -> one answer, each figure with the turns behind it."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import UTC, datetime, tzinfo
from pathlib import Path

import msgspec
from msgspec import Struct

from stenograph.analysis.context import PARTS
from stenograph.analysis.costs import QUARTER
from stenograph.analysis.facts import CacheRebuild, FactSheet, TurnFacts, session_facts
from stenograph.errors import StenographError, UnwritableError
from stenograph.index import FactsPlace, IndexStore, facts_places, keep_facts
from stenograph.pricing import Tariff
from stenograph.sessions import load_file

#: Rises with what facts are or mean.
_FACTS = "facts 12"
_BATCH = 50

Progress = Callable[[int, int], None]


class KnownSession(Struct, frozen=True):
    """A session and its facts."""

    id: str
    path: Path
    project: str | None
    facts: FactSheet
    last: int | None


class TurnLink(Struct, frozen=True):
    """A turn behind a figure."""

    session: str
    turn: int
    #: What it is about: a tool, a cause.
    what: str = ""
    #: In milliseconds, tokens or picodollars, whichever the figure is of.
    ms: int | None = None
    tokens: int | None = None
    cost: int | None = None
    #: How much of the cost is estimated, and how many calls are not in it.
    estimated: int = 0
    unpriced_calls: int = 0
    #: The branch that it is on, from 1, where that is another one than a client resumes.
    branch: int | None = None


class ToolStats(Struct):
    name: str
    calls: int = 0
    failed: int = 0
    total_ms: int = 0
    slowest: TurnLink | None = None
    failed_in: list[TurnLink] = []


class DayStats(Struct):
    """Turns that began on a day, and what the calls of that day cost."""

    day: str
    turns: int = 0
    cost: int = 0
    estimated: int = 0


class Stats(Struct):
    sessions: int
    turns: int
    calls: int
    tool_calls: int
    #: Picodollars, and how much of them is estimated.
    cost: int
    estimated: int
    unpriced_calls: int
    statuses: dict[str, list[TurnLink]]
    days: list[DayStats]
    #: Turns by the local hour in which they began.
    hours: list[int]
    context: dict[str, int]
    context_calls: int
    largest_context: int
    tools: list[ToolStats]
    model_ms: int
    tools_ms: int
    user_ms: int
    waits: list[TurnLink]
    prompt_tokens: int
    cached_tokens: int
    rebuilds: list[TurnLink]
    retries: list[TurnLink]
    api_errors: list[TurnLink]
    interrupts: list[TurnLink]
    compactions: list[TurnLink]
    dropped_tokens: int
    rewound: list[TurnLink]
    rewound_estimated: int
    agent_calls: int
    agent_cost: int
    agent_estimated: int
    agent_unpriced_calls: int


def known_sessions(
    store: IndexStore,
    homes: Sequence[Path],
    tariff: Tariff,
    *,
    since: float | None = None,
    until: float | None = None,
    only: Path | None = None,
    seconds: float | None = None,
    progress: Progress | None = None,
) -> list[KnownSession]:
    """The sessions with a call in the time given, with their facts: those that changed are read, the others are kept.

    With `seconds` they are read for about that long; the rest is left out.
    """
    deadline = None if seconds is None else time.monotonic() + seconds
    places = list(facts_places(store, homes, f"{_FACTS} {tariff.source}", since=since, until=until))
    if only is not None:
        places = [place for place in places if place.path == only]
    found: list[KnownSession] = []
    made: list[tuple[FactsPlace, bytes]] = []
    for number, place in enumerate(places):
        facts = _kept(place)
        if facts is None:
            if deadline is not None and time.monotonic() > deadline:
                continue
            try:
                facts = session_facts(load_file(store.place_of(place.path)), tariff, place.copies)
            except StenographError:
                continue  # it is gone, or can't be read: `steno doctor` says so
            made.append((place, msgspec.json.encode(facts)))
            if len(made) >= _BATCH:
                _keep(store, made)
            if progress is not None:
                progress(number + 1, len(places))
        found.append(KnownSession(place.session, place.path, place.project, facts, place.last))
    _keep(store, made)
    return found


def _kept(place: FactsPlace) -> FactSheet | None:
    if place.kept is None:
        return None
    try:
        return msgspec.json.decode(place.kept, type=FactSheet)
    except msgspec.DecodeError:
        return None


def _keep(store: IndexStore, made: list[tuple[FactsPlace, bytes]]) -> None:
    if made:
        with contextlib.suppress(UnwritableError):  # then they are made again next time
            keep_facts(store, made)
        made.clear()


def stats_of(sessions: Iterable[KnownSession], *, zone: tzinfo | None = None) -> Stats:
    sessions = list(sessions)
    facts = [each.facts for each in sessions]
    turns = [(each, turn) for each in sessions for turn in each.facts.turns]
    statuses: dict[str, list[TurnLink]] = {}
    for each, turn in turns:
        link = TurnLink(each.id, turn.number, cost=turn.cost, estimated=turn.estimated, unpriced_calls=turn.unpriced_calls)
        statuses.setdefault(turn.status, []).append(link)
    days, hours = _activity(facts, zone)
    tools = _tools(sessions)
    waits = [TurnLink(each.id, wait.turn, wait.what, ms=wait.ms) for each in sessions for wait in each.facts.waits]
    compactions = [
        TurnLink(each.id, one.turn, one.trigger, tokens=max(0, (one.before or 0) - (one.after or 0)) if one.before else None)
        for each in sessions
        for one in each.facts.compactions
    ]
    return Stats(
        sessions=len(sessions),
        turns=len(turns),
        calls=sum(each.calls for each in facts),
        tool_calls=sum(tool.calls for tool in tools),
        cost=sum(each.cost for each in facts),
        estimated=sum(each.estimated for each in facts),
        unpriced_calls=sum(each.unpriced_calls for each in facts),
        statuses=statuses,
        days=days,
        hours=hours,
        context={part: sum(each.context[part] for each in facts) for part in PARTS},
        context_calls=sum(each.context_calls for each in facts),
        largest_context=max((each.largest_context for each in facts), default=0),
        tools=tools,
        model_ms=sum(each.model_ms for each in facts),
        tools_ms=sum(each.tools_ms for each in facts),
        user_ms=sum(each.user_ms for each in facts),
        waits=sorted(waits, key=lambda link: -(link.ms or 0))[:20],
        prompt_tokens=sum(each.prompt_tokens for each in facts),
        cached_tokens=sum(each.cached_tokens for each in facts),
        rebuilds=sorted(_rebuilds(sessions), key=lambda link: -(link.cost or 0)),
        retries=_links(sessions, lambda each: each.retries),
        api_errors=_links(sessions, lambda each: each.api_errors),
        interrupts=_links(sessions, lambda each: each.interrupts),
        compactions=compactions,
        dropped_tokens=sum(link.tokens or 0 for link in compactions),
        rewound=[rewound_link(each, turn) for each, turn in turns if turn.is_rewound],
        rewound_estimated=sum(turn.rewound_estimated for _, turn in turns),
        agent_calls=sum(each.agent_calls for each in facts),
        agent_cost=sum(each.agent_cost for each in facts),
        agent_estimated=sum(each.agent_estimated for each in facts),
        agent_unpriced_calls=sum(each.agent_unpriced_calls for each in facts),
    )


def rewound_link(session: KnownSession, turn: TurnFacts) -> TurnLink:
    """A turn that a rewind discarded, with what that cost."""
    return TurnLink(
        session.id,
        turn.number,
        cost=turn.rewound,
        estimated=turn.rewound_estimated,
        unpriced_calls=turn.rewound_unpriced_calls,
        branch=turn.branch,
    )


def _rebuilds(sessions: Sequence[KnownSession]) -> Iterator[TurnLink]:
    for each in sessions:
        for one in each.facts.rebuilds:
            yield rebuild_link(each, one)


def rebuild_link(session: KnownSession, rebuild: CacheRebuild) -> TurnLink:
    return TurnLink(
        session.id,
        rebuild.turn,
        rebuild.cause,
        ms=round(rebuild.gap * 1000),
        tokens=rebuild.tokens,
        cost=rebuild.cost,
        unpriced_calls=int(rebuild.cost is None),
    )


def _links(sessions: Sequence[KnownSession], turns: Callable[[FactSheet], list[int]]) -> list[TurnLink]:
    return [TurnLink(each.id, turn) for each in sessions for turn in turns(each.facts)]


def _activity(facts: Sequence[FactSheet], zone: tzinfo | None) -> tuple[list[DayStats], list[int]]:
    days: dict[str, DayStats] = {}
    hours = [0] * 24

    def day_of(local: datetime) -> DayStats:
        name = local.date().isoformat()
        return days.setdefault(name, DayStats(name))

    for each in facts:
        for turn in each.turns:
            if turn.started is not None:
                local = datetime.fromtimestamp(turn.started, UTC).astimezone(zone)
                day_of(local).turns += 1
                hours[local.hour] += 1
        for quarter, (cost, estimated) in each.quarters.items():
            day = day_of(datetime.fromtimestamp(quarter * QUARTER, UTC).astimezone(zone))
            day.cost += cost
            day.estimated += estimated
    return [days[name] for name in sorted(days)], hours


def _tools(sessions: Sequence[KnownSession]) -> list[ToolStats]:
    tools: dict[str, ToolStats] = {}
    for each in sessions:
        for name, facts in each.facts.tools.items():
            tool = tools.get(name)
            if tool is None:
                tool = tools[name] = ToolStats(name, failed_in=[])
            tool.calls += facts.calls
            tool.failed += facts.failed
            tool.total_ms += facts.total_ms
            tool.failed_in += [TurnLink(each.id, turn, name) for turn in facts.failed_turns]
            if facts.slowest_ms and (tool.slowest is None or facts.slowest_ms > (tool.slowest.ms or 0)):
                tool.slowest = TurnLink(each.id, facts.slowest_turn, name, ms=facts.slowest_ms)
    return sorted(tools.values(), key=lambda tool: (-tool.calls, tool.name))
