"""Lines of the console that say how something ended, and what leaves it."""

from __future__ import annotations

import asyncio
import itertools
import json
import os
import pty
import re
import subprocess
import sys
from collections import deque
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prompt_toolkit.keys import Keys
from tests.agent.console.seat import in_a_loop, seat, settled
from tests.cli.running import SOURCE

from stenograph.agent.engine import events
from stenograph.agent.engine.approval import PermissionQuestion
from stenograph.agent.engine.background import BackgroundTasks
from stenograph.agent.engine.events import Outcome
from stenograph.agent.faces.console.asking import PermissionMenu
from stenograph.agent.faces.console.look import Look
from stenograph.agent.faces.console.painter import Painter
from stenograph.agent.faces.console.panels import CheckList, Menu, MenuChoice
from stenograph.agent.faces.console.past import past_lines
from stenograph.agent.faces.console.plain import PlainScreen, in_words
from stenograph.records import Record, decode
from stenograph.testing.lines import assistant, user

LOOK = Look(color=False)


def _call(number: int, tool: str, given: dict[str, Any], *, agent_id: str | None = None, **ends: Any) -> list[events.Event]:
    begins = events.ToolBegin(tool_use_id=f"t{number}", tool=tool, given=given, agent_id=agent_id)
    content = {"type": "tool_result", "tool_use_id": f"t{number}", "content": "out"}
    usual: dict[str, Any] = {"result": content, "structured": "out", "is_error": False, "uuid": "u", "duration_ms": 1}
    return [begins, events.ToolEnd(tool_use_id=f"t{number}", tool=tool, agent_id=agent_id, **{**usual, **ends})]


def _interrupted(*happened: list[events.Event]) -> str:
    painter = Painter(LOOK, "/home/user/shop")
    for event in (event for some in happened for event in some):
        painter.take(event)
    painter.take(events.TurnEnd(outcome=Outcome.INTERRUPTED, text="", duration_ms=1))
    return next(line for line in painter.take_lines() if line.startswith("■ Interrupted."))


EDIT = ("Edit", {"file_path": "/home/user/shop/a", "old_string": "a", "new_string": "b"})


@pytest.mark.parametrize(
    ("happened", "said"),
    [
        ([], "■ Interrupted. Nothing was changed in this turn."),
        ([_call(1, "Read", {"file_path": "/home/user/shop/a"})], "■ Interrupted. Nothing was changed in this turn."),
        ([_call(1, *EDIT)], "■ Interrupted. 1 file change stayed."),
        # A command or a server may have changed anything.
        ([_call(1, "Bash", {"command": "make"})], "■ Interrupted."),
        ([_call(1, "Bash", {"command": "make"}, is_error=True, denied_by="user-rejected")], "■ Interrupted."),
        ([_call(1, "Bash", {"command": "make"})[:1]], "■ Interrupted."),
        ([_call(1, "mcp__db__run", {"query": "x"})], "■ Interrupted."),
        ([_call(1, "Agent", {"prompt": "x"})[:1], _call(2, *EDIT, agent_id="a")], "■ Interrupted."),
        # It never ran.
        (
            [_call(1, "Bash", {"command": "make"}, is_error=True, is_denied=True)],
            "■ Interrupted. Nothing was changed in this turn.",
        ),
    ],
)
def test_an_interrupted_turn_says_that_nothing_changed_only_if_that_is_known(happened: Any, said: str) -> None:
    assert _interrupted(*happened) == said


def test_each_turn_says_what_was_changed_in_it_alone() -> None:
    painter = Painter(LOOK, "/home/user/shop")
    ends = events.TurnEnd(outcome=Outcome.INTERRUPTED, text="", duration_ms=1)
    for event in (*_call(1, "Bash", {"command": "make"}), ends, ends):
        painter.take(event)
    assert [line for line in painter.take_lines() if "Interrupted" in line] == [
        "■ Interrupted.",
        "■ Interrupted. Nothing was changed in this turn.",
    ]


