"""Grep, asked what 2.1.325 was asked, with ripgrep and without: words and shapes are those of that client, unless a comment says
otherwise."""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import time
from pathlib import Path
from typing import Any

import pytest
from tests.agent.tools.desk import Desk, denying
from tests.conftest import Need

from stenograph.agent.tools import grep as grep_module
from stenograph.agent.tools import ripgrep
from stenograph.agent.tools.base import Json, Workspace
from stenograph.agent.tools.grep import GrepTool
from stenograph.agent.tools.ripgrep import ReadableResults, run_search
from stenograph.agent.tools.searching import Search, SearchError, search

GREP = GrepTool()
FILES = {
    ".dot.py": b"needle\n",
    ".git/HEAD": b"ref: refs/heads/main\n",
    ".git/needle.py": b"needle\n",
    ".gitignore": b"ignored.py\nnode_modules/\n*.log\n!keep.log\n/top.md\n",
    ".hidden/h.py": b"needle\n",
    "a.txt": b"one\ntwo\nthree\nfour\nfive\n",
    "crlf.txt": b"one\r\ntwo\r\n",
    "ignored.py": b"needle\n",
    "keep.log": b"kept\n",
    "latin.txt": "café\n".encode("latin-1"),
    "long.txt": b"x" * 5000 + b"\nshort\n",
    "lost.log": b"kept\n",
    "many.txt": b"".join(b"line %d\n" % number for number in range(1, 3001)),
    "node_modules/m.py": b"needle\n",
    "nul.txt": b"a\0b\n",
    "sub/deep/z.py": b"def g(): pass\n# needle here\n",
    "sub/top.md": b"kept\n",
    "sub/x.py": b"def f():\n    return 1\n",
    "top.md": b"kept\n",
    "u16.txt": "hello\nwörld\n".encode("utf-16"),
}


@pytest.fixture(params=["rg", "own"])
def desk(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, need: Need) -> Desk:
    if request.param == "own":
        monkeypatch.setattr(shutil, "which", lambda _name, **_: None)
    elif shutil.which("rg") is None:
        need("ripgrep", "ripgrep is not installed")
    desk = Desk(tmp_path)
    for index, (name, data) in enumerate(FILES.items()):
        path = desk.project / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        os.utime(path, (1000 + index, 1000 + index))
    return desk


def grep(desk: Desk, pattern: str, **given: Any) -> tuple[str, Json]:
    output = asyncio.run(desk.call(GREP, pattern=pattern, **given))
    assert isinstance(output.content, str)
    return output.content, output.structured


def test_files_are_found_the_newest_first(desk: Desk) -> None:
    words, structured = grep(desk, "needle")
    names = ["sub/deep/z.py", ".hidden/h.py", ".dot.py"]
    assert words == "Found 3 files\n" + "\n".join(names)
    assert structured == {"mode": "files_with_matches", "filenames": names, "numFiles": 3}
    assert grep(desk, "kept")[1]["filenames"] == ["sub/top.md", "keep.log"]


SHOWN = pytest.mark.parametrize(
    ("pattern", "given", "content"),
    [
        # Sorted by path; the client gives them as they come.
        ("needle", {}, ".dot.py:1:needle\n.hidden/h.py:1:needle\nsub/deep/z.py:2:# needle here"),
        ("def", {"-n": False}, "sub/deep/z.py:def g(): pass\nsub/x.py:def f():"),
        ("DEF", {"-i": True, "glob": "*.py"}, "sub/deep/z.py:1:def g(): pass\nsub/x.py:1:def f():"),
        ("return", {"path": "sub"}, "sub/x.py:2:    return 1"),
        ("def", {"type": "py", "path": "sub/x.py"}, "1:def f():"),
        ("three", {"path": "a.txt", "-C": 1}, "2-two\n3:three\n4-four"),
        ("three", {"path": "a.txt", "-A": 1}, "3:three\n4-four"),
        ("three", {"path": "a.txt", "-B": 1}, "2-two\n3:three"),
        ("one|five", {"path": "a.txt", "context": 1}, "1:one\n2-two\n--\n4-four\n5:five"),
        ("o", {"path": "a.txt", "-o": True}, "1:o\n2:o\n4:o"),
        ("one.two", {"path": "a.txt", "multiline": True}, "1:one\n2:two"),
        ("xxx", {"path": "long.txt"}, "1:[Omitted long matching line]"),
        ("hello", {"path": "u16.txt"}, "1:hello"),
        ("two$", {"path": "a.txt"}, "2:two"),
        ("two", {"path": "crlf.txt"}, "2:two"),
        ("caf", {}, "latin.txt:1:caf\ufffd"),
        ("a", {"path": "nul.txt"}, 'binary file matches (found "\\0" byte around offset 1)'),
        ("one", {"glob": "*.{py,txt} *.md", "-n": False, "-C": 0, "path": "sub"}, ""),
        ("def|kept", {"glob": "!*.py,!*.log"}, "sub/top.md:1:kept"),
        ("-n", {}, ""),
    ],
)


