from __future__ import annotations

import contextlib
import errno
import os
import signal
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.disk.conftest import NOBODY, Unprivileged

from stenograph.disk import (
    FileState,
    append_lines,
    delete_file,
    lock,
    mode_of,
    move_file,
    put_in_place,
    read_lines,
    remove_file,
    replace_file,
    stage_file,
    state_of,
    unfinished_beside,
    write_atomically,
    write_user_file,
)
from stenograph.errors import BusyError, UnreadableError, UnwritableError, UsageError


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "folder" / "session.jsonl"
    path.parent.mkdir()
    path.write_bytes(b"old\n")
    return path


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def run_child(code: str, *args: object) -> subprocess.Popen[bytes]:
    """A process of its own that runs some code, with the same modules to import."""
    environ = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    return subprocess.Popen([sys.executable, "-c", code, *map(str, args)], env=environ, stdout=subprocess.PIPE)


def fail(number: int) -> Callable[..., int]:
    def failing(*_: object, **__: object) -> int:
        raise OSError(number, os.strerror(number))

    return failing


def write_then_fail(limit: int, number: int) -> Callable[[int, bytes], int]:
    """An os.write that takes so many bytes in all, in short writes, and then fails: a disk that fills up."""
    left = limit
    real = os.write

    def write(descriptor: int, data: bytes) -> int:
        nonlocal left
        if not left:
            raise OSError(number, os.strerror(number))
        written = real(descriptor, bytes(data)[: min(left, 3)])
        left -= written
        return written

    return write


# replace


@pytest.mark.parametrize("who_may_read", [0o600, 0o640, 0o644])
def test_replacing_puts_the_new_bytes_in_place_for_whoever_could_read_the_old_ones(file: Path, who_may_read: int) -> None:
    file.chmod(who_may_read)
    state = replace_file(file, b"new\n")
    assert file.read_bytes() == b"new\n"
    assert mode(file) == who_may_read
    assert state == state_of(file)
    assert names(file.parent) == ["session.jsonl"]


def test_replacing_makes_a_file_that_is_not_there(tmp_path: Path) -> None:
    state = replace_file(tmp_path / "fresh.jsonl", [b"a\n", b"", b"b\n"])
    assert (tmp_path / "fresh.jsonl").read_bytes() == b"a\nb\n"
    assert mode(tmp_path / "fresh.jsonl") == 0o600
    assert state.size == 4
    assert names(tmp_path) == ["fresh.jsonl"]


def test_replacing_waits_for_the_disk_to_hold_the_file_and_then_its_name(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    done: list[str] = []
    fsync, replace = os.fsync, os.replace

    def noting_fsync(descriptor: int) -> None:
        fsync(descriptor)
        done.append("folder" if stat.S_ISDIR(os.fstat(descriptor).st_mode) else "file")

    def noting_replace(old: Path, new: Path) -> None:
        replace(old, new)
        done.append("name")

    monkeypatch.setattr(os, "fsync", noting_fsync)
    monkeypatch.setattr(os, "replace", noting_replace)
    replace_file(file, b"new\n")
    assert done == ["file", "name", "folder"]


def test_replacing_through_a_link_keeps_the_link(file: Path, tmp_path: Path) -> None:
    link = tmp_path / "link.jsonl"
    link.symlink_to(file)
    replace_file(link, b"new\n", expect=state_of(link))
    assert link.is_symlink()
    assert file.read_bytes() == b"new\n"
    assert names(tmp_path) == ["folder", "link.jsonl"]


@pytest.mark.parametrize("function", ["replace", "fsync", "open"])
@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EIO, errno.EACCES])
def test_a_replace_that_fails_leaves_the_old_file_and_nothing_else(
    file: Path, monkeypatch: pytest.MonkeyPatch, function: str, number: int
) -> None:
    monkeypatch.setattr(os, function, fail(number))
    with pytest.raises(UnwritableError, match=os.strerror(number)) as caught:
        replace_file(file, b"new\n")
    monkeypatch.undo()
    assert caught.value.path == file
    assert file.read_bytes() == b"old\n"
    assert names(file.parent) == ["session.jsonl"]


def test_a_disk_that_fills_up_during_a_replace_leaves_the_old_file(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "write", write_then_fail(7, errno.ENOSPC))
    with pytest.raises(UnwritableError, match="No space left"):
        replace_file(file, b"new and long\n")
    assert file.read_bytes() == b"old\n"
    assert names(file.parent) == ["session.jsonl"]