ANSWER = (
    "The first of many words that fill lines, **some of them bold** and `some(*code)`, more than one.\n\n- one item of words\n"
    "- two\n- three items\n\n```text\nnumber one\n\n  number two\n\nnumber three\n```\n\nWords after it - and\nmore on a line.\n"
)
WORDS = ANSWER.replace("**", "").replace("```text", "").replace("`", "").replace("\n- ", "\n").split()


@given(st.lists(st.integers(1, len(ANSWER) - 1), max_size=60), st.integers(16, 60))
def test_what_is_printed_before_a_block_ends_is_printed_once_and_in_order(places: list[int], columns: int) -> None:
    look = Look(color=False, columns=columns)
    painter = Painter(look, "/home/user/shop")
    painter.take(events.BlockBegin(index=0, kind="text"))
    lines: list[str] = []
    edges = [0, *sorted(set(places)), len(ANSWER)]
    for number, (start, end) in enumerate(itertools.pairwise(edges)):
        painter.take_text(ANSWER[start:end])
        lines += painter.take_lines()
        # A window may become narrower or wider at any time.
        look.columns = columns + number % 3
    painter.take(events.BlockEnd(index=0, block={}))
    lines += painter.take_lines()
    assert [word for word in " ".join(lines).split() if word != "•"] == WORDS


def test_a_long_paragraph_is_printed_as_it_grows() -> None:
    painter = Painter(LOOK, "/home/user/shop")
    painter.take(events.BlockBegin(index=0, kind="text"))
    painter.take_text(" ".join(f"word{number}" for number in range(200)))
    printed, live = " ".join(painter.take_lines()).split(), " ".join(painter.live()).split()
    assert printed + live == [f"word{number}" for number in range(200)]
    assert len(live) <= 3 * 14


_RETRY = events.Retry(attempt=1, max_retries=10, wait=1.0, reason="the connection broke off", status=0)


def test_a_note_in_the_middle_of_a_paragraph_stands_alone() -> None:
    painter = Painter(LOOK, "/home/user/shop")
    painter.take(events.BlockBegin(index=0, kind="text"))
    painter.take_text("several words " * 40)
    painter.take(events.Notice(text="Something else."))
    painter.take_text("and the end.")
    painter.take(events.BlockEnd(index=0, block={}))
    lines = painter.take_lines()
    place = lines.index("! Something else.")
    assert (lines[place - 1], lines[place + 1]) == ("", "")
    assert place > 3
    words = " ".join(line for line in lines if not line.startswith("!")).split()
    assert words == ["several", "words"] * 40 + ["and", "the", "end."]


def test_nothing_is_left_to_print_of_code_that_ends() -> None:
    painter = Painter(LOOK, "/home/user/shop")
    painter.take(events.BlockBegin(index=0, kind="text"))
    painter.take_text("```text\none\ntwo\n")
    painter.take(events.Notice(text="Something else."))
    painter.take_text("```\n")
    painter.take(events.BlockEnd(index=0, block={}))
    assert [line.strip() for line in painter.take_lines()] == ["one", "two", "", "! Something else."]


def _cut_off(text: str) -> tuple[list[str], list[str]]:
    """What is printed and what is drawn when a response breaks off after a text."""
    painter = Painter(LOOK, "/home/user/shop")
    painter.take(events.ResponseBegin(message_id="m", model="opus", usage={}))
    painter.take(events.BlockBegin(index=0, kind="text"))
    painter.take_text(text)
    lines = painter.take_lines()
    painter.take(_RETRY)
    return [line for line in lines + painter.take_lines() if line], painter.live()


def test_what_was_printed_of_an_answer_that_was_cut_off_is_marked() -> None:
    printed, live = _cut_off("One paragraph.\n\nAnother that grows")
    assert printed == ["  One paragraph.", "! The answer was cut off. It starts again below."]
    assert [line[:26] for line in live] == ["! the connection broke off"]


