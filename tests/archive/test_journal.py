from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from tests.archive.families import AGENT, NAME, SESSION, contents

from stenograph.archive import Archive, State
from stenograph.disk import append_lines, replace_file
from stenograph.errors import BusyError, UsageError


def rewrite(archive: Archive, path: Path, data: bytes) -> None:
    with archive.transaction(SESSION, command={"command": "edit"}) as change:
        change.write(path, data)


def stop_after_begun(archive: Archive, project: Path) -> dict[str, bytes | None]:
    """An edit of two files that was stopped when the first had been put in place; the files before it."""
    before = contents(project)
    done = 0
    real = os.replace

    class Stopped(BaseException):
        pass

    def replace(old: Path, new: Path) -> None:
        nonlocal done
        if Path(new).suffix == ".jsonl":
            done += 1
            if done > 1:
                raise Stopped
        real(old, new)

    def settle(*_: object) -> None:
        raise BusyError("a process that was killed settles nothing", path=project)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("stenograph.archive.change.settle", settle)
        patch.setattr(os, "replace", replace)
        with pytest.raises(Stopped):
            edit_two(archive, project)
    return before


def edit_two(archive: Archive, project: Path) -> None:
    with archive.transaction(SESSION, command={"command": "edit"}) as change:
        change.write(project / AGENT, b"new agent\n")
        change.write(project / NAME, b"new session\n")


def test_a_torn_last_line_is_passed_over_and_the_next_stands_alone(archive: Archive, project: Path) -> None:
    rewrite(archive, project / NAME, b"a\n")
    journal = archive.folder / "journal.jsonl"
    with journal.open("ab") as file:
        file.write(b'{"step":"begun","entry":2,"detail":{"num')
    assert [entry.state for entry in archive.entries()] == [State.DONE]
    rewrite(archive, project / NAME, b"b\n")
    assert [(entry.number, entry.state) for entry in archive.entries()] == [(1, State.DONE), (2, State.DONE)]
    (finding,) = archive.findings()
    assert finding.code == "damaged-journal-line"
    assert finding.path == journal


def test_names_that_are_no_utf8_are_kept(archive: Archive, project: Path) -> None:
    path = project / os.fsdecode(b"odd-\xff.txt")
    path.write_bytes(b"old")
    rewrite(archive, path, b"new")
    assert archive.entries()[0].files[0].path == path
    archive.undo(1)
    assert path.read_bytes() == b"old"


def test_the_repr_of_an_entry_says_nothing(archive: Archive, project: Path) -> None:
    with archive.transaction(SESSION, command={"replace": "sk-secret"}, reason="sk-secret") as change:
        change.write(project / NAME, b"a\n")
    assert "sk-secret" not in repr(archive.entries())


def test_a_stopped_edit_is_taken_back_before_the_next_one(archive: Archive, project: Path) -> None:
    before = stop_after_begun(archive, project)
    assert (project / AGENT).read_bytes() == b"new agent\n"
    with archive.transaction(SESSION, command=None) as change:
        pass
    assert [(one.entry.number, one.state) for one in change.recovered] == [(1, State.ROLLED_BACK)]
    assert contents(project) == before
    with pytest.raises(UsageError, match="edit 1 was interrupted and has already been rolled back"):
        archive.undo(1)


def test_what_a_client_appended_to_an_old_file_meanwhile_stays(archive: Archive, project: Path) -> None:
    before = stop_after_begun(archive, project)
    append_lines(project / NAME, [b"{}"])
    (recovery,) = archive.recover()
    assert recovery.state is State.ROLLED_BACK
    assert contents(project) == {**before, NAME: (before[NAME] or b"") + b"{}\n"}


def test_where_a_client_went_on_with_a_new_file_the_edit_is_finished(archive: Archive, project: Path) -> None:
    before = stop_after_begun(archive, project)
    append_lines(project / AGENT, [b"{}"])
    (recovery,) = archive.recover()
    assert recovery.state is State.DONE
    assert contents(project) == {**before, AGENT: b"new agent\n{}\n", NAME: b"new session\n"}