def test_short_writes_are_carried_on(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "write", write_then_fail(1000, errno.ENOSPC))
    replace_file(file, [b"new and long\n", b"more\n"])
    append_lines(file, [b"appended"])
    assert file.read_bytes() == b"new and long\nmore\nappended\n"


def test_a_source_that_fails_leaves_the_old_file(file: Path) -> None:
    def parts() -> Iterator[bytes]:
        yield b"new\n"
        raise UsageError("no more")

    with pytest.raises(UsageError, match="no more"):
        replace_file(file, parts())
    assert file.read_bytes() == b"old\n"
    assert names(file.parent) == ["session.jsonl"]


def test_a_file_in_the_expected_state_is_replaced(file: Path) -> None:
    first = replace_file(file, b"one\n", expect=state_of(file))
    replace_file(file, b"two\n", expect=first)
    assert file.read_bytes() == b"two\n"


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(lambda path: path.write_bytes(b"longer\n"), id="size"),
        pytest.param(lambda path: os.utime(path, ns=(5, 5)), id="time"),
        pytest.param(lambda path: path.unlink(), id="gone"),
    ],
)
def test_a_file_that_changed_is_not_replaced(file: Path, change: Callable[[Path], object]) -> None:
    expect = state_of(file)
    change(file)
    before = file.read_bytes() if file.exists() else None
    source = iter([b"new\n"])
    with pytest.raises(BusyError, match="changed after it was read"):
        replace_file(file, source, expect=expect)
    assert list(source) == [b"new\n"], "refused before anything was prepared"
    assert (file.read_bytes() if file.exists() else None) == before
    assert not list(file.parent.glob(".steno-*"))


def test_another_file_of_the_same_size_and_time_is_not_replaced(file: Path) -> None:
    expect = state_of(file)
    other = file.with_name("other")
    other.write_bytes(b"new\n")
    os.utime(other, ns=(expect.mtime_ns, expect.mtime_ns))
    other.rename(file)
    assert (state_of(file).size, state_of(file).mtime_ns) == (expect.size, expect.mtime_ns)
    with pytest.raises(BusyError):
        replace_file(file, b"ours\n", expect=expect)


def test_a_line_that_a_client_appends_while_the_new_bytes_are_prepared_is_not_lost(file: Path) -> None:
    def parts() -> Iterator[bytes]:
        yield b"new\n"
        with file.open("ab") as client:  # clients take no lock
            client.write(b"from the client\n")

    with pytest.raises(BusyError):
        replace_file(file, parts(), expect=state_of(file))
    assert file.read_bytes() == b"old\nfrom the client\n"
    assert names(file.parent) == ["session.jsonl"]


@pytest.mark.skipif(sys.platform == "win32" or os.geteuid() != 0, reason="only root may give files away")
def test_a_file_rewritten_by_root_stays_its_users_own(file: Path) -> None:
    file.chmod(0o600)
    os.chown(file, NOBODY, NOBODY)
    replace_file(file, b"new\n")
    assert (file.stat().st_uid, file.stat().st_gid, mode(file)) == (NOBODY, NOBODY, 0o600)


@pytest.mark.skipif(sys.platform == "win32" or os.geteuid() != 0, reason="needs files of two users")
def test_a_user_does_not_take_over_the_file_of_another(open_folder: Path, unprivileged: Unprivileged) -> None:
    open_folder.chmod(0o777)
    file = open_folder / "session.jsonl"
    file.write_bytes(b"of root\n")
    file.chmod(0o666)
    with unprivileged(), pytest.raises(UnwritableError, match="belongs to another user"):
        replace_file(file, b"new\n")
    assert file.read_bytes() == b"of root\n"
    assert names(open_folder) == ["session.jsonl"]


def test_a_read_only_folder_takes_no_new_file_but_its_files_take_lines(open_folder: Path, unprivileged: Unprivileged) -> None:
    file = open_folder / "session.jsonl"
    file.write_bytes(b"old\n")
    if os.geteuid() == 0:
        os.chown(file, NOBODY, NOBODY)
    open_folder.chmod(0o555)
    with unprivileged():
        with pytest.raises(UnwritableError, match="Permission denied"):
            replace_file(file, b"new\n")
        with pytest.raises(UnwritableError, match="Permission denied"):
            append_lines(open_folder / "fresh.jsonl", [b"x"], create=True)
        append_lines(file, [b"appended"])
    assert file.read_bytes() == b"old\nappended\n"
    assert names(open_folder) == ["session.jsonl"]


