"""A model's name as a provider spells it -> its name in a price table.

Every measured client looks for the names it knows inside the given one: `us.anthropic.claude-haiku-4-5-20251001-v1:0`,
`anthropic/claude-haiku-4-5` and `claude-haiku-4-5[1m]` are one model. Older clients take a later model for one they know:
`claude-opus-4-6` is `claude-opus-4` to 2.0.76.
"""

from __future__ import annotations

import functools
import re

from stenograph.pricing.prices import Table, table_of

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
