"""Sums of tokens -> money in whole numbers: the newest price table, with a file of one's own prices before it.

A price is linear in the tokens of one model, speed, place and length of prompt, so sums can be priced as well as calls. Amounts
are whole picodollars (10^-12 USD): every price there is times a token is one. They are rounded to microdollars once, where shown.
"""

from __future__ import annotations

import functools
from decimal import Decimal
from pathlib import Path
from typing import Annotated

from msgspec import Meta, Struct, structs

from stenograph.config import UnfitError, read_typed
from stenograph.pricing.prices import Prices, canonical_model, rate_of, table_of
from stenograph.records import TokenCounts

PICO_PER_MICRO = 1_000_000
_PICO_PER_USD = Decimal(10) ** 12
_MILLION = Decimal(1_000_000)

#: USD per million tokens.
_Price = Annotated[float, Meta(ge=0, le=1_000_000, description="a number, 0 or more, at most 1,000,000")]


class OwnPrices(Struct, frozen=True, forbid_unknown_fields=True):
    """Table `[models."name"]` of a prices file: USD per million tokens."""

    input: _Price
    output: _Price
    cache_read: _Price
    cache_write_5m: _Price
    # None: as for five minutes.
    cache_write_1h: _Price | None = None
    fast: Annotated[float, Meta(gt=0, le=1000, description="a number greater than 0, at most 1,000")] = 1.0


class PricesFile(Struct, frozen=True, forbid_unknown_fields=True):
    """A file of prices that replace those of the table. `web_search` is USD per search."""

    models: dict[str, OwnPrices] = {}
    web_search: Annotated[float, Meta(ge=0, le=1000, description="a number, 0 or more, at most 1,000")] | None = None

    def __post_init__(self) -> None:
        """Raises UnfitError: an empty name is part of every model's."""
        if "" in self.models:
            raise UnfitError('models.""', "must be the name of a model")


class PerToken(Struct, frozen=True):
    """Picodollars per token."""

    input: int
    output: int
    cache_read: int
    cache_write_5m: int
    cache_write_1h: int


class Tariff:
    """What tokens cost. `thresholds` are lengths of prompts above which some model has another price."""

    def __init__(self, own: PricesFile | None = None) -> None:
        self._table = table_of()
        own = own or PricesFile()
        self._own = {_spelled(name): prices for name, prices in own.models.items()}
        self._own_table = structs.replace(self._table, models={name: Prices("") for name in self._own}, aliases={})
        #: Picodollars per search.
        self.web_search = _pico(self._table.web_search if own.web_search is None else Decimal(str(own.web_search)))
        self._per_token = functools.cache(self._find_per_token)
        self.row = functools.cache(self._find_row)
        self.thresholds = sorted({model.long_context.above for model in self._table.models.values() if model.long_context})

    @property
    def source(self) -> str:
        """Where the prices of the table come from."""
        return f"{self._table.source}, {self._table.measured}"

    def is_own(self, model: str) -> bool:
        return bool(model) and canonical_model(model, self._own_table) is not None

    def _find_row(self, model: str) -> str | None:
        """The name that a model has in the table, whatever its price; None: it is not there."""
        return canonical_model(model, self._table) if model else None

    def price(
        self, tokens: TokenCounts, model: str, *, prompt: int | None = None, is_fast: bool = False, is_us: bool = False
    ) -> int | None:
        """Picodollars; None for a model without a price.

        `prompt` is the length of each prompt where `tokens` is a sum over several calls; see `level`.
        """
        rates = self._per_token(model, tokens.prompt if prompt is None else prompt, is_fast, is_us)
        if rates is None:
            return None
        return (
            tokens.input * rates.input
            + tokens.output * rates.output
            + tokens.cache_read * rates.cache_read
            + tokens.cache_write_5m * rates.cache_write_5m
            + tokens.cache_write_1h * rates.cache_write_1h
            + tokens.web_searches * self.web_search
        )

    def rate(self, model: str, *, prompt: int = 0, is_fast: bool = False, is_us: bool = False) -> PerToken | None:
        """Picodollars per token of each kind; None for a model without a price."""
        return self._per_token(model, prompt, is_fast, is_us)

    def level(self, prompt: int) -> int:
        """A length of prompt with the same price: the lowest threshold that it is above, plus one; 0 below all."""
        return max((above + 1 for above in self.thresholds if prompt > above), default=0)

    def _find_per_token(self, model: str, prompt: int, is_fast: bool, is_us: bool) -> PerToken | None:
        own = canonical_model(model, self._own_table) if model else None
        if own is not None:
            given = self._own[own]
            hour = given.cache_write_5m if given.cache_write_1h is None else given.cache_write_1h
            prices = (given.input, given.output, given.cache_read, given.cache_write_5m, hour)
            factor = Decimal(str(given.fast)) if is_fast else Decimal(1)
            return PerToken(*(_per_token(Decimal(str(price)) * factor) for price in prices))
        row = canonical_model(model, self._table) if model else None
        if row is None:
            return None
        found = self._table.models[row]
        rate = rate_of(found, prompt)
        hourly = rate.cache_write_1h if rate.cache_write_1h is not None else rate.cache_write_5m
        factor = (self._table.us if is_us else Decimal(1)) * (found.fast if is_fast else Decimal(1))
        prices_of_row = (rate.input, rate.output, rate.cache_read, rate.cache_write_5m, hourly)
        return PerToken(*(_per_token(price * factor) for price in prices_of_row))


def read_prices_file(path: Path) -> PricesFile:
    """A file of one's own prices. Raises ConfigError."""
    return read_typed(path, PricesFile)


def _spelled(model: str) -> str:
    return model.lower().replace(".", "-")


def _per_token(usd_per_million: Decimal) -> int:
    return _pico(usd_per_million / _MILLION)


def _pico(usd: Decimal) -> int:
    return int((usd * _PICO_PER_USD).to_integral_value())


def micro_usd(pico: int) -> int:
    """Whole microdollars, rounded half up."""
    return (2 * pico + PICO_PER_MICRO) // (2 * PICO_PER_MICRO)