@SHOWN
def test_lines_are_shown(desk: Desk, pattern: str, given: Json, content: str) -> None:
    words, structured = grep(desk, pattern, output_mode="content", **given)
    count = len(content.split("\n")) if content else 0
    assert words == (content or "No matches found")
    assert structured == {
        "mode": "content",
        "numFiles": 0,
        "filenames": [],
        "content": content,
        "numLines": count,
    }


@SHOWN
def test_rules_about_other_files_change_nothing(desk: Desk, pattern: str, given: Json, content: str) -> None:
    desk.context.may_read = denying("Read(elsewhere/**)", desk.workspace, "Grep")
    assert desk.context.may_read is not None
    assert grep(desk, pattern, output_mode="content", **given)[0] == (content or "No matches found")


@pytest.mark.parametrize(
    ("rules", "given", "content"),
    [
        ("Read(z.py)", {}, "sub/x.py:1:def f():"),
        ("Read(sub/deep/**)", {"-n": False, "type": "py"}, "sub/x.py:def f():"),
        ("Read(sub/x.py)", {"-C": 1}, "sub/deep/z.py-1-x\nsub/deep/z.py:2:def g(): pass\nsub/deep/z.py-3-# needle here"),
        ("Read(sub/deep)", {"-A": 1}, "sub/x.py:1:def f():\nsub/x.py-2-    return 1"),
        (
            "Read(sub/deep)",
            {"-C": 1, "glob": "*.{py,txt}", "pattern": "def|two"},
            "a.txt-1-one\na.txt:2:two\na.txt-3-three\n--\ncrlf.txt-1-one\ncrlf.txt:2:two\n--\nsub/x.py:1:def f():\n"
            "sub/x.py-2-    return 1",
        ),
        ("Read(sub/)", {}, ""),
        ("Read(**/*.py)", {}, ""),
        ("Read(sub/x.py)", {"-o": True}, "sub/deep/z.py:2:def"),
        ("Read(z.py)", {"multiline": True, "pattern": "def.{5}\\s+return"}, "sub/x.py:1:def f():\nsub/x.py:2:    return 1"),
        # Behind a link, by the name that it has there and by its own.
        ("Read(sub/x.py)", {"path": "lsub"}, "lsub/deep/z.py:2:def g(): pass"),
        ("Read(lsub/x.py)", {"path": "lsub"}, "lsub/deep/z.py:2:def g(): pass"),
        ("Read(sub/x.py)", {"path": "lsub/x.py"}, ""),
        ("Read(sub/x.py)", {"path": "sub/x.py"}, ""),
        ("Grep(x.py)", {}, "sub/deep/z.py:2:def g(): pass"),
        ("Glob(x.py) Edit(x.py)", {"path": "sub/x.py"}, "1:def f():"),
    ],
)
def test_files_that_a_rule_denies_to_read_show_nothing(desk: Desk, rules: str, given: Json, content: str) -> None:
    (desk.project / "lsub").symlink_to("sub")
    (desk.project / "sub/deep/z.py").write_text("x\ndef g(): pass\n# needle here\n")
    desk.context.may_read = denying(rules, desk.workspace, "Grep")
    searched = {"pattern": "def", **given}
    assert grep(desk, output_mode="content", **searched)[0] == (content or "No matches found")
    names = set(re.findall(r"^(\S+\.(?:py|txt))[:-]", content, re.MULTILINE)) or ({"sub/x.py"} if content else set())
    assert set(grep(desk, **searched)[1]["filenames"]) == names
    counts = grep(desk, output_mode="count", **searched)[1]["content"].split()
    assert {line.partition(":")[0] for line in counts} == names