def test_a_read_only_file_is_refused(open_folder: Path, unprivileged: Unprivileged) -> None:
    file = open_folder / "session.jsonl"
    file.write_bytes(b"old\n")
    file.chmod(0o444)
    with unprivileged():
        for write in (lambda: append_lines(file, [b"x"]), lambda: replace_file(file, b"new\n")):
            with pytest.raises(UnwritableError, match="Permission denied"):
                write()
    assert file.read_bytes() == b"old\n"


@pytest.mark.skipif(sys.platform == "win32", reason="SIGKILL is of POSIX systems")
def test_a_process_killed_while_it_replaces_leaves_the_old_or_the_new_file(file: Path) -> None:
    old, new = b"o" * 3_000_000, b"n" * 3_000_000
    file.write_bytes(old)
    code = (
        "import sys; from pathlib import Path; from stenograph.disk import replace_file\n"
        "print(flush=True)\n"
        "while True:\n"
        "    for letter in (b'n', b'o'): replace_file(Path(sys.argv[1]), (letter * 30_000 for _ in range(100)))\n"
    )
    seen_unfinished = False
    for attempt in range(8):
        child = run_child(code, file)
        assert child.stdout is not None
        child.stdout.readline()
        time.sleep(0.01 + attempt * 0.007)
        child.send_signal(signal.SIGKILL)
        child.wait()
        child.stdout.close()
        assert file.read_bytes() in (old, new)
        seen_unfinished |= len(names(file.parent)) > 1
    # The lock died with its holder, and an unfinished file is in nobody's way.
    replace_file(file, b"after\n", timeout=0)
    assert file.read_bytes() == b"after\n"
    assert seen_unfinished, "no attempt was killed in the middle: the test proves nothing"


# append


def test_lines_are_appended_after_the_last(file: Path) -> None:
    assert append_lines(file, [b"one", b"two"]) == 4
    assert file.read_bytes() == b"old\none\ntwo\n"


def test_a_missing_final_newline_is_mended_first(file: Path) -> None:
    file.write_bytes(b"torn")
    assert append_lines(file, [b"one"]) == 5
    assert file.read_bytes() == b"torn\none\n"


def test_an_empty_file_needs_no_mending(file: Path) -> None:
    file.write_bytes(b"")
    assert append_lines(file, [b"one"]) == 0
    assert file.read_bytes() == b"one\n"


def test_appending_nothing_changes_nothing(file: Path) -> None:
    file.write_bytes(b"torn")
    append_lines(file, [])
    assert file.read_bytes() == b"torn"


