"""Memory files: which are read, in which order, with which imports. The order and the exceptions were asked of 2.1.325."""

from __future__ import annotations

import contextlib
import os
import pty
from pathlib import Path

import pytest
from lab.observatory.scenes import cue, say, text
from tests.agent.process import started, steno
from tests.agent.world import world_at

from stenograph.agent.context.memory import DEEPEST_IMPORT, LARGEST, LARGEST_SUM, Memory, MemoryKind, imports_in
from stenograph.agent.tools.base import Workspace


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "outer" / "project"
    folder.mkdir(parents=True)
    return folder


@pytest.fixture
def home(tmp_path: Path) -> Path:
    folder = tmp_path / "user" / ".claude"
    folder.mkdir(parents=True)
    return folder


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def memory(home: Path, project: Path, *additional: Path) -> Memory:
    return Memory(home, Workspace(cwd=project, project=project, additional=list(additional)))


def texts(found: Memory) -> list[str]:
    return [file.text for file in found.files]


def test_memory_is_read_from_the_user_down_to_the_folder_as_2_1_325_reads_it(
    home: Path, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(home.parent))
    write(home / "CLAUDE.md", "USERMEM @imp.md `@no.md`\n```\n@no2.md\n```\n@~/tilde.md @/nonexist.md")
    write(home / "imp.md", "IMPORTED @imp2.md")
    write(home / "imp2.md", "IMP2 @imp.md")
    write(home / "no.md", "NO1")
    write(home / "no2.md", "NO2")
    write(home.parent / "tilde.md", "TILDE")
    write(project / "CLAUDE.md", "PROJMEM\n<!-- comment -->\nafter")
    write(project / ".claude" / "CLAUDE.md", "DOTMEM")
    write(project / "CLAUDE.local.md", "LOCALMEM")
    write(project.parent / "CLAUDE.md", "PARENTMEM @outer.md")
    # The client leaves it out until a person has agreed.
    write(project.parent / "outer.md", "OUTER")
    found = memory(home, project)
    assert [text.split()[0] for text in texts(found)] == [
        "USERMEM", "IMPORTED", "IMP2", "TILDE", "PARENTMEM", "OUTER", "PROJMEM", "DOTMEM", "LOCALMEM",
    ]  # fmt: skip
    assert found.files[6].text == "PROJMEM\nafter"
    assert [file.kind for file in found.files[3:]] == [
        MemoryKind.USER,
        MemoryKind.PROJECT,
        MemoryKind.PROJECT,
        MemoryKind.PROJECT,
        MemoryKind.PROJECT,
        MemoryKind.LOCAL,
    ]
    assert found.problems == []


def test_a_project_in_the_users_folder_reads_the_users_memory_once(home: Path) -> None:
    write(home / "CLAUDE.md", "mine")
    inside = home.parent / "work"
    inside.mkdir()
    found = memory(home, inside)
    assert [(file.text, file.kind) for file in found.files] == [("mine", MemoryKind.USER)]


def test_there_may_be_no_memory_at_all(home: Path, project: Path) -> None:
    write(project / "CLAUDE.md", " \n<!-- only a remark -->\n")
    assert memory(home, project).files == []


@pytest.mark.parametrize(
    ("text", "imports"),
    [
        ("@a.md", ["a.md"]),
        ("see @docs/a.md, and @b.md.", ["docs/a.md", "b.md"]),
        ("- @~/a.md\n\t@/abs.md", ["~/a.md", "/abs.md"]),
        ("mail me@example.com", []),
        ("`@a.md` and ``x `@b.md` y``", []),
        ("```\n@a.md\n```\n@b.md", ["b.md"]),
        ("~~~~ text\n@a.md\n~~~\n@b.md\n~~~~\n@c.md", ["c.md"]),
        ("```\n@never.md", []),
        ("<!-- @a.md -->\n@b.md", ["b.md"]),
        ("@", []),
        ("@@a.md", ["@a.md"]),
        ("(@a.md)", []),
    ],
)
def test_imports_are_words_with_an_at_sign_outside_code(text: str, imports: list[str]) -> None:
    assert imports_in(text) == imports


def test_imports_go_five_deep_and_no_cycle_is_walked_twice(home: Path, project: Path) -> None:
    for depth in range(8):
        write(project / f"{depth}.md", f"depth {depth} @{depth + 1}.md @CLAUDE.md")
    write(project / "CLAUDE.md", "top @0.md")
    assert len(texts(memory(home, project))) == 1 + DEEPEST_IMPORT == 6


