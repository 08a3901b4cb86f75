"""The title of a session, as the picker of a given release shows it (rule 11 of the resume contract).

In: a Glance. Out: one line, or None where the session says nothing to call it by.

    2.0.76    custom title, summary, first prompt
    2.1.45    custom title, first prompt
    2.1.325   custom title, the model's title, last prompt, first prompt

Between two tested releases the older one's rule is taken.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from stenograph.releases import NEWEST, release_numbers
from stenograph.sessions.glance import Glance

_NO_SUMMARIES: Mapping[str, str] = MappingProxyType({})


def title(glance: Glance, release: str = NEWEST, *, summaries: Mapping[str, str] = _NO_SUMMARIES) -> str | None:
    """What the picker of `release` calls the session.

    `summaries` are those of the project's other files, by leafUuid: 2.0.76 writes a session's title into a later session's
    file. The session's own summaries are known from its glance. Raises UsageError for what is no release.
    """
    numbers = release_numbers(release)
    if numbers >= (2, 1, 325):
        found = glance.custom_title or glance.ai_title or glance.last_prompt or glance.first_prompt
    elif numbers >= (2, 1, 45):
        found = glance.custom_title or glance.first_prompt
    else:
        found = glance.custom_title or glance.own_summary or summaries.get(glance.leaf_uuid or "") or glance.first_prompt
    return found
