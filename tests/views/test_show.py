"""Sessions as a person reads them: the demo sessions as snapshots, and what must never reach a terminal.

The snapshots were read by eye when they were made. `STENO_UPDATE_SNAPSHOTS=1` writes them anew.
"""

from __future__ import annotations

import os
import re
import time
from pathlib import Path

import pytest
from tests.corpora import DEMO
from tests.homes import assistant, session_id, user, write_session
from tests.views.reading import live_lines, render_session

from stenograph.records import decode
from stenograph.redact import Masker
from stenograph.sessions import Update
from stenograph.sessions.loading import load_file
from stenograph.testing.lines import encode, text, tool_result, tool_use
from stenograph.views import RenderOptions, UpdateReader, UpdateRenderer, mask_page
from stenograph.views.pages.transcript import Patch, TextPart, ToolPart
from stenograph.views.pages.turn_parts import turn_page
from stenograph.views.terminal.markdown import markdown_lines
from stenograph.views.terminal.transcript import render_part

_UPDATE = bool(os.environ.get("STENO_UPDATE_SNAPSHOTS"))
SNAPSHOTS = Path(__file__).parent / "snapshots"
ROOT = Path(__file__).parent.parent.parent
PROJECTS = DEMO / "projects"
RECORDED = ROOT / "tests" / "fixtures" / "recorded"

PLAIN = RenderOptions(agents=True)
SCREEN = RenderOptions(width=80, color=True, markdown=True, agents=True, thinking=True)
CASES = [
    *((f"demo-{path.stem[:8]}", path, PLAIN) for path in sorted(PROJECTS.glob("*/*-*-*-*-*.jsonl"))),
    ("screen-1e73045e", PROJECTS / "-home-user-lantern-shop" / "1e73045e-2bf3-5816-a2c9-93ed16a8e321.jsonl", SCREEN),
    (
        "rewind-2.1.325",
        RECORDED / "2.1.325/interactive/-home-user-proj-i-2-1-325/278ff95e-e981-4b73-b1dc-8867b93afeb7.jsonl",
        PLAIN,
    ),
]


@pytest.fixture(autouse=True)
def _utc() -> None:
    time.tzset()


@pytest.mark.parametrize(("name", "path", "options"), CASES, ids=[case[0] for case in CASES])
def test_a_session_reads_as_it_was_checked_by_eye(name: str, path: Path, options: RenderOptions) -> None:
    session = load_file(path)
    session.context.is_live = False  # a fresh checkout is not a session at work
    shown = "\n".join(render_session(session, options)).replace("\x1b", "␛") + "\n"
    snapshot = SNAPSHOTS / f"{name}.txt"
    if _UPDATE:
        snapshot.write_text(shown, encoding="utf-8")
    assert shown == snapshot.read_text(encoding="utf-8")


def test_every_snapshot_belongs_to_a_test() -> None:
    assert {path.stem for path in SNAPSHOTS.glob("*.txt")} == {case[0] for case in CASES}


def test_thoughts_and_results_are_folded_as_asked() -> None:
    path = PROJECTS / "-home-user-tidemark" / "add51933-281e-5bff-95a5-5dc0e21da7e9.jsonl"
    session = load_file(path)
    folded = "\n".join(render_session(session, RenderOptions()))
    open_ = "\n".join(render_session(session, RenderOptions(thinking=True)))
    bare = "\n".join(render_session(session, RenderOptions(results=False)))
    thought = next(call.thinking for turn in session.turns for call in turn.calls if call.thinking)
    assert "· thought, 98 B" in folded
    assert thought not in folded
    assert thought in open_
    assert "7 passed in 0.21s" in folded
    assert "7 passed in 0.21s" not in bare
    assert "$ python -m pytest -q" in bare


def test_a_long_output_is_cut_in_the_middle_and_whole_when_asked_for() -> None:
    from stenograph.views.pages.transcript import Output

    part = ToolPart("1", "Bash", "$ seq 100", "done", (Output("\n".join(map(str, range(1, 101)))),))
    lines = list(render_part(part, RenderOptions(head=2, tail=1)))
    assert lines == ["• Bash $ seq 100", "    1", "    2", "    … 97 lines left out (--full)", "    100"]
    assert len(list(render_part(part, RenderOptions(full=True)))) == 101


def test_a_spilled_output_is_read_when_everything_is_asked_for() -> None:
    path = PROJECTS / "-home-user-lantern-shop" / "1e73045e-2bf3-5816-a2c9-93ed16a8e321.jsonl"
    session = load_file(path)
    spilled = (path.with_suffix("") / "tool-results" / "bd7c36022.txt").read_text(encoding="utf-8").splitlines()
    assert spilled[-1] not in "\n".join(render_session(session, RenderOptions()))
    assert spilled[-1] in "\n".join(render_session(session, RenderOptions(full=True)))


def test_the_first_lines_are_there_before_the_second_turn_is_built(tmp_path: Path) -> None:
    records = [
        user("One", uuid="1", parentUuid=None),
        assistant(text("A"), uuid="2", parentUuid="1"),
        user("Two", uuid="3", parentUuid="2"),
    ]
    session = load_file(write_session(tmp_path, session_id(1), records))
    built: list[str] = []

    def mask(words: str, _name: str = "", /) -> str:
        built.append(words)
        return words

    lines = render_session(session, RenderOptions(), mask=mask)
    assert "  A" in [next(lines) for _ in range(9)]
    assert "Two" not in built
    assert "> Two" in list(lines)


