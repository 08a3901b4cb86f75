"""The facts of sessions -> what was paid for nothing, the dearest first, with the way to avoid it.

What was spent is measured. What would have been saved is an estimate: nobody knows what the model would have done instead.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from enum import StrEnum
from pathlib import PurePath

from msgspec import Struct

from stenograph.analysis.stats import KnownSession, TurnLink, rebuild_link, rewound_link

# Findings below this are noise, in picodollars: a cent.
_LEAST = 10**10
# Of what a long result costs while it stays, this much is taken as avoidable: its first part may have been needed.
_SHORT = 500
# Of results, so many are findings of their own; the others are one together.
_DEAREST = 5


class WasteKind(StrEnum):
    CACHE_BREAK = "cache-rebuilt-after-a-break"
    CACHE_MODEL = "cache-rebuilt-for-another-model"
    RESULT = "result-stayed-in-the-context"
    RESULTS = "other-results-stayed-in-the-context"
    MCP = "mcp-server-never-called"
    REREAD = "files-read-again"
    AGENTS = "subagents-repeated-work"
    REWOUND = "turns-thrown-away"


class WasteFinding(Struct, frozen=True):
    kind: WasteKind
    #: Picodollars, estimated.
    cost: int
    #: How often.
    times: int
    #: A command, a file, a server: what it is about.
    what: str
    #: Figures that the sentence needs: tokens, calls, seconds, tools.
    tokens: int
    calls: int
    seconds: int
    #: The dearest first.
    turns: tuple[TurnLink, ...]
    #: Clients still send it, so that an edit can help.
    is_sent: bool = True


def find_waste(sessions: Iterable[KnownSession]) -> list[WasteFinding]:
    sessions = list(sessions)
    found = [
        *_rebuilds(sessions, "break", WasteKind.CACHE_BREAK),
        *_rebuilds(sessions, "model", WasteKind.CACHE_MODEL),
        *_results(sessions),
        *_servers(sessions),
        *_rereads(sessions),
        *_agents(sessions),
        *_rewound(sessions),
    ]
    return sorted((each for each in found if each.cost >= _LEAST), key=lambda each: -each.cost)


def _rebuilds(sessions: Sequence[KnownSession], cause: str, kind: WasteKind) -> Iterator[WasteFinding]:
    found = [(rebuild_link(each, one), one) for each in sessions for one in each.facts.rebuilds if one.cause == cause]
    found.sort(key=lambda each: -(each[1].cost or 0))
    if found:
        yield WasteFinding(
            kind,
            sum(one.cost or 0 for _, one in found),
            len(found),
            "",
            sum(one.tokens for _, one in found),
            0,
            round(max(one.gap for _, one in found)),
            tuple(link for link, _ in found),
        )


def _results(sessions: Sequence[KnownSession]) -> Iterator[WasteFinding]:
    """The dearest long results each on their own, for each has its own edit; the others together."""
    found = []
    for each in sessions:
        for one in each.facts.residents:
            cost = one.cost * (one.tokens - _SHORT) // one.tokens
            if cost >= _LEAST:
                what = f"{one.tool}: {one.target}" if one.target else one.tool
                link = TurnLink(each.id, one.turn, one.tool, tokens=one.tokens, cost=cost)
                found.append(WasteFinding(WasteKind.RESULT, cost, 1, what, one.tokens, one.calls, 0, (link,), one.is_sent))
    found.sort(key=lambda each: -each.cost)
    yield from found[:_DEAREST]
    if others := found[_DEAREST:]:
        yield WasteFinding(
            WasteKind.RESULTS,
            sum(each.cost for each in others),
            len(others),
            "",
            sum(each.tokens for each in others),
            max(each.calls for each in others),
            0,
            tuple(link for each in others for link in each.turns),
            others[0].is_sent,
        )


def _servers(sessions: Sequence[KnownSession]) -> Iterator[WasteFinding]:
    """Servers whose tools were in requests, and that no session called."""
    used = {one.name for each in sessions for one in each.facts.servers if one.used}
    servers: dict[str, list[tuple[KnownSession, int, int, int, int]]] = {}
    for each in sessions:
        for one in each.facts.servers:
            if one.name not in used:
                servers.setdefault(one.name, []).append((each, one.tools, one.tokens, one.requests, one.cost))
    for name, rows in servers.items():
        links = [TurnLink(each.id, 1, name, tokens=tokens, cost=cost) for each, _, tokens, _, cost in rows]
        tools, tokens = max(row[1] for row in rows), max(row[2] for row in rows)
        requests, cost = sum(row[3] for row in rows), sum(row[4] for row in rows)
        links.sort(key=lambda link: -(link.cost or 0))
        yield WasteFinding(WasteKind.MCP, cost, tools, name, tokens, requests, 0, tuple(links))


def _rereads(sessions: Sequence[KnownSession]) -> Iterator[WasteFinding]:
    rows = [(each, one) for each in sessions for one in each.facts.rereads]
    if not rows:
        return
    times: dict[str, int] = {}
    for _, one in rows:
        times[one.path] = times.get(one.path, 0) + len(one.turns)
    most = sorted(times.items(), key=lambda each: (-each[1], each[0]))[:3]
    what = ", ".join(f"{PurePath(path).name} {count + 1} times" for path, count in most)
    links = [TurnLink(each.id, turn, one.path, cost=one.cost // len(one.turns)) for each, one in rows for turn in one.turns]
    links.sort(key=lambda link: -(link.cost or 0))
    total = sum(one.cost for _, one in rows)
    yield WasteFinding(WasteKind.REREAD, total, len(links), what, sum(one.tokens for _, one in rows), 0, 0, tuple(links))


def _agents(sessions: Sequence[KnownSession]) -> Iterator[WasteFinding]:
    rows = [(each, one) for each in sessions for one in each.facts.repeated_agents]
    if rows:
        links = [TurnLink(each.id, turn, one.description, cost=one.cost) for each, one in rows for turn in one.turns[1:]]
        total = sum(one.cost for _, one in rows)
        yield WasteFinding(WasteKind.AGENTS, total, len(links), rows[0][1].description, 0, 0, 0, tuple(links))


def _rewound(sessions: Sequence[KnownSession]) -> Iterator[WasteFinding]:
    links = [rewound_link(each, turn) for each in sessions for turn in each.facts.turns if turn.is_rewound]
    links.sort(key=lambda link: -(link.cost or 0))
    if links:
        yield WasteFinding(WasteKind.REWOUND, sum(link.cost or 0 for link in links), len(links), "", 0, 0, 0, tuple(links))
