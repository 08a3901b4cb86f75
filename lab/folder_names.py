"""Ask a real client which project folder it makes for a working folder.

In: a client's program, a working folder, the address of an API on loopback. Out: the name of the one folder that appeared
under `projects`, or None when none did. Knows nothing of the rule behind the name.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from lab.clients import run_client


def ask_folder_name(program: Path, cwd: bytes, base_url: str) -> str | None:
    """Run one turn in `cwd` under a fresh home. `cwd` is bytes, because a folder's name need not be text."""
    with tempfile.TemporaryDirectory(prefix="steno-home-") as scratch:
        home = Path(scratch)
        run_client(program, home=home, cwd=cwd, args=["-p", "hi"], base_url=base_url)
        try:
            # Only a folder with a transcript counts: newer clients make others, empty, for their own sake.
            made = {path.parent.name for path in (home / ".claude" / "projects").glob("*/*.jsonl")}
        except FileNotFoundError:
            made = set()
    if len(made) > 1:
        raise AssertionError(f"{os.fspath(program)} made {len(made)} project folders")
    return made.pop() if made else None
