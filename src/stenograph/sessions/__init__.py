"""Sessions as a user names them: found, listed, resolved, titled, labelled and counted.

In: homes, paths, and what a user calls a session. Out: values that a list or a command shows. Knows lines only as `records`
decodes them and writes only through `disk`.
"""

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
)
from stenograph.sessions.glance import Ending, Glance, glance
from stenograph.sessions.labels import rename, tag
from stenograph.sessions.resolve import resolve, session_at, titles_of
from stenograph.sessions.status import files_being_written, status
from stenograph.sessions.titles import title

__all__ = [
    "ACTIVE_SECONDS",
    "HIDDEN",
    "Ending",
    "Glance",
    "Listing",
    "SessionInfo",
    "Status",
    "describe",
    "files_being_written",
    "find_projects",
    "find_sessions",
    "glance",
    "list_sessions",
    "rename",
    "resolve",
    "session_at",
    "status",
    "tag",
    "title",
    "titles_of",
]
