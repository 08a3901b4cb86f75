from __future__ import annotations

import hashlib
import os
import stat
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.archive.families import AGENT, HISTORY, META, NAME, RESULT, SESSION, contents, modes, times
from tests.disk.conftest import Unprivileged
from tests.homes import LONG_AGO, session_id, user, write_session

from stenograph.archive import Archive, State, default_archive_folder, plan_removal
from stenograph.archive.store import Store
from stenograph.disk import append_lines, state_of
from stenograph.errors import BusyError, UnreadableError, UnwritableError, UsageError


def sha(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def rewrite(archive: Archive, path: Path, data: bytes) -> None:
    with archive.transaction(SESSION, command={"command": "edit"}) as change:
        change.write(path, data)


# What an edit does and keeps


def test_an_edit_changes_its_files_and_keeps_the_originals(archive: Archive, project: Path) -> None:
    old = (project / NAME).read_bytes()
    with archive.transaction(SESSION, command={"command": "edit", "edits": [1]}, reason="too long") as change:
        change.write(project / NAME, [b"a\n", b"b\n"], expect=state_of(project / NAME))
        change.delete(project / RESULT)
        change.write(project / "new" / "file.txt", b"n")
    assert (project / NAME).read_bytes() == b"a\nb\n"
    assert not (project / RESULT).exists()
    assert (project / "new" / "file.txt").read_bytes() == b"n"
    (entry,) = archive.entries()
    assert change.entry is not None
    assert (entry.number, entry.state, entry.reason) == (1, State.DONE, "too long")
    assert entry.command == {"command": "edit", "edits": [1]}
    assert (entry.home, entry.project) == (project.parent.parent, project)
    assert [(file.path, file.before, file.after) for file in entry.files] == [
        (project / NAME, sha(old), sha(b"a\nb\n")),
        (project / RESULT, sha(b"\xff\x00 long\n" * 2000), None),
        (project / "new" / "file.txt", None, sha(b"n")),
    ]
    assert archive.original(sha(old)) == old


def test_what_is_kept_is_for_its_owner_alone_and_made_at_the_first_write(archive: Archive, project: Path) -> None:
    assert archive.entries() == []
    assert archive.recover() == []
    assert not archive.folder.exists()
    rewrite(archive, project / NAME, b"a\n")
    modes = (
        {stat.S_IMODE(path.stat().st_mode) for path in [archive.folder, *archive.folder.rglob("*")] if path.is_dir()},
        {stat.S_IMODE(path.stat().st_mode) for path in archive.folder.rglob("*") if path.is_file()},
    )
    assert modes == ({0o700}, {0o600})


def test_the_same_bytes_are_kept_once(archive: Archive, project: Path) -> None:
    for path in (project / AGENT, project / META):
        path.write_bytes(b"the same\n" * 100)
    archive.keep(
        [project / AGENT, project / META], session_id=SESSION, reason="before an upgrade", command={"command": "upgrade"}
    )
    archive.keep({project / NAME: b"the same\n" * 100, project / RESULT: None}, session_id=SESSION)
    assert len(list(archive.folder.rglob("*.gz"))) == 1
    first, second = archive.entries(SESSION)
    assert (first.state, second.state) == (State.KEPT, State.KEPT)
    assert (first.command, first.reason) == ({"command": "upgrade"}, "before an upgrade")
    assert [file.before for file in second.files] == [sha(b"the same\n" * 100), None]
    with pytest.raises(UsageError, match="changed nothing; try: get the originals: steno undo --entry 1 --to DIR"):
        archive.undo(1)


def test_an_original_can_be_read_with_gzip_alone(archive: Archive, project: Path) -> None:
    import gzip

    archive.keep([project / RESULT], session_id=SESSION)
    (kept,) = archive.folder.rglob("*.gz")
    assert gzip.decompress(kept.read_bytes()) == (project / RESULT).read_bytes()


def test_bytes_that_a_file_has_already_are_no_edit(archive: Archive, project: Path) -> None:
    before = contents(project), times(project)
    with archive.transaction(SESSION, command=None) as change:
        change.write(project / NAME, (project / NAME).read_bytes())
    assert change.entry is None
    assert archive.entries() == []
    assert (contents(project), times(project)) == before


def test_originals_and_the_journal_are_on_the_disk_before_a_file_is_touched(
    archive: Archive, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    done: list[str] = []
    fsync, replace = os.fsync, os.replace

    def noting_fsync(descriptor: int) -> None:
        fsync(descriptor)
        path = Path(f"/proc/self/fd/{descriptor}").readlink()
        if not path.is_dir():
            done.append(path.name.partition("-")[0])

    def noting_replace(old: Path, new: Path) -> None:
        replace(old, new)
        done.append(f"-> {Path(new).suffix}")

    monkeypatch.setattr(os, "fsync", noting_fsync)
    monkeypatch.setattr(os, "replace", noting_replace)
    rewrite(archive, project / NAME, b"a\n")
    assert done == [".unfinished", "-> .gz", ".steno", "journal.jsonl", "-> .jsonl", "journal.jsonl"]


def test_the_default_folder_is_among_the_users_data() -> None:
    assert default_archive_folder({"XDG_DATA_HOME": "/d", "HOME": "/h"}) == Path("/d/stenograph/archive")
    assert default_archive_folder({"HOME": "/h"}) == Path("/h/.local/share/stenograph/archive")


# Refusals


def test_an_exception_inside_changes_nothing(archive: Archive, project: Path) -> None:
    before = contents(project)

    def fail_midway() -> None:
        with archive.transaction(SESSION, command=None) as change:
            change.write(project / NAME, b"a\n")
            change.write(project / "new" / "x", b"x")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail_midway()
    assert contents(project) == before
    assert archive.recover() == []


def test_a_file_that_changed_since_it_was_read_is_refused(archive: Archive, project: Path) -> None:
    seen = state_of(project / NAME)
    append_lines(project / NAME, [b"{}"])
    before = contents(project)

    def edit_what_was_seen() -> None:
        with archive.transaction(SESSION, command=None) as change:
            change.write(project / AGENT, b"a\n")
            change.write(project / NAME, b"a\n", expect=seen)

    with pytest.raises(BusyError, match="changed after it was read"):
        edit_what_was_seen()
    assert contents(project) == before


def test_a_file_that_changes_while_the_edit_is_prepared_is_refused(archive: Archive, project: Path) -> None:
    before = contents(project)

    def edit_what_changes() -> None:
        with archive.transaction(SESSION, command=None) as change:
            change.write(project / AGENT, b"a\n")
            change.write(project / NAME, b"a\n")
            append_lines(project / NAME, [b"{}"])

    with pytest.raises(BusyError, match="changed after it was read"):
        edit_what_changes()
    assert contents(project) == {**before, NAME: (before[NAME] or b"") + b"{}\n"}
    assert archive.entries() == []


def test_a_session_that_another_process_writes_to_is_refused(archive: Archive, project: Path) -> None:
    if not Path("/proc/self/fd").is_dir():
        pytest.skip("who has a file open is known on Linux only")
    before = contents(project)
    code = "import sys; file = open(sys.argv[1], 'ab'); print(flush=True); sys.stdin.read()"
    with subprocess.Popen(
        [sys.executable, "-c", code, str(project / AGENT)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as child:
        assert child.stdout is not None
        child.stdout.readline()
        with pytest.raises(BusyError, match="is in use; nothing was written"):
            archive.remove(project / NAME)
        child.communicate()
    assert contents(project) == before
    archive.remove(project / NAME)


def test_a_session_whose_turn_is_open_is_refused_until_it_has_rested(project: Path, tmp_path: Path) -> None:
    path = write_session(project.parent.parent, session_id(7), [user("Do it")])
    clock = LONG_AGO + 10
    archive = Archive(tmp_path / "archive", clock=lambda: clock)
    with pytest.raises(BusyError, match="in use"):
        rewrite(archive, path, b"a\n")
    clock = LONG_AGO + 200
    rewrite(archive, path, path.read_bytes() * 2)
    # What this program wrote last counts as at rest, however young it is.
    os.utime(path, (clock, clock))
    rewrite(archive, path, b"a\n")


def test_a_link_is_written_through_and_never_deleted(archive: Archive, project: Path, tmp_path: Path) -> None:
    link = tmp_path / "link.jsonl"
    link.symlink_to(project / NAME)
    rewrite(archive, link, b"a\n")
    assert link.is_symlink()
    assert archive.entries()[0].files[0].path == project / NAME
    with pytest.raises(UsageError, match="is a link"), archive.transaction(SESSION, command=None) as change:
        change.delete(link)


def test_a_file_is_changed_once_in_an_edit_and_deleted_only_where_it_is(archive: Archive, project: Path) -> None:
    before = contents(project)

    def change_and_delete(changed: str, deleted: str) -> None:
        with archive.transaction(SESSION, command=None) as change:
            change.write(project / changed, b"a\n")
            change.delete(project / deleted)

    with pytest.raises(UsageError, match=r"one edit cannot change .* twice"):
        change_and_delete(NAME, NAME)
    with pytest.raises(UsageError, match="file not found"):
        change_and_delete(AGENT, "none.txt")
    assert contents(project) == before
    assert archive.entries() == []


def test_a_folder_without_the_right_to_write_changes_nothing(open_folder: Path, unprivileged: Unprivileged) -> None:
    project = open_folder / "home" / "projects" / "p"
    project.mkdir(parents=True)
    (project / NAME).write_bytes(b'{"type":"user"}\n')
    os.utime(project / NAME, (LONG_AGO, LONG_AGO))
    (open_folder / "data").mkdir()
    (open_folder / "data").chmod(0o777)
    for folder in (project, open_folder):
        folder.chmod(0o555)
    (project / NAME).chmod(0o444)
    before = contents(project)
    with unprivileged():
        archive = Archive(open_folder / "data" / "archive")
        for act in (lambda: rewrite(archive, project / NAME, b"a\n"), lambda: archive.remove(project / NAME)):
            with pytest.raises(UnwritableError, match="cannot write to"):
                act()
        with pytest.raises(UnwritableError, match="cannot write to"):
            rewrite(Archive(open_folder / "archive"), open_folder / "data" / "x.txt", b"a\n")
        assert archive.entries() == []
        assert archive.recover() == []
    assert contents(project) == before


# Undo


def test_undo_restores_bytes_times_and_folders(archive: Archive, project: Path) -> None:
    home = project.parent.parent
    before = contents(home), times(home)
    with archive.transaction(SESSION, command=None) as change:
        change.write(project / NAME, b"a\n")
        change.delete(project / RESULT)
        change.remove_folder((project / RESULT).parent)
        change.write(project / "new" / "deep" / "x", b"x")
    assert not (project / RESULT).parent.exists()
    edited = contents(home)
    done = archive.undo(1)
    assert (contents(home), times(home)) == before
    assert (done.undoes, archive.entry(1).undone_by) == (1, 2)
    archive.undo(2)
    assert contents(home) == edited
    assert (archive.entry(1).undone_by, archive.entry(2).undone_by) == (None, 3)


def test_undo_refuses_a_file_that_was_changed_since_and_says_what_to_do(archive: Archive, project: Path, tmp_path: Path) -> None:
    old = (project / NAME).read_bytes()
    with archive.transaction(SESSION, command=None) as change:
        change.write(project / AGENT, b"a\n")
        change.write(project / NAME, b"a\n")
    append_lines(project / NAME, [b"{}"])
    before = contents(project)
    with pytest.raises(BusyError, match="--entry 1 --to") as caught:
        archive.undo(1)
    assert caught.value.path == project / NAME
    assert contents(project) == before
    assert archive.restore(1, tmp_path / "out") == [tmp_path / "out" / AGENT, tmp_path / "out" / NAME]
    assert (tmp_path / "out" / NAME).read_bytes() == old
    with pytest.raises(UnwritableError, match="already exists"):
        archive.restore(1, tmp_path / "out")


def test_edits_are_undone_from_the_last_to_the_first(archive: Archive, project: Path) -> None:
    old = (project / NAME).read_bytes()
    rewrite(archive, project / NAME, b"a\n")
    rewrite(archive, project / NAME, b"b\n")
    with pytest.raises(BusyError, match=r"edit 2 changed .* since; nothing was undone; try: undo that one first"):
        archive.undo(1)
    for number in (2, 1):
        last = archive.last_edit(SESSION)
        assert last is not None
        assert last.number == number
        archive.undo(number)
    assert archive.last_edit(SESSION) is None
    assert (project / NAME).read_bytes() == old
    with pytest.raises(UsageError, match="is already undone; edit 4 undid it; try: steno undo --entry 4"):
        archive.undo(1)
    with pytest.raises(UsageError, match="no edit 9"):
        archive.undo(9)


def test_an_edit_that_only_made_files_has_no_originals(archive: Archive, project: Path, tmp_path: Path) -> None:
    rewrite(archive, project / "new.txt", b"n")
    with pytest.raises(UsageError, match="edit 1 has no originals"):
        archive.restore(1, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_an_original_that_was_damaged_is_never_given_back(archive: Archive, project: Path) -> None:
    old = (project / NAME).read_bytes()
    rewrite(archive, project / NAME, b"a\n")
    kept = next(path for path in archive.folder.rglob("*.gz") if path.parent.name + path.stem == sha(old))
    other = Archive(archive.folder.parent / "other")
    other.keep({Path("x"): b"other"}, session_id=SESSION)
    kept.write_bytes(next(other.folder.rglob("*.gz")).read_bytes())
    with pytest.raises(UnreadableError, match="is damaged"):
        archive.undo(1)
    assert (project / NAME).read_bytes() == b"a\n"


NAMES = st.sampled_from(["a.txt", "b.txt", "c/d.txt", "c/e/f.txt", "g.txt"])
EDITS = st.lists(st.dictionaries(NAMES, st.none() | st.binary(max_size=40), min_size=1), min_size=1, max_size=5)


@settings(max_examples=15, deadline=None)
@given(edits=EDITS)
def test_any_edits_are_undone_byte_for_byte_and_the_undos_too(edits: list[dict[str, bytes | None]]) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "files"
        folder.mkdir()
        archive = Archive(Path(name) / "archive")
        states, numbers = [contents(folder)], []
        for edit in edits:
            with archive.transaction(SESSION, command=None) as change:
                for file, data in edit.items():
                    if data is not None:
                        change.write(folder / file, data)
                    elif (folder / file).exists():
                        change.delete(folder / file)
            if change.entry is not None:
                states.append(contents(folder))
                numbers.append(change.entry.number)
        undos = []
        for number, state in zip(reversed(numbers), reversed(states[:-1]), strict=True):
            undos.append(archive.undo(number).number)
            assert contents(folder) == state
        for number, state in zip(reversed(undos), states[1:], strict=True):
            archive.undo(number)
            assert contents(folder) == state


# Removal


def test_a_removed_session_leaves_nothing_and_comes_back_whole(archive: Archive, project: Path) -> None:
    home = project.parent.parent
    before = contents(home), times(home)
    plan = plan_removal(project / NAME)
    assert list(plan.files) == [project / name for name in (NAME, AGENT, META, RESULT)] + [home / HISTORY]
    assert plan.size == sum(len(before[0][path.relative_to(home).as_posix()] or b"") for path in plan.files)
    entry = archive.remove(project / NAME)
    assert not [name for name in contents(home) if SESSION in name]
    assert f"projects/{project.name}/{session_id(0xBBBB0002)}.jsonl" in contents(home)
    archive.undo(entry.number)
    assert (contents(home), times(home)) == before


def test_agents_beside_the_session_go_with_it_and_those_of_others_stay(archive: Archive, project: Path) -> None:
    for agent, owner in (("a2", SESSION), ("a3", session_id(0xBBBB0002))):
        path = project / f"agent-{agent}.jsonl"
        path.write_bytes(b'{"type":"user","sessionId":"%s","message":{"role":"user","content":"x"}}\n' % owner.encode())
        os.utime(path, (LONG_AGO, LONG_AGO))
    archive.remove(project / NAME)
    assert [path.name for path in project.glob("agent-*")] == ["agent-a3.jsonl"]


def test_a_session_of_which_a_part_could_not_be_kept_is_not_removed(archive: Archive, project: Path) -> None:
    (project / SESSION / "tool-results" / "odd").symlink_to("nowhere")
    before = contents(project)
    with pytest.raises(UnreadableError, match="broken-link"):
        archive.remove(project / NAME)
    assert contents(project) == before


def _fail(*_: object, **__: object) -> None:
    raise UnwritableError("no space", path=Path("x"))


def _delete_and_write(archive: Archive, deleted: Path, written: Path) -> None:
    with archive.transaction(SESSION, command=None) as change:
        change.delete(deleted)
        change.write(written, b"{}\n")


# Permissions


def _of_many_modes(project: Path) -> dict[str, int]:
    """As clients leave them: sessions are private, backups have the modes of the user's files."""
    home = project.parent.parent
    for path, mode in ((project / NAME, 0o600), (project / RESULT, 0o644), (project / AGENT, 0o640), (home / HISTORY, 0o755)):
        path.chmod(mode)
    return modes(home)


def test_a_removed_session_comes_back_with_its_permissions(archive: Archive, project: Path, tmp_path: Path) -> None:
    before = _of_many_modes(project)
    entry = archive.remove(project / NAME)
    restored = archive.restore(entry.number, tmp_path / "elsewhere")
    assert sorted(path.stat().st_mode & 0o777 for path in restored) == sorted(
        mode for name, mode in before.items() if SESSION in name
    )
    archive.undo(entry.number)
    assert modes(project.parent.parent) == before


def test_permissions_survive_an_edit_its_undo_and_a_rollback(
    archive: Archive, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = _of_many_modes(project)
    with archive.transaction(SESSION, command=None) as change:
        change.write(project / AGENT, b"{}\n")
        change.delete(project / RESULT)
    assert modes(project.parent.parent) == {name: mode for name, mode in before.items() if not name.endswith("b1.txt")}
    assert change.entry is not None
    archive.undo(change.entry.number)
    assert modes(project.parent.parent) == before

    monkeypatch.setattr("stenograph.archive.change.put_in_place", _fail)
    with pytest.raises(UnwritableError):
        _delete_and_write(archive, project.parent.parent / HISTORY, project / AGENT)
    assert modes(project.parent.parent) == before


# What fails midway


def test_an_edit_that_fails_midway_is_rolled_back_at_once_and_the_journal_says_so(
    archive: Archive, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = contents(project)
    monkeypatch.setattr("stenograph.archive.change.put_in_place", _fail)
    with pytest.raises(UnwritableError):
        _delete_and_write(archive, project / RESULT, project / AGENT)
    assert contents(project) == before
    assert [entry.state for entry in archive.entries()] == [State.ROLLED_BACK]
    assert archive.recover() == []


def test_a_file_that_changes_while_it_is_copied_is_not_kept_under_the_name_of_what_it_was(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_bytes(b"new")
    store = Store(tmp_path / "objects")
    with pytest.raises(BusyError, match="changed while it was being read"):
        store.keep_file(file, sha(b"old"))
    assert not store.has(sha(b"old"))
    assert not [path for path in store.folder.rglob("*") if path.is_file()]