def test_files_that_are_left_out_are_neither_named_nor_counted(desk: Desk) -> None:
    desk.context.may_read = denying("Read(.hidden/**)", desk.workspace, "Grep")
    words, structured = grep(desk, "needle")
    assert words == "Found 2 files\nsub/deep/z.py\n.dot.py"
    assert structured == {"mode": "files_with_matches", "filenames": ["sub/deep/z.py", ".dot.py"], "numFiles": 2}
    words, structured = grep(desk, "needle", output_mode="count")
    assert words == ".dot.py:1\nsub/deep/z.py:1\n\nFound 2 total occurrences across 2 files."
    assert (structured["numFiles"], structured["numMatches"]) == (2, 2)


def test_no_name_or_line_passes_for_that_of_another_file(desk: Desk) -> None:
    """Files with newlines, bytes that are no text and remarks in their names, and binary ones."""
    secret = desk.project / "secret"
    secret.mkdir()
    late = b"needle SECRET\n" + b"x\n" * 60_000 + b"\0\n"
    names = [b"a\na.txt", b"a: WARNING: stopped searching binary file after match\nb", b"n\xffn", b"--", b"12:x", b"k"]
    for name in names:
        Path(os.fsdecode(os.fsencode(secret) + b"/" + name)).write_bytes(b"needle SECRET\n../a.txt:1:SECRET\n")
    (secret / "late.bin").write_bytes(late)
    (desk.project / "z.bin").write_bytes(late.replace(b"SECRET", b"PUBLIC"))
    (desk.project / "zz.txt").write_text("needle PUBLIC\n")
    assert "SECRET" in grep(desk, "needle|SECRET", output_mode="content")[0]
    desk.context.may_read = denying("Read(secret/**)", desk.workspace, "Grep")
    for context in (0, 2):
        words, _ = grep(desk, "needle|SECRET", output_mode="content", **{"-C": context})
        assert "SECRET" not in words.upper().replace("PUBLIC", "")
        assert "z.bin" in words
        assert words.endswith("zz.txt:1:needle PUBLIC")
    assert "secret" not in "".join(grep(desk, "needle")[1]["filenames"])
    assert "secret" not in grep(desk, "needle", output_mode="count")[0]
    desk.context.may_read = denying("Read(n\udcffn)", desk.workspace, "Grep")
    assert "secret/n" not in "".join(grep(desk, "needle")[1]["filenames"])
    assert "secret/k" in grep(desk, "needle")[1]["filenames"]


def test_a_file_that_is_left_out_does_not_use_up_the_output(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ripgrep, "MOST_OUTPUT", 2000)
    desk.context.may_read = denying("Read(many.txt)", desk.workspace, "Grep")
    words, structured = grep(desk, "line|return", output_mode="content")
    assert (words, structured["numLines"]) == ("sub/x.py:2:    return 1", 1)


@pytest.mark.parametrize("size", [1, 2, 7])
def test_results_are_the_same_however_they_are_cut(size: int) -> None:
    remark = b': WARNING: stopped searching binary file after match (found "\\0" byte around offset 9)\n'
    output = b"a\x001:x\na\x002-y\n\0\nb\x001:x\nb" + remark + b"\0\nc\x005:x\nc" + remark + b"\0\nd\n\x001:x\nc: d\x003:\0:\n"
    results = ReadableResults(Search(pattern="x", target=".", mode="content", before=1), lambda name: name != b"b")
    shown = b"".join(results.feed(output[at : at + size]) for at in range(0, len(output), size))
    assert shown == b"a:1:x\na-2-y\n--\nc:5:x\nc" + remark + b"--\nc: d:3:\0:\n"
    assert results.held == 0


