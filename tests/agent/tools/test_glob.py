"""Glob, asked what 2.1.325 was asked: words and shapes are those of that client, unless a comment says otherwise."""

from __future__ import annotations

import asyncio
import os
import random
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from pathspec.patterns.gitignore.spec import GitIgnoreSpecPattern
from tests.agent.tools.desk import Desk, denying
from tests.disk.conftest import Unprivileged

from stenograph.agent.tools import glob as glob_module
from stenograph.agent.tools import globbing
from stenograph.agent.tools.base import Json
from stenograph.agent.tools.glob import GlobTool
from stenograph.agent.tools.globbing import Glob, GlobError, fixed_part

GLOB = GlobTool()
FILES = (".dot.py", ".git/needle.py", ".hidden/h.py", "a.txt", "ignored.py", "sub/deep/z.py", "sub/x.py", "sub/y.py", "wide.png")


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    desk = Desk(tmp_path)
    (desk.project / ".gitignore").write_text("ignored.py\n")
    for index, name in enumerate(FILES):
        path = desk.project / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("x\n")
        os.utime(path, (1000 + index, 1000 + index))
    (desk.project / "link.py").symlink_to("a.txt")
    (desk.project / "lsub").symlink_to("sub")
    return desk


def glob(desk: Desk, **given: object) -> tuple[str, Json]:
    output = asyncio.run(desk.call(GLOB, **given))
    assert isinstance(output.content, str)
    return output.content, output.structured


@pytest.mark.parametrize(
    ("pattern", "names"),
    [
        ("**/*.py", [".dot.py", ".git/needle.py", ".hidden/h.py", "ignored.py", "sub/deep/z.py", "sub/x.py", "sub/y.py"]),
        ("*.py", [".dot.py", ".git/needle.py", ".hidden/h.py", "ignored.py", "sub/deep/z.py", "sub/x.py", "sub/y.py"]),
        ("sub/*.py", ["sub/x.py", "sub/y.py"]),
        ("sub/**", ["sub/deep/z.py", "sub/x.py", "sub/y.py"]),
        ("sub/**/z.py", ["sub/deep/z.py"]),
        ("*.{txt,png}", ["a.txt", "wide.png"]),
        ("[ab].txt", ["a.txt"]),
        ("[!b].txt", ["a.txt"]),
        ("?.py", [".hidden/h.py", "sub/deep/z.py", "sub/x.py", "sub/y.py"]),
        ("A.TXT", []),
        ("sub", []),
        # The client does not follow a link that the pattern names.
        ("lsub/*", ["lsub/x.py", "lsub/y.py"]),
        ("*.nope", []),
    ],
)
def test_files_are_found_by_their_names(desk: Desk, pattern: str, names: list[str]) -> None:
    words, structured = glob(desk, pattern=pattern)
    assert words == ("\n".join(names) or "No files found")
    structured.pop("durationMs")
    assert structured == {
        "filenames": names,
        "numFiles": len(names),
        "truncated": False,
    }


def test_a_folder_and_a_whole_path_can_be_named(desk: Desk) -> None:
    assert glob(desk, pattern="*", path=str(desk.project / "sub"))[1]["filenames"] == ["sub/deep/z.py", "sub/x.py", "sub/y.py"]
    assert glob(desk, pattern=f"{desk.project}/sub/*.py")[1]["filenames"] == ["sub/x.py", "sub/y.py"]
    (desk.project.parent / "beside").mkdir()
    (desk.project.parent / "beside" / "b.txt").write_text("x")
    assert glob(desk, pattern="*.txt", path="../beside")[1]["filenames"] == [str(desk.project.parent / "beside/b.txt")]


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (
            {"pattern": "*", "path": "missing"},
            "Directory does not exist: {cwd}/missing. Note: your current working directory is {cwd}.",
        ),
        ({"pattern": "*", "path": "a.txt"}, "Path is not a directory: {cwd}/a.txt"),
        # Ours: the client names ripgrep as the one who refused.
        (
            {"pattern": "{"},
            "Search failed — the pattern was rejected without searching:\nerror parsing glob '{': unclosed alternate"
            " group; missing '}' (maybe escape '{' with '[{]'?)",
        ),
        (
            {"pattern": "[a"},
            "Search failed — the pattern was rejected without searching:\nerror parsing glob '[a': unclosed character"
            " class; missing ']'",
        ),
        (
            {"pattern": "x", "path": "a\0b"},
            "<tool_use_error>Glob file_path cannot contain null bytes (\\0). Remove the null byte and"
            " try again.</tool_use_error>",
        ),
    ],
)
def test_what_can_not_be_searched_is_said(desk: Desk, given: Json, words: str) -> None:
    assert asyncio.run(desk.fail(GLOB, **given)).replace(str(desk.project), "{cwd}") == words


