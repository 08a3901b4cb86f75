"""agentsview, a viewer with an index of its own, as a peer: what it counts in a home."""

from __future__ import annotations

import json
import sqlite3
import subprocess
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path

from lab.ccusage import COUNTED

VERSION = "0.46.1"


def count_with_agentsview(python: Path, user: Path, environment: Mapping[str, str]) -> tuple[tuple[int, ...], set[str]]:
    """Input, output, cache read and cache written over all sessions of `user/.claude`, and the ids of the responses it knows.

    Its server is stopped again.
    """
    program = [str(python), str(python.with_name("agentsview"))]
    everything = {**environment, "HOME": str(user)}
    try:
        for command in (["sync"], ["usage", "daily", "--all", "--json", "--offline"]):
            done = subprocess.run([*program, *command], env=everything, capture_output=True, check=True, timeout=300)
    finally:
        subprocess.run([*program, "daemon", "stop"], env=everything, capture_output=True, check=False, timeout=60)
    totals = json.loads(done.stdout)["totals"]
    with closing(sqlite3.connect(user / ".agentsview" / "sessions.db")) as store:
        known = {name for (name,) in store.execute("SELECT claude_message_id FROM messages WHERE token_usage != ''")}
    return tuple(totals[name] for name in COUNTED), known
