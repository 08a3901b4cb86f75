"""Session files -> the store's table of model calls: one row per call and file, and which of them counts.

`index.call_sources` finds the files that changed, `index.call_scan` reads the calls of a file, and `index.call_rows` writes them.
`index.counting` tells which copy of a call counts where several homes are looked at together.

Reads usage only, and apart from the full text, so that a first look at costs takes seconds.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from stenograph.disk import Finding
from stenograph.index.call_sources import archived_call_source, find_call_sources, session_call_sources
from stenograph.index.sources import FilePart, IndexedFile
from stenograph.index.store import IndexStore

if TYPE_CHECKING:
    from stenograph.index.call_rows import Progress


class UsageSync(Struct, frozen=True):
    """What was read. Where `pending` is not 0, time ran out before so many files were read."""

    files: int
    changed: int
    removed: int
    pending: int = 0
    findings: tuple[Finding, ...] = ()


def sync_usage(
    store: IndexStore,
    homes: Sequence[Path],
    *,
    archived: Sequence[IndexedFile] = (),
    seconds: float | None = None,
    progress: Progress | None = None,
) -> UsageSync:
    """Bring the calls of these homes up to date; with `seconds`, for about that long. `archived`: files that no home has now."""
    findings: list[Finding] = []
    rows = store.connection.execute("SELECT path, device, inode, size, changed_ns FROM usage_files")
    known = {row[0]: row[1:] for row in rows}
    present, stale = find_call_sources(homes, known, findings)
    roots = tuple(os.fsencode(home) + os.sep.encode() for home in homes)
    kept = {os.fsencode(file.path): file for file in archived if file.part is not FilePart.RESULT}
    gone = [path for path in known.keys() - present - kept.keys() if path.startswith(roots)]
    # What is known of a file from before it was deleted stays so: the archive has the same bytes.
    stale += [archived_call_source(file) for path, file in kept.items() if path not in known and path not in present]
    done = 0
    if stale or gone:
        from stenograph.index.call_rows import write_calls  # not loaded where nothing changed

        done = write_calls(store, stale, gone, seconds, findings, progress)
    return UsageSync(len(present), done, len(gone), len(stale) - done, tuple(findings))


def sync_session_usage(store: IndexStore, path: Path) -> None:
    """Bring the calls of one session up to date, as far as its files are where clients put them today."""
    sources = session_call_sources(path)
    marks = ", ".join("?" * len(sources))
    rows = store.connection.execute(
        f"SELECT path, device, inode, size, changed_ns FROM usage_files WHERE path IN ({marks})",
        [os.fsencode(source.path) for source in sources],
    )
    known = {row[0]: row[1:] for row in rows}
    if stale := [source for source in sources if known.get(os.fsencode(source.path)) != source.state]:
        from stenograph.index.call_rows import write_calls

        write_calls(store, stale, [], None, [], None)
