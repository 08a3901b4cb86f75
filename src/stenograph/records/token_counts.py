"""The token counts of one response, the same from a whole record and from the partial read of its usage.

In: members of a `usage`, which may be anything. Out: `TokenCounts`, as a client counts them.
"""

from __future__ import annotations

import operator

from msgspec import Struct
from msgspec.structs import astuple

#: More tokens than any response has, and few enough that the sum over any home fits into 64 bits of the smallest unit of money.
MOST_TOKENS = 10**9


class TokenCounts(Struct, frozen=True, gc=False):
    """Tokens of one response at one price, as a client counts them; or of several, each once."""

    #: Neither read from the prompt cache nor written to it.
    input: int = 0
    output: int = 0
    cache_read: int = 0
    #: Kept for five minutes, and for an hour. Old releases don't say which: five minutes then.
    cache_write_5m: int = 0
    cache_write_1h: int = 0
    #: Charged beside tokens.
    web_searches: int = 0

    @property
    def cache_write(self) -> int:
        return self.cache_write_5m + self.cache_write_1h

    @property
    def prompt(self) -> int:
        """All that was sent, cached or not."""
        return self.input + self.cache_read + self.cache_write_5m + self.cache_write_1h

    @property
    def total(self) -> int:
        """All of them, cache reads included."""
        return self.prompt + self.output

    def __add__(self, other: TokenCounts) -> TokenCounts:
        return TokenCounts(*map(operator.add, astuple(self), astuple(other)))


def split_cache_writes(total: int, short: int, hour: int) -> tuple[int, int]:
    """Tokens written to the cache for five minutes and for an hour; all for five minutes without a split.

    If total and split disagree, 2.1.325 believes the total, unless that is zero.
    """
    total = total or short + hour
    hour = hour if hour < total else total
    return total - hour, hour


def valid_count(value: object) -> int:
    return value if isinstance(value, int) and 0 <= value <= MOST_TOKENS else 0