def test_what_somebody_else_rewrote_meanwhile_is_left_and_can_be_restored_elsewhere(
    archive: Archive, project: Path, tmp_path: Path
) -> None:
    before = stop_after_begun(archive, project)
    replace_file(project / AGENT, b"somebody else's\n")
    (recovery,) = archive.recover()
    assert recovery.state is State.LEFT
    assert contents(project) == {**before, AGENT: b"somebody else's\n"}
    assert archive.recover() == []
    with pytest.raises(BusyError, match="nothing was undone; try: get the originals: steno undo --entry 1 --to DIR"):
        archive.undo(1)
    archive.restore(1, tmp_path / "out")
    assert (tmp_path / "out" / AGENT).read_bytes() == before[AGENT]


def test_an_edit_that_cannot_be_settled_now_stops_only_edits_of_its_files(
    archive: Archive, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = stop_after_begun(archive, project)
    with monkeypatch.context() as patch:
        patch.setattr("stenograph.archive.recovery.stage_file", _refuse)
        rewrite(archive, project / "other.txt", b"x")
        with pytest.raises(BusyError, match=r"edit 1 of .* was interrupted and cannot be completed or rolled back; no"):
            rewrite(archive, project / NAME, b"a\n")
    (recovery,) = archive.recover()
    assert recovery.state is State.ROLLED_BACK
    assert contents(project) == {**before, "other.txt": b"x"}


def _refuse(path: Path, *_: object, **__: object) -> None:
    raise BusyError("no", path=path)


WRITER = """
import sys
from pathlib import Path
from stenograph.archive import Archive
from stenograph.disk import read_whole, state_of
from stenograph.errors import BusyError
archive, files = Archive(Path(sys.argv[1])), [Path(name) for name in sys.argv[3:]]
done = 0
while done < 15:
    try:
        with archive.transaction("s", command=None) as change:
            for file in files:
                seen = state_of(file)
                change.write(file, read_whole(file) + f"{sys.argv[2]} {done}\\n".encode(), expect=seen)
        done += 1
    except BusyError:
        pass
"""


def test_two_processes_that_edit_the_same_files_take_turns(archive: Archive, tmp_path: Path) -> None:
    files = [tmp_path / "a.txt", tmp_path / "b.txt"]
    for file in files:
        file.write_bytes(b"")
    environ = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    processes = [
        subprocess.Popen([sys.executable, "-c", WRITER, str(archive.folder), name, *map(str, files)], env=environ)
        for name in "pq"
    ]
    assert [process.wait(timeout=120) for process in processes] == [0, 0]
    first, second = (file.read_text().splitlines() for file in files)
    assert first == second
    assert sorted(first) == sorted(f"{name} {number}" for name in "pq" for number in range(15))
    assert [entry.state for entry in archive.entries()] == [State.DONE] * 30


LARGE = """
import re, sys, time
from pathlib import Path
from stenograph.archive import Archive
def peak():
    return int(re.search(r"VmHWM:\\s+(\\d+) kB", Path("/proc/self/status").read_text())[1])
archive, path = Archive(Path(sys.argv[1])), Path(sys.argv[2])
def blocks():
    with path.open("rb") as file:
        while block := file.read(1 << 20):
            yield block
    yield b"{}\\n"
before = peak()
with archive.transaction("s", command=None) as change:
    change.write(path, blocks())
archive.undo(1)
print(peak() - before)
"""


@pytest.mark.proof
def test_a_large_file_is_edited_and_undone_in_little_memory(archive: Archive, tmp_path: Path) -> None:
    if not Path("/proc/self/status").is_file():
        pytest.skip("peak memory is read from /proc")
    path = tmp_path / "large.txt"
    line = b'{"type":"user","message":{"role":"user","content":"some words of a prompt %d"}}\n'
    with path.open("wb") as file:
        for number in range(13):
            file.write(b"".join(line % (number * 100_000 + each) for each in range(100_000)))
    size = path.stat().st_size
    assert size > 100_000_000
    environ = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(
        [sys.executable, "-c", LARGE, str(archive.folder), str(path)],
        env=environ,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert re.fullmatch(r"\d+\n", done.stdout)
    assert int(done.stdout) < 20_000, "kB beyond what the process had before"
    assert path.stat().st_size == size
