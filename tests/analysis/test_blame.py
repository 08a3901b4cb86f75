"""Which turn wrote a line: expected values by hand, and from git, which is told the same story."""

from __future__ import annotations

import random
import subprocess
from pathlib import Path
from typing import Any

import pytest
from tests.homes import session_id

from stenograph.analysis import Blame, blame_file
from stenograph.sessions.loading import load_file
from stenograph.testing.lines import Line, assistant, tool_result, tool_use, user, write
from stenograph.turns import Session

PATH = "/home/user/shop/cart.ts"


class Story:
    """A session: prompts and calls, one after another, each a second later than the last of all stories."""

    clock = 0

    def __init__(self, number: int) -> None:
        self.number = number
        self.lines: list[Line] = []

    def _add(self, line: Line) -> None:
        Story.clock += 1
        minutes, seconds = divmod(Story.clock, 60)
        line["parentUuid"] = self.lines[-1]["uuid"] if self.lines else None
        line["timestamp"] = f"2026-01-01T{10 + minutes // 60:02}:{minutes % 60:02}:{seconds:02}Z"
        self.lines.append(line)

    def prompt(self, words: str) -> Story:
        self._add(user(f"{self.number}-{len(self.lines)}", words))
        return self

    def call(self, name: str, result: dict[str, Any] | None = None, *, fails: bool = False, **asked: Any) -> Story:
        place = len(self.lines)
        use = tool_use(f"toolu_{self.number}_{place}", name, file_path=PATH, **asked)
        self._add(assistant(f"{self.number}-{place}", f"msg_{self.number}_{place}", [use]))
        answer = tool_result(use["id"], "x", **({"is_error": True} if fails else {}))
        self._add(user(f"{self.number}-{place + 1}", [answer], toolUseResult=result or {}))
        return self

    def write(self, content: str, before: str | None) -> Story:
        kind = "create" if before is None else "update"
        result: dict[str, Any] = {
            "type": kind,
            "filePath": PATH,
            "content": content,
            "structuredPatch": [],
            "originalFile": before,
        }
        return self.call("Write", result, content=content)

    def edit(self, old: str, new: str, before: str | None, patch: list[Any] | None = None) -> Story:
        result: dict[str, Any] = {
            "filePath": PATH,
            "oldString": old,
            "newString": new,
            "originalFile": before,
            "structuredPatch": patch or [],
        }
        return self.call("Edit", result, old_string=old, new_string=new)

    def session(self, folder: Path) -> Session:
        return load_file(write(folder / f"{session_id(self.number)}.jsonl", self.lines))


def told(blame: Blame) -> list[tuple[str, str]]:
    """Each line with the prompt that it was written for."""
    last = blame.versions[-1]
    names = {0: "before", -1: "outside", -2: "unknown"}
    writers = [writer.turn.prompt if writer.turn else "" for writer in blame.writers]
    return [
        (names[author] if author <= 0 else writers[author - 1], line)
        for author, line in zip(last.authors, last.lines, strict=True)
    ]


def test_lines_of_two_sessions_of_nobody_and_of_a_hand(tmp_path: Path) -> None:
    first = Story(1).prompt("add b").edit("a\n", "a\nb\n", "a\nz\n").prompt("change b").edit("b", "B", "a\nb\nz\n")
    second = Story(2).prompt("add c").edit("z\n", "z\nc\n", "a\nB\nz\n")
    blame = blame_file(PATH, [second.session(tmp_path), first.session(tmp_path)], "a\nB\nz\nc\nby hand\n")
    assert told(blame) == [("before", "a"), ("change b", "B"), ("before", "z"), ("add c", "c"), ("outside", "by hand")]


