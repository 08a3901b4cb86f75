"""Client releases as numbers that can be compared."""

from __future__ import annotations

import re

from stenograph.errors import UsageError

#: The newest release that was recorded.
NEWEST = "2.1.325"
#: The clients that sessions are proved for: those that go by time, those that came between, and the newest.
PROVED = ("2.0.76", "2.1.45", NEWEST)
#: The first release that knows a hook event; those of the others are older than any that can be asked.
HOOK_EVENT_SINCE = {"PostCompact": "2.1.76", "StopFailure": "2.1.78"}


def release_numbers(release: str) -> tuple[int, ...]:
    """`2.1.45` as (2, 1, 45); what follows the numbers is passed over. Raises UsageError for anything else."""
    found = re.match(r"\d+(?:\.\d+)*", release)
    if found is None:
        raise UsageError(f"{release!r} is no release; give one like {NEWEST}")
    return tuple(int(number) for number in found[0].split("."))
