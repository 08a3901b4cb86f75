"""What a plan means for the bill: tokens that every later turn sends less, and what it costs once to fill the prompt cache anew.

In: what the newest client sends before and after, and the model that answered last. Out: numbers. Tokens are estimated from
characters, because no endpoint is asked; money is by the price table, with what it rests on.
"""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from msgspec import Struct

from stenograph.pricing import Basis, price_usage
from stenograph.records import IMAGES, Usage
from stenograph.surgery.verify import Messages, ReleaseOutcome

CHARACTERS_A_TOKEN = 4
TOKENS_AN_IMAGE = 1_600


class Outlook(Struct, frozen=True):
    model: str
    tokens_before: int
    tokens_after: int
    #: From the first changed message on.
    tokens_to_cache: int
    #: USD, with the prompt read from the cache.
    saved_a_turn: Decimal
    cache_cost: Decimal
    is_listed: bool


def look_ahead(outcome: ReleaseOutcome, model: str) -> Outlook:
    before, after = estimate_tokens(outcome.before), estimate_tokens(outcome.after)
    same = 0
    for one, other in zip(outcome.before, outcome.after, strict=False):
        if one != other:
            break
        same += 1
    to_cache = estimate_tokens(outcome.after[same:]) if outcome.before != outcome.after else 0
    read = price_usage(Usage(input_tokens=0, output_tokens=0, cache_read_input_tokens=max(0, before - after)), model)
    write = price_usage(Usage(input_tokens=0, output_tokens=0, cache_creation_input_tokens=to_cache), model)
    return Outlook(model, before, after, to_cache, read.usd, write.usd, read.basis is Basis.LIST)


def estimate_tokens(messages: Messages) -> int:
    return sum(_estimate(block) for message in messages for block in message["content"])


def _estimate(value: Any) -> int:
    if isinstance(value, dict):
        if value.get("type") in IMAGES:
            return TOKENS_AN_IMAGE
        return sum(_estimate(each) for key, each in value.items() if key not in ("type", "id", "tool_use_id", "signature"))
    if isinstance(value, list):
        return sum(_estimate(each) for each in value)
    return -(-len(value) // CHARACTERS_A_TOKEN) if isinstance(value, str) else 0
