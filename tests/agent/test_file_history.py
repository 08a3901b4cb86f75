"""The file history. Records, names of copies and versions as 2.1.325 and 2.0.76 wrote them for the same changes."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from tests.agent.world import small_disk

from stenograph import __version__
from stenograph.agent.recording.file_history import FileHistory
from stenograph.errors import UnreadableError, UnwritableError, UsageError

Json = dict[str, Any]


class World:
    def __init__(self, folder: Path) -> None:
        self.project = folder / "project"
        self.folder = folder / "home" / "file-history" / "session"
        (self.project / "sub").mkdir(parents=True)
        self.a = self.project / "a.txt"
        self.b = self.project / "sub" / "b.txt"
        self.new = self.project / "new.txt"
        self.out = folder / "beside" / "out.txt"
        self.out.parent.mkdir()
        self.a.write_text("one\n")
        self.a.chmod(0o640)
        self.b.write_text("b\n")
        self.out.write_text("o\n")
        self.history = self.new_history()

    def new_history(self) -> FileHistory:
        return FileHistory(self.folder, self.project, additional=[self.out.parent])

    def change(self, path: Path, text: str) -> None:
        self.history.before_change(path)
        path.write_text(text)

    def copies(self) -> dict[str, str]:
        return {copy.name.partition("@")[2]: copy.read_text() for copy in sorted(self.folder.iterdir())}


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


def backups(record: Json | None) -> dict[str, tuple[bool, int]]:
    """By path: whether there is a copy, and its version."""
    assert record is not None
    tracked = record["snapshot"]["trackedFileBackups"]
    return {name: (backup["backupFileName"] is not None, backup["version"]) for name, backup in tracked.items()}


def test_the_records_of_three_prompts(world: World) -> None:
    first = world.history.at_prompt("p1")
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", first["snapshot"].pop("timestamp"))
    snapshot = {"messageId": "p1", "trackedFileBackups": {}}
    members = {"type": "file-history-snapshot", "messageId": "p1", "snapshot": snapshot, "isSnapshotUpdate": False}
    assert first == {**members, "stenograph": __version__}
    assert world.history.after_change("a0") is None
    world.change(world.a, "two\n")
    update = world.history.after_change("a1")
    assert update is not None
    assert (update["messageId"], update["snapshot"]["messageId"], update["isSnapshotUpdate"]) == ("a1", "p1", True)
    assert backups(update) == {"a.txt": (True, 1)}
    world.change(world.new, "n\n")
    assert backups(world.history.after_change("a2")) == {"a.txt": (True, 1), "new.txt": (False, 1)}
    world.change(world.b, "c\n")
    world.change(world.out, "p\n")
    everything = {"a.txt": (True, 1), "new.txt": (False, 1), "sub/b.txt": (True, 1), str(world.out): (True, 1)}
    assert backups(world.history.after_change("a3")) == everything
    world.change(world.a, "three\n")
    assert world.history.after_change("a4") is None  # it was kept already
    second = world.history.at_prompt("p2")
    assert backups(second) == dict.fromkeys(everything, (True, 2))
    world.change(world.a, "four\n")
    assert world.history.after_change("a5") is None
    world.new.unlink()
    third = world.history.at_prompt("p3")
    assert backups(third) == {"a.txt": (True, 3), "new.txt": (False, 3), "sub/b.txt": (True, 2), str(world.out): (True, 2)}
    # What was handed over is not changed later.
    assert backups(update) == {"a.txt": (True, 1)}


def test_a_copy_keeps_bytes_and_mode(tmp_path: Path) -> None:
    history = FileHistory(tmp_path / "kept", Path("/home/user/w2"))
    history.at_prompt("p")
    file = tmp_path / "f.txt"
    file.write_text("x")
    file.chmod(0o640)
    history.before_change(file)
    record = history.after_change("a")
    assert record is not None
    backup = record["snapshot"]["trackedFileBackups"][str(file)]
    assert set(backup) == {"backupFileName", "version", "backupTime", "realParentDir"}
    assert backup["realParentDir"] == str(tmp_path)
    copy = tmp_path / "kept" / backup["backupFileName"]
    assert re.fullmatch(r"[0-9a-f]{16}@v1", copy.name)
    assert (copy.read_text(), copy.stat().st_mode & 0o777) == ("x", 0o640)


def test_a_copy_is_named_after_the_whole_path(world: World) -> None:
    # Seen of 2.0.76 and 2.1.325; counted here with another program.
    world.history.at_prompt("p")
    world.history.before_change(world.b)
    digest = subprocess.run(["sha256sum"], input=str(world.b).encode(), capture_output=True, check=True).stdout[:16].decode()
    assert [copy.name for copy in world.folder.iterdir()] == [f"{digest}@v1"]


def test_the_old_release_does_not_name_parents(world: World) -> None:
    history = FileHistory(world.folder, world.project, names_parents=False)
    history.at_prompt("p")
    history.before_change(world.a)
    record = history.after_change("a")
    assert record is not None
    assert set(record["snapshot"]["trackedFileBackups"]["a.txt"]) == {"backupFileName", "version", "backupTime"}


def play(world: World) -> list[Json]:
    """Three prompts; the files as they are at each: a one/three/four, new none/n/none, b b/c/c; out is changed in the second."""
    records = [world.history.at_prompt("p1")]
    for path, text in ((world.a, "two\n"), (world.new, "n\n"), (world.b, "c\n"), (world.a, "three\n")):
        world.change(path, text)
        records += filter(None, [world.history.after_change(f"of {path.name}")])
    records.append(world.history.at_prompt("p2"))
    world.change(world.out, "p\n")
    records += filter(None, [world.history.after_change("of out.txt")])
    world.change(world.a, "four\n")
    world.new.unlink()
    records.append(world.history.at_prompt("p3"))
    world.change(world.a, "five\n")
    return records


def state(world: World) -> list[str | None]:
    return [path.read_text() if path.exists() else None for path in (world.a, world.new, world.b, world.out)]


STATES = {
    "p1": ["one\n", None, "b\n", "o\n"],
    "p2": ["three\n", "n\n", "c\n", "o\n"],
    "p3": ["four\n", None, "c\n", "p\n"],
}


@pytest.mark.parametrize("prompt", STATES)
@pytest.mark.parametrize("is_resumed", [False, True])
def test_files_are_brought_back_to_any_prompt(world: World, prompt: str, is_resumed: bool) -> None:
    records = play(world)
    history = world.history
    if is_resumed:
        history = world.new_history()
        history.take_up(records)
    history.restore(prompt)
    assert state(world) == STATES[prompt]
    assert world.a.stat().st_mode & 0o777 == 0o640


def test_what_was_brought_back_is_named(world: World) -> None:
    play(world)
    assert world.history.restore("p3") == [world.a]
    assert world.history.restore("p3") == []
    assert set(world.history.restore("p1")) == {world.a, world.b, world.out}
    assert state(world) == STATES["p1"]


def test_versions_go_on_after_a_resume(world: World) -> None:
    records = play(world)
    history = FileHistory(world.folder, world.project)
    history.take_up(records)
    assert backups(history.at_prompt("p4"))["a.txt"] == (True, 4)
    assert len({copy.name for copy in world.folder.iterdir() if copy.read_text() == "one\n"}) == 1


def test_the_newer_lines_of_clients_are_taken_up(world: World) -> None:
    # As 2.1.325 writes it: an empty snapshot, then one line for each file.
    world.folder.mkdir(parents=True)
    (world.folder / "b7e41800e8ff2df9@v1").write_text("before\n")
    time = "2026-11-15T17:51:51.401Z"
    backup = {"backupFileName": "b7e41800e8ff2df9@v1", "version": 1, "backupTime": time, "realParentDir": str(world.project)}
    snapshot = {"messageId": "p1", "trackedFileBackups": {}, "timestamp": time}
    world.history.take_up(
        [
            {"type": "file-history-snapshot", "messageId": "p1", "snapshot": snapshot, "isSnapshotUpdate": False},
            {
                "type": "file-history-delta",
                "messageId": "a1",
                "snapshotMessageId": "p1",
                "trackingPath": "a.txt",
                "backup": backup,
                "timestamp": time,
            },
        ]
    )
    world.history.restore("p1")
    assert world.a.read_text() == "before\n"


def test_lines_that_make_no_sense_are_passed_over_and_lead_nowhere(world: World) -> None:
    outside = world.project.parent / "secret"
    outside.write_text("secret\n")
    evil = {"backupFileName": "../../../secret", "version": 1, "backupTime": ""}
    world.history.take_up(
        [
            {"type": "file-history-snapshot"},
            {"type": "file-history-snapshot", "snapshot": {"messageId": "p1", "trackedFileBackups": 7}},
            {"type": "file-history-snapshot", "snapshot": {"messageId": "p1", "trackedFileBackups": {"a.txt": evil, "b": 1}}},
            {"type": "file-history-delta", "snapshotMessageId": "p1", "trackingPath": "a.txt", "backup": evil},
            {"type": "file-history-delta", "snapshotMessageId": "nobody", "trackingPath": "a.txt", "backup": None},
            {"type": "another"},
        ]
    )
    assert world.history.restore("p1") == []
    assert world.a.read_text() == "one\n"


def test_links_and_hard_links_stay_as_they_are(world: World) -> None:
    world.history.at_prompt("p1")
    world.change(world.a, "two\n")
    world.change(world.b, "c\n")
    world.a.rename(world.project / "moved.txt")
    world.a.symlink_to("moved.txt")
    (world.project / "second name").hardlink_to(world.b)
    assert world.history.restore("p1") == []
    assert ((world.project / "moved.txt").read_text(), world.b.read_text()) == ("two\n", "c\n")


def test_a_folder_that_became_a_link_is_not_written_through(world: World) -> None:
    world.history.at_prompt("p1")
    world.change(world.b, "c\n")
    elsewhere = world.project.parent / "elsewhere"
    (world.project / "sub").rename(elsewhere)
    (world.project / "sub").symlink_to(elsewhere)
    assert world.history.restore("p1") == []
    assert (elsewhere / "b.txt").read_text() == "c\n"


def test_a_project_that_was_moved_is_brought_back(world: World) -> None:
    records = play(world)
    moved = world.project.parent / "moved"
    world.project.rename(moved)
    history = FileHistory(world.folder, moved)
    history.take_up(records)
    history.restore("p1")
    assert ((moved / "a.txt").read_text(), (moved / "sub" / "b.txt").read_text()) == ("one\n", "b\n")


def test_what_was_kept_in_another_project_changes_nothing_in_this_one(world: World) -> None:
    """A session that was also continued in another directory, where a file with the same name did not exist."""
    records = play(world)
    other = world.project.parent / "other"
    (other / "sub").mkdir(parents=True)
    (other / "a.txt").write_text("another\n")
    history = FileHistory(world.folder, other)
    history.take_up(records)
    there = history.at_prompt("there")
    assert history.restore("p1") == []
    assert ((other / "a.txt").read_text(), (other / "sub" / "b.txt").exists()) == ("another\n", False)
    back = world.new_history()
    back.take_up([*records, there])
    before = state(world)
    assert back.restore("there") == []
    shutil.rmtree(other)
    assert back.restore("there") == []
    assert state(world) == before


def test_a_copy_of_a_session_keeps_and_restores_the_files_of_its_own_directory(world: World) -> None:
    """They may be the same as in the directory of the original, as in another worktree."""
    records = play(world)
    other = world.project.parent / "other"
    other.mkdir()
    same = other / "a.txt"
    same.write_text("five\n")
    same.chmod(0o640)
    world.history.at_prompt("p4")
    history = FileHistory(world.folder, other)
    history.take_up([*records, world.history.at_prompt("p5")])
    history.at_prompt("there")
    history.before_change(same)
    same.write_text("changed\n")
    assert history.restore("there") == [same]
    assert same.read_text() == "five\n"


def test_a_copy_that_is_gone_leaves_the_file(world: World) -> None:
    world.history.at_prompt("p1")
    world.change(world.a, "two\n")
    for copy in world.folder.iterdir():
        copy.unlink()
    assert world.history.restore("p1") == []
    assert world.a.read_text() == "two\n"


def test_a_copy_that_knew_no_mode_leaves_that_of_the_file(world: World) -> None:
    """Clones of older releases of ours made all copies private."""
    play(world)
    for copy in world.folder.iterdir():
        copy.chmod(0o600)
    world.b.chmod(0o755)
    assert world.history.restore("p3") == [world.a]  # b is as it was then
    world.history.restore("p1")
    assert [path.stat().st_mode & 0o777 for path in (world.a, world.b)] == [0o640, 0o755]
    assert state(world) == STATES["p1"]


def test_what_a_file_is_now_is_kept_before_it_is_brought_back(world: World) -> None:
    """Also where the newest prompt knows nothing of it, as with lines that another client writes later."""
    world.folder.mkdir(parents=True)
    (world.folder / "b7e41800e8ff2df9@v1").write_text("before\n")
    time = "2026-11-15T17:51:51.401Z"
    backup = {"backupFileName": "b7e41800e8ff2df9@v1", "version": 1, "backupTime": time}
    snapshots: list[Json] = [{"messageId": name, "trackedFileBackups": {}, "timestamp": time} for name in ("p1", "p2")]
    world.history.take_up(
        [
            *({"type": "file-history-snapshot", "messageId": one["messageId"], "snapshot": one} for one in snapshots),
            {"type": "file-history-delta", "snapshotMessageId": "p1", "trackingPath": "a.txt", "backup": backup},
        ]
    )
    assert world.history.restore("p1") == [world.a]
    assert world.a.read_text() == "before\n"
    copy = world.history.copy_of(world.a)
    assert copy is not None
    assert (copy.name[-3:], copy.read_text()) == ("@v2", "one\n")


def test_a_full_disk_leaves_every_file_as_it_is(world: World) -> None:
    world.b.write_text("b" * 100_000)
    play(world)
    before = state(world), sorted(world.project.rglob("*"))
    with small_disk(50_000), pytest.raises(UnwritableError, match=r"cannot (restore|write to) .*b\.txt"):
        world.history.restore("p1")
    assert (state(world), sorted(world.project.rglob("*"))) == before
    world.history.restore("p1")
    assert world.b.stat().st_size == 100_000


def test_a_prompt_without_a_snapshot_is_refused(world: World) -> None:
    with pytest.raises(UsageError, match="no snapshot"):
        world.history.restore("nobody")


def test_what_can_not_be_kept_is_an_error(world: World) -> None:
    world.history.at_prompt("p1")
    with pytest.raises(UnreadableError, match="cannot back up"):
        world.history.before_change(world.project / "sub")
    world.folder.parent.mkdir(parents=True)
    world.folder.write_text("a file where the folder should be")
    with pytest.raises(UnwritableError, match="cannot back up"):
        world.history.before_change(world.a)


def test_a_prompt_is_sent_even_if_a_file_became_a_folder(world: World) -> None:
    world.history.at_prompt("p1")
    world.change(world.a, "two\n")
    world.a.unlink()
    world.a.mkdir()
    assert backups(world.history.at_prompt("p2")) == {"a.txt": (True, 1)}


def test_nothing_is_kept_before_the_first_prompt(world: World) -> None:
    world.history.before_change(world.a)
    assert world.history.after_change("a1") is None
    assert not world.folder.exists()
