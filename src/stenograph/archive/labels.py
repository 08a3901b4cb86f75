"""A session's title or tag, changed as `sessions` does, with what it was before and which edit can no longer be undone.

A title is cleared by an edit: no client knows a line that takes a title away, so the lines that give one are deleted.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Mapping
from pathlib import Path

from msgspec import Struct

from stenograph.archive.archive import Archive, default_archive_folder
from stenograph.archive.journal import Entry
from stenograph.disk import read_lines, state_of
from stenograph.errors import StenographError
from stenograph.family import SessionFile
from stenograph.records import CustomTitleRecord, decode, may_be_custom_title
from stenograph.sessions import ACTIVE_SECONDS, glance, rename, tag, title_of


class LabelChange(Struct, frozen=True):
    before: str | None
    after: str | None
    #: What lists called the session before.
    shown: str | None
    #: The edit that could be undone until now.
    outdated: Entry | None
    #: The edit that was made, where the change is one.
    entry: Entry | None = None


def rename_session(
    file: SessionFile, title: str, environ: Mapping[str, str], *, active_seconds: float = ACTIVE_SECONDS
) -> LabelChange:
    """Raises as `sessions.rename`."""
    seen = glance(file.path, whole=True)
    size = file.path.stat().st_size
    shown = title_of(seen)
    rename(file.path, title, active_seconds=active_seconds)
    return LabelChange(seen.custom_title, title.strip(), shown, _outdated(file, size, environ))


def clear_title(file: SessionFile, environ: Mapping[str, str], *, active_seconds: float = ACTIVE_SECONDS) -> LabelChange:
    """Delete the lines that give the session a title; where there are none, do nothing. Raises as `Archive.transaction`."""
    state = state_of(file.path)
    seen = glance(file.path, whole=True)
    shown = title_of(seen)
    if seen.custom_title is None:
        return LabelChange(None, None, shown, None)
    archive = Archive(default_archive_folder(environ))
    command = {"command": "rename", "clear": True}
    with archive.transaction(file.session_id, command=command, active_seconds=active_seconds) as change:
        change.write(file.path, _without_titles(file.path), expect=state, modified_ns=state.mtime_ns)
    return LabelChange(seen.custom_title, None, shown, None, change.entry)


def _without_titles(path: Path) -> Iterator[bytes]:
    for line in read_lines(path):
        if not (may_be_custom_title(line.data) and isinstance(decode(line.data), CustomTitleRecord)):
            yield line.data + b"\n" if line.ended else line.data


def tag_session(
    file: SessionFile, label: str | None, environ: Mapping[str, str], *, active_seconds: float = ACTIVE_SECONDS
) -> LabelChange:
    """Set a tag, or remove it with None; nothing is written where there is none. Raises as `sessions.tag`."""
    seen = glance(file.path, whole=True)
    if label is None and seen.tag is None:
        return LabelChange(None, None, None, None)
    size = file.path.stat().st_size
    tag(file.path, label, active_seconds=active_seconds)
    return LabelChange(seen.tag, glance(file.path).tag, None, _outdated(file, size, environ))


def _outdated(file: SessionFile, size_before: int, environ: Mapping[str, str]) -> Entry | None:
    """The last edit of a session, where a file that grew since `size_before` keeps it from being undone."""
    last = None
    with contextlib.suppress(StenographError):  # the label is written either way
        last = Archive(default_archive_folder(environ)).last_edit(file.session_id)
    own = Path(os.path.realpath(file.path))
    change = next((each for each in last.files if Path(os.path.realpath(each.path)) == own), None) if last else None
    return None if change is None or change.after is None or change.after_size != size_before else last
