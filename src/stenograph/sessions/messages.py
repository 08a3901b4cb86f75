"""A session as the user names it -> the messages that a client would send when it resumes it.

In: a reference or a path, and a release. Out: a `Resume`. Sub-agents' files are not read: a resume does not look at them.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from stenograph.messages import Resume, read_for_resume, resume_messages
from stenograph.records import gc_paused
from stenograph.releases import NEWEST, release_numbers
from stenograph.sessions.as_unreadable import as_unreadable
from stenograph.sessions.resolve import LAST, resolve


def load_messages(reference: str | Path = LAST, release: str = NEWEST, homes: Sequence[Path] | None = None) -> Resume:
    """What a client of that release would send when it resumes the session that a reference names.

    A reference is an id, a unique prefix, a title, a path, or `last`. Raises SessionNotFoundError, AmbiguousSessionError,
    UnreadableError.
    """
    path = reference if isinstance(reference, Path) else resolve(reference, homes).path
    release_numbers(release)  # what is none is told before anything is read
    with as_unreadable(path), gc_paused():
        return resume_messages(read_for_resume(path, release), release)
