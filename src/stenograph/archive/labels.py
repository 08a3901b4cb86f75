"""A session's title or tag, changed as `sessions` does, with what it was before and which edit can no longer be undone.

In: a session's file and the label. Out: what changed. An unreadable archive does not stop a label.
"""

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
    #: None: it had none.
    before: str | None
    after: str | None
    #: The session before the change.
    seen: Glance
    #: The edit that could be undone until now; None where there is none.
    outdated: Entry | None


def rename_session(
    file: SessionFile, title: str, environ: Mapping[str, str], *, active_seconds: float = ACTIVE_SECONDS
) -> LabelChange:
    """Give a session a title. Raises as `sessions.rename`."""
    seen = glance(file.path, whole=True)
    size = file.path.stat().st_size
    rename(file.path, title, active_seconds=active_seconds)
    return LabelChange(seen.custom_title, title.strip(), seen, _outdated(file, size, environ))


def tag_session(
    file: SessionFile, label: str | None, environ: Mapping[str, str], *, active_seconds: float = ACTIVE_SECONDS
) -> LabelChange:
    """Give a session a tag, or with None take it away; nothing is written where it has none. Raises as `sessions.tag`."""
    seen = glance(file.path, whole=True)
    if label is None and seen.tag is None:
        return LabelChange(None, None, seen, None)
    size = file.path.stat().st_size
    tag(file.path, label, active_seconds=active_seconds)
    return LabelChange(seen.tag, glance(file.path).tag, seen, _outdated(file, size, environ))


def _outdated(file: SessionFile, size_before: int, environ: Mapping[str, str]) -> Entry | None:
    """The last edit of a session, where a file that grew since `size_before` keeps it from being undone."""
    last = None
    with contextlib.suppress(StenographError):  # the label is written: no archive is no failure of that
        last = Archive(default_archive_folder(environ)).last_edit(file.session_id)
    own = Path(os.path.realpath(file.path))
    change = next((each for each in last.files if Path(os.path.realpath(each.path)) == own), None) if last else None
    return None if change is None or change.after is None or change.after_size != size_before else last
