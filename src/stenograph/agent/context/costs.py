"""What a response cost: by the user's own prices, else by the client's table. A model in neither has no price."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal

import msgspec

from stenograph.config import ModelProfile
from stenograph.records import Json

_MILLION = Decimal(1_000_000)


def cost_of(model: str, usage: Json, profiles: Mapping[str, ModelProfile]) -> Decimal | None:
    """USD; None for a model without a price."""
    # Not before the first request.
    from stenograph.pricing import Basis, price_usage
    from stenograph.records import Usage

    try:
        counted = msgspec.json.decode(msgspec.json.encode(usage), type=Usage)
    except msgspec.ValidationError:  # a third-party endpoint's own counts
        return None
    own = profiles.get(model)
    if own is not None and own.price is not None:
        given = sum(_count(usage, name) for name in ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens"))
        sums = (given, own.price.input), (_count(usage, "output_tokens"), own.price.output)
        return sum((count * Decimal(str(price)) for count, price in sums), Decimal(0)) / _MILLION
    cost = price_usage(counted, model)
    return None if cost.basis is Basis.UNKNOWN else cost.usd


def has_price(model: str, profiles: Mapping[str, ModelProfile]) -> bool:
    return cost_of(model, {}, profiles) is not None


def _count(usage: Json, name: str) -> int:
    value = usage.get(name)
    return value if isinstance(value, int) else 0
