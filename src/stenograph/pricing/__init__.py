"""Tokens -> money, by dated price tables that were measured on real clients."""

from stenograph.pricing.cost import Basis, Cost, price_usage
from stenograph.pricing.prices import LongContext, PriceBook, Prices, Rate, Table, canonical_model, load_prices, table_of
from stenograph.pricing.session import GapReason, SessionCost, session_cost

__all__ = [
    "Basis",
    "Cost",
    "GapReason",
    "LongContext",
    "PriceBook",
    "Prices",
    "Rate",
    "SessionCost",
    "Table",
    "canonical_model",
    "load_prices",
    "price_usage",
    "session_cost",
    "table_of",
]
