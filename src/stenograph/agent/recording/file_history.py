"""The files that a conversation changes, kept as they were at each prompt.

Copies are in `<home>/file-history/<session>/`, named by 16 hex digits of the path's SHA-256 and `@v` with a number that grows
with each copy of the file; paths below the project are relative in records (2.0.76, 2.1.45, 2.1.325). Reads the newer
`file-history-delta` lines, writes whole snapshots, which all releases read.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeGuard

from stenograph.agent.permissions.sensitive_files import sensitive_names
from stenograph.disk import absolute_path, discard, move_file, remove_file, stage_file, unfinished_beside, write_atomically
from stenograph.errors import DiskError, UnreadableError, UnwritableError, UsageError
from stenograph.records import Json, file_history_snapshot

#: Larger files are neither kept nor restored.
LONGEST = 256 * 1024 * 1024
_PRIVATE = 0o600
# As far as every client counts.
_GREATEST_VERSION = 2**53


class FileHistory:
    """Of one session. `folder` is created when there is something to keep."""

    def __init__(self, folder: Path, project: Path, *, additional: Sequence[Path] = (), names_parents: bool = True) -> None:
        """`additional`: further directories where files may be restored. `names_parents`: write `realParentDir`, as 2.1.325."""
        self._folder = folder
        self._project = absolute_path(project)
        self._places = (self._project, *map(absolute_path, additional))
        self._names_parents = names_parents
        #: By prompt, in prompt order. Each holds the copies of all files tracked by then.
        self._snapshots: dict[str, Json] = {}
        #: The first copy of each file, as it was before any change.
        self._first: dict[str, Json] = {}
        self._has_news = False

    # -- while the conversation goes on

    def before_change(self, path: Path) -> None:
        """Keep a file as it is, unless kept since the prompt. Raises DiskError."""
        snapshot = self._newest()
        name = self._name(path)
        if snapshot is None or name in snapshot["trackedFileBackups"]:
            return
        backup = self._keep(path, self._last_version(name) + 1)
        snapshot["trackedFileBackups"][name] = backup
        self._first.setdefault(name, backup)
        self._has_news = True

    def at_prompt(self, message_id: str) -> Json:
        """The record for a new prompt. Files that changed are kept anew where possible."""
        snapshot = self._keep_tracked(message_id)
        return _record(message_id, snapshot, is_update=False)

    def after_restore(self) -> Json | None:
        """The record of the files at the newest prompt after a restore; None before any prompt. Older copies stay."""
        newest = self._newest()
        if newest is None:
            return None
        snapshot = self._keep_tracked(newest["messageId"])
        return _record(snapshot["messageId"], snapshot, is_update=True)

    def copy_of(self, path: Path) -> Path | None:
        """The copy of a file at the newest prompt, if any."""
        newest = self._newest()
        backup = newest["trackedFileBackups"].get(self._name(path)) if newest else None
        return self._folder / backup["backupFileName"] if backup and backup["backupFileName"] else None

    def _keep_tracked(self, message_id: str) -> Json:
        newest = self._newest()
        tracked: Json = {} if newest is None else newest["trackedFileBackups"]
        backups: Json = {}
        for name, backup in tracked.items():
            path = self._path(name)
            backups[name] = backup
            if not (self._is_in_place(name, backup) and self._is_as_kept(path, backup)):
                # A file's fate must not keep a prompt from being sent.
                with contextlib.suppress(DiskError):
                    backups[name] = self._keep(path, self._last_version(name) + 1)
        snapshot = {"messageId": message_id, "trackedFileBackups": backups, "timestamp": _now()}
        self._snapshots.pop(message_id, None)
        self._snapshots[message_id] = snapshot
        self._has_news = False
        return snapshot

    def after_change(self, message_id: str) -> Json | None:
        """The record of what was kept since the last one, for the answer `message_id`; None for nothing."""
        snapshot = self._newest()
        if snapshot is None or not self._has_news:
            return None
        self._has_news = False
        return _record(message_id, snapshot, is_update=True)

    # -- when a session is taken up again

    def take_up(self, records: Iterable[Json]) -> None:
        """The state that a session's lines lead to. Malformed lines are skipped."""
        for record in records:
            if record.get("type") == "file-history-snapshot":
                self._take_snapshot(record)
            elif record.get("type") == "file-history-delta":
                self._take_delta(record)
        self._has_news = False

    def _take_snapshot(self, record: Json) -> None:
        snapshot = record.get("snapshot")
        if not isinstance(snapshot, dict) or not isinstance(snapshot.get("messageId"), str):
            return
        backups = snapshot.get("trackedFileBackups")
        if not isinstance(backups, dict):
            return
        kept = {name: backup for name, found in backups.items() if _is_name(name) and (backup := _backup_of(found))}
        time = snapshot.get("timestamp")
        taken = {
            "messageId": snapshot["messageId"],
            "trackedFileBackups": kept,
            "timestamp": time if isinstance(time, str) else _now(),
        }
        # An update replaces an earlier snapshot; its place stays.
        self._snapshots[snapshot["messageId"]] = taken
        for name, backup in kept.items():
            self._first.setdefault(name, backup)

    def _take_delta(self, record: Json) -> None:
        name, backup = record.get("trackingPath"), _backup_of(record.get("backup"))
        snapshot = self._snapshots.get(str(record.get("snapshotMessageId")))
        if snapshot is None or not _is_name(name) or backup is None:
            return
        snapshot["trackedFileBackups"].setdefault(name, backup)
        self._first.setdefault(name, backup)

    # -- going back

    def restore(self, message_id: str, may_touch: Callable[[Path], bool] = lambda _: True) -> list[Path]:
        """Restore all tracked files to how they were at that prompt; returns those that changed.

        What did not exist then is deleted. Left alone: links, hard links, files behind a directory that became a link, files
        whose copy is gone or was made in another directory, anything outside the project and additional directories, what makes
        other programs run something, and what `may_touch` refuses. The lines may be anybody's: all are judged before anything
        changes, and what was not kept with the newest prompt is kept first. Raises UsageError if that prompt has no snapshot, and
        DiskError, with no file changed if there was no room for all.
        """
        snapshot = self._snapshots.get(message_id)
        if snapshot is None:
            raise UsageError("that prompt has no snapshot of files to restore")
        # A file tracked later was unchanged until then, as in its first copy.
        backups = {name: snapshot["trackedFileBackups"].get(name, first) for name, first in self._first.items()}
        changed = [
            (name, path, backup)
            for name, backup in backups.items()
            if may_touch(path := self._path(name)) and self._may_be_restored(name, backup) and not self._is_as_kept(path, backup)
        ]
        newest = self._newest()
        for name, path, _ in changed if newest is not None and newest is not snapshot else ():
            if newest is not None and name not in newest["trackedFileBackups"]:
                newest["trackedFileBackups"][name] = self._keep(path, self._last_version(name) + 1)
        staged: list[tuple[Path, Path | None]] = []
        try:
            # All copies are on the disk before the first file changes: a full one leaves everything as it is.
            for _, path, backup in changed:
                staged += self._staged(path, backup)
            for path, unfinished in staged:
                remove_file(path) if unfinished is None else move_file(unfinished, path)
        finally:
            for _, unfinished in staged:
                if unfinished is not None:
                    discard(unfinished)
        return [path for path, _ in staged]

    def _may_be_restored(self, name: str, backup: Json) -> bool:
        path = self._path(name)
        return self._is_in_reach(path) and _is_plain(path) and self._is_in_place(name, backup)

    def _is_in_reach(self, path: Path) -> bool:
        """Whether a file is ours and no other program's, by its name and its target."""
        real = Path(os.path.realpath(path.parent), path.name)
        folders = [(place, Path(os.path.realpath(place))) for place in self._places]
        below = [real.relative_to(folder).parts for _, folder in folders if folder in real.parents]
        named = [path.relative_to(folder).parts for folder, _ in folders if folder in path.parents]
        # The project may itself be below such a folder: only what is below it counts.
        return bool(below) and not any(map(sensitive_names, (*below, *named)))

    def _is_in_place(self, name: str, backup: Json) -> bool:
        """Whether the file was kept in this directory. One that became a link leads elsewhere, and so does a session that was
        resumed in another project.
        """
        parent = os.path.realpath(self._path(name).parent)
        kept_in = backup.get("realParentDir", parent)
        if parent == kept_in:
            return True
        # The project may have moved here since. That a file did not exist elsewhere is no reason to delete this one.
        if backup["backupFileName"] is None or os.path.lexists(kept_in) or self._first[name].get("realParentDir") == parent:
            return False
        return parent == os.path.normpath(Path(os.path.realpath(self._project)) / Path(name).parent)

    def _staged(self, path: Path, backup: Json) -> list[tuple[Path, Path | None]]:
        """A file, and what is to replace it: a new one beside it, or nothing. Empty if the copy is gone."""
        if backup["backupFileName"] is None:
            return [(path, None)]
        copy = self._folder / backup["backupFileName"]
        if not copy.is_file():
            return []
        unfinished = unfinished_beside(path)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            stage_file(path, copy.read_bytes(), unfinished=unfinished)
            unfinished.chmod(_mode_from(copy, path))
        except OSError as error:
            discard(unfinished)
            raise UnwritableError(f"cannot restore {path}: {error.strerror}", path=path) from None
        return [(path, unfinished)]

    # -- copies

    def _newest(self) -> Json | None:
        return next(reversed(self._snapshots.values()), None)

    def _name(self, path: Path) -> str:
        whole = absolute_path(path)
        return whole.relative_to(self._project).as_posix() if self._project in whole.parents else str(whole)

    def _path(self, name: str) -> Path:
        return absolute_path(self._project / name)

    def _last_version(self, name: str) -> int:
        versions = [
            backup["version"]
            for snapshot in self._snapshots.values()
            if (backup := snapshot["trackedFileBackups"].get(name)) is not None
        ]
        return max(versions, default=0)

    def _keep(self, path: Path, version: int) -> Json:
        whole = absolute_path(path)
        # It loads OpenSSL.
        import hashlib

        digest = hashlib.sha256(os.fsencode(whole)).hexdigest()[:16]
        file_name: str | None = f"{digest}@v{version}"
        if not self._copy(whole, self._folder / f"{file_name}"):
            file_name = None
        backup: Json = {"backupFileName": file_name, "version": version, "backupTime": _now()}
        if self._names_parents:
            backup["realParentDir"] = os.path.realpath(whole.parent)
        return backup

    def _copy(self, path: Path, copy: Path) -> bool:
        """Whether there was something to copy. A copy is whole or absent."""
        try:
            status = path.stat()
        except (FileNotFoundError, NotADirectoryError):
            return False
        except OSError as error:
            raise UnreadableError(f"cannot back up {path}: {error.strerror}", path=path) from None
        if not stat.S_ISREG(status.st_mode) or status.st_size > LONGEST:
            raise UnreadableError(f"cannot back up {path}: it is too large, or not a regular file", path=path)
        try:
            copy.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            write_atomically(copy, path.read_bytes(), mode=stat.S_IMODE(status.st_mode), sync=False)
        except OSError as error:
            raise UnwritableError(f"cannot back up {path}: {error.strerror}", path=path) from None
        return True

    def _is_as_kept(self, path: Path, backup: Json) -> bool:
        """Byte for byte, or both absent."""
        file_name: str | None = backup["backupFileName"]
        try:
            status = path.stat()
        except OSError:
            return file_name is None
        if file_name is None:
            return False
        try:
            copy = self._folder / file_name
            if status.st_size != copy.stat().st_size or stat.S_IMODE(status.st_mode) != _mode_from(copy, path):
                return False
            return path.read_bytes() == copy.read_bytes()
        except OSError:
            return False