def test_matches_are_counted(desk: Desk) -> None:
    words, structured = grep(desk, "needle", output_mode="count")
    counts = ".dot.py:1\n.hidden/h.py:1\nsub/deep/z.py:1"
    assert words == f"{counts}\n\nFound 3 total occurrences across 3 files."
    assert structured == {"mode": "count", "numFiles": 3, "filenames": [], "content": counts, "numMatches": 3}
    words, _ = grep(desk, "one", path="a.txt", output_mode="count")
    assert words == "a.txt:1\n\nFound 1 total occurrence across 1 file."
    words, _ = grep(desk, "nothinghere", output_mode="count")
    assert words == "No matches found\n\nFound 0 total occurrences across 0 files."


def test_results_come_in_pages(desk: Desk) -> None:
    words, structured = grep(desk, "line", path="many.txt", output_mode="content", head_limit=3, offset=2)
    assert words == "3:line 3\n4:line 4\n5:line 5\n\n[Showing results with pagination = limit: 3, offset: 2]"
    assert (structured["appliedLimit"], structured["appliedOffset"]) == (3, 2)
    words, structured = grep(desk, "line", path="many.txt", output_mode="content")
    assert words.endswith("250:line 250\n\n[Showing results with pagination = limit: 250]")
    words, structured = grep(desk, "e", head_limit=2)
    assert words.startswith("Found 2 files limit: 2\n")
    assert structured["numFiles"] == 2
    words, structured = grep(desk, "needle", output_mode="count", head_limit=2)
    assert words.endswith("Found 3 total occurrences across 3 files. with pagination = limit: 2")


def test_a_long_output_goes_to_a_file(desk: Desk) -> None:
    words, _ = grep(desk, "line", path="many.txt", output_mode="content", head_limit=0)
    assert words.startswith("<persisted-output>\nOutput too large (")
    assert (desk.spilled / "toolu_1.txt").read_text().startswith("1:line 1\n2:line 2\n")


@pytest.mark.parametrize("name", ["../../ESCAPED", "/{tmp}/ESCAPED", "a\0b", "x" * 400, "\ud800", "", "a.b"])
def test_a_long_output_stays_in_its_folder_whatever_the_call_is_called(desk: Desk, tmp_path: Path, name: str) -> None:
    desk.context.tool_use_id = name.replace("{tmp}", str(tmp_path))
    before = {path for path in tmp_path.rglob("*") if desk.spilled not in path.parents}
    words, _ = grep(desk, "line", path="many.txt", output_mode="content", head_limit=0)
    (path,) = desk.spilled.iterdir()
    assert re.fullmatch(r"[0-9a-f]{64}\.txt", path.name)
    assert f"Full output saved to: {path}\n" in words
    assert {path for path in tmp_path.rglob("*") if desk.spilled not in path.parents} == before | {
        desk.spilled,
        desk.spilled.parent,
    }


@pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="this system shows no processes as files")
def test_the_environment_of_processes_is_not_searched(desk: Desk) -> None:
    (desk.project / "link").symlink_to("/proc/self/environ")
    (desk.project / "folder").symlink_to("/proc/self")
    for name in ("/proc/self/environ", f"/proc/{os.getpid()}/environ", "link", "/proc/self", "folder", "/proc"):
        assert "this path names a device or process file" in asyncio.run(desk.fail(GREP, pattern="PATH", path=name))
    assert grep(desk, "PATH=") == grep(desk, "nothinghere")
    assert "neither a file nor a directory" in asyncio.run(desk.fail(GREP, pattern="x", path="/dev/zero"))


def test_what_lies_below_the_root_is_searched_but_for_processes(desk: Desk) -> None:
    may_read = grep_module._readable(Path("/"), desk.context)
    assert may_read is not None
    assert not may_read(Path(f"/proc/{os.getpid()}/environ"))
    assert not may_read(Path("/proc/1/task/1/mem"))
    assert may_read(desk.project / "a.txt")
    assert grep_module._readable(desk.project, desk.context) is None


