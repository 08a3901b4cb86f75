"""The title of a session, as the picker of a given release shows it (rule 11 of the resume contract)."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from stenograph.releases import NEWEST, value_of
from stenograph.sessions.glance import Glance

_NO_SUMMARIES: Mapping[str, str] = MappingProxyType({})


def title(glance: Glance, release: str = NEWEST, *, summaries: Mapping[str, str] = _NO_SUMMARIES) -> str | None:
    """What the picker of `release` calls the session.

    `summaries` are those of the project's other files, by leafUuid: 2.0.76 writes a session's title into a later session's
    file. The session's own summaries are known from its glance. Raises UsageError for what is not a release.
    """
    for source in value_of("title_sources", release):
        found = summaries.get(glance.leaf_uuid or "") if source == "other_summary" else getattr(glance, source)
        if found:
            return str(found)
    return None
