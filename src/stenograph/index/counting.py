"""Which of a call's copies counts."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path


def counted_in(homes: Sequence[Path]) -> tuple[str, list[object]]:
    """That a row `c` of the calls counts when these homes are looked at together, as SQL with its values: a call in two of them
    counts where it was read first."""
    if len(homes) < 2:
        return "c.counted", []
    named = f"SELECT id FROM usage_sessions WHERE home IN ({', '.join('?' * len(homes))})"
    first = f"SELECT min(o.id) FROM model_calls o WHERE o.key = c.key AND o.counted AND o.session IN ({named})"
    return f"c.counted AND c.id = ({first})", [os.fsencode(home) for home in homes]
