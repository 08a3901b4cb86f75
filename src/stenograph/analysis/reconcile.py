"""What sessions cost by their lines, beside what Claude Code itself noted (`cost-state`), and why the two differ.

A session's own sum counts every call in its files once, also those that a fork copied: that is what the client's total covers.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from msgspec import Struct, structs

from stenograph.analysis.usage import known_times
from stenograph.errors import DiskError
from stenograph.index import ABORTED, ADVISOR, FAST, US, IndexStore
from stenograph.records import AGENT_TOOLS, TokenCounts

if TYPE_CHECKING:  # only explanations read lines, and what that takes is slow to load
    from stenograph.pricing import GapReason, Tariff
    from stenograph.records import Record

_NANO_TO_PICO = 1000
#: Half of the last digit that is shown, a millionth of a dollar: a client adds doubles, and other tools round its total.
_EQUAL = 500_000
_PICO = 10**12


class Reconciled(Struct, frozen=True):
    """One session with a total of the client's. Amounts are picodollars."""

    session: str
    path: Path
    project: str | None
    ours: int
    theirs: int
    calls: int
    #: Calls of models without a price here: the client prices them by a fixed row.
    unpriced_calls: int
    #: Whether its calls start subagents.
    starts_agents: bool
    #: What its lines show that can explain a difference; empty where there is none, or nothing is known.
    reasons: tuple[GapReason, ...] = ()
    #: What each reason makes of the difference, where that is known: all of it for a single reason.
    amounts: dict[GapReason, int] = {}
    #: What its calls cost that count for another session of the list, such as a fork's parent; None: it has no such calls.
    shared: int | None = None

    @property
    def ours_once(self) -> int:
        """Its part of a sum over the list, in which each call counts once."""
        return self.ours - (self.shared or 0)

    @property
    def theirs_once(self) -> int:
        """The same of the client's total, without what a fork continues from the total of a parent in the list."""
        from stenograph.pricing import GapReason

        continued = 0 if self.shared is None else self.shared + self.amounts.get(GapReason.COPIED, 0)
        return self.theirs - continued

    @property
    def rest(self) -> int:
        """What is left of the difference for the reasons without an amount, or for none."""
        return self.difference - sum(self.amounts.values())

    @property
    def difference(self) -> int:
        """How much the client's total is greater."""
        return self.theirs - self.ours

    @property
    def is_equal(self) -> bool:
        return abs(self.difference) <= _EQUAL


def reconcile_sessions(
    store: IndexStore,
    homes: tuple[Path, ...],
    tariff: Tariff,
    *,
    since: float | None = None,
    until: float | None = None,
    sessions: Collection[str] | None = None,
    explain: int | bool = True,
) -> list[Reconciled]:
    """Every session with a total of the client's, the greatest difference first; whole sessions, with a call in a range of time.

    `sessions`: only those with these ids. `explain` reads those that differ: all of them, or so many.
    """
    rows = [row for row in _sessions(store, homes, since, until) if sessions is None or row[2] in sessions]
    found = _counted_once([_compared(row, store, tariff) for row in rows])
    found.sort(key=lambda each: (-abs(each.difference), each.session))
    most = len(found) if explain is True else int(explain)
    return [_explained(each, store, tariff) if number < most and not each.is_equal else each for number, each in enumerate(found)]


def _sessions(
    store: IndexStore, homes: tuple[Path, ...], since: float | None, until: float | None
) -> list[tuple[int, bytes, str, str | None, bytes, int]]:
    times = () if since is None and until is None else known_times(since, until)
    rows = store.connection.execute(
        "SELECT s.id, s.folder, s.name, s.project, f.path, f.client_total FROM usage_files f JOIN usage_sessions s"
        " ON s.id = f.session WHERE f.agent IS NULL AND f.client_total IS NOT NULL"
        f" AND s.home IN ({', '.join('?' * len(homes))})"
        + (" AND EXISTS (SELECT 1 FROM model_calls c WHERE c.file = f.id AND c.time >= ? AND c.time < ?)" if times else ""),
        (*map(os.fsencode, homes), *times),
    )
    return rows.fetchall()


class _Bill(NamedTuple):
    session: Reconciled
    #: What each of its calls cost.
    costs: dict[int, int]
    #: Its calls that are no copies.
    originals: set[int]


def _counted_once(bills: Sequence[_Bill]) -> list[Reconciled]:
    """The sessions with what their calls cost that count for another one: that of the original, or the first one."""
    owners: dict[int, int] = {}
    for place, bill in enumerate(bills):
        for key in bill.costs:
            if key not in owners or key in bill.originals:
                owners[key] = place
    found = []
    for place, bill in enumerate(bills):
        shared = [cost for key, cost in bill.costs.items() if owners[key] != place]
        found.append(structs.replace(bill.session, shared=sum(shared)) if shared else bill.session)
    return found


