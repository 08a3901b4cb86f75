"""Edit, asked what 2.1.325 was asked: words and shapes are those of that client, unless a comment says otherwise."""

from __future__ import annotations

import asyncio
import os
import stat
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.agent.tools.desk import Desk

from stenograph.agent.tools.base import Json
from stenograph.agent.tools.changing import structured_patch
from stenograph.agent.tools.edit import EditTool
from stenograph.agent.tools.read import ReadTool
from stenograph.agent.tools.write import WriteTool

EDIT = EditTool()
CURRENT = " (file state is current in your context — no need to Read it back)"
CHANGED = (
    "<tool_use_error>File has been modified since read, either by the user or by a linter. Read it again before attempting to"
    " write it.</tool_use_error>"
)


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    desk = Desk(tmp_path)
    (desk.project / "a.txt").write_text("one\ntwo\nthree\nfour\nfive\n")
    return desk


def read(desk: Desk, name: str, **options: object) -> None:
    asyncio.run(desk.call(ReadTool(), file_path=str(desk.project / name), **options))


def edit(desk: Desk, name: str, old: str, new: str, **options: object) -> tuple[str, Json]:
    path = str(desk.project / name)
    output = asyncio.run(desk.call(EDIT, file_path=path, old_string=old, new_string=new, **options))
    assert isinstance(output.content, str)
    return output.content.replace(str(desk.project), "{cwd}"), output.structured


def fail(desk: Desk, name: str, old: str, new: str, **options: object) -> str:
    path = str(desk.project / name)
    words = asyncio.run(desk.fail(EDIT, file_path=path, old_string=old, new_string=new, **options))
    return words.replace(str(desk.project), "{cwd}")


def test_one_place_is_replaced(desk: Desk) -> None:
    read(desk, "a.txt")
    words, structured = edit(desk, "a.txt", "two", "TWO")
    assert words == f"The file {{cwd}}/a.txt has been updated successfully.{CURRENT}"
    lines = [" one", "-two", "+TWO", " three", " four", " five"]
    assert structured == {
        "filePath": str(desk.project / "a.txt"),
        "oldString": "two",
        "newString": "TWO",
        "originalFile": "one\ntwo\nthree\nfour\nfive\n",
        "structuredPatch": [{"oldStart": 1, "oldLines": 5, "newStart": 1, "newLines": 5, "lines": lines}],
        "userModified": False,
        "replaceAll": False,
    }
    assert (desk.project / "a.txt").read_text() == "one\nTWO\nthree\nfour\nfive\n"
    edit(desk, "a.txt", "TWO", "2")  # what was written is known


def test_every_place_is_replaced_on_demand(desk: Desk) -> None:
    read(desk, "a.txt")
    assert fail(desk, "a.txt", "o", "0") == (
        "<tool_use_error>Found 3 matches of the string to replace, but replace_all is false. To replace all occurrences, set"
        " replace_all to true. To replace only one occurrence, please provide more context to uniquely identify the"
        " instance.\nString: o</tool_use_error>"
    )
    words, structured = edit(desk, "a.txt", "o", "0", replace_all="true")
    assert words == f"The file {{cwd}}/a.txt has been updated. All occurrences were successfully replaced.{CURRENT}"
    assert structured["replaceAll"] is True
    assert structured["structuredPatch"][0]["lines"] == ["-one", "-two", "+0ne", "+tw0", " three", "-four", "+f0ur", " five"]


@pytest.mark.parametrize(
    ("name", "old", "new", "words"),
    [
        ("a.txt", "nope", "x", "String to replace not found in file.\nString: nope"),
        ("a.txt", "two  ", "x", "String to replace not found in file.\nString: two  "),
        ("a.txt", "x", "x", "No changes to make: old_string and new_string are exactly the same."),
        ("a.txt", "", "new", "Cannot create new file - file already exists."),
        ("missing.txt", "a", "b", "File does not exist. Note: your current working directory is {cwd}."),
        ("a.md", "a", "b", "File does not exist. Note: your current working directory is {cwd}. Did you mean a.txt?"),
    ],
)
def test_what_can_not_be_replaced_is_said(desk: Desk, name: str, old: str, new: str, words: str) -> None:
    read(desk, "a.txt")
    assert fail(desk, name, old, new) == f"<tool_use_error>{words}</tool_use_error>"
    assert (desk.project / "a.txt").read_text() == "one\ntwo\nthree\nfour\nfive\n"