def test_more_than_a_hundred_files_are_cut(desk: Desk) -> None:
    (desk.project / "g").mkdir()
    for index in range(150):
        (desk.project / "g" / f"f{index:03}.q").touch()
        os.utime(desk.project / "g" / f"f{index:03}.q", (index, index))
    words, structured = glob(desk, pattern="*.q")
    assert (structured["numFiles"], structured["truncated"]) == (100, True)
    assert words.startswith("g/f000.q\ng/f001.q\n")
    assert words.endswith(
        "g/f099.q\n(Showing 100 of 150 matching files; 50 more are not listed. Narrow the pattern or path to see the rest.)"
    )


def test_a_search_that_takes_too_long_gives_what_it_has(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(glob_module, "TIME_LIMIT", -1.0)
    words, structured = glob(desk, pattern="*.py")
    assert structured.keys() == {"filenames", "durationMs", "numFiles", "truncated"}  # the client's, and no other
    assert "The search was stopped" in words


def test_a_search_that_is_cancelled_ends(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    def slow(_folder: Path, is_over: Callable[[str, bool], bool]) -> Iterator[str]:
        time.sleep(0.2)
        while not is_over("a.txt", False):
            yield "a.txt"

    monkeypatch.setattr(globbing, "walk_files", slow)

    async def cancel() -> None:
        task = asyncio.create_task(desk.call(GLOB, pattern="*"))
        await asyncio.sleep(0.05)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    began = time.monotonic()
    asyncio.run(cancel())
    assert time.monotonic() - began < 30


def test_a_folder_that_can_not_be_listed_is_passed_over(open_folder: Path, unprivileged: Unprivileged) -> None:
    desk = Desk(open_folder)
    closed = desk.project / "closed"
    closed.mkdir()
    (closed / "c.txt").touch()
    (desk.project / "a.txt").touch()
    assert len(glob(desk, pattern="*.txt")[1]["filenames"]) == 2
    closed.chmod(0)
    with unprivileged():
        assert glob(desk, pattern="*.txt")[1]["filenames"] == ["a.txt"]


@pytest.mark.parametrize(
    ("rules", "given", "names"),
    [
        ("Read(x.py)", {"pattern": "sub/**"}, ["sub/deep/z.py", "sub/y.py"]),
        ("Read(sub/deep/**)", {"pattern": "sub/**"}, ["sub/x.py", "sub/y.py"]),
        ("Read(sub)", {"pattern": "*.{py,txt}"}, [".dot.py", ".git/needle.py", ".hidden/h.py", "a.txt", "ignored.py"]),
        # Behind a link, by the name that it has there and by its own.
        ("Read(sub/x.py)", {"pattern": "lsub/*"}, ["lsub/y.py"]),
        ("Read(lsub/x.py)", {"pattern": "lsub/*"}, ["lsub/y.py"]),
        ("Read(sub/**)", {"pattern": "*", "path": "lsub"}, []),
        ("Read(x.py)", {"pattern": "sub/x.py"}, []),
        ("Glob(x.py)", {"pattern": "sub/*"}, ["sub/y.py"]),
        ("Grep(x.py) Edit(x.py) Bash(x.py)", {"pattern": "sub/*"}, ["sub/x.py", "sub/y.py"]),
    ],
)
def test_files_that_a_rule_denies_to_read_are_not_found(desk: Desk, rules: str, given: Json, names: list[str]) -> None:
    desk.context.may_read = denying(rules, desk.workspace, "Glob")
    words, structured = glob(desk, **given)
    assert words == ("\n".join(names) or "No files found")
    assert (structured["filenames"], structured["numFiles"]) == (names, len(names))


def test_files_that_are_left_out_are_not_counted(desk: Desk) -> None:
    for index in range(150):
        (desk.project / f"f{index:03}.q").touch()
    desk.context.may_read = denying("Read(f1*.q)", desk.workspace, "Glob")
    assert glob(desk, pattern="*.q")[1]["truncated"] is False


@pytest.mark.parametrize(
    ("pattern", "matching", "other"),
    [
        ("**/test_*.py", ["test_a.py", "x/test_a.py", "x/y/test_a.py"], ["a_test.py", "test_a.pyc"]),
        ("a/**/b", ["a/b", "a/x/b", "a/x/y/b"], ["ab", "x/a/b"]),
        ("a**b", ["ab", "axxb"], ["a/b"]),
        ("/a.txt", ["a.txt"], ["x/a.txt"]),
        ("./a/*.txt", ["a/b.txt"], ["x/a/b.txt"]),
        ("{a,b/**}/c", ["a/c", "b/x/c"], ["c"]),
        ("{a,{b,c}}.x", ["a.x", "b.x", "d/c.x"], ["{a.x"]),
        ("a\\*b", ["a*b"], ["axb"]),
        ("[]-]x", ["]x", "-x"], ["ax"]),
        ("[^a-c]x", ["dx"], ["bx"]),
        ("a.b+c", ["a.b+c"], ["axbbc"]),
        ("src", ["src", "x/src"], ["src/a", "srcs"]),
        ("!a", ["!a"], ["a", "b"]),
        ("#a", ["#a", "x/#a"], ["a"]),
        ("a[{]b", ["a{b"], ["ab"]),
    ],
)
def test_patterns(pattern: str, matching: list[str], other: list[str]) -> None:
    compiled = Glob(pattern)
    assert [name for name in [*matching, *other] if compiled.matches(name)] == matching


def test_patterns_match_what_git_s_patterns_match_in_pathspec() -> None:
    chance = random.Random(7)
    pieces = ["a", "b", "*", "?", "/", "**", "/**/", "**/", "[ab]", ".", "\\a", "a/", "[]b]", "[a-b]", "[!a]"]
    matched = 0
    for _ in range(4000):
        pattern = "".join(chance.choices(pieces, k=chance.randint(1, 7))).removeprefix("./")
        try:
            ours = Glob(pattern, braces=False)
        except GlobError:
            continue
        theirs = GitIgnoreSpecPattern(f"\\{pattern}" if pattern.startswith("!") else pattern).regex
        if theirs is None:
            assert not pattern.strip("/"), pattern
            continue
        for _ in range(5):
            names = ["".join(chance.choices("ab.", k=chance.randint(1, 3))) for _ in range(chance.randint(1, 5))]
            path = "/".join(names)
            found = theirs.search(path)
            # Its `[!a]` matches a slash too, git's does not.
            if "[!" not in pattern:
                assert ours.covers(path) is bool(found), (pattern, path)
                assert ours.matches(path) is bool(found and found.lastgroup is None), (pattern, path)
            matched += bool(found)
    assert matched > 1000


@pytest.mark.parametrize(
    ("pattern", "path"),
    [
        ("*a*a*a*a*a*a*a*a*a*b", "a" * 200),
        ("**/" * 12 + "b", "/".join("a" * 100)),
        ("**/*a*a/" * 12 + "b", "/".join(["aaaaaaaa"] * 100)),
        ("**/a/" * 12 + "**/b/**", "/".join("a" * 200)),
        ("*a" * 2000 + "b", "a" * 4000),
        ("[!b]*" * 50 + "b", "a" * 255),
    ],
)
def test_a_pattern_never_takes_long(pattern: str, path: str) -> None:
    began = time.process_time()
    glob = Glob(pattern)
    assert not glob.matches(path)
    assert not glob.covers(path)
    assert time.process_time() - began < 2


def test_a_search_of_folders_without_files_ends_in_time(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    for index in range(200):
        (desk.project / "empty" / f"{index}").mkdir(parents=True)
    monkeypatch.setattr(glob_module, "TIME_LIMIT", -1.0)
    words, _ = glob(desk, pattern="**/*", path="empty")
    assert "The search was stopped" in words


def test_a_pattern_that_is_too_long_is_refused() -> None:
    with pytest.raises(GlobError, match="longer than"):
        Glob("x" * 200_000)


def test_braces_that_stand_for_too_many_patterns_are_refused() -> None:
    with pytest.raises(GlobError, match="more than 1000 alternatives"):
        Glob("{a,b}" * 40)


def test_a_class_that_can_not_be_is_an_error_of_the_pattern() -> None:
    with pytest.raises(GlobError):
        Glob("[z-a]")


@pytest.mark.parametrize(
    ("pattern", "parts"),
    [
        ("src/x/**/*.py", ("src/x", "**/*.py")),
        ("*.py", ("", "*.py")),
        ("/*.py", ("/", "*.py")),
        ("a/b.txt", ("a", "b.txt")),
        ("b.txt", ("", "b.txt")),
    ],
)
def test_the_fixed_part_of_a_pattern(pattern: str, parts: tuple[str, str]) -> None:
    assert fixed_part(pattern) == parts