def _mode_from(copy: Path, path: Path) -> int:
    """The mode of a file as its copy says it. A private copy may be that of a clone, which knew no mode: the file's stays."""
    mode = stat.S_IMODE(copy.stat().st_mode)
    return stat.S_IMODE(path.stat().st_mode) if mode == _PRIVATE and path.exists() else mode


def _record(message_id: str, snapshot: Json, *, is_update: bool) -> Json:
    copied = {**snapshot, "trackedFileBackups": dict(snapshot["trackedFileBackups"])}
    return file_history_snapshot(message_id, copied, is_update=is_update)


def _backup_of(found: Any) -> Json | None:
    """A copy as a line describes it, if valid: anybody may have written it, and it goes into our lines."""
    version = found.get("version") if isinstance(found, dict) else None
    if version.__class__ is not int or not 0 <= version <= _GREATEST_VERSION:
        return None
    name = found.get("backupFileName")
    if name is not None and not (_is_name(name) and name == os.path.basename(name) and name not in (".", "..")):  # noqa: PTH119
        return None
    texts = {key: found[key] for key in ("backupTime", "realParentDir") if isinstance(found.get(key), str)}
    return {"backupFileName": name, "version": version, **texts}


def _is_name(name: Any) -> TypeGuard[str]:
    """Whether the disk could have it."""
    if not isinstance(name, str) or not name or "\0" in name:
        return False
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


def _is_plain(path: Path) -> bool:
    try:
        status = path.lstat()
    except OSError as error:
        # Absent: it can be created, but not below a file, nor with an impossible name.
        return error.errno not in (errno.ENOTDIR, errno.ENAMETOOLONG)
    return stat.S_ISREG(status.st_mode) and status.st_nlink == 1


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
