"""The twenty keys and commands of Claude Code that are used most, in one sitting."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from lab.observatory.scenes import cue, say, text, tool
from lab.terminal import Terminal
from tests.agent.console.desk import console, messages_of
from tests.conftest import Need
from tests.terminals import need_tmux

pytestmark = pytest.mark.proof
WAIT = "echo begun; until [ -e go ]; do sleep 0.1; done"


def enter(terminal: Terminal, words: str) -> None:
    terminal.type(words)
    terminal.press("Enter")


def wait_for_input(terminal: Terminal, text: str) -> None:
    """What stands between the two rules."""
    pattern = rf"─{{20,}}\n[>!#] ?{re.escape(text)} *\n─{{20,}}"
    terminal.wait_for(re.compile(pattern))


def test_keys(tmp_path: Path, need: Need) -> None:
    need_tmux(need)
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "notes.md").write_text("remember the milk\n", encoding="utf-8")
    wait = [say(tool("Bash", command=WAIT, description="Wait")), say(text("Went on."))]
    scenes = {"one": [say(text("One."))], "long": [say(tool("Bash", command="seq 1 99")), say(text("Long."))], "wait": wait}
    with console(tmp_path, scenes, "--allowedTools", "Bash", rows=30) as (terminal, stage):
        # 1 enter, 2 ctrl-j and a backslash for new lines, 3 the keys of readline
        terminal.type("Frist word")
        terminal.press("C-w", "C-a", "C-k")
        terminal.type("First line")
        terminal.press("C-j")
        terminal.type("second line\\")
        terminal.press("Enter")
        enter(terminal, cue("one", "third line"))
        terminal.wait_for("One.")
        assert "First line\nsecond line\nthird line" in messages_of(stage.requests[-1])
        # 4 up and down
        terminal.press("Up")
        terminal.wait_for(re.compile("> First line *\n  second line *\n  third line"))
        terminal.press("C-c")
        wait_for_input(terminal, "")
        # 5 ctrl-r
        terminal.press("C-r")
        terminal.wait_for("Earlier prompts")
        terminal.type("second")
        terminal.press("Enter")
        terminal.wait_for(re.compile("> First line *\n  second line *\n  third line"))
        terminal.press("C-c")
        # 6 shift-tab
        for mode in ("accept edits", "plan", "ask first"):
            terminal.press("BTab")
            terminal.wait_for(re.compile(rf"^  {mode}  ", re.MULTILINE))
        # 7 @ and tab, 8 !, 9 #
        terminal.type("@no")
        terminal.wait_for("@notes.md")
        terminal.press("Tab")
        wait_for_input(terminal, "@notes.md")
        terminal.press("C-c")
        enter(terminal, "!echo from-the-shell")
        terminal.wait_for("\n  from-the-shell")
        enter(terminal, "# Always use tabs")
        terminal.wait_for("Remember: Always use tabs")
        terminal.press("1")
        terminal.wait_for("Added to")
        assert (tmp_path / "work" / "CLAUDE.md").read_text(encoding="utf-8") == "- Always use tabs\n"
        # 10 ctrl-o
        enter(terminal, cue("long", "Count."))
        terminal.wait_for("Long.")
        terminal.press("C-o")
        terminal.wait_for(re.compile(r"\n +9[0-9]\n"))
        terminal.press("q")
        terminal.wait_for("Long.")
        # 11 ctrl-b, 12 ctrl-t
        enter(terminal, cue("wait", "Wait."))
        terminal.wait_for("begun")
        terminal.press("C-b")
        terminal.wait_for("Went on.")
        terminal.press("C-t")
        terminal.wait_for("In the background")
        terminal.press("k")
        terminal.wait_for("Stopped echo begun")
        # 13 esc esc, 14 ctrl-l, 15 ctrl-c twice
        terminal.wait_until_still()
        terminal.press("Escape", "Escape")
        terminal.wait_for("Rewind to before a prompt")
        terminal.press("Escape")
        terminal.press("C-l")
        wait_for_input(terminal, "")
        terminal.press("C-c", "C-c")
        assert terminal.wait_for_exit() == 0


def test_commands(tmp_path: Path, need: Need) -> None:
    need_tmux(need)
    scenes = {"one": [say(text("One."))], "two": [say(text("Two."))]}
    with console(tmp_path, scenes, rows=45) as (terminal, stage):
        enter(terminal, cue("one", "First."))
        terminal.wait_for("One.")
        for command, shown in (
            ("/help", "ctrl-g"),
            ("/context", "System and tools"),
            ("/cost", "since the console was started"),
            ("/permissions", "Mode: ask first"),
            ("/mcp", "No MCP servers."),
            ("/hooks", "No hooks."),
            ("/agents", "general-purpose"),
            ("/status", "endpoint"),
        ):
            enter(terminal, command)
            terminal.wait_for(shown)
        enter(terminal, "/memory")
        terminal.wait_for("Edit memory")
        terminal.press("Escape")
        enter(terminal, "/model")
        terminal.wait_for("Another one")
        terminal.press("Escape")
        enter(terminal, "/rename Parser rewrite")
        terminal.wait_for("Renamed to Parser rewrite")
        enter(terminal, "/export session.md")
        terminal.wait_until(lambda: (tmp_path / "work" / "session.md").exists() or None, "the export")
        terminal.wait_until_ready()
        enter(terminal, "/compact")
        terminal.wait_for("Compacted")
        enter(terminal, "/clear")
        terminal.wait_for("─ 0 of")
        enter(terminal, "/resume Parser rewrite")
        terminal.wait_for(re.compile(r"> /resume Parser rewrite\s+steno 0"))
        terminal.wait_until_still()
        enter(terminal, cue("two", "Second."))
        terminal.wait_for("Two.")
        assert len(stage.requests[-1]["messages"]) > 1
        enter(terminal, "/exit")
        assert terminal.wait_for_exit() == 0