def test_an_endpoint_that_fails_before_an_answer_cuts_nothing_off() -> None:
    painter = Painter(LOOK, "/home/user/shop")
    ends: list[events.Event] = [
        events.ResponseEnd(message={}, uuids=[], usage={}, stop_reason="end_turn"),
        events.TurnEnd(outcome=Outcome.INTERRUPTED, text="", duration_ms=1),
    ]
    for end in ends:
        painter.take(events.BlockBegin(index=0, kind="text"))
        painter.take_text("Whole.")
        for event in (events.BlockEnd(index=0, block={}), end, _RETRY):
            painter.take(event)
    assert [line for line in painter.take_lines() if "cut off" in line] == []


def test_an_answer_that_was_cut_off_before_anything_was_printed_leaves_nothing() -> None:
    printed, live = _cut_off("A paragraph that grows")
    assert printed == []
    assert len(live) == 1


def test_a_background_command_that_is_stopped_did_not_fail(tmp_path: Path) -> None:
    said: list[str] = []

    async def scene() -> None:
        tasks = BackgroundTasks(tmp_path / "tasks")
        tasks.on_end = lambda task: said.extend((task.status.value, task.summary()))
        task = await tasks.start_command(
            "sleep 60", description="Server", tool_use_id="t", cwd=tmp_path, environment={"PATH": "/usr/bin:/bin"}
        )
        await task.stop()
        await task.over.wait()
        await tasks.close()

    asyncio.run(scene())
    assert said == ["killed", 'Background command "Server" was stopped']
    painter = Painter(LOOK, "/home/user/shop")
    painter.take(
        events.TaskEnd(task_id="b", kind="local_bash", description="Server", tool_use_id="t", status=said[0], summary=said[1])
    )
    assert painter.take_lines()[-1] == '• Background command "Server" was stopped'


@in_a_loop
async def test_a_command_of_ones_own_that_is_stopped_is_interrupted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with seat(monkeypatch, tmp_path) as at:
        running = asyncio.create_task(at.desk._run_shell("echo begun; sleep 60"))
        while at.desk.shell is None or "begun" not in at.desk.shell.output:
            await asyncio.sleep(0.01)
        at.desk.press("escape", "")
        await running
        assert [*at.screen._waiting, *at.desk.finished()][-2:] == ["  begun", "  interrupted"]


