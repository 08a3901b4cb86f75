"""Sessions as a user names them: found, listed, resolved, titled, labeled and counted.

In: homes, paths, and what a user calls a session. Out: values that a list or a command shows. Knows lines only as `records`
decodes them and writes only through `disk`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from stenograph._exports import lazy_exports
from stenograph.config import ACTIVE_SECONDS
from stenograph.inputs import Status
from stenograph.sessions.find import (
    HIDDEN,
    Listing,
    SessionInfo,
    describe,
    find_projects,
    find_sessions,
    list_sessions,
    short_ids,
    with_turns,
)
from stenograph.sessions.glance import Glance, as_unreadable, glance
from stenograph.sessions.labels import rename, tag
from stenograph.sessions.resolve import gather, resolve, session_at, titles_of
from stenograph.sessions.status import files_being_written, identity_of, status
from stenograph.sessions.titles import ListTitles, list_title, title, title_of, titled_by

if TYPE_CHECKING:
    from stenograph.sessions.choosing import SessionFilter, age_before, choose_branch, date_of, date_or_age
    from stenograph.sessions.find import (
        SORTS,
        ListCache,
        SessionGroup,
        count_projects,
        last_record,
        newest_record_first,
        project_names,
    )
    from stenograph.sessions.follow import Follower, Update
    from stenograph.sessions.glance import unreadable
    from stenograph.sessions.labels import title_line
    from stenograph.sessions.loading import load, load_file
    from stenograph.sessions.resolve import LAST, SHORTEST_PREFIX, Match, find_match, size_of
    from stenograph.sessions.resuming import ResumePlan, command_line, plan_resume
    from stenograph.sessions.status import is_being_written, is_live

_MODULES = {
    "choosing": "SessionFilter age_before choose_branch date_of date_or_age",
    "find": "SORTS ListCache SessionGroup count_projects last_record newest_record_first project_names",
    "follow": "Follower Update",
    "glance": "unreadable",
    "labels": "title_line",
    "loading": "load load_file",
    "resolve": "LAST SHORTEST_PREFIX Match find_match size_of",
    "resuming": "ResumePlan command_line plan_resume",
    "status": "is_being_written is_live",
}

__all__ = [
    "ACTIVE_SECONDS",
    "HIDDEN",
    "LAST",
    "SHORTEST_PREFIX",
    "SORTS",
    "Follower",
    "Glance",
    "ListCache",
    "ListTitles",
    "Listing",
    "Match",
    "ResumePlan",
    "SessionFilter",
    "SessionGroup",
    "SessionInfo",
    "Status",
    "Update",
    "age_before",
    "as_unreadable",
    "choose_branch",
    "command_line",
    "count_projects",
    "date_of",
    "date_or_age",
    "describe",
    "files_being_written",
    "find_match",
    "find_projects",
    "find_sessions",
    "gather",
    "glance",
    "identity_of",
    "is_being_written",
    "is_live",
    "last_record",
    "list_sessions",
    "list_title",
    "load",
    "load_file",
    "newest_record_first",
    "plan_resume",
    "project_names",
    "rename",
    "resolve",
    "session_at",
    "short_ids",
    "size_of",
    "status",
    "tag",
    "title",
    "title_line",
    "title_of",
    "titled_by",
    "titles_of",
    "unreadable",
    "with_turns",
]

__getattr__, __dir__ = lazy_exports(__name__, _MODULES, __all__)