def test_a_file_that_was_not_read_is_not_changed(desk: Desk) -> None:
    unread = "<tool_use_error>File has not been read yet. Read it first before writing to it.</tool_use_error>"
    assert fail(desk, "a.txt", "two", "TWO") == unread


def test_a_file_of_which_a_part_was_read_can_be_edited_but_is_not_known(desk: Desk) -> None:
    read(desk, "a.txt", offset=1, limit=1)
    words, structured = edit(desk, "a.txt", "five", "5")
    assert words == "The file {cwd}/a.txt has been updated successfully."
    assert structured["contentNotInModelContext"] is True
    said = asyncio.run(desk.fail(WriteTool(), file_path=str(desk.project / "a.txt"), content=""))
    assert "Only a part of this file was read" in said


def test_an_edit_of_a_changed_file_goes_through_where_it_is_clear(desk: Desk) -> None:
    read(desk, "a.txt")
    with (desk.project / "a.txt").open("a") as file:
        file.write("two more\n")
    assert fail(desk, "a.txt", "nope", "x") == CHANGED
    assert fail(desk, "a.txt", "two", "x") == CHANGED  # there are two of them now
    words, structured = edit(desk, "a.txt", "three", "3")
    assert words == (
        "The file {cwd}/a.txt has been updated successfully. (note: the file had been modified on disk since you last"
        " read it — the"
        " edit applied cleanly, but the file contains other changes not in your context. Read it before edits that depend on"
        " surrounding content.)"
    )
    assert (structured["staleRecovered"], structured["contentNotInModelContext"]) == (True, True)


def test_a_file_that_was_only_touched_since_is_known(desk: Desk) -> None:
    read(desk, "a.txt")
    os.utime(desk.project / "a.txt", ns=(1, 1))
    words, structured = edit(desk, "a.txt", "two", "2")
    assert words.endswith(CURRENT)
    assert "staleRecovered" not in structured


def test_nothing_replaced_makes_a_new_file_or_fills_a_blank_one(desk: Desk) -> None:
    words, structured = edit(desk, "new.txt", "", "created\n")
    assert words == f"The file {{cwd}}/new.txt has been updated successfully.{CURRENT}"
    assert (structured["originalFile"], structured["structuredPatch"]) == (
        "",
        [{"oldStart": 1, "oldLines": 0, "newStart": 1, "newLines": 1, "lines": ["+created"]}],
    )
    (desk.project / "blank.txt").write_text("\n")
    _, structured = edit(desk, "blank.txt", "", "x")
    assert structured["structuredPatch"][0]["lines"] == ["-", "+x", "\\ No newline at end of file"]
    assert structured["contentNotInModelContext"] is True


@pytest.mark.parametrize(
    ("before", "old", "new", "after"),
    [
        (b"one\r\ntwo\r\nthree\r\n", "two\n", "TWO\n2\n", b"one\r\nTWO\r\n2\r\nthree\r\n"),
        (b"one\r\ntwo\r\n", "one\r\ntwo", "1\r\n2", b"1\r\n2\r\n"),
        (b"one\r\ntwo\r\n", "one", "a\r\nb", b"a\r\nb\r\ntwo\r\n"),
        (b"one\r\ntwo\nthree\nfour\n", "three", "3", b"one\ntwo\n3\nfour\n"),
        (b"one\r\ntwo\r\nthree\nfour\r\n", "two", "2", b"one\r\n2\r\nthree\r\nfour\r\n"),
        (b"\xef\xbb\xbfone\ntwo\n", "one", "ONE", b"\xef\xbb\xbfONE\ntwo\n"),
        ("hello\nwörld\n".encode("utf-16"), "hello", "HELLO", b"\xff\xfe" + "HELLO\nwörld\n".encode("utf-16-le")),
        (b"one\rtwo\r", "two", "2", b"one\r2\r"),
        ("a\u2028b".encode(), "b", "c", "a\u2028c".encode()),
    ],
)
def test_encodings_and_newlines_are_kept(desk: Desk, before: bytes, old: str, new: str, after: bytes) -> None:
    (desk.project / "b.txt").write_bytes(before)
    read(desk, "b.txt")
    edit(desk, "b.txt", old, new)
    assert (desk.project / "b.txt").read_bytes() == after