def _compared(row: tuple[int, bytes, str, str | None, bytes, int], store: IndexStore, tariff: Tariff) -> _Bill:
    session, _, name, project, path, total = row
    calls: dict[int, tuple[str, int, TokenCounts]] = {}
    aborted: set[int] = set()
    originals: set[int] = set()
    starts_agents = False
    for key, is_original, model, flags, tools, *counts in store.connection.execute(
        "SELECT c.key, c.counted, n.name, c.flags, t.name, c.input, c.output, c.cache_read, c.cache_write_5m, c.cache_write_1h,"
        " c.web_searches FROM model_calls c JOIN usage_files f ON f.id = c.file JOIN usage_names n ON n.id = c.model"
        " JOIN usage_names t ON t.id = c.tools WHERE f.session = ?",
        (session,),
    ):
        tokens = TokenCounts(*counts)
        starts_agents = starts_agents or not AGENT_TOOLS.isdisjoint(tools.split(","))
        if flags & ABORTED:
            aborted.add(key)
        if is_original:
            originals.add(key)
        if key not in calls or tokens.total > calls[key][2].total:
            calls[key] = (model, flags, tokens)
    costs: dict[int, int] = {}
    unpriced = responses = 0
    for key, (model, flags, tokens) in calls.items():
        if key in aborted:
            continue
        responses += not flags & ADVISOR
        cost = tariff.price(tokens, model, is_fast=bool(flags & FAST), is_us=bool(flags & US))
        costs[key] = cost or 0
        unpriced += cost is None
    ours, theirs = sum(costs.values()), total * _NANO_TO_PICO
    found = Reconciled(name, Path(os.fsdecode(path)), project, ours, theirs, responses, unpriced, starts_agents)
    return _Bill(found, costs, originals)


def _explained(found: Reconciled, store: IndexStore, tariff: Tariff) -> Reconciled:
    from stenograph.family import read_family
    from stenograph.pricing import GapReason, session_cost

    path = store.place_of(found.path)
    family = read_family(path)
    files = [path, *(agent.path for agent in family.agents)]
    cost = session_cost(_records(files))
    reasons = cost.reasons
    if found.difference > 0 and not family.agents and found.starts_agents:
        reasons = (*reasons, GapReason.MISSING_AGENTS)
    amounts = {reason: round(amount * _PICO) for reason, amount in cost.amounts.items()}
    if GapReason.COPIED in reasons and 0 < (left := _left_behind(found, store, tariff)) <= found.difference + _EQUAL:
        amounts[GapReason.COPIED] = left
        # Subagents that a fork does not copy are its parent's.
        reasons = tuple(reason for reason in reasons if reason is not GapReason.MISSING_AGENTS)
    unknown = [reason for reason in reasons if reason not in amounts]
    if len(unknown) == 1:
        amounts[unknown[0]] = found.difference - sum(amounts.values())
    return structs.replace(found, reasons=reasons, amounts=amounts)


def _left_behind(found: Reconciled, store: IndexStore, tariff: Tariff) -> int:
    """What calls cost that a fork did not copy from the sessions that it has calls of, up to its own first call.

    Behind a compaction a fork copies calls with their counts set to zero.
    """
    (own,) = store.connection.execute("SELECT session FROM usage_files WHERE path = ?", (os.fsencode(found.path),)).fetchone()
    copied: dict[int, int] = {}
    others: dict[int, tuple[int, int | None]] = {}
    times: dict[int, int | None] = {}
    for session, key, model, flags, at, *counts in store.connection.execute(
        "SELECT f.session, c.key, n.name, c.flags, c.time, c.input, c.output, c.cache_read, c.cache_write_5m, c.cache_write_1h,"
        " c.web_searches FROM model_calls c JOIN usage_files f ON f.id = c.file JOIN usage_names n ON n.id = c.model"
        " WHERE f.session IN (SELECT other.session FROM model_calls o JOIN usage_files other ON other.id = o.file WHERE o.key IN"
        " (SELECT m.key FROM model_calls m JOIN usage_files mine ON mine.id = m.file WHERE mine.session = ?))",
        (own,),
    ):
        price = tariff.price(TokenCounts(*counts), model, is_fast=bool(flags & FAST), is_us=bool(flags & US)) or 0
        cost = 0 if flags & ABORTED else price
        if session == own:
            copied[key] = max(cost, copied.get(key, 0))
            times[key] = at
        else:
            others[key] = max((cost, at), others.get(key, (0, at)), key=lambda each: each[0])
    begun = min((at for key, at in times.items() if key not in others and at is not None), default=None)
    before = [(key, cost) for key, (cost, at) in others.items() if begun is None or at is None or at <= begun]
    return sum(max(0, cost - copied.get(key, 0)) for key, cost in before)


def _records(files: list[Path]) -> Iterator[Record]:
    from stenograph.records import read_records

    for file in files:
        with contextlib.suppress(DiskError):
            yield from (located.record for located in read_records(file))
