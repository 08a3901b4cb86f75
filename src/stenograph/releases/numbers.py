"""Releases as numbers that can be compared, and those that have a name here."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable

from stenograph.errors import UsageError, in_quotes

#: The newest release that was recorded.
NEWEST = "2.1.325"
#: Stands for old clients, which go by time (rule 19), and whose lines `--compat 2.0` writes.
OLD = "2.0.76"
#: The clients that sessions are proved for: those that go by time, those that came between, and the newest.
PROVED = (OLD, "2.1.45", NEWEST)


@functools.lru_cache(maxsize=1024)
def release_numbers(release: str) -> tuple[int, ...]:
    """`2.1.45` as (2, 1, 45); what follows the numbers is ignored. Raises UsageError for anything else."""
    found = re.match(r"\d{1,9}(?:\.\d{1,9})*", release)  # lines may say anything; Python refuses to read very long numbers
    if found is None:
        raise UsageError(f"invalid release {in_quotes(release)}; use one such as {NEWEST}")
    return tuple(int(number) for number in found[0].split("."))


def rules_note(release: str) -> str:
    """Whose rules a release is read by, where those are not its own; else empty. Raises UsageError for what is not a release."""
    numbers = release_numbers(release)
    if numbers <= release_numbers(NEWEST):
        return ""
    # Only its numbers: a line may say anything behind them.
    name = ".".join(map(str, numbers[:4]))
    return f"{name} is newer than the newest recorded release; using the rules of {NEWEST}"


def newest_rules_note(releases: Iterable[str]) -> str:
    """The note on the newest of some releases, as lines spell them."""
    known = [release for release in releases if re.match(r"\d", release)]
    return rules_note(max(known, key=release_numbers)) if known else ""
