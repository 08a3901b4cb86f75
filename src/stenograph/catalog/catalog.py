"""Homes and the archive as one: a session that a client has deleted is listed from what is known of it, and opened from a copy.

Copies are written to a private temporary directory when they are asked for, and deleted with the catalog. Without an archive it
does what `sessions` does.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

import msgspec

from stenograph.config import archive_folder
from stenograph.disk import projects_folder
from stenograph.errors import ArchivedSessionError, DiskError, SessionNotFoundError
from stenograph.family import SessionFile, agent_id_of, is_agent_file, is_session_id, results_folder

# Most users have no archive, and a search lists no sessions: what they do not need is not imported for them.
if TYPE_CHECKING:
    import tempfile

    from stenograph.archive import KeptFile, KeptSession, KeptStore
    from stenograph.index import IndexedFile
    from stenograph.sessions import Listing, SessionInfo


class CatalogMatch(msgspec.Struct, frozen=True):
    """A session as it can be read now."""

    file: SessionFile
    #: How it was found: `id`, `prefix`, `title`, `path`, `last`, …
    how: str
    #: Where it was; None: it is there.
    archived: Path | None = None


class Catalog:
    """The sessions of some homes, also those that only the archive has. A context manager."""

    def __init__(self, homes: Sequence[Path], archive: Path | None) -> None:
        self._homes = list(homes)
        self._archive = archive
        self._scratch: tempfile.TemporaryDirectory[str] | None = None
        self._unpacked: dict[int, Path] = {}

    @classmethod
    def of_environment(cls, homes: Sequence[Path], environ: Mapping[str, str]) -> Catalog:
        """With the user's archive."""
        return cls(homes, archive_folder(environ))

    def __enter__(self) -> Catalog:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Delete the copies."""
        if self._scratch is not None:
            self._scratch.cleanup()
        self._scratch = None
        self._unpacked.clear()

    def find(self, reference: str, *, exact: bool = False, any_project: bool = False, archived: bool = True) -> CatalogMatch:
        """The session that a reference means; where no home has it, a copy from the archive.

        Raises as `find_match` does, and ArchivedSessionError where only the archive has it and `archived` is False.
        """
        from stenograph.sessions import find_match, session_at

        try:
            found = find_match(reference, self._homes, exact=exact, any_project=any_project)
        except SessionNotFoundError as error:
            session = self._find_gone(reference)
            if session is None:
                raise
            if not archived:
                name = session.name
                raise ArchivedSessionError(
                    f"session {name} is only in the archive", reference=name, hint=f"steno restore {name}"
                ) from error
            return CatalogMatch(session_at(self._unpack(session)), "archive", session.path)
        return CatalogMatch(found.file, found.how)

    def list_sessions(self, **options: Any) -> Listing:
        """As `list_sessions`, with the sessions that only the archive has."""
        from stenograph.sessions import list_sessions

        return list_sessions(self._homes, also=self.archived(), **options)

    def archived(self) -> list[SessionInfo]:
        """What a list says of the sessions that only the archive has, unless the user removed them."""
        removed = self._removed() if self._gone else set()
        return [info for session in self._gone if session.path not in removed for info in self._described(session)]

    def place_of(self, path: Path) -> Path:
        """Where a file can be read: where it is, or a copy of it."""
        if self._gone and not os.path.lexists(path) and (session := self._owners.get(path)) is not None:
            with contextlib.suppress(DiskError):
                return self._below(session, path)
        return path

    def archived_files(self) -> list[IndexedFile]:
        """The files that only the archive has and that belong into the index."""
        return [source for session in self._gone for file in self._files[session.id] for source in self._source(session, file)]

    @cached_property
    def _gone(self) -> list[KeptSession]:
        """The kept sessions of these homes that no home has any more, under any path."""
        with self._opened() as store:
            sessions = store.sessions(self._homes) if store is not None else []
        missing = [session for session in sessions if not os.path.lexists(session.path)]
        if not missing:
            return []
        from stenograph.sessions import find_sessions

        present = {file.session_id for file in find_sessions(self._homes)}
        return [session for session in missing if session.name not in present]

    @cached_property
    def _named(self) -> dict[str, Path]:
        """The homes as the index knows them."""
        places = {home: projects_folder(home).parent for home in self._homes}
        return {os.path.realpath(place): place for place in places.values()}

    @cached_property
    def _files(self) -> dict[int, list[KeptFile]]:
        found: dict[int, list[KeptFile]] = {session.id: [] for session in self._gone}
        with self._opened() as store:
            for file in store.files() if store is not None else ():
                if file.session in found:
                    found[file.session].append(file)
        return found

    @cached_property
    def _owners(self) -> dict[Path, KeptSession]:
        return {file.path: session for session in self._gone for file in self._files[session.id]}

    @contextlib.contextmanager
    def _opened(self) -> Iterator[KeptStore | None]:
        if self._archive is None or not os.path.isdir(self._archive):  # noqa: PTH112 - Path.is_dir raises without rights
            yield None
            return
        from stenograph.archive import open_kept

        store = open_kept(self._archive)
        try:
            yield store
        finally:
            if store is not None:
                store.close()

    def _find_gone(self, reference: str) -> KeptSession | None:
        if not self._gone:
            return None
        from stenograph.archive import find_kept

        with contextlib.suppress(SessionNotFoundError):
            return find_kept(self._gone, reference)
        return None

    def _removed(self) -> set[Path]:
        """The sessions that `steno rm` took away."""
        from stenograph.archive import Archive

        entries = Archive(self._archive).entries() if self._archive is not None else []
        return {
            file.path
            for entry in entries
            if entry.is_standing and isinstance(entry.command, dict) and entry.command.get("command") == "rm"
            for file in entry.files
        }

    def _described(self, session: KeptSession) -> Iterator[SessionInfo]:
        from stenograph.archive import read_facts
        from stenograph.sessions import Status, describe, session_at

        info = read_facts(session.facts)
        if info is None:
            if session.path not in self._owners:  # only its subagents are left
                return
            with contextlib.suppress(DiskError):  # an older version wrote other facts
                info = describe(session_at(self._unpack(session)), written=set())
        if info is not None:
            status = Status.INTERRUPTED if info.status is Status.RUNNING else info.status
            yield msgspec.structs.replace(info, path=session.path, status=status, archived=True)

    def _unpack(self, session: KeptSession) -> Path:
        """The session's own file in a copy of its family. Raises DiskError."""
        if session.id not in self._unpacked:
            from stenograph.archive import plan_restore, restore_to

            if self._scratch is None:
                import tempfile

                self._scratch = tempfile.TemporaryDirectory(prefix="steno-")
            to = Path(self._scratch.name) / str(session.id)
            with self._opened() as store:
                if store is None:
                    raise SessionNotFoundError(f"{session.name} is no longer in the archive", reference=session.name)
                restore_to(store, plan_restore(store, session), to)
            self._unpacked[session.id] = to
        return self._below(session, session.path)

    def _below(self, session: KeptSession, path: Path) -> Path:
        if session.id not in self._unpacked:
            self._unpack(session)
        home = session.home
        return self._unpacked[session.id] / (path.relative_to(home) if path.is_relative_to(home) else path.name)

    def _source(self, session: KeptSession, file: KeptFile) -> Iterator[IndexedFile]:
        from stenograph.index import FilePart, IndexedFile

        path, agent = file.path, None
        if path == session.path:
            part = FilePart.SESSION
        elif is_agent_file(path):
            part, agent = FilePart.AGENT, agent_id_of(path)
        elif path.is_relative_to(results_folder(session.path)):
            part = FilePart.RESULT
        else:
            return
        own = SessionFile(session.name, session.path, file.size, file.mtime_ns, is_session_id(session.name))
        home = self._named.get(os.path.realpath(session.home), session.home)
        yield IndexedFile(
            path, own, home, part, agent, 0, 0, file.size, file.mtime_ns, unpack=lambda: self.place_of(path)
        )  # the index names a home as the user does
