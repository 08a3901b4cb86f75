"""States of the screen that a person meets: streaming, steering, choosing a session, planning, an endpoint that is gone."""

from __future__ import annotations

import re
import socket
from pathlib import Path

import pytest
from lab.observatory.scenes import Say, cue, say, text, tool
from lab.terminal import Terminal
from tests.agent.console.desk import ALLOW_ALL, console, messages_of
from tests.conftest import Need
from tests.terminals import need_tmux

pytestmark = pytest.mark.proof
WAIT = "echo begun; until [ -e go ]; do sleep 0.1; done"


@pytest.fixture(autouse=True)
def _tmux(need: Need) -> None:
    need_tmux(need)


def enter(terminal: Terminal, words: str) -> None:
    terminal.type(words)
    terminal.press("Enter")


def test_text_is_shown_as_it_arrives_with_the_key_that_stops_it(tmp_path: Path) -> None:
    slow = Say([text("# Title\n\nFirst **words**."), text("Last words.")], pause=2.0)
    with console(tmp_path, {"slow": [slow]}) as (terminal, _):
        enter(terminal, cue("slow", "Begin."))
        screen = terminal.wait_for("First words.")
        assert "Last words." not in screen
        assert "esc interrupt" in screen
        screen = terminal.wait_for("Last words.")
        terminal.wait_for("? help")
        assert screen.count("First words.") == 1


def test_headings_start_at_the_edge_and_the_context_says_what_is_next(tmp_path: Path) -> None:
    count = tool("Bash", command="seq 1 2000", description="Count")
    scenes = {"one": [say(text("# Title\n\nWords."), count), say(text("Counted."))]}
    with console(tmp_path, scenes, ALLOW_ALL, rows=40) as (terminal, _):
        enter(terminal, cue("one", "Begin."))
        screen = terminal.wait_for("Counted.")
        assert re.search(r"\n  Title *\n", screen)
        enter(terminal, "/context")
        screen = terminal.wait_for("Worth dropping")
    # A window of 1,000,000, of which 20,000 are left for the summary and 13,000 for results.
    assert "compacts at 967k" in screen
    assert re.search(r"Worth dropping +tokens  per later call\n  Bash seq 1 2000, turn 1 +\d\.\dk +~\$0\.0\d+", screen)


def test_enter_on_an_empty_line_sends_what_is_queued_at_once(tmp_path: Path) -> None:
    scenes = {"wait": [say(tool("Bash", command=WAIT, description="Wait"))], "next": [say(text("Steered."))]}
    with console(tmp_path, scenes, ALLOW_ALL) as (terminal, stage):
        enter(terminal, cue("wait", "Wait."))
        terminal.wait_for("begun")
        enter(terminal, cue("next", "Another way."))
        terminal.wait_for("queued  1  > Another way.")
        terminal.press("Enter")
        terminal.wait_for("Steered.")
        assert "interrupted after" in terminal.screen()
    assert "Another way." in messages_of(stage.requests[-1])


def test_a_session_is_found_by_its_words_seen_in_the_preview_and_resumed(tmp_path: Path) -> None:
    scenes = {name: [say(text(f"Answer {name}."))] for name in "abc"}
    with console(tmp_path, scenes, columns=120, rows=30) as (terminal, stage):
        enter(terminal, cue("a", "Paint the gazebo."))
        terminal.wait_for("Answer a.")
        enter(terminal, "/clear")
        terminal.wait_for("─ 0 of")
        enter(terminal, cue("b", "Water the orchids."))
        terminal.wait_for("Answer b.")
        enter(terminal, "/resume")
        terminal.wait_for("enter resume", 40)
        terminal.type("gazebo")
        screen = terminal.wait_for(re.compile(r"1 (session|match|hit)|Answer a\.[^$]*enter resume"))
        assert "orchids" not in screen.partition("\n")[2]
        terminal.wait_for("Answer a.")
        terminal.press("Enter")
        terminal.wait_for(re.compile(r"> /resume\s+steno 0[^$]*Answer a\."), 40)
        terminal.wait_until_still()
        enter(terminal, cue("c", "And the fence."))
        terminal.wait_for("Answer c.")
    said = messages_of(stage.requests[-1])
    assert ("gazebo" in said, "orchids" in said) == (True, False)


