"""The title of a session, as a picker shows it (rule 11 of the resume contract) and as our lists do.

A list takes what the picker of the session's own release would show, and passes by prompts that say nothing about the session.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

from stenograph.errors import UsageError
from stenograph.inputs import topic_of
from stenograph.releases import NEWEST, release_numbers, value_of
from stenograph.sessions.glance import Glance

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
    sources = value_of("title_sources", _release(glance))
    given = [source for source in (*sources, *_SUMMARIES) if source not in _PROMPTS]
    if found := next((found for source in given if (found := _source(glance, source, summaries))), None):
        return found
    prompts = [text for source in (*sources, *_PROMPTS) if source in _PROMPTS and (text := _source(glance, source, summaries))]
    return next((told for text in prompts if (told := topic_of(text))), prompts[0] if prompts else None)


class ListTitles:
    """The titles of sessions that are looked at newest first: the summary of one is in a newer file of its project folder."""

    def __init__(self) -> None:
        self._summaries: dict[Path, dict[str, str]] = {}

    def of(self, glance: Glance) -> str | None:
        known = self._summaries.setdefault(glance.path.parent, {})
        for leaf, summary in glance.summaries.items():
            known.setdefault(leaf, summary)
        return list_title(glance, known)


def _source(glance: Glance, source: str, summaries: Mapping[str, str]) -> str | None:
    found = summaries.get(glance.leaf_uuid or "") if source == "other_summary" else getattr(glance, source)
    return str(found) if found else None


def _release(glance: Glance) -> str:
    try:
        release_numbers(glance.release or "")
    except UsageError:
        return NEWEST
    return glance.release or NEWEST