@in_a_loop
async def test_a_command_of_ones_own_that_fails_says_its_exit_code(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with seat(monkeypatch, tmp_path) as at:
        await at.desk._run_shell("exit 3")
        assert (at.screen._waiting + at.desk.finished())[-1] == "  exit code 3"


@pytest.mark.parametrize(
    ("words", "leaves"), [("exit", True), ("quit", True), (":q", True), (" exit ", True), ("exit now", False)]
)
@in_a_loop
async def test_words_that_leave_other_programs_leave_the_console(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: str, leaves: bool
) -> None:
    with seat(monkeypatch, tmp_path) as at:
        at.type(words)
        at.press(Keys.Enter)
        await settled()
        assert (at.desk._is_leaving, at.sent) == (leaves, [] if leaves else [words])


def _on_disk(*records: dict[str, Any]) -> list[Record]:
    usual = {"sessionId": "s", "timestamp": "2026-01-01T00:00:00.000Z", "version": "2.1.325", "cwd": "/home/user/shop"}
    return [decode(json.dumps({**record, **usual}).encode()) for record in records]


def test_what_is_folded_in_a_resumed_session_can_be_unfolded() -> None:
    call = {"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "seq 9"}}
    output = "\n".join(map(str, range(1, 10)))
    result = {"type": "tool_result", "tool_use_id": "t1", "content": output, "is_error": False}
    folded: deque[Any] = deque()
    records = _on_disk(user("1", "Count."), assistant("2", "m", [call], "1"), user("3", [result], "2"))
    lines = past_lines(records, LOOK, folded)
    assert any("ctrl-o" in line for line in lines)
    whole = "\n".join(line for make in folded for line in make())
    assert "ctrl-o" not in whole
    assert [str(number) in whole for number in range(1, 10)] == [True] * 9


def _turns_on_disk(*lengths: int) -> list[Record]:
    """Turns whose answers have so many lines."""
    lines: list[dict[str, Any]] = []
    for number, length in enumerate(lengths, 1):
        items = "\n".join(f"- item {number}.{item}" for item in range(1, length + 1))
        prompt = user(f"p{number}", f"Prompt {number}.", lines[-1]["uuid"] if lines else None)
        lines += [prompt, assistant(f"a{number}", f"m{number}", [{"type": "text", "text": items}], f"p{number}")]
    return _on_disk(*lines)


def test_the_end_of_a_resumed_session_is_whole_turns() -> None:
    lines = past_lines(_turns_on_disk(5, 20, 5, 5), LOOK, deque())
    # A prompt, 20 items and the empty lines around them fit, the first turn does not.
    assert [line for line in lines if line.startswith(">")] == ["> Prompt 2.", "> Prompt 3.", "> Prompt 4."]
    assert sum("item" in line for line in lines) == 30
    assert "earlier turns" in lines[0]


def test_of_a_last_turn_that_is_too_long_the_prompt_and_the_end_are_shown() -> None:
    lines = past_lines(_turns_on_disk(5, 100), LOOK, deque())
    assert [line for line in lines if line.startswith(">")] == ["> Prompt 2."]
    items = [line for line in lines if "item" in line]
    assert "item 2.100" in items[-1]
    (more,) = [int(found[1]) for line in lines if (found := re.search(r"… (\d+) more lines", line))]
    # What is left out are items, and the empty line before them.
    assert more + len(items) == 101


def test_commands_of_a_resumed_session_are_prompts() -> None:
    init = "<command-message>init is analyzing…</command-message>\n<command-name>/init</command-name>"
    records = _on_disk(
        user("1", init),
        assistant("2", "m", [{"type": "text", "text": "Written."}], "1"),
        user("3", "<bash-input>echo one</bash-input>", "2"),
        user("4", "<bash-stdout>one</bash-stdout><bash-stderr></bash-stderr>", "3"),
    )
    lines = [line for line in past_lines(records, LOOK, deque()) if line]
    assert lines == ["> /init", "  Written.", "! echo one", "  one"]


def test_what_was_answered_is_said_in_words() -> None:
    assert in_words("> Blue, Green") == "answer: Blue, Green"


class _PlainDesk:
    look = LOOK

    def finished(self) -> list[str]:
        return []


@pytest.mark.parametrize(
    ("typed", "answer"),
    [
        ("1", "a"), ("2", "b"), ("03", "c"), ("y", "a"), ("n", None), ("", None), ("k", "ck"), ("2k", "bk"), ("1 k", "ak"),
        *((wrong, "") for wrong in ("0", "4", "99", "99999999", "-1", "x", "do this", "1 2", "²")),
    ],
)  # fmt: skip
@in_a_loop
async def test_only_an_answer_answers_in_plain_lines(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], typed: str, answer: str | None
) -> None:
    desk: Any = _PlainDesk()
    screen = PlainScreen(desk, tmp_path)
    choices = [MenuChoice(one, value=one) for one in "abc"]
    menu = Menu("Which?", choices, letters="k", selected=2, keys="enter choose  k keep it  esc close")
    screen.show_panel(menu)
    capsys.readouterr()
    screen._take(typed)
    if answer == "":
        assert not menu.answer.done()
        words = f'"{typed}" is not an answer: type a number from 1 to 3, k, y for 1, or n\nnumber, k keep it, y or n: '
        assert capsys.readouterr().out == words
    else:
        found = menu.answer.result()
        assert (found and found[0] + found[1].removeprefix("enter")) == answer


@in_a_loop
async def test_a_question_in_plain_lines_cuts_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    desk: Any = _PlainDesk()
    command = "\n".join(f"line {number}" for number in range(60))
    question = PermissionQuestion(tool_use_id="t", tool="Bash", given={"command": command}, reason="")
    PlainScreen(desk, tmp_path).show_panel(PermissionMenu(question, [MenuChoice("Yes")], tmp_path, lambda _: None))
    assert f"{command}\nquestion: Run this command?\n1 Yes\n" in capsys.readouterr().out


@in_a_loop
async def test_a_change_in_plain_lines_keeps_its_indentation(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "a.py").write_text("def sub(a, b):\n    return a - b\n\nif x:\n    y()\n", encoding="utf-8")
    edit = {"file_path": str(tmp_path / "a.py"), "old_string": "return a - b", "new_string": "if a:\n        return b"}
    question = PermissionQuestion(tool_use_id="t", tool="Edit", given=edit, reason="")
    desk: Any = _PlainDesk()
    PlainScreen(desk, tmp_path).show_panel(PermissionMenu(question, [MenuChoice("Yes")], tmp_path, lambda _: None))
    assert capsys.readouterr().out.startswith(
        "1: def sub(a, b):\nremoved 2:     return a - b\nadded 2:     if a:\nadded 3:         return b\n4:\n5: if x:\n"
    )


@pytest.mark.parametrize(
    ("typed", "chosen", "is_done"),
    [
        (["1", "3"], ["a", "c"], False),
        (["1", "3", "5"], ["a", "c"], True),
        (["1,3", "5"], ["a", "c"], True),
        (["3, 1", "5"], ["c", "a"], True),
        (["1,2", "2", "5"], ["a"], True),
        (["1,2,5"], ["a", "b"], True),
        (["1,9"], [], False),
        (["1,x"], [], False),
    ],
)
@in_a_loop
async def test_several_answers_in_plain_lines(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], typed: list[str], chosen: list[str], is_done: bool
) -> None:
    desk: Any = _PlainDesk()
    screen = PlainScreen(desk, tmp_path)
    actions = [MenuChoice("Something else"), MenuChoice("Done", value=True)]
    panel = CheckList("Which?", [MenuChoice(one, value=one) for one in "abc"], actions, [])
    screen.show_panel(panel)
    assert capsys.readouterr().out.endswith("\nnumbers, one at a time or as 1,2, then 5 for Done; or n: ")
    for line in typed:
        screen._take(line)
    assert panel.checked == chosen
    assert panel.answer.done() == is_done


@pytest.mark.parametrize("words", [b"", b"go on\n"], ids=["at the prompt", "in a turn"])
def test_plain_lines_end_with_their_terminal(tmp_path: Path, words: bytes) -> None:
    """One that is closed reads as an error from then on, and takes no more words."""
    terminal, other = pty.openpty()
    (tmp_path / "work").mkdir()
    names = {"HOME": str(tmp_path), "PATH": os.environ["PATH"], "PYTHONPATH": str(SOURCE), "TERM": "dumb"}
    # Nobody listens there: a turn waits between its attempts.
    endpoint = {"ANTHROPIC_API_KEY": "sk-nothing", "ANTHROPIC_BASE_URL": "http://127.0.0.1:9"}
    command = [sys.executable, "-m", "stenograph", "agent", "--plain"]
    process = subprocess.Popen(
        command, stdin=other, stdout=other, stderr=other, env={**names, **endpoint}, cwd=tmp_path / "work", start_new_session=True
    )
    try:
        os.close(other)
        shown = b""
        while b"you:" not in shown:
            shown += os.read(terminal, 65536)
        os.write(terminal, words)
        os.close(terminal)
        process.wait(20)
    finally:
        process.kill()
        process.wait()
