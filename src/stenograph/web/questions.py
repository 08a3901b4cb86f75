"""What pages and the API ask: one method per question, each with one masked page value as its answer.

Sessions are named by their ids and looked up among those of the homes, so no request reaches another file. Methods block; the
server calls them in threads.
"""

from __future__ import annotations

import secrets
import threading
from collections.abc import Sequence
from pathlib import Path

from stenograph.config import Config
from stenograph.errors import SessionNotFoundError
from stenograph.family import SessionFile
from stenograph.redact import Masker
from stenograph.sessions import find_sessions, list_sessions
from stenograph.turns import NO_BRANCH, Branch, Session
from stenograph.views import SessionPage, SessionsPage, mask_page, session_page, sessions_page
from stenograph.web.loading import SessionCache


class Questions:
    """The sessions of some homes, asked about."""

    def __init__(self, homes: Sequence[Path], config: Config) -> None:
        self.homes = list(homes)
        self.config = config
        self.masker = Masker(secrets.token_bytes(32))
        self._cache = SessionCache()
        self._files: dict[str, SessionFile] = {}
        self._lock = threading.Lock()

    def file(self, session_id: str) -> SessionFile:
        """The file of a session. Raises SessionNotFoundError."""
        with self._lock:
            known = self._files.get(session_id)
            if known is None or not known.path.is_file():
                # The newest of several with one id: they come newest first.
                self._files = {file.session_id: file for file in reversed(find_sessions(self.homes))}
                known = self._files.get(session_id)
        if known is None:
            raise SessionNotFoundError("no session has this id")
        return known

    def load(self, session_id: str) -> Session:
        """Raises SessionNotFoundError, UnreadableError."""
        return self._cache.get(self.file(session_id).path)

    def sessions(self, *, limit: int | None = None) -> SessionsPage:
        found = list_sessions(self.homes, limit=limit, turns=True, active_seconds=self.config.active_seconds)
        return mask_page(sessions_page(found), self.masker.mask)

    def session(self, session_id: str, first: int = 1, last: int | None = None) -> SessionPage:
        """A session to read, or some of its turns. Raises SessionNotFoundError, UnreadableError."""
        session = self.load(session_id)
        page = session_page(
            session,
            current_branch(session),
            wanted=lambda turn: first <= turn.number and (last is None or turn.number <= last),
            title=session.title,
        )
        return mask_page(page, self.masker.mask)


def current_branch(session: Session) -> Branch:
    return next((branch for branch in session.branches if branch.is_current), NO_BRANCH)
