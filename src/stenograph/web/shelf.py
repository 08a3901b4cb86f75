"""The sessions that are served: found by their ids, loaded and listed. No other file is reached.

What the archive alone has is served from copies.
"""

from __future__ import annotations

import secrets
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from msgspec import Struct

from stenograph.catalog import Catalog
from stenograph.config import Config
from stenograph.errors import DiskError, SessionNotFoundError
from stenograph.family import SessionFile, read_family
from stenograph.redact import Masker
from stenograph.sessions import ListCache, Listing, SessionInfo, Status, find_sessions, list_sessions
from stenograph.turns import Session
from stenograph.views import quoted
from stenograph.web.boundary import Boundary
from stenograph.web.errors import RequestError
from stenograph.web.index_thread import IndexThread
from stenograph.web.loading import AnswerCache, SessionCache

#: How long a look at the archive is good for.
_CATALOG_SECONDS = 30.0
#: Each with copies of the sessions that were opened.
_KEPT_CATALOGS = 2


class Viewer(Struct, frozen=True, kw_only=True):
    """What is served, and how."""

    homes: Sequence[Path]
    config: Config
    #: Where the originals of edited sessions are.
    archive: Path
    #: Where the index is; None keeps one in memory.
    index: Path | None = None
    #: Requests may change sessions.
    allow_edits: bool = False
    #: Unexpected errors are logged with their tracebacks, which may quote sessions.
    debug: bool = False
    #: What commands begin with that are shown to be pasted: the program, and the options that name what is served.
    program: str = "steno"


class Shelf:
    def __init__(self, viewer: Viewer) -> None:
        self.homes = list(viewer.homes)
        self.config = viewer.config
        self.program = viewer.program
        self._can_edit = viewer.allow_edits
        # No client deletes the sessions of the demo, which has no index of its own either.
        self._is_demo = viewer.index is None
        self._index_path = viewer.index
        #: Placeholders are the same for as long as the server runs, and say nothing to who does not have its key.
        self.masker = Masker(secrets.token_bytes(32))
        self.answers = AnswerCache()
        #: Sessions that were running when the list was last made.
        self.running = 0
        self.boundary = Boundary(self.homes)
        self._archive_folder = viewer.archive
        self._cache = SessionCache(family=self.boundary.family)
        self._index = IndexThread(self.homes, viewer.index)
        self._lists = ListCache()
        self._has_recalled = False
        self._listing = threading.Lock()
        self._files: dict[str, SessionFile] = {}
        self._lock = threading.Lock()
        self._catalogs: list[Catalog] = []
        self._looking = threading.Lock()
        self._catalog_until = 0.0

    def command(self, *words: str) -> str:
        """A command line of ours that can be pasted."""
        return " ".join([self.program, *(quoted(word) for word in words)])

    def file(self, session_id: str) -> SessionFile:
        """The file of a session. Raises SessionNotFoundError."""
        with self._lock:
            known = self._files.get(session_id)
            if known is None or not known.path.is_file():
                self._note_files(find_sessions(self.homes))
                known = self._files.get(session_id)
                if known is None:
                    return self._archived(session_id)
        self._refuse_outside(known.path)
        return known

    def _note_files(self, files: Sequence[SessionFile]) -> None:
        # The newest of several with one id: they come newest first.
        self._files = {file.session_id: file for file in reversed(files)}

    def _archived(self, session_id: str) -> SessionFile:
        """A copy of a session that only the archive has. Raises SessionNotFoundError."""
        is_archived = any(info.id == session_id for info in self._catalog().archived())
        if not is_archived:
            raise SessionNotFoundError("no session has this id")
        return self._catalog().find(session_id).file

    def _catalog(self) -> Catalog:
        """What the archive has, as it was a moment ago."""
        with self._looking:
            if not self._catalogs or time.monotonic() > self._catalog_until:
                self._catalogs.append(Catalog(self.homes, self._archive_folder))
                self._catalog_until = time.monotonic() + _CATALOG_SECONDS
                # Who asked a moment ago still reads the copies of the one before.
                for old in self._catalogs[:-_KEPT_CATALOGS]:
                    old.close()
                del self._catalogs[:-_KEPT_CATALOGS]
            return self._catalogs[-1]

    def close(self) -> None:
        """Delete the copies of archived sessions. Nothing can be asked afterwards."""
        self._index.close()
        with self._looking:
            for catalog in self._catalogs:
                catalog.close()
            self._catalogs.clear()

    def _kept(self) -> list[SessionInfo]:
        """The sessions that only the archive has; an unreadable archive stops no list."""
        try:
            return self._catalog().archived()
        except DiskError:
            return []

    def _refuse_outside(self, path: Path) -> None:
        """A link in a home must not lead out of it. Raises RequestError."""
        if not self.boundary.contains(path):
            raise RequestError(403, "outside", "this file is a link that leads out of the Claude config directory")

    def path(self, session_id: str, agent: str | None) -> Path:
        """The session's own file, or that of one of its subagents. Raises SessionNotFoundError, RequestError."""
        own = self.file(session_id).path
        if agent is None:
            return own
        for found in read_family(own).agents:
            if found.agent_id == agent:
                self._refuse_outside(found.path)
                return found.path
        raise RequestError(404, "agent-not-found", "the session has no file of this subagent")

    def load(self, session_id: str) -> Session:
        """Raises SessionNotFoundError, UnreadableError."""
        return self._cache.get(self.file(session_id).path)

    def copies(self, session_id: str) -> frozenset[int]:
        """The keys of a session's calls that count in another session, as far as the index knows. Raises SessionNotFoundError."""
        from stenograph.index import copied_calls, open_store

        path = self.file(session_id).path
        if self._index_path is None:
            return self._index.look(lambda store: copied_calls(store, path, self.homes))
        if not self._index_path.exists():
            return frozenset()
        store = open_store(self._index_path)  # its own: the index's thread may be busy
        try:
            return copied_calls(store, path, self.homes)
        finally:
            store.close()

    def listing(self) -> Listing:
        """Every session there is, hidden ones included, but none whose file is outside."""
        # One at a time: the first one reads the files, and the others would read the same ones.
        with self._listing:
            self._recall()
            found = list_sessions(
                self.homes,
                everything=True,
                where=self._is_listed(),
                active_seconds=self.config.active_seconds,
                cache=self._lists,
                also=self._kept(),
            )
            self._note_files(self._lists.files)
        self.running = sum(info.status is Status.RUNNING and info.hidden is None for info in found.sessions)
        return found

    def _is_listed(self) -> Callable[[SessionInfo], bool]:
        """What tells which sessions of a list are served."""
        contains = self.boundary.checker()
        return lambda info: info.archived or contains(info.path)

    def _served_files(self) -> list[SessionFile] | None:
        """The files of the sessions that are served, if a home leads to others too. None: all of them are served."""
        files, contains = find_sessions(self.homes), self.boundary.checker()
        inside = [file for file in files if contains(file.path)]
        return inside if len(inside) < len(files) else None

    def _recall(self) -> None:
        """Before the first list: what the index read of files need not be read again."""
        from stenograph.index import known_glances

        if not self._has_recalled:
            self._has_recalled = True
            self._lists = self._index.look(known_glances)
