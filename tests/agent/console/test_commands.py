"""What a new user ran into: rewinding, undoing, and commands that said too little."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from lab.observatory.scenes import Say, cue, say, text, tool
from lab.terminal import Terminal
from tests.agent.console.desk import ALLOW_ALL, console, messages_of
from tests.conftest import Need
from tests.terminals import need_tmux

pytestmark = pytest.mark.proof


@pytest.fixture(autouse=True)
def _tmux(need: Need) -> None:
    need_tmux(need)


def enter(terminal: Terminal, words: str) -> None:
    terminal.type(words)
    terminal.press("Enter")


def rewind_to(terminal: Terminal, *keys: str) -> None:
    terminal.wait_until_still()
    terminal.press("Escape", "Escape")
    terminal.wait_for("Rewind to before a prompt")
    terminal.press(*keys, "Enter")
    terminal.wait_for("Rewound.")
    terminal.wait_until_still()
    terminal.press("C-c")


@pytest.mark.parametrize("keys", [(), ("Up",)], ids=["to the second prompt", "to the start"])
def test_a_rewind_holds_when_the_session_is_reopened_before_the_next_prompt(tmp_path: Path, keys: tuple[str, ...]) -> None:
    scenes = {name: [say(text(f"Answer {name}."))] for name in "abc"}
    with console(tmp_path, scenes, ALLOW_ALL) as (terminal, stage):
        enter(terminal, cue("a", "Fact A."))
        terminal.wait_for("Answer a.")
        enter(terminal, cue("b", "Fact B."))
        terminal.wait_for("Answer b.")
        rewind_to(terminal, *keys)
        enter(terminal, "/undo --list")  # closes the session and opens it again
        terminal.wait_until_still()
        enter(terminal, cue("c", "Fact C."))
        terminal.wait_for("Answer c.")
    said = messages_of(stage.requests[-1])
    assert ("Fact A." in said, "Fact B." in said, "Fact C." in said) == (not keys, False, True)


def test_a_rewind_holds_for_who_continues_the_session_later(tmp_path: Path) -> None:
    scenes = {name: [say(text(f"Answer {name}."))] for name in "ab"}
    with console(tmp_path, scenes, ALLOW_ALL) as (terminal, _):
        enter(terminal, cue("a", "Fact A."))
        terminal.wait_for("Answer a.")
        enter(terminal, cue("b", "Fact B."))
        terminal.wait_for("Answer b.")
        rewind_to(terminal)
        enter(terminal, "/exit")
        terminal.wait_for_exit()
    with console(tmp_path, {"c": [say(text("Answer c."))]}, ALLOW_ALL, "--continue") as (terminal, stage):
        screen = terminal.wait_for("Answer a.")
        assert ("Fact A." in screen, "Fact B." in screen, "Answer b." in screen) == (True, False, False)
        enter(terminal, cue("c", "Fact C."))
        terminal.wait_for("Answer c.")
    said = messages_of(stage.requests[-1])
    assert ("Fact A." in said, "Fact B." in said) == (True, False)


def trim(terminal: Terminal) -> None:
    enter(terminal, "/surgery --truncate-results 200")
    terminal.wait_for("Apply?", 40)
    terminal.press("y", "Enter")
    terminal.wait_for("Undo: /undo")
    terminal.wait_until_ready()


def test_undo_restores_every_byte_after_an_interrupted_turn_and_opens_the_original_after_another(tmp_path: Path) -> None:
    scenes = {
        "long": [say(tool("Bash", command="seq 1 3000", description="Count")), say(text("Counted."))],
        "slow": [Say([text("Visible words."), text("Never seen.")], pause=3)],
        "more": [say(text("More."))],
        "last": [say(text("Last."))],
    }
    with console(tmp_path, scenes, ALLOW_ALL, rows=50) as (terminal, stage):
        enter(terminal, cue("long", "Count."))
        terminal.wait_for("Counted.")
        enter(terminal, cue("slow", "Slow."))
        terminal.wait_for("Visible words.")
        terminal.press("Escape")
        terminal.wait_for("Interrupted.")
        (path,) = terminal.session_files()
        before = path.read_bytes()
        trim(terminal)
        assert len(path.read_bytes()) < len(before)
        enter(terminal, "/undo")
        terminal.wait_for("Undo edit 1")
        terminal.press("y", "Enter")
        terminal.wait_for("Undid edit 1")
        assert path.read_bytes() == before
        terminal.wait_until_ready()
        trim(terminal)
        enter(terminal, cue("more", "Fact M."))
        terminal.wait_for("More.")
        enter(terminal, "/undo")
        terminal.wait_for("Open the original")
        terminal.press("1")
        terminal.wait_for(re.compile(r"2,998 more lines[^$]*Visible words"))
        terminal.wait_until_ready()
        enter(terminal, cue("last", "Go ahead."))
        terminal.wait_for("Last.")
    said = messages_of(stage.requests[-1])
    assert "\n1500\n" in said
    assert "Fact M." not in said


def test_nobody_is_asked_about_an_edit_that_would_fail(tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    path = tmp_path / "work" / "a.txt"
    path.write_text("one\n", encoding="utf-8")
    edit = tool("Edit", file_path=str(path), old_string="nowhere", new_string="x")
    with console(tmp_path, {"edit": [say(tool("Read", file_path=str(path))), say(edit), say(text("Over."))]}) as (terminal, _):
        enter(terminal, cue("edit", "Edit it."))
        screen = terminal.wait_for("Over.")
    assert "String to replace not found" in screen
    assert "tool_use_error" not in screen
    assert "Yes" not in screen


def test_commands_at_sixty_columns_say_what_is_and_cut_nothing(tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    servers = {"mcpServers": {"gone": {"command": "/nowhere/server"}}}
    (tmp_path / "servers.json").write_text(json.dumps(servers), encoding="utf-8")
    arguments = ("--mcp-config", str(tmp_path / "servers.json"))
    with console(tmp_path, {"one": [say(text("Hello."))]}, *arguments, columns=60, rows=40) as (terminal, _):
        terminal.press("C-c")
        terminal.wait_for("ctrl-c again to quit")
        terminal.wait_until(lambda: True if "again to quit" not in terminal.screen() else None, "the hint to go", 5)
        enter(terminal, cue("one", "Hi."))
        terminal.wait_for("Hello.")
        enter(terminal, "/cost")
        assert re.search(r"opus 5\.5 .* 3 .* 100 .* \$0\.00", terminal.wait_for("since the console was started."))
        enter(terminal, "/mcp")
        terminal.wait_for("gone: failed")
        enter(terminal, "/export nowhere/session.md")
        terminal.wait_for("no such directory")
        assert not (tmp_path / "work" / "nowhere").exists()
        enter(terminal, "/effort")
        assert "▌ 2  medium" in terminal.wait_for("5  max")
        terminal.press("Escape")
        enter(terminal, "/model")
        assert len(re.findall("claude-opus-5-5", terminal.wait_for("2  Another one"))) == 1
        terminal.press("Escape")
        enter(terminal, "/model nonsense-9")
        terminal.wait_for("unknown model nonsense-9; the endpoint decides")
        enter(terminal, "/clear")
        terminal.wait_for("nonsense-9  0 of 200k")


def test_init_is_recorded_as_the_command_that_was_typed(tmp_path: Path) -> None:
    with console(tmp_path, {}) as (terminal, stage):
        enter(terminal, "/init")
        terminal.wait_until(lambda: stage.requests or None, "a request")
        path = terminal.wait_for_line("<command-name>/init</command-name>")
        terminal.wait_for("> /init")
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    prompts = [line for line in lines if line["type"] == "user" and not line.get("isMeta")]
    assert ["Look through this project" in str(line["message"]["content"]) for line in prompts] == [False]
    assert "Look through this project" in messages_of(stage.requests[0])


def test_what_commands_of_steno_print_stays_in_the_transcript(tmp_path: Path) -> None:
    with console(tmp_path, {"one": [say(text("Hello."))]}, columns=60, rows=40) as (terminal, _):
        enter(terminal, cue("one", "Hi."))
        terminal.wait_for("Hello.")
        enter(terminal, "/export a-file-with-a-name-that-is-long-enough-to-fill-the-line.md")
        terminal.wait_for("-to-fill-the-line.md", 20)
        terminal.wait_until_still()
        enter(terminal, "/trace")
        terminal.wait_for("STENO_TRACE_URL")
        terminal.wait_until_still()
        before = terminal.screen()
        terminal.press("C-l")
        terminal.wait_until_still()
        assert terminal.screen() == before
    assert "\n  Wrote\n  a-file-with-a-name-that-is-long-enough-to-fill-the-line.md\n" in before
    assert re.search(r"\n> /trace\n\n  error: no destination is configured; add one to\n(?:  \S.*\n)+\n", before)


def test_a_shell_command_and_a_line_to_remember_are_shown_once(tmp_path: Path) -> None:
    with console(tmp_path, {}) as (terminal, _):
        enter(terminal, "!echo begun; sleep 2")
        screen = terminal.wait_for(re.compile("● .*\n +begun"))
        assert len(re.findall("echo begun; sleep 2", screen)) == 1
        enter(terminal, "# always use tabs")
        terminal.wait_for("Remember: always use tabs")
        terminal.press("1")
        terminal.wait_for("Added to")
        terminal.wait_until(lambda: True if "●" not in terminal.screen() else None, "the command to end")
        assert re.findall(r"^[!#].*", terminal.screen(), re.MULTILINE) == ["! echo begun; sleep 2"]
        assert "always use tabs" not in terminal.screen()