def test_sub_agents_that_nobody_started_are_shown_at_the_end(tmp_path: Path) -> None:
    path = write_session(tmp_path, session_id(1), [user("One", uuid="1", parentUuid=None)])
    agent = user("Look around", uuid="a", parentUuid=None, isSidechain=True, agentId="abc1234", sessionId=session_id(1))
    write_session(tmp_path, "agent-abc1234", [agent])
    session = load_file(path)
    assert list(render_session(session, RenderOptions(agents=True)))[-4:] == [
        "· a subagent without a tool call in this session",
        "  │ subagent abc1234",
        "  │",
        "  │ > Look around",
    ]
    assert "> Look around" not in "\n".join(render_session(session, RenderOptions()))


@pytest.mark.parametrize("color", [False, True])
def test_markdown_can_smuggle_nothing_into_the_terminal(color: bool) -> None:
    nasty = "# a &#27;[31m b\n\n[link](https://x/\x1b]8;;evil\x07) `\x1b[2J` &#x202e; &#155;1m <b>\x07</b>"
    nasty += "\n\n```\n\x1b[31mcode\x9b\n```\n"
    shown = "\n".join(markdown_lines(nasty, 60, color=color))
    for word in ("\x07", "\x9b", "\u202e", "\x1b]", "\x1b[2J", "\x1b[31mcode"):
        assert word not in shown
    assert ("\x1b" in shown) == color


@pytest.mark.parametrize("color", [False, True])
def test_no_line_of_markdown_ends_with_spaces(color: bool) -> None:
    """A terminal that becomes narrower would break them into rows of their own."""
    text = "| a | b |\n|---|---|\n| 1 | a longer one |\n| 2 | c |\n\n> quoted\n> words\n\n```python\nx = 1\n```\n\n- item"
    lines = [re.sub(r"\x1b\[[0-9;]*m", "", line) for line in markdown_lines(text, 60, color=color)]
    assert [line for line in lines if line != line.rstrip()] == []
    assert [word for line in lines for word in line.split() if word.isalpha() and word.isascii()] == [
        "a", "b", "a", "longer", "one", "c", "quoted", "words", "x", "item"
    ]  # fmt: skip


@pytest.mark.parametrize("color", [False, True])
def test_the_line_breaks_of_an_answer_stay(color: bool) -> None:
    text = "Line 1: **a**\nLine 2: b\n\n> said\n> twice\n\n- item\n  of two lines\n- last"
    lines = [re.sub(r"\x1b\[[0-9;]*m", "", line).strip(" •▌") for line in markdown_lines(text, 60, color=color)]
    assert [line for line in lines if line] == ["Line 1: a", "Line 2: b", "said", "twice", "item", "of two lines", "last"]


def test_markdown_is_rendered_for_a_screen_and_left_alone_in_a_pipe() -> None:
    part = TextPart("## Title\n\n- **bold** item")
    assert list(render_part(part, RenderOptions())) == ["  ## Title", "", "  - **bold** item"]
    screen = "\n".join(render_part(part, RenderOptions(width=40, markdown=True)))
    assert "Title" in screen
    assert "**" not in screen


def test_live_lines_are_those_of_a_session_in_short() -> None:
    path = PROJECTS / "-home-user-lantern-shop" / "1e73045e-2bf3-5816-a2c9-93ed16a8e321.jsonl"
    session = load_file(path)
    lines = live_lines(session, RenderOptions(head=1, tail=0))
    for turn in session.turns:
        assert f"> {turn.prompt}" in lines
        page = turn_page(turn)
        tools = [part for part in page.parts if isinstance(part, ToolPart)]
        for tool in tools:
            assert any(line.startswith(f"● {tool.name} {tool.title}"[:60]) for line in lines)
    assert '    -  <img src="/img/lamp-oak.jpg">' in lines


def test_a_secret_on_several_lines_of_a_patch_is_masked() -> None:
    """Line by line none of them is one: an armored key is known by its first and last line."""
    body = [f"+{'QUJD' * 12}{number:04}" for number in range(6)]
    patch = Patch(("+-----BEGIN RSA PRIVATE KEY-----", *body, "+-----END RSA PRIVATE KEY-----"))
    masked = mask_page(patch, Masker().mask)
    assert not set(body) & set(masked.lines)


def test_results_of_parallel_calls_are_shown_with_the_call_they_belong_to() -> None:
    reader, renderer = UpdateReader(), UpdateRenderer(RenderOptions())
    calls = [assistant(tool_use(name, command=f"echo {name}")) for name in ("one", "two")]
    results = [user([tool_result(name, f"said {name}")]) for name in ("one", "two")]
    alone = [assistant(tool_use("three", command="echo three")), user([tool_result("three", "said three")])]
    records = [decode(encode([record]).rstrip(b"\n")) for record in (*calls, *results, *alone)]
    lines = [line for record in records for line in renderer.lines(reader.page(Update("record", Path("s"), "", record)))]
    assert lines == [
        *("● Bash $ echo one", "● Bash $ echo two"),
        *("↳ Bash $ echo one", "    said one", "↳ Bash $ echo two", "    said two"),
        *("● Bash $ echo three", "    said three"),
    ]
