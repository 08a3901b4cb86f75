"""Releases as numbers that can be compared, and those that have a name here."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable
from typing import NamedTuple

from stenograph.errors import UsageError

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
        raise UsageError(f"{release!r} is not a release; give one like {NEWEST}")
    return tuple(int(number) for number in found[0].split("."))


class Rules(NamedTuple):
    """The release whose rules are used for one that was asked for."""

    release: str
    #: It was released after everything that the table knows: it may do otherwise.
    is_newer: bool
    #: For a person; empty where there is nothing to say.
    note: str


def rules_for(release: str) -> Rules:
    """Whose rules a release is read by. Raises UsageError for what is not a release."""
    numbers = release_numbers(release)
    if numbers <= release_numbers(NEWEST):
        return Rules(release, False, "")
    # Only its numbers: a line may say anything behind them.
    name = ".".join(map(str, numbers[:4]))
    return Rules(NEWEST, True, f"{name} is newer than the newest recorded release; using the rules of {NEWEST}")


def rules_note(releases: Iterable[str]) -> str:
    """What is to be said of the newest of some releases, as lines spell them; empty where there is nothing to say."""
    known = [release for release in releases if re.match(r"\d", release)]
    return rules_for(max(known, key=release_numbers)).note if known else ""