def test_a_line_has_its_earlier_texts(tmp_path: Path) -> None:
    story = Story(1).prompt("one").write("const price = 1;\nend\n", None)
    story.prompt("two").edit("price = 1", "price = 2", "const price = 1;\nend\n")
    story.prompt("three").edit("end", "const other = 1;\nend", "const price = 2;\nend\n")
    blame = blame_file(PATH, [story.session(tmp_path)], "const price = 20;\nconst other = 1;\nend\n")
    earlier = [(text, blame.writers[author - 1].turn) for text, author in blame.earlier(1)]
    assert [(text, turn.prompt) for text, turn in earlier if turn] == [("const price = 2;", "two"), ("const price = 1;", "one")]
    assert list(blame.earlier(2)) == []
    assert list(blame.earlier(3)) == []


def test_failed_calls_and_other_files_write_nothing(tmp_path: Path) -> None:
    story = Story(1).prompt("one").write("a\n", None).prompt("two").call("Edit", fails=True, old_string="a", new_string="b")
    assert told(blame_file(PATH, [story.session(tmp_path)], None)) == [("one", "a")]
    assert blame_file("/other", [story.session(tmp_path)], "a\n").writers == ()


def test_a_copy_of_a_session_takes_nothing_from_the_first(tmp_path: Path) -> None:
    story = Story(1).prompt("one").write("a\n", None)
    copied = Story(2)
    copied.lines = [{**line, "uuid": f"copy-{line['uuid']}"} for line in story.lines]
    for line, above in zip(copied.lines[1:], copied.lines, strict=False):
        line["parentUuid"] = above["uuid"]
    copied.prompt("in the copy").edit("a\n", "a\nb\n", "a\n")
    sessions = [story.session(tmp_path), copied.session(tmp_path)]
    blame = blame_file(PATH, sessions, None)
    assert told(blame) == [("one", "a"), ("in the copy", "b")]
    assert blame.writers[0].session is sessions[0]


@pytest.mark.parametrize("with_patch", [True, False])
def test_where_the_content_was_unknown_the_added_lines_are_looked_for(tmp_path: Path, with_patch: bool) -> None:
    hunk = {"oldStart": 2, "oldLines": 2, "newStart": 2, "newLines": 3, "lines": [" b", "+new one", " c"]}
    story = Story(1).prompt("add").edit("b", "new one", None, [hunk] if with_patch else None)
    blame = blame_file(PATH, [story.session(tmp_path)], "a\nb\nnew one\nc\n")
    assert told(blame) == [("unknown", "a"), ("unknown", "b"), ("add", "new one"), ("unknown", "c")]


@pytest.mark.parametrize("seed", range(3))
def test_git_blames_the_same_turns(seed: int, tmp_path: Path) -> None:
    """Every line is written once, so that there is only one way to compare two versions."""
    chance = random.Random(seed)
    (tmp_path / "repository").mkdir()
    _git(tmp_path, "init", "-q")
    stories = [Story(1), Story(2), Story(3)]
    lines: list[str] = []
    for change in range(30):
        before = "".join(lines) if change else None
        start = chance.randint(0, len(lines))
        lines[start : start + chance.randint(0, 3)] = [f"{seed} {change} {place}\n" for place in range(chance.randint(1, 4))]
        content = "".join(lines)
        chance.choice(stories).prompt(f"change {change}").write(content, before)
        (tmp_path / "repository" / "cart.ts").write_text(content)
        _git(tmp_path, "add", "cart.ts")
        _git(tmp_path, "commit", "-qm", f"change {change}")
    blame = blame_file(PATH, [story.session(tmp_path) for story in stories if story.lines], content)
    porcelain = _git(tmp_path, "blame", "--line-porcelain", "cart.ts").splitlines()
    summaries = [line.removeprefix("summary ") for line in porcelain if line.startswith("summary ")]
    texts = [line[1:] for line in porcelain if line.startswith("\t")]
    assert told(blame) == list(zip(summaries, texts, strict=True))


def _git(folder: Path, *words: str) -> str:
    who = ["-c", "user.name=x", "-c", "user.email=x@x", "-c", "commit.gpgsign=false"]
    done = subprocess.run(["git", *who, *words], cwd=folder / "repository", capture_output=True, text=True, check=True)
    return done.stdout