def test_a_search_does_not_get_our_keys(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-needle")
    monkeypatch.setattr(ripgrep, "search_command", lambda _wanted, _path: ["/bin/sh", "-c", "env"])
    words, _ = grep(desk, "x", output_mode="content", head_limit=0)
    assert "AI_AGENT=stenograph" in words
    assert "needle" not in words


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"pattern": "x" * 3_000_000}, "Search failed: the pattern is too long."),
        ({"pattern": "\ud800"}, "Search failed: the pattern holds a character that no file can hold"),
        (
            {"pattern": "x", "path": "missing"},
            "Path does not exist: {cwd}/missing. Note: your current working directory is {cwd}.",
        ),
        ({"pattern": "("}, "Search failed — the pattern, glob, or file type was rejected without searching:"),
        ({"pattern": "x", "type": "nope"}, "Search failed — the pattern, glob, or file type was rejected without searching:"),
        ({"pattern": "x", "glob": "{"}, "Search failed — the pattern, glob, or file type was rejected without searching:"),
        ({"pattern": "a\0"}, "Search failed: no file is searched for NUL characters."),
        ({}, "<tool_use_error>InputValidationError: Grep failed"),
        ({"pattern": "x", "output_mode": "bogus"}, "<tool_use_error>InputValidationError: Grep failed"),
    ],
)
def test_what_can_not_be_searched_is_said(desk: Desk, given: Json, words: str) -> None:
    assert asyncio.run(desk.fail(GREP, **given)).replace(str(desk.project), "{cwd}").startswith(words)


def test_files_that_can_not_be_read_do_not_keep_others_from_being_found(desk: Desk) -> None:
    (desk.project / "dangling.py").symlink_to("nowhere")
    os.mkfifo(desk.project / "pipe.py")
    assert grep(desk, "def f")[1]["filenames"] == ["sub/x.py"]


def test_a_pattern_that_takes_for_ever_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda _name, **_: None)
    (tmp_path / "a.txt").write_text("a" * 60 + "!\n")
    wanted = Search(pattern="(a+)+$", target=".", mode="content")
    began = time.monotonic()
    found = asyncio.run(run_search(wanted, Workspace(cwd=tmp_path, project=tmp_path), environ=os.environ, time_limit=1.0))
    assert (found.is_cut, found.lines) == (True, [])
    assert time.monotonic() - began < 5


def test_a_search_does_not_run_a_program_of_the_project(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = desk.project / ".venv" / "bin"
    folder.mkdir(parents=True)
    (folder / "rg").write_text(f"#!/bin/sh\ntouch {desk.project}/pwned\n")
    (folder / "rg").chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
    assert grep(desk, "def f")[1]["filenames"] == ["sub/x.py"]
    assert not (desk.project / "pwned").exists()


def test_too_much_output_is_cut_and_said(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ripgrep, "MOST_OUTPUT", 1000)
    words, structured = grep(desk, "line", path="many.txt", output_mode="content")
    # The client's members, and no other.
    assert structured.keys() - {"appliedLimit"} == {"mode", "numFiles", "filenames", "content", "numLines"}
    assert words.endswith("(The search was stopped before its end; there may be more. Narrow it down.)")


def test_a_search_that_is_cancelled_ends_its_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ripgrep, "search_command", lambda _wanted, _path: ["sleep", "30"])

    async def cancel() -> None:
        here = Workspace(cwd=tmp_path, project=tmp_path)
        task = asyncio.create_task(run_search(Search(pattern="x", target=".", mode="content"), here, environ=os.environ))
        await asyncio.sleep(0.1)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    began = time.monotonic()
    asyncio.run(cancel())
    assert time.monotonic() - began < 5


def test_a_module_of_the_project_does_not_stand_in_for_ours(desk: Desk) -> None:
    (desk.project / "re.py").write_text("raise SystemExit('taken over')\n")
    assert grep(desk, "def f")[1]["filenames"] == ["sub/x.py"]


def test_searching_says_what_is_wrong_in_its_own_words() -> None:
    with pytest.raises(SearchError, match="regex parse error"):
        list(search(Search(pattern="(", target=".", mode="content")))
