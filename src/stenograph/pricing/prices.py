"""The price tables: which release charges what, when that was measured and how. A data file of this package, `prices.json`.

In: a release. Out: the table that holds for it. Knows nothing of usage or of sessions; where the figures come from is told in
docs/pricing.md. USD throughout, as exact decimals: a client adds doubles, which agree to 1e-12.
"""

from __future__ import annotations

import functools
from decimal import Decimal
from importlib import resources

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
    # None where no release that has this rate tells the two kinds of writes apart.
    cache_write_1h: Decimal | None = None


class LongContext(Struct, frozen=True):
    """Another rate for the whole request, from a length of the prompt on."""

    # Tokens of the prompt, cached ones included: so many are still at the ordinary rate.
    above: int
    # The name of a rate.
    rate: str


class Prices(Struct, frozen=True):
    """What one model costs in one table."""

    # The name of a rate.
    rate: str
    # On all token prices when the API answered at `speed: fast`.
    fast: Decimal = _ONE
    long_context: LongContext | None = None


# Without `eq` a table is itself alone, and can be a key.
class Table(Struct, frozen=True, eq=False):
    """What a client of these releases charges."""

    # Those that were measured, oldest first.
    releases: tuple[str, ...]
    # Year and month.
    measured: str
    source: str
    models: dict[str, Prices]
    # For every other name.
    unknown: Prices
    # Per request of the search tool of the API.
    web_search: Decimal
    # Cache writes for an hour have their own price; else they cost what those for five minutes do.
    prices_hour_writes: bool = False
    # On all token prices when the API answered in the United States.
    us: Decimal = _ONE
    # Whether the advisor's own tokens inside a response are charged.
    charges_advisor: bool = False
    # A name that goes on with another number is another model: `claude-opus-4-9` is not `claude-opus-4`.
    whole_names: bool = False
    # Short names that the client itself takes for a model.
    aliases: dict[str, str] = {}

    def __repr__(self) -> str:
        return f"<Table {', '.join(self.releases)}>"


class PriceBook(Struct, frozen=True):
    rates: dict[str, Rate]
    # Oldest first.
    tables: tuple[Table, ...]


@functools.cache
def load_prices() -> PriceBook:
    """All tables of this package."""
    data = resources.files("stenograph.pricing").joinpath("prices.json").read_bytes()
    return msgspec.json.decode(data, type=PriceBook)


@functools.lru_cache(maxsize=64)
def table_of(release: str | None = None) -> Table:
    """The table of a release; between two that were measured that of the older. None: the newest.

    Releases before the first table have the first. Raises UsageError for what is no release.
    """
    tables = load_prices().tables
    if release is None:
        return tables[-1]
    wanted = release_numbers(release)
    return next((table for table in reversed(tables) if release_numbers(table.releases[0]) <= wanted), tables[0])
