"""A session's lines -> what its calls cost, and how that is known: the same figures as the store's, without a store.

In: records that are already read, and prices. Out: `Spent`, which says how much is measured, estimated and unpriced. The rules
are those of `index.call_scan`, which reads the same lines: the line with the most tokens counts, interrupted responses do not,
and output that a release did not count is estimated.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import cache

from msgspec import Struct
from msgspec.structs import astuple

from stenograph.analysis.call_sums import EARLIEST, LATEST
from stenograph.analysis.usage import Spent
from stenograph.index import ABORTED, ADVISOR, COPY, FAST, SIDECHAIN, US, ModelCall, call_key, calls_in
from stenograph.pricing import Tariff
from stenograph.records import CostStateRecord, Record, encode
from stenograph.turns import ApiCall, CallPart, Session

#: In seconds.
QUARTER = 900


class SessionSpent(Struct, frozen=True):
    """What a session cost, subagents and all branches included. Copies of another session's calls are not in `total`."""

    total: Spent
    #: The part of subagents.
    agents: Spent
    #: Calls that count in another session.
    copied: Spent
    #: Models without a price, in order of appearance.
    unpriced: tuple[str, ...]
    #: `total` by the quarters of an hour of its calls, counted from 1970; None: calls without a time. In every time zone a day
    #: begins with a quarter.
    quarters: dict[int | None, Spent]
    #: The client's own last total, in USD (2.1.325 writes it).
    client_usd: float | None = None


@cache
def newest_prices() -> Tariff:
    return Tariff()


def session_spent(session: Session, tariff: Tariff | None = None, copies: Collection[int] = ()) -> SessionSpent:
    """`copies`: the keys of calls that count in another session, as far as the index knows them."""
    tariff = tariff or newest_prices()
    total, agents, copied = Spent(), Spent(), Spent()
    unpriced: dict[str, None] = {}
    quarters: dict[int | None, Spent] = {}
    for name, (call, is_agents) in _calls(session).items():
        spent = price_call(call, tariff)
        if spent is None:
            continue
        if copies and call_key(name) in copies:
            copied = add_spent(copied, spent)
            continue
        total = add_spent(total, spent)
        quarter = call.time // QUARTER if call.time is not None and EARLIEST <= call.time < LATEST else None
        quarters[quarter] = add_spent(quarters.get(quarter, Spent()), spent)
        if is_agents:
            agents = add_spent(agents, spent)
        if spent.unpriced_calls:
            unpriced.setdefault(call.model)
    return SessionSpent(total, agents, copied, tuple(unpriced), quarters, _client_usd(session))


def call_spent(call: ApiCall, tariff: Tariff | None = None) -> Spent | None:
    """What one call cost, with its advisors; None for what is not charged: a copy, an interrupted response."""
    if call.part is not CallPart.WHOLE or call.is_synthetic:
        return None
    tariff = tariff or newest_prices()
    records: Sequence[Record] = call.records
    if name := call.message_id:  # a prompt may have split it
        records = [call.context.graph.records[node] for node in call.context.lines_of_call(name, call.nodes[0])]
    found = [spent for each in calls_in(_lines(records)).values() if (spent := price_call(each, tariff)) is not None]
    return sum_spent(found) if found else None


def price_call(call: ModelCall, tariff: Tariff) -> Spent | None:
    """None for an interrupted response, which is not charged."""
    if call.flags & ABORTED:
        return None
    tokens, estimated = call.tokens, call.estimated
    spent = Spent(
        calls=0 if call.flags & ADVISOR else 1,
        input=tokens.input,
        output=tokens.output + estimated,
        cache_read=tokens.cache_read,
        cache_write_5m=tokens.cache_write_5m,
        cache_write_1h=tokens.cache_write_1h,
        thinking=call.thinking,
        web_searches=tokens.web_searches,
        estimated_output=estimated,
    )
    priced = {"is_fast": bool(call.flags & FAST), "is_us": bool(call.flags & US)}
    measured = tariff.price(tokens, call.model, **priced)
    rates = tariff.rate(call.model, prompt=tokens.prompt, **priced)
    if measured is None or rates is None:
        spent.unpriced_calls, spent.unpriced_tokens = 1, spent.tokens
    else:
        spent.measured, spent.estimated = measured, estimated * rates.output
    return spent


def sum_spent(amounts: Iterable[Spent]) -> Spent:
    return Spent(*map(sum, zip(*map(astuple, amounts), strict=True)))  # of none: nothing


def add_spent(one: Spent, other: Spent) -> Spent:
    return sum_spent((one, other))


def _calls(session: Session) -> dict[str, tuple[ModelCall, bool]]:
    """By message id, with whether a subagent made it. Of a call that several files have, the one with the most tokens."""
    found: dict[str, tuple[ModelCall, bool]] = {}
    for place, file in enumerate(session.graph.files):
        records = session.graph.records[file.first : file.last]
        for name, call in calls_in(_lines(records), "" if file.agent_id else session.id).items():
            # Those without an id are named by their place.
            key = name if not name.startswith(".:") else f"{place}{name}"
            if key not in found or _rank(call) < _rank(found[key][0]):
                found[key] = (call, bool(file.agent_id or call.flags & SIDECHAIN))
    return found


def _client_usd(session: Session) -> float | None:
    for record in reversed(session.graph.records[: session.graph.files[0].last] if session.graph.files else ()):
        if isinstance(record, CostStateRecord) and isinstance(record.totalCostUSD, int | float) and record.totalCostUSD >= 0:
            return float(record.totalCostUSD)
    return None


def _rank(call: ModelCall) -> tuple[int, int, int]:
    """As the store chooses among copies: the most tokens, else the original."""
    return -call.tokens.total, call.flags & COPY, call.flags & SIDECHAIN


def _lines(records: Iterable[Record]) -> Iterator[bytes]:
    return map(encode, records)
