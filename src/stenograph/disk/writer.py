"""The one writer: whole files replaced or deleted at once, lines of sessions appended whole under a lock.

A replaced file is never half old and half new, also after a crash; an appended line may be torn by one. The lock keeps out other
users of this module only: clients take none, which is why `expect` exists. Links are written through, and never deleted.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import msgspec

from stenograph.disk.file_state import FileState, changed, check_unchanged, state_in, unwritable
from stenograph.disk.folders import make_folder, owner_of, sync_folder
from stenograph.disk.locking import PRIVATE, lock_until, open_locked, open_regular, try_lock
from stenograph.errors import BusyError, UnwritableError, UsageError

LOCK_TIMEOUT = 5.0
#: Prefix of unfinished files; one that stays was left by a killed process.
UNFINISHED = ".steno-"
_ANY_NEW_FILE = 0o666

_OPEN_FLAGS = getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0) | getattr(os, "O_NONBLOCK", 0)
# Read and write: the last byte is checked before anything is appended.
_APPEND_FLAGS = os.O_RDWR | os.O_APPEND | _OPEN_FLAGS
_CREATE_FLAGS = os.O_RDWR | os.O_CREAT | os.O_EXCL | _OPEN_FLAGS
# Deleting needs no right to write to the file.
_LOOK_FLAGS = os.O_RDONLY | _OPEN_FLAGS


class StagedFile(msgspec.Struct, frozen=True):
    """A file written in full and on the disk, under another name beside its place."""

    path: Path
    unfinished: Path
    size: int
    sha256: str


class LockedFile:
    """A file under our lock; its methods are those of the module, without locking again."""

    def __init__(self, path: Path, descriptor: int) -> None:
        self.path = path
        self._descriptor = descriptor

    def state(self) -> FileState:
        return state_in(os.fstat(self._descriptor))

    def append_lines(self, lines: Sequence[bytes], *, sync: bool = False, keep_time: bool = False) -> int:
        """`keep_time`: the time of change stays, for lines that are not part of the conversation."""
        data = _join(lines)
        try:
            status = os.fstat(self._descriptor)
            size = status.st_size
            if not data:
                return size
            if not status.st_nlink:
                # What is written to an unlinked file is lost silently.
                raise UnwritableError(f"{self.path} was deleted while it was being written", path=self.path)
            mend = b"\n" if size and _last_byte(self._descriptor) != b"\n" else b""
            _append_or_undo(self._descriptor, size, mend + data)
            if sync:
                os.fsync(self._descriptor)
            # Unless a client appended meanwhile, whose time it then is.
            if keep_time and os.utime in os.supports_fd and os.fstat(self._descriptor).st_size == size + len(mend + data):
                os.utime(self._descriptor, ns=(status.st_atime_ns, status.st_mtime_ns))
        except OSError as error:
            raise unwritable(self.path, error) from error
        return size + len(mend)

    def replace(self, data: bytes | Iterable[bytes], *, expect: FileState | None = None) -> FileState:
        """The lock moves on to the new file."""
        now = os.fstat(self._descriptor)
        check_unchanged(self.path, expect, now)
        with _written_beside(self.path, data, owner=now) as fresh:
            if expect is not None:  # again: preparing the bytes may have taken long
                check_unchanged(self.path, expect, os.stat(self.path))  # noqa: PTH116
            self._give_way_to(fresh)
        self._take_over(fresh, now.st_size)
        return self.state()

    def put_in_place(self, staged: StagedFile, *, expect: FileState) -> None:
        """The lock moves on to the new file."""
        now = os.fstat(self._descriptor)
        check_unchanged(self.path, expect, now)
        try:
            fresh = _Fresh(staged.unfinished, os.open(staged.unfinished, _APPEND_FLAGS))
            try:
                try_lock(fresh.descriptor)
                self._give_way_to(fresh)
            except BaseException:
                if fresh.descriptor >= 0:
                    os.close(fresh.descriptor)
                raise
        except OSError as error:
            raise unwritable(self.path, error) from error
        self._take_over(fresh, now.st_size)

    def _give_way_to(self, fresh: _Fresh) -> None:
        if sys.platform == "win32":  # which can't replace an open file
            self._close()
        fresh.move_to(self.path)

    def _take_over(self, fresh: _Fresh, size: int) -> None:
        if self._descriptor >= 0:
            _carry_over(self._descriptor, size, fresh.descriptor)
        self._close()
        self._descriptor = fresh.descriptor

    def _close(self) -> None:
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1


def _carry_over(old: int, size: int, new: int) -> None:
    """What a client, which takes no lock, appended to the old file while it was being replaced."""
    grown = os.fstat(old).st_size - size
    if grown <= 0:
        return
    os.lseek(old, size, os.SEEK_SET)
    write_all(new, os.read(old, grown))


@contextlib.contextmanager
def lock(path: Path, *, timeout: float = LOCK_TIMEOUT, create: bool = False) -> Iterator[LockedFile]:
    """Hold the file against every other user of this module; `create` makes it, with its directory.

    Raises BusyError after `timeout` seconds, UnwritableError.
    """
    target = _target(path)
    if create:
        make_folder(target.parent)
        os.close(open_regular(target, os.O_RDWR | os.O_CREAT | _OPEN_FLAGS))
    locked = LockedFile(target, open_locked(target, timeout, _APPEND_FLAGS))
    try:
        yield locked
    finally:
        locked._close()


def append_lines(path: Path, lines: Sequence[bytes], *, create: bool = False, timeout: float = LOCK_TIMEOUT) -> int:
    """Append whole lines, given without their newlines; returns the offset of the first.

    A missing final newline is added first, or two lines would become one (rule 16). A write that fails midway is cut off again.
    `create` makes the file, which must not exist. Does not wait for the disk. Raises BusyError, UnwritableError, UsageError.
    """
    if create:
        return _create(_target(path), _join(lines))
    with lock(path, timeout=timeout) as locked:
        return locked.append_lines(lines)


def replace_file(
    path: Path, data: bytes | Iterable[bytes], *, expect: FileState | None = None, timeout: float = LOCK_TIMEOUT
) -> FileState:
    """Replace the whole of `path`, which need not exist; returns its new state.

    With `expect`, refuses when the file is no longer in that state: BusyError. Raises UnwritableError too.
    """
    target = _target(path)
    if not os.path.lexists(target):
        if expect is not None:
            raise changed(path)
        with _written_beside(target, data, owner=None) as fresh:
            fresh.move_to(target)
        try:
            return state_in(os.fstat(fresh.descriptor))
        finally:
            os.close(fresh.descriptor)
    with lock(path, timeout=timeout) as locked:
        return locked.replace(data, expect=expect)


def write_atomically(
    path: Path, data: bytes | Iterable[bytes], *, mode: int | None = None, sync: bool = True, unfinished: Path | None = None
) -> None:
    """Write a whole file of our own at once, without a lock.

    `mode`: its permissions; otherwise it keeps those it has. Without `sync` a crash of the machine may leave it empty. Raises
    UnwritableError.
    """
    target = _target(path)
    _write_whole(target, data, owner=owner_of(target), mode=mode, sync=sync, unfinished=unfinished)


def write_user_file(path: Path, data: bytes) -> None:
    """Write a file of a user's project at once, with the directories above it. Does not wait for the disk.

    In place where a new file would break hard links or change the owner. Raises UnwritableError, whose cause is the OSError.
    """
    target = _target(path)
    try:
        try:
            before = os.stat(target)  # noqa: PTH116
        except FileNotFoundError:
            target.parent.mkdir(parents=True, exist_ok=True)
            _write_whole(target, data, owner=None, sync=False)
            return None
        # Replacing a file needs rights on its directory only, so check the file's own.
        if not os.access(target, os.W_OK, effective_ids=os.access in os.supports_effective_ids):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
        if not stat.S_ISREG(before.st_mode):
            raise OSError(errno.EINVAL, os.strerror(errno.EINVAL))
        is_ours = before.st_uid == os.geteuid() if hasattr(os, "geteuid") else True
        if before.st_nlink == 1 and is_ours:
            try:
                return _write_whole(target, data, owner=before, sync=False)
            except UnwritableError as error:
                if not isinstance(error.__cause__, PermissionError):  # the directory takes no new file
                    raise
        target.write_bytes(data)
    except OSError as error:
        raise unwritable(path, error) from error


def _write_whole(
    target: Path,
    data: bytes | Iterable[bytes],
    *,
    owner: os.stat_result | None,
    mode: int | None = None,
    sync: bool,
    unfinished: Path | None = None,
) -> None:
    created = _ANY_NEW_FILE if mode is None else mode
    with _written_beside(target, data, owner=owner, unfinished=unfinished, mode=created, sync=sync) as fresh:
        if mode is not None:
            os.chmod(fresh.path, mode)  # noqa: PTH101 - the mask of the process does not count, nor does the file's mode before
        fresh.move_to(target, sync=sync)
    os.close(fresh.descriptor)


def move_file(path: Path, to: Path) -> None:
    """Give a file another name. Raises UnwritableError."""
    try:
        os.replace(path, to)  # noqa: PTH105
    except OSError as error:
        raise unwritable(path, error) from error


def remove_file(path: Path) -> None:
    """Delete a file that no client uses; one that is not there is fine. Raises UnwritableError."""
    try:
        path.unlink(missing_ok=True)
    except OSError as error:
        raise UnwritableError(f"cannot delete {path}: {error.strerror}", path=path) from error


def unfinished_beside(path: Path) -> Path:
    """A free name for a file that is not yet, or no longer, in its place."""
    # Hidden and not *.jsonl, so that clients do not take it for a session.
    return path.with_name(f"{UNFINISHED}{os.urandom(8).hex()}.tmp")


def stage_file(
    path: Path,
    data: bytes | Iterable[bytes],
    *,
    unfinished: Path,
    modified_ns: int | None = None,
    mode: int | None = None,
) -> StagedFile:
    """Write a whole file beside its place, under the name `unfinished`; the directory must exist. Raises UnwritableError.

    `mode`: the permissions of a new file; one that is replaced keeps its own.
    """
    import hashlib  # OpenSSL: most commands write nothing

    digest, size = hashlib.sha256(), 0

    def counted() -> Iterator[bytes]:
        nonlocal size
        for part in (data,) if isinstance(data, bytes) else data:
            digest.update(part)
            size += len(part)
            yield part

    owner = owner_of(path)
    with _written_beside(path, counted(), owner=owner, unfinished=unfinished) as fresh:
        if mode is not None and not (owner and stat.S_ISREG(owner.st_mode)):
            os.chmod(unfinished, mode)  # noqa: PTH101
        if modified_ns is not None:
            os.utime(unfinished, ns=(modified_ns, modified_ns))
    os.close(fresh.descriptor)
    return StagedFile(path, unfinished, size, digest.hexdigest())


def put_in_place(staged: StagedFile, *, expect: FileState | None, timeout: float = LOCK_TIMEOUT) -> None:
    """Give a staged file its name. Refuses when the file there is no longer in the state `expect`; None: there must be none.

    What a client appends to the old file meanwhile is carried over. Raises BusyError, UnwritableError.
    """
    if expect is not None:
        with lock(staged.path, timeout=timeout) as locked:
            locked.put_in_place(staged, expect=expect)
        return
    try:
        _move_to_free(staged.unfinished, staged.path)
    except FileExistsError as error:
        raise changed(staged.path) from error
    except OSError as error:
        raise unwritable(staged.path, error) from error
    sync_folder(staged.path.parent)


def _move_to_free(path: Path, to: Path) -> None:
    """Give a file a name that no file has, not even one that another process makes meanwhile. Raises FileExistsError."""
    if sys.platform == "win32":
        path.rename(to)
        return
    try:
        os.link(path, to)
    except OSError as error:
        if isinstance(error, FileExistsError | FileNotFoundError):
            raise
        # A file system without hard links.
        if os.path.lexists(to):
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST)) from error
        os.replace(path, to)  # noqa: PTH105
        return
    path.unlink()


def delete_file(path: Path, *, expect: FileState, unfinished: Path | None = None, timeout: float = LOCK_TIMEOUT) -> None:
    """Delete a file that is still in the state `expect`; a client that appends to it meanwhile keeps it.

    For a moment, or after a crash, it is called `unfinished`. Raises BusyError, UnwritableError.
    """
    if path.is_symlink():
        raise UnwritableError(f"{path} is a link; steno does not delete links", path=path)
    aside = unfinished or unfinished_beside(path)
    try:
        descriptor = open_locked(path, timeout, _LOOK_FLAGS)
        try:
            check_unchanged(path, expect, os.fstat(descriptor))
            if sys.platform == "win32":  # which can't move an open file
                os.close(descriptor)
                descriptor = -1
            os.replace(path, aside)  # noqa: PTH105
            try:
                # No client finds it under its new name; one may have written just before.
                check_unchanged(path, expect, os.stat(aside))  # noqa: PTH116
            except BusyError:
                os.replace(aside, path)  # noqa: PTH105
                raise
            os.unlink(aside)  # noqa: PTH108
        finally:
            if descriptor >= 0:
                os.close(descriptor)
    except OSError as error:
        raise unwritable(path, error) from error
    sync_folder(path.parent)


def discard(unfinished: Path) -> None:
    """Delete what was staged and never put in place. Raises UsageError for anything else, UnwritableError."""
    if not unfinished.name.startswith(UNFINISHED):
        raise UsageError(f"{unfinished} is not an unfinished file")
    try:
        unfinished.unlink(missing_ok=True)
    except NotADirectoryError:
        return
    except OSError as error:
        raise unwritable(unfinished, error) from error


def _target(path: Path) -> Path:
    return Path(os.path.realpath(path)) if path.is_symlink() else path


def _join(lines: Sequence[bytes]) -> bytes:
    if any(b"\n" in line for line in lines):
        raise UsageError("a line to append contains a newline; pass one line at a time")
    return b"".join([part for line in lines for part in (line, b"\n")])


def _last_byte(descriptor: int) -> bytes:
    os.lseek(descriptor, -1, os.SEEK_END)
    return os.read(descriptor, 1)


def _append_or_undo(descriptor: int, size: int, data: bytes) -> None:
    written = 0
    try:
        while written < len(data):
            written += os.write(descriptor, memoryview(data)[written:])
    except BaseException:
        # Only our own bytes: a client may have appended after them.
        if written and os.fstat(descriptor).st_size == size + written:
            os.ftruncate(descriptor, size)
        raise


def _create(path: Path, data: bytes) -> int:
    try:
        descriptor = os.open(path, _CREATE_FLAGS | os.O_APPEND, PRIVATE)
    except OSError as error:
        raise unwritable(path, error) from error
    try:
        lock_until(descriptor, path, time.monotonic())
        _append_or_undo(descriptor, 0, data)
    except BaseException as error:
        os.close(descriptor)
        path.unlink(missing_ok=True)
        if isinstance(error, OSError):
            raise unwritable(path, error) from error
        raise
    os.close(descriptor)
    return 0


class _Fresh:
    def __init__(self, path: Path, descriptor: int) -> None:
        self.path = path
        self.descriptor = descriptor

    def move_to(self, path: Path, *, sync: bool = True) -> None:
        if sys.platform == "win32":  # which can't move an open file
            os.close(self.descriptor)
            self.descriptor = -1
            os.replace(self.path, path)  # noqa: PTH105
            self.descriptor = open_locked(path, LOCK_TIMEOUT, _APPEND_FLAGS)
        else:
            os.replace(self.path, path)  # noqa: PTH105
            if sync:
                sync_folder(path.parent)


@contextlib.contextmanager
def _written_beside(
    path: Path,
    data: bytes | Iterable[bytes],
    *,
    owner: os.stat_result | None,
    unfinished: Path | None = None,
    mode: int = PRIVATE,
    sync: bool = True,
) -> Iterator[_Fresh]:
    unfinished = unfinished or unfinished_beside(path)
    try:
        fresh = _Fresh(unfinished, os.open(unfinished, _CREATE_FLAGS | os.O_APPEND, mode))
    except OSError as error:
        raise unwritable(path, error) from error
    try:
        try_lock(fresh.descriptor)
        _keep_owner(fresh.descriptor, path, owner)
        for part in (data,) if isinstance(data, bytes) else data:
            write_all(fresh.descriptor, part)
        if sync:
            os.fsync(fresh.descriptor)
        yield fresh
    except BaseException as error:
        if fresh.descriptor >= 0:
            os.close(fresh.descriptor)
        with contextlib.suppress(OSError):
            os.unlink(unfinished)  # noqa: PTH108
        if isinstance(error, OSError):
            raise unwritable(path, error) from error
        raise


def _keep_owner(descriptor: int, path: Path, owner: os.stat_result | None) -> None:
    """A file rewritten by root stays its user's, with its mode; where that fails the user would lose it, so it is refused."""
    if sys.platform == "win32" or owner is None:
        return
    if stat.S_ISREG(owner.st_mode):
        os.fchmod(descriptor, stat.S_IMODE(owner.st_mode))
    now = os.fstat(descriptor)
    if (now.st_uid, now.st_gid) == (owner.st_uid, owner.st_gid):
        return
    try:
        os.fchown(descriptor, owner.st_uid, owner.st_gid)
    except OSError as error:
        if now.st_uid == owner.st_uid:
            return  # only the group differs
        raise UnwritableError(f"{path} belongs to another user", hint="run steno as that user", path=path) from error


def write_all(descriptor: int, data: bytes) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(descriptor, rest) :]
