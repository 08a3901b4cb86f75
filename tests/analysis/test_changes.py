"""What a session did to files: expected values by hand, from what the records say happened."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from tests.corpora import DEMO
from tests.homes import assistant, session_id, user, write_session

from stenograph.analysis.changes import FileChange, changed_files
from stenograph.sessions.loading import load_file

PATH = "/home/user/work/a.txt"


class _Script:
    """A session made of tool calls, one after another."""

    def __init__(self) -> None:
        self.records: list[dict[str, Any]] = [user("Do it", uuid="u0", parentUuid=None)]

    def tool(self, name: str, asked: dict[str, Any], structured: Any = None, *, error: bool = False) -> _Script:
        number = len(self.records)
        use = assistant({"type": "tool_use", "id": f"t{number}", "name": name, "input": asked}, uuid=f"u{number}")
        use["message"]["id"] = f"msg_{number}"
        use["parentUuid"] = self.records[-1]["uuid"]
        result: dict[str, Any] = {"type": "tool_result", "tool_use_id": f"t{number}", "content": "x"}
        if error:
            result["is_error"] = True
        answer = user([result], uuid=f"u{number + 1}", parentUuid=f"u{number}", toolUseResult=structured)
        self.records += [use, answer]
        return self

    def prompt(self, text: str) -> _Script:
        """Another turn."""
        number = len(self.records)
        self.records.append(user(text, uuid=f"u{number}", parentUuid=self.records[-1]["uuid"]))
        return self

    def edit(self, old: str, new: str, original: str | None, patch: list[Any] | None = None, **more: Any) -> _Script:
        structured = {
            "filePath": PATH,
            "oldString": old,
            "newString": new,
            "originalFile": original,
            "structuredPatch": patch or [],
        }
        return self.tool("Edit", {"file_path": PATH, "old_string": old, "new_string": new, **more}, structured)

    def read(self, content: str, *, total: int | None = None) -> _Script:
        lines = content.count("\n") + 1
        file = {"filePath": PATH, "content": content, "numLines": lines, "startLine": 1, "totalLines": total or lines}
        return self.tool("Read", {"file_path": PATH}, {"type": "text", "file": file})

    def write(self, content: str, kind: str, original: str | None = None, patch: list[Any] | None = None) -> _Script:
        structured: dict[str, Any] = {"type": kind, "filePath": PATH, "content": content, "structuredPatch": patch or []}
        if original is not None:
            structured["originalFile"] = original
        return self.tool("Write", {"file_path": PATH, "content": content}, structured)

    def bash(self, command: str) -> _Script:
        return self.tool("Bash", {"command": command}, {"stdout": "", "stderr": "", "interrupted": False})

    def files(self, home: Path) -> tuple[FileChange, ...]:
        return changed_files(load_file(write_session(home, session_id(1), self.records)))

    def file(self, home: Path) -> FileChange:
        (only,) = self.files(home)
        return only


def test_edits_one_after_another_give_one_difference(tmp_path: Path) -> None:
    file = _Script().edit("b", "B", "a\nb\nc\n").edit("c", "C", "a\nB\nc\n").file(tmp_path)
    assert (file.before, file.after, file.edits, file.doubts) == ("a\nb\nc\n", "a\nB\nC\n", 2, ())
    assert file.diff() == [
        "--- a/home/user/work/a.txt",
        "+++ b/home/user/work/a.txt",
        "@@ -1,3 +1,3 @@",
        " a",
        "-b",
        "-c",
        "+B",
        "+C",
    ]


def test_each_line_has_the_turn_that_wrote_it(tmp_path: Path) -> None:
    script = _Script().write("one\ntwo\nthree\n", "create")
    script.prompt("And now?").edit("two", "2\n2b", "one\ntwo\nthree\n")
    script.prompt("Once more.").write("zero\none\n2\n2b\nthree\nfour\n", "update", "one\n2\n2b\nthree\n")
    assert script.file(tmp_path).authors == (3, 1, 2, 2, 1, 3)


def test_lines_that_were_there_or_came_from_elsewhere_have_no_author(tmp_path: Path) -> None:
    script = _Script().read("one\ntwo").edit("two", "2", "one\ntwo").read("one\n2\nthree").edit("one", "1", "one\n2\nthree")
    assert script.file(tmp_path).authors == (1, 1, 0)


def test_a_change_that_was_taken_back_is_no_difference(tmp_path: Path) -> None:
    assert _Script().edit("b", "B", "b\n").edit("B", "b", "B\n").file(tmp_path).diff() == []


def test_a_created_file_begins_with_nothing(tmp_path: Path) -> None:
    file = _Script().write("one\n", "create").edit("one", "two", "one\n").file(tmp_path)
    assert (file.created, file.before, file.after) == (True, "", "two\n")
    assert file.diff()[0] == "--- /dev/null"


def test_a_file_that_was_only_read_is_not_changed(tmp_path: Path) -> None:
    file = _Script().read("a\nb").read("a", total=2).file(tmp_path)
    assert (file.reads, file.changed, file.diff(), file.doubts) == (2, False, [], ())


def test_the_first_whole_read_is_what_it_held_before(tmp_path: Path) -> None:
    file = _Script().read("a\nb\n").tool("Edit", {"file_path": PATH, "old_string": "b", "new_string": "c"}).file(tmp_path)
    assert (file.before, file.after, file.doubts) == ("a\nb\n", "a\nc\n", ())


def test_what_was_there_follows_from_what_was_written_and_its_patch(tmp_path: Path) -> None:
    hunk = {"oldStart": 1, "oldLines": 2, "newStart": 1, "newLines": 3, "lines": [" a", "-b", "+x", "+y"]}
    file = _Script().write("a\nx\ny\n", "update", None, [hunk]).file(tmp_path)
    assert (file.before, file.after) == ("a\nb\n", "a\nx\ny\n")


def test_what_the_user_changed_before_applying_counts(tmp_path: Path) -> None:
    """The patch says what was written, not what the model asked for."""
    hunk = {"oldStart": 1, "oldLines": 1, "newStart": 1, "newLines": 1, "lines": ["-b", "+user's"]}
    assert _Script().edit("b", "model's", "b\n", [hunk]).file(tmp_path).after == "user's\n"


def test_replace_all_replaces_all(tmp_path: Path) -> None:
    assert _Script().edit("a", "b", "a a a", replace_all=True).file(tmp_path).after == "b b b"
    assert _Script().edit("a", "b", "a a a").file(tmp_path).after == "b a a"


def test_a_change_from_outside_is_noticed(tmp_path: Path) -> None:
    file = _Script().edit("b", "c", "b\n").edit("d", "e", "c\nd\n").file(tmp_path)
    assert (file.before, file.after, file.doubts) == ("b\n", "c\ne\n", ("outside",))


def test_a_shell_command_that_may_have_changed_it_is_a_doubt_until_it_is_seen_again(tmp_path: Path) -> None:
    script = _Script().edit("b", "c", "b\n").bash("sed -i s/c/d/ a.txt")
    assert script.file(tmp_path).doubts == ("shell",)
    assert script.read("c\n").file(tmp_path).doubts == ()


def test_commands_that_only_look_are_no_doubt(tmp_path: Path) -> None:
    script = _Script().edit("b", "c", "b\n")
    for command in ("cat a.txt", "wc -l a.txt 2>&1", "grep c a.txt > /dev/null", "git diff a.txt", "echo x > other.txt"):
        script.bash(command)
    assert script.file(tmp_path).doubts == ()
    assert script.bash("git checkout .").file(tmp_path).doubts == ("shell",)


def test_edits_that_failed_or_have_no_answer_change_nothing(tmp_path: Path) -> None:
    script = _Script().tool("Edit", {"file_path": PATH, "old_string": "a", "new_string": "b"}, "Error: no", error=True)
    assert script.files(tmp_path) == ()


def test_what_can_not_be_known_is_said(tmp_path: Path) -> None:
    file = _Script().edit("b", "c", None).file(tmp_path)
    assert (file.is_known, file.doubts) == (False, ("unknown-before", "unknown-after"))
    notebook = _Script().tool("NotebookEdit", {"notebook_path": PATH, "new_source": "x"}).file(tmp_path)
    assert (notebook.is_known, notebook.doubts) == (False, ("notebook", "unknown-before"))


def test_the_clients_own_backup_tells_what_it_held_before(tmp_path: Path) -> None:
    script = _Script().edit("b", "c", None)
    backup = {"backupFileName": "0123@v1", "version": 1, "backupTime": "2026-01-01T00:00:00Z"}
    snapshot = {"messageId": "u0", "timestamp": "2026-01-01T00:00:00Z", "trackedFileBackups": {PATH: backup}}
    script.records.insert(
        1, {"type": "file-history-snapshot", "messageId": "u0", "snapshot": snapshot, "isSnapshotUpdate": False}
    )
    folder = tmp_path / "file-history" / session_id(1)
    folder.mkdir(parents=True)
    (folder / "0123@v1").write_text("a\nb\n")
    file = script.file(tmp_path)
    assert (file.before, file.after) == ("a\nb\n", "a\nc\n")


@pytest.mark.parametrize("name", ["pipe", "..", "no\0name", "\ud800", "folder", "missing"])
def test_a_backup_that_can_not_be_read_is_none(tmp_path: Path, name: str) -> None:
    script = _Script().edit("b", "c", None)
    backup = {"backupFileName": name, "version": 1, "backupTime": "2026-01-01T00:00:00Z"}
    snapshot = {"messageId": "u0", "timestamp": "2026-01-01T00:00:00Z", "trackedFileBackups": {PATH: backup}}
    script.records.insert(
        1, {"type": "file-history-snapshot", "messageId": "u0", "snapshot": snapshot, "isSnapshotUpdate": False}
    )
    folder = tmp_path / "file-history" / session_id(1)
    (folder / "folder").mkdir(parents=True)
    os.mkfifo(folder / "pipe")
    assert script.file(tmp_path).before is None


def test_agents_that_start_agents_are_followed_to_any_depth(tmp_path: Path) -> None:
    """Deeper than Python calls functions; the innermost first, as it ends first."""
    deepest = 1500
    main = [user("go", uuid="u"), assistant({"type": "tool_use", "id": "t0", "name": "Task", "input": {}}, uuid="v")]
    path = write_session(tmp_path, session_id(1), main)
    folder = path.with_suffix("") / "subagents"
    folder.mkdir(parents=True)
    for number in range(deepest):
        uses = [
            {"type": "tool_use", "id": f"w{number}", "name": "Write", "input": {"file_path": f"/{number}", "content": "x"}},
            {"type": "tool_use", "id": f"t{number + 1}", "name": "Task", "input": {}},
        ]
        same: dict[str, Any] = {"agentId": f"a{number}", "sessionId": session_id(1)}
        records = [
            user("go", uuid=f"u{number}", **same),
            assistant(*uses[::-1], uuid=f"v{number}", parentUuid=f"u{number}", **same),
            user(
                [{"type": "tool_result", "tool_use_id": f"w{number}", "content": "done"}],
                uuid=f"x{number}",
                parentUuid=f"v{number}",
                **same,
            ),
        ]
        records[1]["message"]["id"] = f"msg_{number}"
        for record in records:
            record["isSidechain"] = True
        (folder / f"agent-a{number}.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records))
        (folder / f"agent-a{number}.meta.json").write_text(json.dumps({"toolUseId": f"t{number}"}))
    found = changed_files(load_file(path))
    assert [file.path for file in found] == [f"/{number}" for number in reversed(range(deepest))]


def test_a_sub_agents_edits_are_the_sessions() -> None:
    session = load_file(next(DEMO.glob("projects/*/44b4d198*.jsonl")))
    assert [(Path(file.path).name, file.reads, file.writes, file.created) for file in changed_files(session)] == [
        ("frost.md", 1, 0, False),
        ("2025-11-herons.md", 1, 0, False),
        ("2026-01-frost.md", 0, 1, True),
    ]


def test_the_net_difference_of_a_demo_session_is_what_its_edits_say() -> None:
    session = load_file(next(DEMO.glob("projects/*/1e73045e*.jsonl")))
    (file,) = (file for file in changed_files(session) if file.changed)
    changed = [line for line in file.diff()[2:] if line[0] in "+-"]
    assert file.edits == 3
    assert changed == [
        '-  <img src="/img/lamp-oak.jpg">',
        "-  <h3>Oak lamp</h3>",
        '+  <img src="/img/lamp-oak.jpg" alt="Oak table lamp">',
        "+  <h1>Oak lamp</h1>",
        '-  <div class="button" onclick="addToCart(\'lamp-oak\')">Add to cart</div>',
        '+  <button type="button" onclick="addToCart(\'lamp-oak\')">Add to cart</button>',
    ]
