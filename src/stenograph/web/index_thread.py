"""The index, asked by one thread: its database belongs to the thread that opened it."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import TypeVar

from stenograph.catalog import Catalog
from stenograph.errors import DiskError
from stenograph.index import IndexedFile, IndexStore, SyncReport, knows_home, open_store, sync
from stenograph.web.errors import RequestError

T = TypeVar("T")
# How long a question waits for changed files to be indexed, in seconds; longer where nothing is indexed yet.
_PATIENCE = 0.3
_FIRST_PATIENCE = 3.0
# How long the rest is indexed at a time: a question waits for that.
_SLICE = 0.5
# How long a list may be behind the files.
_SYNCED_SECONDS = 2.0


class IndexThread:
    """Opens the index when it is first asked for, and brings it up to date before each answer."""

    def __init__(self, homes: Sequence[Path], path: Path | None) -> None:
        self._homes = list(homes)
        self._path = path
        self._store: IndexStore | None = None
        self._catalog = self._new_catalog()
        self._is_continuing = False
        #: Differs once something was indexed, by whomever.
        self.state = (0, 0)
        self._is_closed = False
        self._closing = threading.Lock()
        self._synced = -_SYNCED_SECONDS
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="steno-index")

    def ask(self, question: Callable[[IndexStore, SyncReport], T]) -> T:
        """Blocks until it is answered; not to be called by the server's own thread."""
        return self._submit(lambda: self._ask(question)).result()

    def peek(self, question: Callable[[IndexStore], T]) -> T:
        """The same of the index as it is; what is missing in it is indexed afterwards."""
        found = self.look(question)
        self.continue_soon()
        return found

    def look(self, question: Callable[[IndexStore], T]) -> T:
        """The same, and nothing is indexed for it."""
        return self._submit(lambda: question(self._open())).result()

    def close(self) -> None:
        """Delete the copies of archived sessions, and end the thread once it has answered what it was asked."""
        with self._closing:
            self._is_closed = True
            self._thread.submit(self._close)
        self._thread.shutdown()

    def _submit(self, work: Callable[[], T]) -> Future[T]:
        """Raises RequestError once it is closed."""
        with self._closing:
            if self._is_closed:
                raise RequestError(503, "stopped", "the viewer has stopped")
            return self._thread.submit(work)

    def _close(self) -> None:
        self._catalog.close()
        if self._store is not None:
            self._store.close()

    def _open(self) -> IndexStore:
        if self._store is None:
            self._store = open_store(self._path)
        return self._store

    def _ask(self, question: Callable[[IndexStore, SyncReport], T]) -> T:
        store = self._open()
        is_warm = all(knows_home(store, home) for home in self._homes)
        report = self._sync(_PATIENCE if is_warm else _FIRST_PATIENCE)
        if report.pending:
            self._continue()
        return question(store, report)

    def _sync(self, seconds: float) -> SyncReport:
        """With what clients have deleted since the last time and the archive keeps."""
        store = self._open()
        self._synced = time.monotonic()
        self._catalog.close()
        self._catalog = self._new_catalog()
        store.place_of = self._catalog.place_of
        report = sync(store, self._homes, archived=self.archived(), seconds=seconds)
        self.state = store.connection.total_changes, store.connection.execute("PRAGMA data_version").fetchone()[0]
        return report

    def archived(self) -> list[IndexedFile]:
        """The files that only the archive has; an unreadable archive stops no answer."""
        try:
            return self._catalog.archived_files()
        except DiskError:
            return []

    def _new_catalog(self) -> Catalog:
        return Catalog(self._homes, None if self._path is None else self._path.parent / "archive")

    def continue_soon(self) -> None:
        """Index what has changed, unless that was done a moment ago."""
        if time.monotonic() > self._synced + _SYNCED_SECONDS:
            self._continue()

    def _continue(self) -> None:
        """Index the rest once nobody waits for an answer."""
        if not self._is_continuing:
            self._is_continuing = True
            with contextlib.suppress(RequestError):
                self._submit(self._index_more)

    def _index_more(self) -> None:
        self._is_continuing = False
        if self._sync(_SLICE).pending:
            self._continue()