@pytest.mark.proof
def test_resume_without_a_name_opens_the_picker(tmp_path: Path) -> None:
    with console(tmp_path, {"a": [say(text("Answer a."))]}) as (terminal, _):
        enter(terminal, cue("a", "Paint the gazebo."))
        terminal.wait_for("Answer a.")
    with console(tmp_path, {"b": [say(text("Answer b."))]}, "--resume", is_ready="enter resume") as (terminal, stage):
        terminal.press("Enter")
        terminal.wait_for(re.compile(r"steno 0[^$]*Answer a\."), 40)
        terminal.wait_until_still()
        enter(terminal, cue("b", "And the fence."))
        terminal.wait_for("Answer b.")
    assert "gazebo" in messages_of(stage.requests[-1])


def test_another_directorys_session_continues_in_a_copy_after_a_question(tmp_path: Path) -> None:
    with console(tmp_path, {"a": [say(text("Answer a."))]}) as (terminal, _):
        enter(terminal, cue("a", "Paint the gazebo."))
        path = terminal.wait_for_line("Answer a.")
        enter(terminal, "/exit")
        terminal.wait_for_exit()
    before = path.read_bytes()
    asked = f"That session belongs to {tmp_path / 'work'}."
    with console(tmp_path, {}, "--resume", is_ready="enter resume", work="beside", columns=150) as (terminal, _):
        terminal.press("Enter")
        assert asked in terminal.wait_for("Continue in a copy here?")
        terminal.type("n")
        terminal.press("Enter")
        assert terminal.wait_for_exit() == 0
    with console(tmp_path, {"b": [say(text("Answer b."))]}, work="beside", columns=150) as (terminal, stage):
        for reference in ("", f" {path.stem[:8]}"):
            enter(terminal, f"/resume{reference}")
            if not reference:
                terminal.wait_for("enter resume", 40)
                terminal.press("Enter")
            assert asked in terminal.wait_for("Continue in a copy here")
            if not reference:
                terminal.press("Escape")
                terminal.wait_until(lambda: "Continue in" not in terminal.screen() or None, "the input")
        terminal.press("Enter")
        terminal.wait_for("Answer a.")
        terminal.wait_until_still()
        enter(terminal, cue("b", "And the fence."))
        copy = terminal.wait_for_line("Answer b.")
    assert "gazebo" in messages_of(stage.requests[-1])
    assert (path.read_bytes(), copy.parent == path.parent) == (before, False)


def test_nothing_is_written_in_plan_mode(tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    made = tmp_path / "work" / "made.txt"
    calls = [tool("Write", file_path=str(made), content="x"), tool("Bash", command=f"touch {made}", description="Make it")]
    steps = [say(*calls), say(text("Planned."))]
    with console(tmp_path, {"plan": steps}, "--allowedTools", "Write", "Bash") as (terminal, _):
        terminal.press("BTab", "BTab")
        terminal.wait_for(re.compile(r"^  plan  ", re.MULTILINE))
        enter(terminal, cue("plan", "Plan it."))
        terminal.wait_until(lambda: True if re.search("Planned|Yes", terminal.screen()) else None, "an end or a question")
        assert not made.exists()


def test_an_endpoint_that_is_gone_is_named_and_the_session_stays(tmp_path: Path) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        address = f"http://127.0.0.1:{unused.getsockname()[1]}"
        with console(tmp_path, {}, environment={"ANTHROPIC_BASE_URL": address}) as (terminal, _):
            enter(terminal, "Are you there?")
            terminal.wait_for(f"nothing listens on {address.removeprefix('http://')}")
            enter(terminal, "/exit")
            assert terminal.wait_for_exit() == 0
    with console(tmp_path, {"back": [say(text("Here again."))]}, "--continue") as (terminal, stage):
        terminal.wait_for("> Are you there?")
        enter(terminal, cue("back", "And now?"))
        terminal.wait_for("Here again.")
    assert "Are you there?" in messages_of(stage.requests[-1])


def test_a_rejected_plan_shows_what_was_said_and_the_model_hears_it(tmp_path: Path) -> None:
    plan = tool("ExitPlanMode", plan="1. Do it")
    with console(tmp_path, {"plan": [say(plan), say(text("Thinking again."))]}, "--permission-mode", "plan") as (terminal, stage):
        enter(terminal, cue("plan", "Plan it."))
        assert "Carry out this plan?" in terminal.wait_for("1-3  esc keep planning")
        terminal.press("3")
        terminal.wait_for("What should change in the plan?")
        enter(terminal, "Smaller steps, please.")
        screen = terminal.wait_for("Thinking again.")
    assert re.search(r"✗ Plan rejected\n    Smaller steps, please\.\n", screen)
    assert "doesn't want to proceed" not in screen
    assert "Smaller steps, please." in messages_of(stage.requests[-1])
