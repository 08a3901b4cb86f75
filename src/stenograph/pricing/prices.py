"""The price tables (`prices.json`) by release; docs/pricing.md says where the figures come from.

USD as exact decimals; a client adds doubles, which agree to 1e-12.
"""

from __future__ import annotations

import functools
import re
from decimal import Decimal
from pathlib import Path

import msgspec
from msgspec import Struct

from stenograph.releases import release_numbers

_ONE = Decimal(1)


class Rate(Struct, frozen=True):
    """USD per million tokens."""

    input: Decimal
    output: Decimal
    cache_read: Decimal
    cache_write_5m: Decimal
    # None if no release with this rate distinguishes the two kinds of writes.
    cache_write_1h: Decimal | None = None


class LongContext(Struct, frozen=True):
    """Another rate for the whole request above a prompt length."""

    # Tokens of the prompt, cached ones included.
    above: int
    rate: str


class Prices(Struct, frozen=True):
    """What one model costs in one table."""

    rate: str
    # Factor on token prices at `speed: fast`.
    fast: Decimal = _ONE
    long_context: LongContext | None = None


# Without `eq` a table is hashable.
class Table(Struct, frozen=True, eq=False):
    """What clients of these releases charge."""

    # Measured ones, oldest first.
    releases: tuple[str, ...]
    # Year and month.
    measured: str
    source: str
    models: dict[str, Prices]
    # For all other names.
    unknown: Prices
    # Per request.
    web_search: Decimal
    # Else one-hour cache writes cost what five-minute ones do.
    prices_hour_writes: bool = False
    # Factor on token prices for answers from the United States.
    us: Decimal = _ONE
    charges_advisor: bool = False
    # `claude-opus-4-9` is not `claude-opus-4`.
    whole_names: bool = False
    aliases: dict[str, str] = {}

    def __repr__(self) -> str:
        return f"<Table {', '.join(self.releases)}>"


class PriceBook(Struct, frozen=True):
    rates: dict[str, Rate]
    # Oldest first.
    tables: tuple[Table, ...]


@functools.cache
def load_prices() -> PriceBook:
    # importlib.resources would load tempfile and zipfile.
    data = Path(__file__).with_name("prices.json").read_bytes()
    return msgspec.json.decode(data, type=PriceBook)


@functools.lru_cache(maxsize=64)
def table_of(release: str | None = None) -> Table:
    """The table of a release: the newest measured one not after it, or the first. None: the newest. Raises UsageError."""
    tables = load_prices().tables
    if release is None:
        return tables[-1]
    wanted = release_numbers(release)
    return next((table for table in reversed(tables) if release_numbers(table.releases[0]) <= wanted), tables[0])


def rate_of(prices: Prices, prompt: int) -> Rate:
    """The rate for a prompt with this number of tokens."""
    tier = prices.long_context
    return load_prices().rates[tier.rate if tier and prompt > tier.above else prices.rate]


# More of a version number; dates and the `-0` of `claude-opus-4-0` are not.
_GOES_ON = re.compile(r"\d|-[1-9]\d?(?!\d)")


@functools.lru_cache(maxsize=256)
def canonical_model(model: str, table: Table | None = None) -> str | None:
    """The name by which a table (default: the newest) knows a model, or None."""
    table = table or table_of()
    # 2.1.325 accepts CLAUDE-HAIKU-4-5 and claude-haiku-4.5 too.
    given = model.lower().replace(".", "-")
    given = table.aliases.get(given, given)
    return max((name for name in table.models if _is_in(name, given, table)), key=len, default=None)


def _is_in(name: str, given: str, table: Table) -> bool:
    _, found, rest = given.partition(name)
    return bool(found) and not (table.whole_names and _GOES_ON.match(rest))