def test_appending_is_one_write(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    writes: list[bytes] = []
    real = os.write

    def write(descriptor: int, data: bytes) -> int:
        writes.append(bytes(data))
        return real(descriptor, data)

    monkeypatch.setattr(os, "write", write)
    file.write_bytes(b"torn")
    append_lines(file, [b"one", b"two"])
    assert writes == [b"\none\ntwo\n"]


def test_a_line_with_a_newline_inside_is_refused(file: Path) -> None:
    with pytest.raises(UsageError):
        append_lines(file, [b"fine", b"two\nlines"])
    assert file.read_bytes() == b"old\n"


def test_appending_makes_no_file_unless_asked(file: Path) -> None:
    missing = file.with_name("missing.jsonl")
    with pytest.raises(UnwritableError, match="No such file") as caught:
        append_lines(missing, [b"x"])
    assert caught.value.path == missing
    assert not missing.exists()


def test_a_file_made_by_appending_is_for_the_owner_alone(file: Path) -> None:
    fresh = file.with_name("fresh.jsonl")
    assert append_lines(fresh, [b"one", b"two"], create=True) == 0
    assert fresh.read_bytes() == b"one\ntwo\n"
    assert mode(fresh) == 0o600


def test_making_a_file_that_exists_is_refused(file: Path) -> None:
    with pytest.raises(UnwritableError, match="File exists"):
        append_lines(file, [b"x"], create=True)
    assert file.read_bytes() == b"old\n"


def test_making_a_file_on_a_full_disk_leaves_none(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "write", write_then_fail(2, errno.ENOSPC))
    with pytest.raises(UnwritableError, match="No space left"):
        append_lines(file.with_name("fresh.jsonl"), [b"one"], create=True)
    assert names(file.parent) == ["session.jsonl"]


@pytest.mark.parametrize("limit", range(8))
def test_a_disk_that_fills_up_leaves_no_torn_line(file: Path, monkeypatch: pytest.MonkeyPatch, limit: int) -> None:
    file.write_bytes(b"torn")
    monkeypatch.setattr(os, "write", write_then_fail(limit, errno.ENOSPC))
    with pytest.raises(UnwritableError, match="No space left"):
        append_lines(file, [b"one", b"two"])
    assert file.read_bytes() == b"torn"


def test_undoing_never_cuts_off_what_a_client_appended_meanwhile(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = os.write
    calls = 0

    def write(descriptor: int, data: bytes) -> int:
        nonlocal calls
        calls += 1
        if calls > 1:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        written = real(descriptor, bytes(data)[:2])
        with file.open("ab") as client:
            client.write(b"\nfrom the client\n")
        return written

    monkeypatch.setattr(os, "write", write)
    with pytest.raises(UnwritableError):
        append_lines(file, [b"ours"])
    assert file.read_bytes().endswith(b"\nfrom the client\n")


@pytest.mark.skipif(sys.platform == "win32", reason="RLIMIT_FSIZE is of POSIX systems")
def test_a_real_limit_of_the_system_leaves_no_torn_line(file: Path) -> None:
    """Not simulated: the kernel takes a part of the write and refuses the rest."""
    file.write_bytes(b"x" * 1000 + b"\n")
    code = (
        "import resource, sys; from pathlib import Path; from stenograph.disk import append_lines, replace_file\n"
        "from stenograph.errors import UnwritableError\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))\n"
        "for write in (lambda p: append_lines(p, [b'y' * 9000]), lambda p: replace_file(p, b'z' * 9000)):\n"
        "    try: write(Path(sys.argv[1]))\n"
        "    except UnwritableError as error: print(str(error).rpartition(': ')[2])\n"
    )
    child = run_child(code, file)
    output, _ = child.communicate(timeout=60)
    assert output.decode().splitlines() == [os.strerror(errno.EFBIG)] * 2
    assert file.read_bytes() == b"x" * 1000 + b"\n"
    assert names(file.parent) == ["session.jsonl"]


@pytest.fixture
def tiny_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 64 kB, where the system lets one be mounted."""
    folder = tmp_path / "tiny"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(folder)]
    try:
        mounted = subprocess.run(mount, capture_output=True, check=False).returncode == 0
    except FileNotFoundError:
        mounted = False
    if not mounted:
        pytest.skip("mounting a tmpfs takes root on Linux; the limit of the system above is tested instead")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


def test_a_full_disk_leaves_the_file_as_it_was(tiny_disk: Path) -> None:
    file = tiny_disk / "session.jsonl"
    file.write_bytes(b"old\n")
    with pytest.raises(UnwritableError, match="No space left"):
        append_lines(file, [b"x" * 100_000])
    with pytest.raises(UnwritableError, match="No space left"):
        replace_file(file, b"x" * 100_000)
    with pytest.raises(UnwritableError, match="No space left"):
        append_lines(tiny_disk / "fresh.jsonl", [b"x" * 100_000], create=True)
    assert file.read_bytes() == b"old\n"
    assert names(tiny_disk) == ["session.jsonl"]


def test_two_processes_append_without_mixing_their_lines(file: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from stenograph.disk import append_lines\n"
        "print(flush=True); sys.stdin.readline()\n"
        "for n in range(250):\n"
        "    line = f'{sys.argv[2]} {n} '.encode() + sys.argv[2].encode() * 5000\n"
        "    append_lines(Path(sys.argv[1]), [line, line], timeout=60)\n"
    )
    environ = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    children = [
        subprocess.Popen(
            [sys.executable, "-c", code, str(file), name], env=environ, stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        for name in "ab"
    ]
    for child in children:  # both are ready before either begins
        assert child.stdout is not None
        child.stdout.readline()
    for child in children:
        child.communicate(b"\n", timeout=120)
        assert child.returncode == 0
    lines = [line.data for line in read_lines(file)][1:]
    assert len(lines) == 1000
    for name in (b"a", b"b"):
        ours = [line for line in lines if line.startswith(name)]
        assert ours == [b"%s %d " % (name, n // 2) + name * 5000 for n in range(500)]
    assert lines[::2] == lines[1::2], "the two lines of one call stand together"


# lock


def test_a_held_lock_times_out_in_one_line(file: Path) -> None:
    with lock(file):
        for write in (
            lambda: append_lines(file, [b"x"], timeout=0.05),
            lambda: replace_file(file, b"x\n", timeout=0.05),
        ):
            started = time.monotonic()
            with pytest.raises(BusyError, match="another process") as caught:
                write()
            assert 0.05 <= time.monotonic() - started < 5
            assert caught.value.path == file
    append_lines(file, [b"free again"], timeout=0)
    assert file.read_bytes() == b"old\nfree again\n"


def test_a_lock_is_held_against_other_processes(file: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from stenograph.disk import append_lines\n"
        "from stenograph.errors import BusyError\n"
        "try: append_lines(Path(sys.argv[1]), [b'x'], timeout=0)\n"
        "except BusyError: print('busy')\n"
    )
    with lock(file):
        output, _ = run_child(code, file).communicate(timeout=60)
    assert output.strip() == b"busy"
    assert file.read_bytes() == b"old\n"


def test_the_holder_of_a_lock_writes_through_it(file: Path) -> None:
    with lock(file) as locked:
        assert locked.state() == state_of(file)
        locked.append_lines([b"one"])
        locked.replace(b"two\n", expect=state_of(file))
        with pytest.raises(BusyError):  # the lock moved on to the new file
            append_lines(file, [b"x"], timeout=0)
        locked.append_lines([b"three"])
    assert file.read_bytes() == b"two\nthree\n"


def test_whoever_waited_for_a_replaced_file_gets_the_new_one(file: Path) -> None:
    waiting = threading.Thread(target=append_lines, args=(file, [b"from the waiting"]), kwargs={"timeout": 30})
    with lock(file) as locked:
        waiting.start()
        time.sleep(0.1)
        locked.replace(b"new\n")
    waiting.join()
    assert file.read_bytes() == b"new\nfrom the waiting\n"


def test_whoever_waited_for_a_file_that_is_gone_is_told(file: Path) -> None:
    failures: list[BaseException] = []

    def wait() -> None:
        try:
            append_lines(file, [b"x"], timeout=30)
        except UnwritableError as error:
            failures.append(error)

    waiting = threading.Thread(target=wait)
    with lock(file):
        waiting.start()
        time.sleep(0.1)
        file.unlink()
    waiting.join()
    assert len(failures) == 1
    assert not file.exists()


def test_a_file_system_without_locks_is_told(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fcntl = pytest.importorskip("fcntl", reason="Windows locks otherwise")
    monkeypatch.setattr(fcntl, "flock", fail(errno.ENOLCK))
    with pytest.raises(UnwritableError, match="cannot lock"):
        append_lines(file, [b"x"])
    assert file.read_bytes() == b"old\n"


@pytest.mark.skipif(sys.platform == "win32", reason="named pipes are of POSIX systems")
def test_what_is_no_file_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    for name in ("pipe", "folder"):
        for write in (append_lines, replace_file):
            with pytest.raises(UnwritableError):
                write(tmp_path / name, [b"x"])
    assert names(tmp_path) == ["folder", "pipe"]


def test_no_file_stays_open(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    descriptors = Path("/proc/self/fd")
    if not descriptors.exists():
        pytest.skip("needs /proc to count open files")
    before = len(list(descriptors.iterdir()))
    append_lines(file, [b"x"])
    append_lines(file.with_name("fresh.jsonl"), [b"x"], create=True)
    replace_file(file, b"new\n")
    replace_file(file.with_name("other.jsonl"), b"new\n")
    monkeypatch.setattr(os, "replace", fail(errno.EIO))
    for path in (file, file.with_name("third.jsonl")):
        with contextlib.suppress(UnwritableError):
            replace_file(path, b"new\n")
    with lock(file), contextlib.suppress(BusyError):
        append_lines(file, [b"x"], timeout=0)
    assert len(list(descriptors.iterdir())) == before


def test_the_state_of_a_missing_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UnreadableError):
        state_of(tmp_path / "missing")


def test_the_state_is_that_of_the_file_a_link_points_to(file: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(file)
    status = file.stat()
    assert state_of(tmp_path / "link") == FileState(4, status.st_mtime_ns, status.st_ino)


# Whole files of our own, and of a project


def test_a_file_of_our_own_is_written_at_once_with_the_mode_asked_for(tmp_path: Path) -> None:
    path = tmp_path / "a"
    write_atomically(path, b"one", mode=0o600)
    assert (path.read_bytes(), stat.S_IMODE(path.stat().st_mode)) == (b"one", 0o600)
    path.chmod(0o640)
    write_atomically(path, iter([b"t", b"wo"]), sync=False)
    assert (path.read_bytes(), stat.S_IMODE(path.stat().st_mode)) == (b"two", 0o640)
    link = tmp_path / "link"
    link.symlink_to(path)
    write_atomically(link, b"three")
    assert link.is_symlink()
    assert path.read_bytes() == b"three"
    assert sorted(each.name for each in tmp_path.iterdir()) == ["a", "link"]


def test_what_fails_while_it_is_made_leaves_the_file_as_it_was(tmp_path: Path) -> None:
    def parts() -> Iterator[bytes]:
        yield b"new"
        raise BusyError("no", path=tmp_path)

    path = tmp_path / "a"
    path.write_bytes(b"old")
    with pytest.raises(BusyError):
        write_atomically(path, parts())
    assert [(each.name, each.read_bytes()) for each in tmp_path.iterdir()] == [("a", b"old")]
    with pytest.raises(UnwritableError, match="cannot write to"):
        write_atomically(tmp_path / "none" / "a", b"")


def test_a_new_file_has_the_mode_of_any_new_file(tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        write_atomically(tmp_path / "own", b"")
        write_user_file(tmp_path / "sub" / "user", b"")
    finally:
        os.umask(before)
    assert [stat.S_IMODE((tmp_path / name).stat().st_mode) for name in ("own", "sub/user")] == [0o640, 0o640]


def test_a_file_of_a_project_stays_what_it_is(tmp_path: Path) -> None:
    path, other = tmp_path / "a", tmp_path / "b"
    path.write_bytes(b"old")
    path.chmod(0o755)
    write_user_file(path, b"new")
    assert (path.read_bytes(), stat.S_IMODE(path.stat().st_mode)) == (b"new", 0o755)
    other.hardlink_to(path)
    write_user_file(path, b"both")
    assert (other.read_bytes(), path.stat().st_ino) == (b"both", other.stat().st_ino)
    with pytest.raises(UnwritableError) as raised:
        write_user_file(tmp_path, b"")
    assert isinstance(raised.value.__cause__, OSError)


def test_moved_and_removed_files_are_gone(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"x")
    move_file(path, tmp_path / "b")
    remove_file(tmp_path / "b")
    remove_file(tmp_path / "b")
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(UnwritableError):
        move_file(path, tmp_path / "b")
    with pytest.raises(UnwritableError, match="cannot delete"):
        remove_file(tmp_path)


def test_a_lock_file_can_be_made(tmp_path: Path) -> None:
    path = tmp_path / "sub" / "lock"
    with lock(path, create=True), pytest.raises(BusyError), lock(path, timeout=0):
        pass
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


# A client, which takes no lock, in the very moment


def _just_before_it_is_moved(monkeypatch: pytest.MonkeyPatch, file: Path, line: bytes) -> None:
    """A client appends a line after the last look at the file."""
    move = os.replace

    def appended(source: Path, target: Path) -> None:
        if file in (Path(source), Path(target)) and file.exists() and line not in file.read_bytes():
            with file.open("ab") as client:
                client.write(line)
        move(source, target)

    monkeypatch.setattr(os, "replace", appended)


@pytest.mark.skipif(sys.platform == "win32", reason="an open file cannot be replaced there")
@pytest.mark.parametrize("is_staged", [False, True])
def test_what_a_client_appends_at_the_last_moment_is_in_the_new_file(
    file: Path, monkeypatch: pytest.MonkeyPatch, is_staged: bool
) -> None:
    state = state_of(file)
    _just_before_it_is_moved(monkeypatch, file, b"late\n")
    if is_staged:
        put_in_place(stage_file(file, b"new\n", unfinished=unfinished_beside(file)), expect=state)
    else:
        replace_file(file, b"new\n", expect=state)
    assert file.read_bytes() == b"new\nlate\n"


def test_a_file_that_a_client_appends_to_at_the_last_moment_is_not_deleted(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before, state = file.read_bytes(), state_of(file)
    _just_before_it_is_moved(monkeypatch, file, b"late\n")
    with pytest.raises(BusyError):
        delete_file(file, expect=state)
    assert file.read_bytes() == before + b"late\n"
    assert [path.name for path in file.parent.iterdir()] == [file.name]


# The time of change


def test_a_line_beside_the_conversation_keeps_the_time_of_change_unless_a_client_wrote_too(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    os.utime(file, (1_000_000_000, 1_000_000_000))
    with lock(file) as locked:
        locked.append_lines([b"label"], keep_time=True)
        assert file.stat().st_mtime == 1_000_000_000
        write = os.write

        def beside_a_client(descriptor: int, data: bytes) -> int:
            written = write(descriptor, data)
            with file.open("ab", buffering=0) as client:
                write(client.fileno(), b"late\n")
            return written

        monkeypatch.setattr(os, "write", beside_a_client)
        locked.append_lines([b"label"], keep_time=True)
    assert file.stat().st_mtime > 1_000_000_000


def test_a_staged_file_gets_the_mode_asked_for_only_where_there_is_none(file: Path) -> None:
    file.chmod(0o640)
    for path, mode in ((file, 0o640), (file.with_name("new"), 0o755)):
        put_in_place(
            stage_file(path, b"x", unfinished=unfinished_beside(path), mode=0o755),
            expect=state_of(path) if path.exists() else None,
        )
        assert path.stat().st_mode & 0o777 == mode


def test_a_staged_file_that_cannot_be_moved_leaves_no_file_open(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    staged = stage_file(file, b"new\n", unfinished=unfinished_beside(file))
    opened = len(list(Path("/dev/fd").glob("*")))

    def fail(*_: object) -> None:
        raise OSError(errno.EIO, "broken")

    with lock(file) as locked:
        state = locked.state()
        monkeypatch.setattr(os, "replace", fail)
        with pytest.raises(UnwritableError):
            locked.put_in_place(staged, expect=state)
    assert len(list(Path("/dev/fd").glob("*"))) == opened


def test_a_users_file_that_cannot_be_replaced_for_another_reason_is_not_overwritten(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "user"
    path.write_bytes(b"old")

    def fail(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, "full")

    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(UnwritableError):
        write_user_file(path, b"new")
    assert path.read_bytes() == b"old"


def test_a_new_file_of_a_users_project_gets_the_mode_that_any_program_would_give_it(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        write_user_file(tmp_path / "user", b"x")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "user").stat().st_mode) == 0o666


def test_a_users_file_is_replaced_where_the_system_knows_no_users(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "user"
    path.write_bytes(b"old")
    before = path.stat().st_ino
    monkeypatch.delattr(os, "geteuid")
    write_user_file(path, b"new")
    assert path.read_bytes() == b"new"
    assert path.stat().st_ino != before


def test_a_new_file_never_takes_the_place_of_one_that_another_process_made_meanwhile(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "session.jsonl"
    staged = stage_file(file, b"ours\n", unfinished=unfinished_beside(file))
    monkeypatch.setattr(os.path, "lexists", lambda _: False)  # as it was a moment ago
    file.write_bytes(b"theirs\n")
    with pytest.raises(BusyError):
        put_in_place(staged, expect=None)
    assert file.read_bytes() == b"theirs\n"


def test_a_new_file_gets_its_name_where_there_are_no_hard_links(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: object) -> None:
        raise PermissionError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(os, "link", refused)
    file = tmp_path / "session.jsonl"
    put_in_place(stage_file(file, b"one\n", unfinished=unfinished_beside(file)), expect=None)
    assert [(path.name, path.read_bytes()) for path in tmp_path.iterdir()] == [("session.jsonl", b"one\n")]
    staged = stage_file(file, b"two\n", unfinished=unfinished_beside(file))
    with pytest.raises(BusyError):
        put_in_place(staged, expect=None)
    assert file.read_bytes() == b"one\n"


def test_the_mode_of_a_file_that_is_gone_is_an_error_that_names_it(tmp_path: Path) -> None:
    with pytest.raises(UnreadableError, match="gone"):
        mode_of(tmp_path / "gone")
