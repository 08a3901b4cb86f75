"""Whether calls are counted of sessions that a list does not show: why usage has more sessions than other pages.

In: a synced store and which calls count. Out: two facts. No session is read for them: that would take longer than all the rest.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from msgspec import Struct

from stenograph.analysis.usage import UsageScope, counted_sessions
from stenograph.index import IndexStore


class Unlisted(Struct, frozen=True):
    #: Whether some are hidden by default; None: nobody has looked.
    hidden: bool | None
    #: Whether the files of some are gone.
    gone: bool


def unlisted_sessions(store: IndexStore, scope: UsageScope, is_hidden: Callable[[Path], bool] | None = None) -> Unlisted:
    """`is_hidden` says it of a session's file, for who has listed them."""
    counted = counted_sessions(store, scope)
    gone = not all(map(os.path.lexists, counted))
    return Unlisted(None if is_hidden is None else any(map(is_hidden, counted)), gone)