def test_a_projects_file_can_not_have_files_from_elsewhere_sent(home: Path, project: Path, tmp_path: Path) -> None:
    write(tmp_path / "secret", "SECRET")
    (project / "link").symlink_to(tmp_path / "secret")
    write(project / "CLAUDE.md", f"@{tmp_path}/secret @../../secret @link @inner/ok.md")
    write(project / "inner" / "ok.md", "FINE")
    found = memory(home, project)
    assert texts(found)[1:] == ["FINE"]
    assert found.problems == [
        f"{project}/CLAUDE.md imports {file}, which is outside the project; skipped"
        for file in (tmp_path / "secret", tmp_path / "secret", project / "link")
    ]


def test_a_memory_file_that_is_a_link_is_followed_inside_only(home: Path, project: Path, tmp_path: Path) -> None:
    write(tmp_path / "secret", "SECRET")
    write(project / "AGENTS.md", "AGENTS")
    (project / "CLAUDE.md").symlink_to("AGENTS.md")
    (project / "CLAUDE.local.md").symlink_to(tmp_path / "secret")
    (project / "sub").mkdir()
    (project / "sub" / "CLAUDE.md").symlink_to(tmp_path / "secret")
    # The user's own may be anywhere.
    write(tmp_path / "dotfiles" / "mine.md", "MINE")
    (home / "CLAUDE.md").symlink_to(tmp_path / "dotfiles" / "mine.md")
    found = memory(home, project)
    assert texts(found) == ["MINE", "AGENTS"]
    assert found.nested_for(project / "sub" / "f") == found.nested_for(project / "sub" / "f") == []
    assert found.problems == [
        f"skipped {project}/{name}: it is a link to outside the project" for name in ("CLAUDE.local.md", "sub/CLAUDE.md")
    ]


def test_what_a_rule_denies_to_read_is_no_memory(home: Path, project: Path) -> None:
    write(home / "CLAUDE.md", f"MINE @{project}/secret.md")
    write(project / "CLAUDE.md", "TOP @secret.md @fine.md")
    write(project / "secret.md", "SECRET")
    write(project / "fine.md", "FINE")
    write(project / "sub" / "CLAUDE.md", "SUB @../secret.md")
    workspace = Workspace(cwd=project, project=project)
    found = Memory(home, workspace, lambda path: path.name != "secret.md")
    assert [text.split()[0] for text in texts(found)] == ["MINE", "TOP", "FINE"]
    assert [file.text for file in found.nested_for(project / "sub" / "f")] == ["SUB @../secret.md"]
    assert found.problems == [f"skipped {project}/secret.md: a rule denies reading it"]
    assert Memory(home, workspace, lambda path: path.name != "CLAUDE.md").files == []


def test_memory_of_a_folder_above_imports_from_below_that_folder(home: Path, project: Path, tmp_path: Path) -> None:
    write(tmp_path / "secret.md", "SECRET")
    root = project.parent
    write(root / "CLAUDE.md", "ROOT @docs/s.md @../secret.md")
    write(root / "docs" / "s.md", "S @../top.md @../../secret.md")
    write(root / "top.md", "IMPORTED")
    write(root / ".claude" / "CLAUDE.md", "DOT @../docs/t.md")
    write(root / "docs" / "t.md", "T")
    # Of the project's own, that is elsewhere.
    write(project / "CLAUDE.md", "MINE @../else.md")
    write(root / "else.md", "ELSE")
    deep = project / "sub" / "deep"
    deep.mkdir(parents=True)
    found = memory(home, deep)
    assert [text.split()[0] for text in texts(found)] == ["ROOT", "S", "IMPORTED", "DOT", "T", "MINE"]
    assert len(found.problems) == 3


def test_a_projects_file_imports_from_additional_folders(home: Path, project: Path, tmp_path: Path) -> None:
    shared = write(tmp_path / "shared" / "s.md", "SHARED").parent
    write(project / "CLAUDE.md", f"TOP @{shared}/s.md")
    assert texts(memory(home, project))[1:] == []
    assert texts(memory(home, project, shared))[1:] == ["SHARED"]


