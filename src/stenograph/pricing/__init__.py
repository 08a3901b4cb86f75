"""Tokens -> money, by dated price tables that were measured on real clients; and what clients know about each model."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stenograph._exports import lazy_exports

if TYPE_CHECKING:
    from stenograph.pricing.cost import Basis, Cost, price_usage
    from stenograph.pricing.models import WIDE, ModelFacts, ModelTable, known_facts, load_models, model_facts, window_of_calls
    from stenograph.pricing.prices import LongContext, PriceBook, Prices, Rate, Table, canonical_model, load_prices, table_of
    from stenograph.pricing.session import GapReason, SessionCost, session_cost
    from stenograph.pricing.tariff import PICO_PER_MICRO, OwnPrices, PerToken, PricesFile, Tariff, micro_usd, read_prices_file

_MODULES = {
    "cost": "Basis Cost price_usage",
    "models": "WIDE ModelFacts ModelTable known_facts load_models model_facts window_of_calls",
    "prices": "LongContext PriceBook Prices Rate Table canonical_model load_prices table_of",
    "session": "GapReason SessionCost session_cost",
    "tariff": "PICO_PER_MICRO OwnPrices PerToken PricesFile Tariff micro_usd read_prices_file",
}

__all__ = [
    "PICO_PER_MICRO",
    "WIDE",
    "Basis",
    "Cost",
    "GapReason",
    "LongContext",
    "ModelFacts",
    "ModelTable",
    "OwnPrices",
    "PerToken",
    "PriceBook",
    "Prices",
    "PricesFile",
    "Rate",
    "SessionCost",
    "Table",
    "Tariff",
    "canonical_model",
    "known_facts",
    "load_models",
    "load_prices",
    "micro_usd",
    "model_facts",
    "price_usage",
    "read_prices_file",
    "session_cost",
    "table_of",
    "window_of_calls",
]

__getattr__, __dir__ = lazy_exports(__name__, _MODULES, __all__)
