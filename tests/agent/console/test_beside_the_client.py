"""The console and Claude Code in the same terminal, with the same keys and the same script: what is sent is alike."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from lab.observatory.scenes import Say, cue, say, text, tool
from lab.terminal import Terminal
from tests.agent.console.desk import ALLOW_ALL, console, messages_of
from tests.conftest import Client, Need
from tests.terminals import need_tmux

pytestmark = [pytest.mark.clients, pytest.mark.proof]
NEWEST = "2.1.325"
WAIT = "until [ -e go ]; do sleep 0.1; done"


@pytest.fixture(params=["steno", NEWEST])
def program(request: pytest.FixtureRequest, client: Client, need: Need) -> Path | None:
    need_tmux(need)
    return None if request.param == "steno" else client(request.param)


def enter(terminal: Terminal, words: str) -> None:
    terminal.type(words)
    terminal.press("Enter")


def conversation(requests: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Without what a client asks on its own account: titles, and whether a prompt begins something new."""
    return [request for request in requests if request.get("tools") and "[scene" in messages_of(request)]


def test_what_is_typed_during_a_tool_is_in_the_next_request(tmp_path: Path, program: Path | None) -> None:
    steps = [say(tool("Bash", command=WAIT, description="Wait")), say(text("Heard you."))]
    with console(tmp_path, {"wait": steps}, ALLOW_ALL, program=program) as (terminal, stage):
        enter(terminal, cue("wait", "Wait."))
        terminal.wait_until(lambda: len(conversation(stage.requests)) == 1 or None, "the first request")
        terminal.wait_for("sleep 0.1")
        enter(terminal, "Mention number 212.")
        terminal.wait_until_still()
        (tmp_path / "work" / "go").touch()
        terminal.wait_for("Heard you.")
    requests = conversation(stage.requests)
    assert "Mention number 212." not in messages_of(requests[0])
    assert "Mention number 212." in messages_of(requests[1])


def test_escape_in_a_stream_keeps_the_visible_text(tmp_path: Path, program: Path | None) -> None:
    slow = Say([text("Visible words."), text("Never seen.")], pause=1.5)
    scenes = {"slow": [slow], "next": [say(text("Next answer."))]}
    with console(tmp_path, scenes, ALLOW_ALL, program=program) as (terminal, stage):
        enter(terminal, cue("slow", "Begin."))
        terminal.wait_for("Visible words.")
        terminal.press("Escape")
        terminal.wait_for_line("[Request interrupted by user")
        terminal.wait_until_still()
        enter(terminal, cue("next", "Go ahead."))
        terminal.wait_for("Next answer.")
        assert "Visible words." in terminal.screen()
    said = messages_of(conversation(stage.requests)[-1])
    assert "Visible words." in said
    assert "Never seen." not in said
    assert "[Request interrupted by user]" in said