def test_the_mark_of_a_file_is_in_the_record(desk: Desk) -> None:
    (desk.project / "b.txt").write_bytes(b"\xef\xbb\xbfone\ntwo\n")
    read(desk, "b.txt")
    _, structured = edit(desk, "b.txt", "one", "ONE")
    assert structured["originalFile"] == "\ufeffone\ntwo\n"
    assert structured["structuredPatch"][0]["lines"] == ["-\ufeffone", "+\ufeffONE", " two"]


def test_round_quotes_are_found_by_straight_ones(desk: Desk) -> None:
    (desk.project / "q.txt").write_text("say “hello” and ‘bye’\n")
    read(desk, "q.txt")
    _, structured = edit(desk, "q.txt", 'say "hello"', 'say "hi"')
    assert (structured["oldString"], structured["newString"]) == ("say “hello”", 'say "hi"')
    assert (desk.project / "q.txt").read_text() == "say “hi” and ‘bye’\n"


@pytest.mark.parametrize(
    ("data", "words"),
    [
        ("café\n".encode("latin-1"), "<tool_use_error>File is not valid UTF-8: it uses a legacy encoding"),
        (b"a\0b\n", "<tool_use_error>File has NUL bytes in its first 8 KB"),
        (b"\xfe\xff\0a", "<tool_use_error>File is UTF-16 big-endian (it starts FE FF)"),
    ],
)
def test_what_could_not_be_written_back_stays(desk: Desk, data: bytes, words: str) -> None:
    (desk.project / "b.txt").write_bytes(data)
    assert fail(desk, "b.txt", "a", "b").startswith(words)
    assert (desk.project / "b.txt").read_bytes() == data


def test_links_folders_notebooks_pipes_and_huge_files_are_not_edited(desk: Desk) -> None:
    (desk.project / "link.txt").symlink_to("a.txt")
    (desk.project / "nb.ipynb").write_text("{}")
    os.mkfifo(desk.project / "pipe")
    with (desk.project / "huge").open("wb") as file:
        file.truncate(64 * 2**20 + 1)
    assert fail(desk, "link.txt", "two", "2").startswith("Refusing to write {cwd}/link.txt: it is a symbolic link.")
    assert fail(desk, ".", "a", "b").startswith("EISDIR: illegal operation on a directory")
    assert "Jupyter Notebook" in fail(desk, "nb.ipynb", "a", "b")
    assert "this path names a device or process file" in fail(desk, "pipe", "a", "b")
    assert "too large" in fail(desk, "huge", "a", "b")
    assert "`old_string`" in asyncio.run(desk.fail(EDIT, file_path="a.txt"))


TWENTY = "".join(f"{number}\n" for number in range(1, 21))


