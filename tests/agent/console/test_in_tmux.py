"""The console driven by keys in a real terminal."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from lab.observatory.scenes import Say, cue, say, text, think, tool
from tests.agent.console.desk import ALLOW_ALL, console, messages_of
from tests.conftest import Need
from tests.terminals import need_tmux


@pytest.fixture(autouse=True)
def _tmux(need: Need) -> None:
    need_tmux(need)


def test_a_turn_with_markdown_and_folded_tools(tmp_path: Path) -> None:
    answer = "Two **places**:\n\n1. `Cart`\n2. `Header`\n\nThat is all."
    steps = [say(think("Hm."), text("I look."), tool("Bash", command="seq 1 200", description="Count")), say(text(answer))]
    with console(tmp_path, {"one": steps}, ALLOW_ALL) as (terminal, stage):
        terminal.submit(cue("one", "Find out why."))
        screen = terminal.wait_for("That is all.")
        assert "> Find out why. [scene one]" in screen
        assert "• Bash seq 1 200" in screen
        assert "200 lines" in screen
        assert "… 198 more lines" in screen
        assert "\n    100\n" not in screen
        assert "Two places:" in screen
        assert "1 Cart" in screen
        assert "\n\n────" in screen
        terminal.submit("/exit")
        assert terminal.wait_for_exit() == 0
        assert "────" not in terminal.screen()
    assert len(stage.requests) == 2


def test_escape_in_a_stream_keeps_the_visible_text_and_the_next_request_has_it(tmp_path: Path) -> None:
    slow = Say([text("Visible words."), text("Never seen.")], pause=1.0)
    with console(tmp_path, {"slow": [slow], "next": [say(text("Next answer."))]}, ALLOW_ALL) as (terminal, stage):
        terminal.submit(cue("slow", "Begin."))
        terminal.wait_for("Visible words.")
        terminal.press("Escape")
        terminal.wait_for("Interrupted.")
        terminal.submit(cue("next", "Go ahead."))
        screen = terminal.wait_for("Next answer.")
    assert "Visible words." in screen
    said = messages_of(stage.requests[-1])
    assert "Visible words." in said
    assert "[Request interrupted by user]" in said


def test_escape_in_a_tool_answers_the_call(tmp_path: Path) -> None:
    command = "echo begun; sleep 30"
    steps = [say(tool("Bash", command=command, description="Wait"))]
    with console(tmp_path, {"wait": steps, "next": [say(text("Next answer."))]}, ALLOW_ALL) as (terminal, stage):
        terminal.submit(cue("wait", "Begin."))
        terminal.wait_for("begun")
        terminal.press("Escape")
        terminal.wait_for("interrupted after")
        terminal.submit(cue("next", "Go ahead."))
        terminal.wait_for("Next answer.")
    results = [
        block for message in stage.requests[-1]["messages"] for block in message["content"] if block["type"] == "tool_result"
    ]
    assert len(results) == 1


def test_ctrl_c_clears_then_quits(tmp_path: Path) -> None:
    with console(tmp_path, {}) as (terminal, _):
        terminal.type("some words")
        terminal.press("C-c")
        terminal.wait_until_still()
        assert "some words" not in terminal.screen()
        terminal.press("C-c")
        terminal.wait_for("ctrl-c again to quit")
        terminal.press("C-c")
        assert terminal.wait_for_exit() == 0


def test_escapes_in_tool_output_are_shown_not_obeyed(tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "evil.txt").write_text("\x1b[2J\x1b]0;owned\x07\x1b[31mred\x1b[0m end", encoding="utf-8")
    steps = [say(tool("Bash", command="cat evil.txt", description="Look")), say(text("Over."))]
    with console(tmp_path, {"evil": steps}, ALLOW_ALL) as (terminal, _):
        terminal.submit(cue("evil", "Look at it."))
        screen = terminal.wait_for("Over.")
    assert "\\x1b[2J\\x1b]0;owned\\x07red end" in screen
    assert "> Look at it." in screen


def test_the_session_is_one_that_every_reader_knows(tmp_path: Path) -> None:
    with console(tmp_path, {"one": [say(text("Hello."))]}) as (terminal, _):
        terminal.submit(cue("one", "Hi."))
        terminal.wait_for("Hello.")
        path = terminal.wait_for_line("Hello.")
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    assert [line["message"]["role"] for line in lines if line["type"] in ("user", "assistant")] == ["user", "assistant"]
