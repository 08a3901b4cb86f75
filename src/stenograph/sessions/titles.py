"""The title of a session, as a picker shows it (rule 11 of the resume contract) and as our lists do.

A list takes what the picker of the session's own release would show, and passes by prompts that say nothing about the session.
"""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import MappingProxyType

from stenograph.disk import read_ends
from stenograph.errors import DiskError, UsageError
from stenograph.family import list_project
from stenograph.inputs import as_typed, topic_of
from stenograph.records import may_be_summary
from stenograph.releases import NEWEST, release_numbers, value_of
from stenograph.sessions.glance import HEAD, TAIL, Glance
from stenograph.sessions.glance import glance as glance_at

_NO_SUMMARIES: Mapping[str, str] = MappingProxyType({})
_SUMMARIES = ("ai_title", "own_summary", "other_summary")
_PROMPTS = ("last_prompt", "first_prompt")


def title(glance: Glance, release: str = NEWEST, *, summaries: Mapping[str, str] = _NO_SUMMARIES) -> str | None:
    """What the picker of `release` calls the session.

    `summaries` are those of the project's other files, by leafUuid: 2.0.76 writes a session's title into a later session's
    file. The session's own summaries are known from its glance. Raises UsageError for what is not a release.
    """
    return next((found for source in value_of("title_sources", release) if (found := _source(glance, source, summaries))), None)


def list_title(glance: Glance, summaries: Mapping[str, str] = _NO_SUMMARIES) -> str | None:
    """What lists call the session: a title or summary given by a client or user, else a prompt that says something."""
    if found := next((found for source in _given(glance) if (found := _source(glance, source, summaries))), None):
        return found
    sources = value_of("title_sources", _release(glance))
    found_prompts = [_source(glance, source, summaries) for source in (*sources, *_PROMPTS) if source in _PROMPTS]
    prompts = [as_typed(text) for text in found_prompts if text]
    return next((told for text in prompts if (told := topic_of(text))), prompts[0] if prompts else None)


class ListTitles:
    """Titles as lists show them, also where the summary of a session is in another file of its project directory.

    Those files are looked at once, and only when a session has no title in its own file; not at all in directories of `glances`,
    which are those of all their files, the newest first.
    """

    def __init__(self, glances: Iterable[Glance] = ()) -> None:
        self._summaries: dict[Path, dict[str, str]] = {}
        for seen in glances:
            known = self._summaries.setdefault(seen.path.parent, {})
            for leaf, summary in seen.summaries.items():
                known.setdefault(leaf, summary)

    def __eq__(self, other: object) -> bool:
        """Whether they name all sessions alike."""
        return isinstance(other, ListTitles) and self._summaries == other._summaries

    __hash__ = None  # type: ignore[assignment]

    def of(self, glance: Glance) -> str | None:
        if glance.leaf_uuid is None or _names_itself(glance):
            return list_title(glance)
        return list_title(glance, self._in_folder(glance.path.parent))

    def _in_folder(self, folder: Path) -> dict[str, str]:
        if (known := self._summaries.get(folder)) is None:
            known = self._summaries[folder] = _summaries_in(folder)
        return known


def title_of(glance: Glance) -> str | None:
    """What lists call one session."""
    return ListTitles().of(glance)


def titled_by(path: Path) -> list[Path]:
    """The other sessions of a project directory whose only titles are summaries in this file."""
    given = glance_at(path).summaries
    others = [] if not given else [file for file in _files(path.parent) if file != path]
    if not others:
        return []
    left = _summaries_in(path.parent, without=path)
    found = []
    for file in others:
        with contextlib.suppress(DiskError):
            seen = glance_at(file)
            if seen.leaf_uuid in given and seen.leaf_uuid not in left and not _names_itself(seen):
                found.append(file)
    return found


def _names_itself(glance: Glance) -> bool:
    """Whether a title in its own file comes before one in another."""
    before = itertools.takewhile(lambda source: source != "other_summary", _given(glance))
    return any(_source(glance, source, _NO_SUMMARIES) for source in before)


def _given(glance: Glance) -> list[str]:
    """The sources of titles that a client or user gave, the first one before the others."""
    return [source for source in (*value_of("title_sources", _release(glance)), *_SUMMARIES) if source not in _PROMPTS]


def _summaries_in(folder: Path, *, without: Path | None = None) -> dict[str, str]:
    """The summaries in the files of a project directory by leafUuid, the newest file's first."""
    found: dict[str, str] = {}
    for file in _files(folder):
        if file != without:
            with contextlib.suppress(DiskError):
                for leaf, summary in glance_at(file).summaries.items() if _may_hold_summary(file) else ():
                    found.setdefault(leaf, summary)
    return found


def _files(folder: Path) -> list[Path]:
    try:
        sessions = list_project(folder).sessions
    except DiskError:
        return []
    return [file.path for file in sorted(sessions, key=lambda file: -file.mtime_ns) if file.named_by_uuid]


def _may_hold_summary(path: Path) -> bool:
    ends = read_ends(path, HEAD, TAIL)
    return any(may_be_summary(line) for line in (ends.head if ends.whole else (*ends.head, *ends.tail)))


def _source(glance: Glance, source: str, summaries: Mapping[str, str]) -> str | None:
    found = summaries.get(glance.leaf_uuid or "") if source == "other_summary" else getattr(glance, source)
    return str(found) if found else None


def _release(glance: Glance) -> str:
    try:
        release_numbers(glance.release or "")
    except UsageError:
        return NEWEST
    return glance.release or NEWEST
