"""A session's title or tag, changed as `sessions` does, with what it was before and which edit can no longer be undone."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Mapping
from pathlib import Path

from msgspec import Struct

from stenograph.archive.archive import Archive, default_archive_folder
from stenograph.archive.journal import Entry
from stenograph.errors import StenographError
from stenograph.family import SessionFile
from stenograph.sessions import ACTIVE_SECONDS, Glance, glance, rename, tag


class LabelChange(Struct, frozen=True):
    before: str | None
    after: str | None
    seen: Glance
    #: The edit that could be undone until now.
    outdated: Entry | None


def rename_session(
    file: SessionFile, title: str, environ: Mapping[str, str], *, active_seconds: float = ACTIVE_SECONDS
) -> LabelChange:
    """Raises as `sessions.rename`."""
    seen = glance(file.path, whole=True)
    size = file.path.stat().st_size
    rename(file.path, title, active_seconds=active_seconds)
    return LabelChange(seen.custom_title, title.strip(), seen, _outdated(file, size, environ))


def tag_session(
    file: SessionFile, label: str | None, environ: Mapping[str, str], *, active_seconds: float = ACTIVE_SECONDS
) -> LabelChange:
    """Set a tag, or remove it with None; nothing is written where there is none. Raises as `sessions.tag`."""
    seen = glance(file.path, whole=True)
    if label is None and seen.tag is None:
        return LabelChange(None, None, seen, None)
    size = file.path.stat().st_size
    tag(file.path, label, active_seconds=active_seconds)
    return LabelChange(seen.tag, glance(file.path).tag, seen, _outdated(file, size, environ))


def _outdated(file: SessionFile, size_before: int, environ: Mapping[str, str]) -> Entry | None:
    """The last edit of a session, where a file that grew since `size_before` keeps it from being undone."""
    last = None
    with contextlib.suppress(StenographError):  # the label is written either way
        last = Archive(default_archive_folder(environ)).last_edit(file.session_id)
    own = Path(os.path.realpath(file.path))
    change = next((each for each in last.files if Path(os.path.realpath(each.path)) == own), None) if last else None
    return None if change is None or change.after is None or change.after_size != size_before else last
