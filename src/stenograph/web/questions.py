"""What pages and the API ask: one method per question, each with one masked page value as its answer.

Methods block; the server calls them in threads.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable

from stenograph.web.edit_questions import EditQuestions
from stenograph.web.home_questions import HomeQuestions
from stenograph.web.loading import stamp_of
from stenograph.web.session_questions import SessionQuestions
from stenograph.web.usage_questions import UsageQuestions

#: How long an answer says that a session is running after it ended.
_STATUS_SECONDS = 10.0


class Library(SessionQuestions, HomeQuestions, UsageQuestions, EditQuestions):
    """The sessions of some homes, asked about."""

    def answer(self, session_id: str | None, key: Hashable, make: Callable[[], bytes]) -> bytes:
        """What was made for a key, made anew when a file of the session has changed, or soon where it is about none.

        Raises as `make` does.
        """
        if session_id is None:
            return self.answers.get(key, object(), make)
        # Whether a session is running depends on the time too.
        state = stamp_of(self.file(session_id).path), int(time.time() / _STATUS_SECONDS)
        return self.answers.get((session_id, key), state, make)