@pytest.mark.parametrize(
    ("before", "after", "hunks"),
    [
        ("a\n", "a\n", []),
        (
            "alpha\nbeta",
            "alpha\ngamma",
            [(1, 2, 1, 2, [" alpha", "-beta", "\\ No newline at end of file", "+gamma", "\\ No newline at end of file"])],
        ),
        ("1\n2\n", "1\n2", [(1, 2, 1, 2, [" 1", "-2", "+2", "\\ No newline at end of file"])]),
        ("1\n2", "", [(1, 2, 1, 0, ["-1", "-2", "\\ No newline at end of file"])]),
        (
            TWENTY,
            TWENTY.replace("3\n4\n", "3\nthree and a half\n4\n", 1),
            [(1, 6, 1, 7, [" 1", " 2", " 3", "+three and a half", " 4", " 5", " 6"])],
        ),
        (
            "1\n2\n3\nthree and a half\n4\n",
            "2\n3\nthree and a half\n4\n",
            [(1, 4, 1, 3, ["-1", " 2", " 3", " three and a half"])],
        ),
        (
            "if x:\n\ty = 1\t# c\n\t\tz = 2\n  \tw\n",
            "if x:\n\ty = 2\t# c\n\t\tz = 2\n  \tw\n",
            [(1, 4, 1, 4, [" if x:", "-  y = 1\t# c", "+  y = 2\t# c", "     z = 2", "   \tw"])],
        ),
        (
            "4\n5\n6\n7\n8\n9\none0\noneone\none2\none3\none4\none5\none6\none7\none8\none9\n20",
            "4\n5\n6\nseven\nb\n8\n9\none0\noneone\none2\none3\none4\none5\none6\noneseven\nb\none8\none9\n20",
            [
                (1, 7, 1, 8, [" 4", " 5", " 6", "-7", "+seven", "+b", " 8", " 9", " one0"]),
                (
                    11,
                    7,
                    12,
                    8,
                    [
                        " one4",
                        " one5",
                        " one6",
                        "-one7",
                        "+oneseven",
                        "+b",
                        " one8",
                        " one9",
                        " 20",
                        "\\ No newline at end of file",
                    ],
                ),
            ],
        ),
    ],
)
def test_patches_are_the_clients(before: str, after: str, hunks: list[tuple[int, int, int, int, list[str]]]) -> None:
    names = ("oldStart", "oldLines", "newStart", "newLines", "lines")
    assert structured_patch(before, after) == [dict(zip(names, hunk, strict=True)) for hunk in hunks]


def test_long_files_of_equal_lines_take_no_long_time() -> None:
    began = time.process_time()
    [hunk] = structured_patch("x\n" + "z\n" * 6000 + "y\n", "a\n" + "z\n" * 5000 + "b\n")
    assert time.process_time() - began < 2
    assert (hunk["oldLines"], hunk["newLines"]) == (6002, 5002)


LINES = st.lists(st.sampled_from(["a", "b", "c", "", " d"]), max_size=30)


@given(LINES, LINES, st.booleans(), st.booleans())
def test_a_patch_leads_from_one_text_to_the_other(old: list[str], new: list[str], old_ends: bool, new_ends: bool) -> None:
    before = "\n".join(old) + ("\n" if old_ends else "")
    after = "\n".join(new) + ("\n" if new_ends else "")
    hunks = structured_patch(before, after)
    for side, text, start, count in (("-", before, "oldStart", "oldLines"), ("+", after, "newStart", "newLines")):
        lines = text.split("\n")
        for hunk in hunks:
            shown = [line[1:] for line in hunk["lines"] if line[0] in (" ", side)]
            assert len(shown) == hunk[count]
            assert lines[hunk[start] - 1 : hunk[start] - 1 + hunk[count]] == shown
    assert _patched(before.splitlines(keepends=True), hunks) == after.splitlines(keepends=True)


def _patched(lines: list[str], hunks: list[Json]) -> list[str]:
    """The lines with the hunks applied, from the last one on."""
    for hunk in reversed(hunks):
        fresh: list[str] = []
        for index, line in enumerate(hunk["lines"]):
            if line[0] in (" ", "+"):
                is_last = hunk["lines"][index + 1 : index + 2] == ["\\ No newline at end of file"]
                fresh.append(line[1:] + ("" if is_last else "\n"))
        at = hunk["oldStart"] - 1
        lines = lines[:at] + fresh + lines[at + hunk["oldLines"] :]
    return lines


def test_a_file_that_has_nothing_to_give_yet_is_a_clear_failure(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """Some files of the kernel look like any other, and have a reader wait. A pipe that somebody holds open does the same."""
    os.mkfifo(desk.project / "pipe")
    writer = os.open(desk.project / "pipe", os.O_RDWR)
    monkeypatch.setattr(stat, "S_ISREG", lambda _mode: True)
    try:
        said = asyncio.run(desk.fail(EDIT, file_path=str(desk.project / "pipe"), old_string="a", new_string="b"))
    finally:
        os.close(writer)
    assert "this path names a device or process file that this tool does not read" in said
