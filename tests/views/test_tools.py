"""Tools are shown as what they did. Structured results are as recorded clients wrote them, shortened by hand."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from stenograph.records.tool_results import read_tool_result
from stenograph.views.pages.transcript import Checklist, Fact, Output, Patch, ToolPart
from stenograph.views.tools import ToolFacts, tool_part


def part_of(name: str, asked: dict[str, Any], result: str = "", structured: Any = None, *, error: bool = False) -> ToolPart:
    read = None if structured is None else read_tool_result(msgspec.Raw(msgspec.json.encode(structured)))
    found = read if read is not msgspec.UNSET else None
    return tool_part("toolu_1", ToolFacts(name, asked, "/home/user/p", True, result, error, found))


HUNK = {"oldStart": 1, "oldLines": 2, "newStart": 1, "newLines": 2, "lines": [" a", "-b", "+c"]}


@pytest.mark.parametrize(
    ("name", "asked", "result", "structured", "title", "bodies"),
    [
        (
            "Bash",
            {"command": "ls"},
            "x",
            {"stdout": "out\n", "stderr": "err", "interrupted": False, "isImage": False},
            "$ ls",
            (Output("out\n\nerr"),),
        ),
        ("Bash", {"command": "true"}, "", {"stdout": "", "stderr": "", "interrupted": False}, "$ true", (Fact("no output"),)),
        (
            "Bash",
            {"command": "sleep 9", "run_in_background": True},
            "",
            {"stdout": "", "stderr": "", "interrupted": False, "backgroundTaskId": "b1"},
            "$ sleep 9 &",
            (Fact("continues in the background as b1"),),
        ),
        (
            "Read",
            {"file_path": "/home/user/p/a.py", "offset": 5, "limit": 2},
            "…",
            {"type": "text", "file": {"filePath": "/x", "content": "a\nb", "numLines": 2, "startLine": 5, "totalLines": 90}},
            "a.py from line 5, 2 lines",
            (Fact("2 of 90 lines"),),
        ),
        ("Read", {"file_path": "/etc/hosts"}, "1→x\n2→y", None, "/etc/hosts", (Fact("2 lines"),)),
        (
            "Edit",
            {"file_path": "/home/user/p/a.py", "old_string": "b", "new_string": "c"},
            "ok",
            {"filePath": "/x", "oldString": "b", "newString": "c", "originalFile": "a\nb", "structuredPatch": [HUNK]},
            "a.py",
            (Patch(("@@ -1,2 +1,2 @@", " a", "-b", "+c")),),
        ),
        (
            "Edit",
            {"file_path": "b", "old_string": "b", "new_string": "c"},
            "ok",
            None,
            "b",
            (Patch(("@@ -1 +1 @@", "-b", "+c")),),
        ),
        (
            "MultiEdit",
            {"file_path": "b", "edits": [{"old_string": "b", "new_string": "c"}, {"old_string": "d", "new_string": "e"}]},
            "ok",
            None,
            "b",
            (Patch(("@@ -1 +1 @@", "-b", "+c", "@@ -1 +1 @@", "-d", "+e")),),
        ),
        (
            "Write",
            {"file_path": "n", "content": "x\ny\n"},
            "ok",
            {"type": "create", "filePath": "n", "content": "x\ny\n", "structuredPatch": []},
            "n",
            (Fact("created"), Patch(("+x", "+y"))),
        ),
        (
            "Grep",
            {"pattern": "x", "path": "/home/user/p/src"},
            "Found 2",
            {"mode": "files_with_matches", "filenames": ["a", "b"], "numFiles": 2},
            "x in src",
            (Fact("2 files"), Output("a\nb")),
        ),
        (
            "Glob",
            {"pattern": "*.py"},
            "a.py",
            {"filenames": ["a.py"], "durationMs": 3, "numFiles": 1, "truncated": False},
            "*.py",
            (Fact("1 file"), Output("a.py")),
        ),
        (
            "TodoWrite",
            {"todos": [{"content": "one", "status": "completed"}, {"content": "two", "status": "pending"}]},
            "ok",
            {"oldTodos": [], "newTodos": []},
            "1 of 2 tasks done",
            (Checklist((("completed", "one"), ("pending", "two"))),),
        ),
        (
            "Task",
            {"description": "Look around", "prompt": "…", "subagent_type": "Explore"},
            "seen\nagentId: 1",
            {"status": "completed", "prompt": "…", "agentId": "a1", "content": [{"type": "text", "text": "seen"}]},
            "Look around (Explore)",
            (Output("seen"),),
        ),
        (
            "AskUserQuestion",
            {"questions": [{"question": "Which?"}]},
            "…",
            {"questions": [], "answers": {"Which?": "This"}},
            "Which?",
            (Output("Which? This"),),
        ),
        ("mcp__x__y", {"a": [1, "é"]}, "fine", None, '{"a": [1, "é"]}', (Output("fine"),)),
        ("Nobody Knows", {}, "", None, "", ()),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_tool_is_shown_for_what_it_did(
    name: str, asked: dict[str, Any], result: str, structured: Any, title: str, bodies: tuple[object, ...]
) -> None:
    part = part_of(name, asked, result, structured)
    assert (part.name, part.status, part.title, part.bodies) == (name, "done", title, bodies)


def test_an_error_is_shown_as_the_model_got_it() -> None:
    part = part_of("Edit", {"file_path": "x", "old_string": "a", "new_string": "b"}, "String not found", "Error: x", error=True)
    assert (part.status, part.bodies) == ("failed", (Output("String not found", is_error=True),))


@pytest.mark.parametrize(
    "name", ["Bash", "Read", "Edit", "Write", "Grep", "Glob", "TodoWrite", "Task", "AskUserQuestion", "Skill", "LS"]
)
@pytest.mark.parametrize(
    "asked", [{}, {"todos": 3, "questions": "x", "edits": 1, "command": None, "file_path": 4, "content": []}]
)
def test_inputs_of_any_kind_are_survived(name: str, asked: dict[str, Any]) -> None:
    assert part_of(name, asked, "r", {"something": "else"}).name == name
