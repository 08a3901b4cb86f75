"""Write, asked what 2.1.325 was asked: words and shapes are those of that client, unless a comment says otherwise."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest
from tests.agent.tools.desk import Desk
from tests.disk.conftest import Unprivileged

from stenograph.agent.recording.file_history import FileHistory
from stenograph.agent.tools.base import Json
from stenograph.agent.tools.read import ReadTool
from stenograph.agent.tools.write import WriteTool

WRITE = WriteTool()
CURRENT = " (file state is current in your context — no need to Read it back)"
UNREAD = "<tool_use_error>File has not been read yet. Read it first before writing to it.</tool_use_error>"
CHANGED = (
    "<tool_use_error>File has been modified since read, either by the user or by a linter. Read it again before attempting to"
    " write it.</tool_use_error>"
)


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


def read(desk: Desk, name: str, **given: object) -> None:
    asyncio.run(desk.call(ReadTool(), file_path=str(desk.project / name), **given))


def write(desk: Desk, name: str, content: str) -> tuple[str, Json]:
    output = asyncio.run(desk.call(WRITE, file_path=str(desk.project / name), content=content))
    assert isinstance(output.content, str)
    return output.content.replace(str(desk.project), "{cwd}"), output.structured


def fail(desk: Desk, name: str, content: str = "x\n") -> str:
    return asyncio.run(desk.fail(WRITE, file_path=str(desk.project / name), content=content)).replace(str(desk.project), "{cwd}")


def test_a_new_file_is_made_with_its_folders(desk: Desk) -> None:
    words, structured = write(desk, "deep/er/new.txt", "a\r\nb\n")
    assert words == f"File created successfully at: {{cwd}}/deep/er/new.txt{CURRENT}"
    assert structured == {
        "type": "create",
        "filePath": str(desk.project / "deep/er/new.txt"),
        "content": "a\r\nb\n",
        "structuredPatch": [],
        "originalFile": None,
        "userModified": False,
    }
    assert (desk.project / "deep/er/new.txt").read_bytes() == b"a\r\nb\n"


def test_a_file_that_was_read_is_replaced(desk: Desk) -> None:
    (desk.project / "mode.sh").write_text("#!/bin/sh\necho 1\n")
    (desk.project / "mode.sh").chmod(0o751)
    read(desk, "mode.sh")
    words, structured = write(desk, "mode.sh", "#!/bin/sh\necho 2\n")
    assert words == f"The file {{cwd}}/mode.sh has been updated successfully.{CURRENT}"
    hunk = {"oldStart": 1, "oldLines": 2, "newStart": 1, "newLines": 2, "lines": [" #!/bin/sh", "-echo 1", "+echo 2"]}
    assert structured == {
        "type": "update",
        "filePath": str(desk.project / "mode.sh"),
        "content": "#!/bin/sh\necho 2\n",
        "structuredPatch": [hunk],
        "originalFile": "#!/bin/sh\necho 1\n",
        "userModified": False,
    }
    assert (desk.project / "mode.sh").read_text() == "#!/bin/sh\necho 2\n"
    assert (desk.project / "mode.sh").stat().st_mode & 0o777 == 0o751
    assert [path.name for path in desk.project.iterdir()] == ["mode.sh"]


def test_what_was_written_can_be_written_again(desk: Desk) -> None:
    write(desk, "a.txt", "1\n2\n")
    _, same = write(desk, "a.txt", "1\n2\n")
    assert same["structuredPatch"] == []
    _, structured = write(desk, "a.txt", "")
    assert structured["structuredPatch"] == [{"oldStart": 1, "oldLines": 2, "newStart": 1, "newLines": 0, "lines": ["-1", "-2"]}]


def test_a_file_that_was_not_read_stays(desk: Desk) -> None:
    (desk.project / "a.txt").write_text("one\n")
    assert fail(desk, "a.txt") == UNREAD
    assert (desk.project / "a.txt").read_text() == "one\n"


def test_a_file_of_which_only_a_part_was_read_stays(desk: Desk) -> None:
    # Stricter than the client: what was not shown would be lost.
    (desk.project / "a.txt").write_text("one\ntwo\nthree\n")
    read(desk, "a.txt", limit=1)
    assert fail(desk, "a.txt").startswith("<tool_use_error>Only a part of this file was read")
    read(desk, "a.txt")
    write(desk, "a.txt", "x\n")


def test_a_file_that_was_changed_since_stays(desk: Desk) -> None:
    (desk.project / "a.txt").write_text("one\n")
    read(desk, "a.txt")
    (desk.project / "a.txt").write_text("one\n# more\n")
    assert fail(desk, "a.txt") == CHANGED
    assert (desk.project / "a.txt").read_text() == "one\n# more\n"


def test_a_file_that_was_only_touched_since_is_known(desk: Desk) -> None:
    (desk.project / "a.txt").write_text("one\n")
    read(desk, "a.txt")
    os.utime(desk.project / "a.txt", ns=(1, 1))
    write(desk, "a.txt", "two\n")
    assert (desk.project / "a.txt").read_text() == "two\n"


def test_a_file_that_is_gone_is_made_anew(desk: Desk) -> None:
    (desk.project / "a.txt").write_text("one\n")
    read(desk, "a.txt")
    (desk.project / "a.txt").unlink()
    assert write(desk, "a.txt", "two\n")[1]["type"] == "create"


@pytest.mark.parametrize(
    ("before", "content", "after"),
    [
        # Newlines are the writer's own, as with the client; encoding and mark are the file's.
        (b"one\r\ntwo\r\n", "q\nr\n", b"q\nr\n"),
        ("hello\n".encode("utf-16"), "wörld\n", b"\xff\xfe" + "wörld\n".encode("utf-16-le")),
        (b"\xef\xbb\xbfone\n", "two\n", b"\xef\xbb\xbftwo\n"),
    ],
)
def test_encodings_are_kept(desk: Desk, before: bytes, content: str, after: bytes) -> None:
    (desk.project / "a.txt").write_bytes(before)
    read(desk, "a.txt")
    write(desk, "a.txt", content)
    assert (desk.project / "a.txt").read_bytes() == after


@pytest.mark.parametrize(
    ("data", "words"),
    [
        ("café\n".encode("latin-1"), "File is not valid UTF-8: it uses a legacy encoding"),
        (b"a\0b\n", "File has NUL bytes in its first 8 KB: binary data"),
        (b"\xfe\xff\0h\0i", "File is UTF-16 big-endian (it starts FE FF), which these tools cannot write."),
    ],
)
def test_what_could_not_be_written_back_stays(desk: Desk, data: bytes, words: str) -> None:
    (desk.project / "a.txt").write_bytes(data)
    read(desk, "a.txt")
    assert fail(desk, "a.txt").startswith(words)
    assert (desk.project / "a.txt").read_bytes() == data


def test_the_original_of_a_long_file_is_not_in_the_record(desk: Desk) -> None:
    for length, is_kept in ((10_000, True), (10_001, False)):
        name = f"{length}.txt"
        (desk.project / name).write_text("z" * length)
        read(desk, name)
        assert (write(desk, name, "short\n")[1]["originalFile"] is not None) is is_kept


def test_links_and_folders_are_not_written(desk: Desk) -> None:
    (desk.project / "a.txt").write_text("one\n")
    (desk.project / "link.txt").symlink_to("a.txt")
    (desk.project / "sub").mkdir()
    read(desk, "link.txt")
    assert fail(desk, "link.txt") == (
        "Refusing to write {cwd}/link.txt: it is a symbolic link. Write to the link's target path instead: {cwd}/a.txt."
    )
    assert fail(desk, "sub") == (
        "<tool_use_error>{cwd}/sub is a directory, not a file. To create a file inside it, include the file name in"
        " file_path.</tool_use_error>"
    )
    assert fail(desk, "a.txt/b").startswith("ENOTDIR: not a directory")
    assert fail(desk, "x" * 300).startswith("ENAMETOOLONG: name too long")
    assert "cannot contain null bytes" in fail(desk, "a\0b")
    assert "half of a surrogate pair" in fail(desk, "new.txt", "\ud800")
    assert sorted(path.name for path in desk.project.iterdir()) == ["a.txt", "link.txt", "sub"]


def test_both_names_of_a_file_stay_one_file(desk: Desk) -> None:
    (desk.project / "a.txt").write_text("one\n")
    (desk.project / "b.txt").hardlink_to(desk.project / "a.txt")
    read(desk, "a.txt")
    write(desk, "a.txt", "two\n")
    assert (desk.project / "b.txt").read_text() == "two\n"


def test_a_folder_without_rights_says_so(desk: Desk) -> None:
    closed = desk.project / "closed"
    closed.mkdir(mode=0)
    user = os.geteuid()
    if user == 0:  # who may write everything: be somebody else for a moment
        os.seteuid(65534)
    try:
        assert fail(desk, "closed/f.txt").startswith("EACCES: permission denied, open '{cwd}/closed/f.txt'")
    finally:
        os.seteuid(user)
        closed.chmod(0o700)


def test_a_file_that_is_closed_for_writing_stays(open_folder: Path, unprivileged: Unprivileged) -> None:
    desk = Desk(open_folder)
    desk.project.chmod(0o777)  # a new file could be put in its place
    with unprivileged():
        (desk.project / "a.txt").write_text("one\n")
        (desk.project / "a.txt").chmod(0o444)
    read(desk, "a.txt")
    with unprivileged():
        assert fail(desk, "a.txt") == "EACCES: permission denied, write '{cwd}/a.txt'"
    assert (desk.project / "a.txt").read_text() == "one\n"


def test_nothing_is_written_where_nothing_can_be_kept(desk: Desk, tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("a file where the folder should be")
    history = FileHistory(tmp_path / "taken", desk.project)
    history.at_prompt("p1")
    desk.context.history = history
    (desk.project / "a.txt").write_text("one\n")
    read(desk, "a.txt")
    assert fail(desk, "a.txt").startswith("Nothing was written, because the file could not be backed up before:")
    assert (desk.project / "a.txt").read_text() == "one\n"


def test_a_file_is_kept_before_it_is_written(desk: Desk, tmp_path: Path) -> None:
    history = FileHistory(tmp_path / "kept", desk.project)
    history.at_prompt("p1")
    desk.context.history = history
    (desk.project / "a.txt").write_text("one\n")
    read(desk, "a.txt")
    write(desk, "a.txt", "two\n")
    assert [copy.read_text() for copy in (tmp_path / "kept").iterdir()] == ["one\n"]
