"""Which of a call's copies counts: the one with the most tokens, else the original, by what the files say.

Never by their times, nor by the order in which they are read: a client may write to a parent long after its fork.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from stenograph.index.call_flags import COPY, SIDECHAIN

#: The files of a call `o` and of its session.
FILES_OF_CALL = "JOIN usage_files f ON f.id = o.file LEFT JOIN usage_files m ON m.session = o.session AND m.agent IS NULL"
#: The original has no sign of a copy, is not a subagent's replay, has the earliest time (1.0 copied with new times), is not a
#: clone, and is the first that its own session wrote to. Only their names tell clones of clones apart.
ORIGINAL_FIRST = (
    "o.input + o.output + o.cache_read + o.cache_write_5m + o.cache_write_1h DESC,"
    f" o.flags & {COPY}, o.flags & {SIDECHAIN}, o.time IS NULL, o.time, m.is_clone, m.began IS NULL, m.began, f.path"
)


def counted_in(homes: Sequence[Path]) -> tuple[str, list[object]]:
    """That a row `c` of the calls counts when these homes are looked at together, as SQL with its values: a call in two of them
    counts in the original."""
    if len(homes) < 2:
        return "c.counted", []
    named = f"SELECT id FROM usage_sessions WHERE home IN ({', '.join('?' * len(homes))})"
    first = (
        f"SELECT o.id FROM model_calls o {FILES_OF_CALL} WHERE o.key = c.key AND o.counted AND o.session IN ({named})"
        f" ORDER BY {ORIGINAL_FIRST} LIMIT 1"
    )
    return f"c.counted AND c.id = ({first})", [os.fsencode(home) for home in homes]