def test_imports_are_relative_to_the_file_that_holds_them(home: Path, project: Path) -> None:
    write(project / "CLAUDE.md", "@docs/a.md")
    write(project / "docs" / "a.md", "A @b.md")
    write(project / "docs" / "b.md", "B")
    assert texts(memory(home, project)) == ["@docs/a.md", "A @b.md", "B"]


def test_what_can_not_be_taken_whole_is_a_problem_and_nothing_more(home: Path, project: Path) -> None:
    (home / "CLAUDE.md").mkdir()
    write(project.parent / "CLAUDE.md", "a\0b")
    write(project / "CLAUDE.md", "x" * (LARGEST + 10))
    os.mkfifo(project / "CLAUDE.local.md")
    write(project / ".claude" / "CLAUDE.md", "@" + "n" * 300 + " fine")
    found = memory(home, project)
    assert [len(text) for text in texts(found)] == [LARGEST, 306]
    wrong, long, unreadable = found.problems
    assert wrong == f"skipped {project.parent}/CLAUDE.md: it is not text"
    assert long == f"{project}/CLAUDE.md is too long; only its first {LARGEST} bytes are used"
    assert unreadable.startswith(f"cannot read {project}/.claude/nnn")


def test_all_files_together_have_a_limit_too(home: Path, project: Path) -> None:
    names = [f"{number}.md" for number in range(8)]
    for name in names:
        write(project / name, "y" * LARGEST)
    write(project / "CLAUDE.md", " ".join(f"@{name}" for name in names))
    assert sum(map(len, texts(memory(home, project)))) <= LARGEST_SUM


def test_bytes_that_are_no_text_are_replaced_and_marks_of_windows_taken_off(home: Path, project: Path) -> None:
    (project / "CLAUDE.md").write_bytes(b"\xef\xbb\xbfone\r\ntwo \xff\r\n")
    assert texts(memory(home, project)) == ["one\ntwo �"]


def test_inner_folders_tell_theirs_when_a_file_in_them_is_read_each_once(home: Path, project: Path) -> None:
    write(project / "CLAUDE.md", "TOP")
    write(project / "sub" / "CLAUDE.md", "SUBMEM")
    write(project / "sub" / "deep" / "CLAUDE.md", "DEEPMEM")
    read = write(project / "sub" / "deep" / "f.txt", "x\n")
    found = memory(home, project)
    assert found.nested_for(project / "top.txt") == []
    assert found.nested_for(project.parent / "else" / "f") == []
    # The words are those of 2.1.325.
    assert found.nested_texts([read, read]) == [
        f"<system-reminder>\nContents of {project}/sub/CLAUDE.md:\n\nSUBMEM\n</system-reminder>",
        f"<system-reminder>\nContents of {project}/sub/deep/CLAUDE.md:\n\nDEEPMEM\n</system-reminder>",
    ]
    assert found.nested_texts([read]) == []
    found.forget_nested()
    assert len(found.nested_texts([project / "sub" / "other"])) == 1
    assert texts(found) == ["TOP"]


@pytest.mark.parametrize("output_format", ["text", "json", "stream-json"])
def test_neither_memory_nor_an_answer_can_command_a_terminal(tmp_path: Path, output_format: str) -> None:
    commands = "\x1b]0;title\x07 \x1b]52;c;cHduZWQ=\x07 \x9b31m \u202e"
    with world_at(tmp_path, {"hostile": [say(text(f"An answer. {commands}"))]}) as world:
        (tmp_path / "outside\x1b]0;x\x07.md").write_text("secret")
        (world.cwd / "CLAUDE.md").write_text("@../outside\x1b]0;x\x07.md\n")
        ours, theirs = pty.openpty()
        arguments = ["--output-format", output_format, *(["--verbose"] if output_format == "stream-json" else [])]
        with started(world, cue("hostile"), *arguments, stdout=theirs, stderr=theirs) as process:
            os.close(theirs)
            shown = b""
            with contextlib.suppress(OSError):  # the other end is closed
                while data := os.read(ours, 65536):
                    shown += data
            assert process.wait(60) == 0
        os.close(ours)
        assert b"An answer." in shown
        assert b"which is outside" in shown
        for character in ("\x1b", "\x07", "\x9b", "\u202e"):
            assert character.encode() not in shown
        # A program gets what was said.
        if output_format == "text":
            assert steno(world, cue("hostile")).stdout == f"An answer. {commands}\n"
