"""The console driven by keys in a real terminal."""

from __future__ import annotations

import contextlib
import functools
import json
import os
import re
import signal
import sys
from pathlib import Path

import pytest
from lab.observatory.scenes import Fail, Say, cue, say, text, think, tool
from lab.terminal import Terminal
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


@pytest.mark.proof
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


@pytest.mark.proof
def test_escape_in_a_tool_answers_the_call(tmp_path: Path) -> None:
    command = "echo begun; sleep 30"
    steps = [say(tool("Bash", command=command, description="Wait"))]
    with console(tmp_path, {"wait": steps, "next": [say(text("Next answer."))]}, ALLOW_ALL) as (terminal, stage):
        terminal.submit(cue("wait", "Begin."))
        terminal.wait_for("begun")
        terminal.press("Escape")
        terminal.wait_for("interrupted after")
        terminal.press("C-o")
        assert f"■ Bash $ {command}" in terminal.wait_for("q back")
        terminal.press("q")
        terminal.wait_for("Say what to do instead")
        terminal.submit(cue("next", "Go ahead."))
        terminal.wait_for("Next answer.")
    with console(tmp_path, {}, "--continue", ALLOW_ALL) as (terminal, _):
        terminal.wait_for("Next answer.")
        assert re.search(rf"^■ Bash {re.escape(command)} +interrupted$", terminal.screen(), re.MULTILINE)
    results = [
        block for message in stage.requests[-1]["messages"] for block in message["content"] if block["type"] == "tool_result"
    ]
    assert len(results) == 1


@pytest.mark.proof
def test_ctrl_c_clears_then_quits(tmp_path: Path) -> None:
    with console(tmp_path, {}) as (terminal, _):
        terminal.type("some words")
        terminal.press("C-c")
        assert "some words" not in terminal.wait_for("ctrl-c again to quit")
        terminal.press("C-c")
        assert terminal.wait_for_exit() == 0


@pytest.mark.proof
def test_escapes_in_tool_output_are_shown_not_obeyed(tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "evil.txt").write_text("\x1b[2J\x1b]0;owned\x07\x1b[31mred\x1b[0m end", encoding="utf-8")
    steps = [say(tool("Bash", command="cat evil.txt", description="Look")), say(text("Over."))]
    with console(tmp_path, {"evil": steps}, ALLOW_ALL) as (terminal, _):
        terminal.submit(cue("evil", "Look at it."))
        screen = terminal.wait_for("Over.")
    assert "\\x1b[2J\\x1b]0;owned\\x07red end" in screen
    assert "> Look at it." in screen


@pytest.mark.proof
def test_the_session_is_one_that_every_reader_knows(tmp_path: Path) -> None:
    with console(tmp_path, {"one": [say(text("Hello."))]}) as (terminal, _):
        terminal.submit(cue("one", "Hi."))
        terminal.wait_for("Hello.")
        path = terminal.wait_for_line("Hello.")
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    assert [line["message"]["role"] for line in lines if line["type"] in ("user", "assistant")] == ["user", "assistant"]


def enter(terminal: Terminal, words: str) -> None:
    """Once: Enter on the empty line that follows would send what is queued."""
    terminal.type(words)
    terminal.press("Enter")


def test_a_question_shows_the_change_and_mode_answers_settle_the_rest(tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    path = tmp_path / "work" / "a.txt"
    path.write_text("one\ntwo\nthree\n", encoding="utf-8")
    edits = [tool("Edit", file_path=str(path), old_string=old, new_string=new) for old, new in (("two", "zwei"), ("one", "eins"))]
    steps = [say(tool("Read", file_path=str(path))), say(*edits), say(text("Edited."))]
    with console(tmp_path, {"edit": steps}) as (terminal, _):
        terminal.submit(cue("edit", "Edit it."))
        screen = terminal.wait_for("Edit a.txt?")
        assert "2 - two" in screen
        assert "2 + zwei" in screen
        assert path.read_text(encoding="utf-8") == "one\ntwo\nthree\n"
        terminal.wait_for("1-3  esc no")
        terminal.press("2")
        terminal.wait_for("Edited.")
        assert "accept edits" in terminal.screen()
    assert path.read_text(encoding="utf-8") == "eins\nzwei\nthree\n"


@pytest.mark.proof
def test_tab_edits_the_rule_whatever_is_selected(tmp_path: Path) -> None:
    steps = [say(tool("Bash", command="npm test", description="Test")), say(text("Tested."))]
    with console(tmp_path, {"test": steps}) as (terminal, _):
        terminal.submit(cue("test", "Test it."))
        assert "▌ 1  Yes" in terminal.wait_for("tab edit rule")
        terminal.press("Tab")
        terminal.wait_for("Rule to write")
        terminal.press("C-u")
        terminal.type("Bash(npm *)")
        terminal.press("Enter")
        terminal.wait_for("Tested.")
    kept = json.loads((tmp_path / "work" / ".claude" / "settings.local.json").read_text(encoding="utf-8"))
    assert kept["permissions"]["allow"] == ["Bash(npm *)"]


@pytest.mark.proof
@pytest.mark.parametrize("begins", ["clear", "rewind"])
def test_a_rule_for_good_holds_in_the_next_session_of_the_same_console(tmp_path: Path, begins: str) -> None:
    made = [say(tool("Bash", command="npm test", description="Test")), say(text("Tested."))]
    with console(tmp_path, {"test": made}) as (terminal, _):
        terminal.submit(cue("test", "Test it."))
        terminal.wait_for("Yes, always in this project")
        terminal.wait_for("1-3")
        terminal.press("2")
        terminal.wait_for("Tested.")
        terminal.wait_for("? help")
        enter(terminal, f"/{begins}")
        if begins == "rewind":
            terminal.wait_for("Rewind to before a prompt")
            terminal.press("Enter")
            terminal.wait_for("Rewound.")
            terminal.press("C-c")
        else:
            terminal.wait_for("─ 0 of")
        terminal.wait_until_still()
        enter(terminal, "/permissions")
        assert re.search(r"allow +Bash\(npm test \*\) +local", terminal.wait_for("Mode: ask first"))


@pytest.mark.proof
def test_all_of_a_long_command_is_seen_before_it_is_allowed(tmp_path: Path) -> None:
    command = "\n".join(["true", *(f"echo {number} >> made" for number in range(60))])
    steps = [say(tool("Bash", command=command, description="Write")), say(text("Written."))]
    with console(tmp_path, {"write": steps}, rows=9) as (terminal, _):
        terminal.submit(cue("write", "Write it."))
        screen = terminal.wait_for("esc no")
        assert re.search(r"… \d+ more lines  ctrl-o shows all\n( +echo 58 >> made\n)? +echo 59 >> made\n", screen)
        assert re.search(r"▌ 1  Yes *\n  2  Yes, always in this project *\n( +adds .*\n)*  3  No, and say", screen)
        terminal.press("C-o")
        assert "echo 2 >> made" in terminal.wait_for("q back")
        terminal.press("q")
        terminal.wait_for("esc no")
        terminal.paste("1. do this\n2. do that")
        # The question waits for a pause, which may be over by now.
        terminal.wait_for("esc no")
        assert not (tmp_path / "work" / "made").exists()
        terminal.press("1")
        terminal.wait_for("Written.")
    assert (tmp_path / "work" / "made").read_text(encoding="utf-8").endswith("59\n")


@pytest.mark.proof
def test_escape_denies_and_stops(tmp_path: Path) -> None:
    steps = [say(tool("Bash", command="touch made", description="Make it")), say(text("Never."))]
    with console(tmp_path, {"make": steps, "next": [say(text("Next answer."))]}) as (terminal, stage):
        terminal.submit(cue("make", "Make it."))
        terminal.wait_for("Run this command?")
        terminal.press("Escape")
        terminal.wait_for("Interrupted.")
        terminal.submit(cue("next", "Go ahead."))
        terminal.wait_for("Next answer.")
    assert not (tmp_path / "work" / "made").exists()
    assert len(stage.requests) == 2


def test_what_is_typed_during_a_tool_is_in_the_next_request(tmp_path: Path) -> None:
    steps = [say(tool("Bash", command="until [ -e go ]; do sleep 0.1; done", description="Wait")), say(text("Heard you."))]
    with console(tmp_path, {"wait": steps}, ALLOW_ALL) as (terminal, stage):
        terminal.submit(cue("wait", "Wait."))
        terminal.wait_for("● Bash")
        enter(terminal, "Mention number 212.")
        terminal.wait_for("queued  1  > Mention number 212.")
        (tmp_path / "work" / "go").touch()
        screen = terminal.wait_for("Heard you.")
    assert "» Mention number 212." in screen
    assert len(stage.requests) == 2
    assert "Mention number 212." in messages_of(stage.requests[1])


@pytest.mark.proof
@pytest.mark.parametrize("key", ["Escape", "C-c"])
def test_stopping_puts_what_is_queued_back_into_the_input(tmp_path: Path, key: str) -> None:
    steps = [say(tool("Bash", command="sleep 60", description="Wait"))]
    with console(tmp_path, {"wait": steps, "next": [say(text("All heard."))]}, ALLOW_ALL) as (terminal, stage):
        terminal.submit(cue("wait", "Wait."))
        terminal.wait_for("● Bash")
        for number in range(1, 9):
            enter(terminal, f"Line {number}.")
        screen = terminal.wait_for("… and 3 more")
        assert ("5  > Line 5." in screen, "6  > Line 6." in screen) == (True, False)
        terminal.press(key)
        screen = terminal.wait_for("interrupted after")
        terminal.wait_for("\n".join(["> Line 1.", *(f"  Line {number}." for number in range(2, 9))]))
        terminal.wait_until_still()
        assert "queued" not in terminal.screen()
        assert len(stage.requests) == 1
        enter(terminal, cue("next", " Go."))
        terminal.wait_for("All heard.")
    assert "Line 1.\nLine 2.\nLine 3." in messages_of(stage.requests[-1])


@pytest.mark.proof
def test_ctrl_c_twice_quits_while_prompts_are_queued(tmp_path: Path) -> None:
    with console(tmp_path, {"wait": [say(tool("Bash", command="sleep 60", description="Wait"))]}, ALLOW_ALL) as (terminal, stage):
        terminal.submit(cue("wait", "Wait."))
        terminal.wait_for("● Bash")
        for number in range(1, 4):
            enter(terminal, f"Line {number}.")
        terminal.wait_for("3  > Line 3.")
        terminal.press("C-c", "C-c")
        assert terminal.wait_for_exit() == 0
    assert len(stage.requests) == 1


@pytest.mark.proof
def test_a_queued_prompt_can_be_edited(tmp_path: Path) -> None:
    steps = [say(tool("Bash", command="until [ -e go ]; do sleep 0.1; done", description="Wait")), say(text("Over."))]
    with console(tmp_path, {"wait": steps}, ALLOW_ALL) as (terminal, stage):
        terminal.submit(cue("wait", "Wait."))
        terminal.wait_for("● Bash")
        enter(terminal, "Frst")
        terminal.wait_for("queued  1")
        terminal.press("Up")
        terminal.wait_for("> Frst")
        terminal.press("C-c")
        (tmp_path / "work" / "go").touch()
        terminal.wait_for("Over.")
    assert "Frst" not in messages_of(stage.requests[-1])


@pytest.mark.proof
def test_rewind_restores_files_and_leaves_a_branch(tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    path = tmp_path / "work" / "a.txt"
    path.write_text("one\n", encoding="utf-8")
    read, edit = tool("Read", file_path=str(path)), tool("Edit", file_path=str(path), old_string="one", new_string="eins")
    scenes = {"edit": [say(read), say(edit), say(text("Edited."))], "other": [say(text("Another way."))]}
    with console(tmp_path, scenes, ALLOW_ALL) as (terminal, stage):
        terminal.submit(cue("edit", "Edit it."))
        terminal.wait_for("Edited.")
        assert path.read_text(encoding="utf-8") == "eins\n"
        terminal.wait_until_still()
        terminal.press("Escape", "Escape")
        screen = terminal.wait_for("Rewind to before a prompt")
        assert "now  1 file" in screen
        assert "Restores a.txt. Turn 1 stays in the file as a branch." in screen
        terminal.press("1")
        terminal.wait_until_still()
        assert "Rewind to before a prompt" in terminal.screen()
        terminal.press("Enter")
        terminal.wait_for("Rewound. Restored a.txt. The later turns stay")
        terminal.wait_until_still()
        assert path.read_text(encoding="utf-8") == "one\n"
        terminal.press("C-c")
        terminal.submit(cue("other", "Try again."))
        terminal.wait_for("Another way.")
        assert "Edit it." not in messages_of(stage.requests[-1])
        enter(terminal, "/branches")
        assert "Branch 2: Edit it." in terminal.wait_for("Switch to a branch")


@pytest.mark.proof
def test_a_paste_of_ten_thousand_lines_is_folded_and_sent_whole(tmp_path: Path) -> None:
    pasted = "\n".join(f"line {number}" for number in range(10_000))
    with console(tmp_path, {"paste": [say(text("Read it."))]}) as (terminal, stage):
        terminal.paste(pasted)
        terminal.wait_for("[Pasted text #1 +9,999 lines]")
        terminal.submit(cue("paste", " What is it?"))
        terminal.wait_for("Read it.")
    assert pasted in messages_of(stage.requests[-1])


@pytest.mark.proof
def test_files_shell_commands_and_new_lines_go_along(tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "notes.md").write_text("remember the milk\n", encoding="utf-8")
    with console(tmp_path, {"all": [say(text("Seen."))]}) as (terminal, stage):
        enter(terminal, "!echo from-the-shell")
        terminal.wait_for("\n  from-the-shell")
        terminal.type("Look at @no")
        terminal.wait_for("@notes.md")
        terminal.press("Tab")
        terminal.type("please")
        terminal.press("C-j")
        terminal.submit(cue("all", "Second line."))
        terminal.wait_for("Seen.")
    said = messages_of(stage.requests[-1])
    assert "Look at @notes.md please\nSecond line." in said
    assert "remember the milk" in said
    assert "<bash-stdout>from-the-shell</bash-stdout>" in said


@pytest.mark.proof
def test_commands_are_completed_and_unknown_ones_not_sent(tmp_path: Path) -> None:
    with console(tmp_path, {}) as (terminal, stage):
        terminal.type("/perm")
        terminal.wait_for("/permissions [allow RULE]  List permission rules")
        terminal.press("Enter")
        terminal.wait_for("Mode: ask first")
        enter(terminal, "/nonsense")
        terminal.wait_for("unknown command /nonsense")
    assert stage.requests == []


@pytest.mark.proof
def test_the_screen_follows_a_resize_and_nothing_is_drawn_twice(tmp_path: Path) -> None:
    # From an almost empty screen tmux moves rows out of reach when it becomes narrower.
    answer = "\n".join([*(f"- Item {number}" for number in range(20)), "\nHello."])
    with console(tmp_path, {"one": [say(text(answer))]}, columns=60) as (terminal, _):
        terminal.submit(cue("one", "Hi."))
        terminal.wait_for("Hello.")
        for columns in (100, 50, 80, 40):
            terminal.resize(columns, 30)
            terminal.wait_for(re.compile(rf"(?<!─)─{{{columns}}}(?!─)"))
            seen = terminal.history()
            assert (seen.count("steno 0."), seen.count("Hello.")) == (1, 1)
            lines = [line.strip(" ─\xa0") for line in seen.rstrip().split("\n")]
            assert lines[-6:-1] == ["Hello.", "", "", ">", ""]


@pytest.mark.proof
def test_shift_enter_is_a_new_line_in_terminals_that_tell_it_from_enter(tmp_path: Path) -> None:
    with console(tmp_path, {"one": [say(text("Read."))]}) as (terminal, stage):
        for number, sequence in enumerate((b"\x1b[27;2;13~", b"\x1b[13;2u")):
            terminal.type(f"line {number}")
            terminal._ask_tmux("send-keys", "-H", *(f"{byte:02x}" for byte in sequence))
        enter(terminal, cue("one", "the end"))
        terminal.wait_for("Read.")
    assert "line 0\nline 1\nthe end" in messages_of(stage.requests[-1])


@pytest.mark.proof
def test_ctrl_l_draws_the_end_of_the_conversation_again(tmp_path: Path) -> None:
    answer = "\n".join(f"- Item-{number}." for number in range(40))
    with console(tmp_path, {"one": [say(text(answer))]}) as (terminal, _):
        enter(terminal, cue("one", "Begin."))
        terminal.wait_for("Item-39.")
        terminal.wait_until_still()
        screen, history = terminal.screen(), terminal.history()
        # What another program writes into the window.
        tty = Path(terminal._ask_tmux("display-message", "-p", "#{pane_tty}").strip())
        tty.write_text("\x1b[5;1Hwritten over it" * 3)
        terminal.wait_for("written over it")
        terminal.press("C-l")
        terminal.wait_until_still()
        assert (terminal.screen(), terminal.history()) == (screen, history)
        terminal.type("typed after")
        assert terminal.screen() == screen.replace("\n> \n", "\n> typed after\n")


def _seen_above(terminal: Terminal, words: str) -> bool | None:
    return words in terminal.history() or None


@pytest.mark.proof
def test_a_window_that_becomes_narrower_while_text_arrives_keeps_one_copy_of_each_line(tmp_path: Path) -> None:
    items = "".join(f"{number}. Item-{number} {'of many words ' * 9}\n" for number in range(1, 8))
    code = "".join(
        f"line_{number} = 'long enough for two rows of a window that has only forty columns'\n" for number in range(30)
    )
    words = " ".join(f"word-{number}" for number in range(300))
    answer = Say([text(f"{items}\n```python\n{code}```\n\n{words} end-of-it")], pause=0.01, piece=12)
    with console(tmp_path, {"one": [answer]}, columns=100) as (terminal, _):
        enter(terminal, cue("one", "Begin."))
        for seen, columns in (("Item-5 ", 50), ("line_9 ", 100), ("line_20 ", 40), ("word-60 ", 80), ("word-150 ", 36)):
            terminal.wait_until(functools.partial(_seen_above, terminal, seen), seen)
            terminal._ask_tmux("resize-window", "-x", str(columns), "-y", "24")
        terminal.wait_for("end-of-it")
        terminal.wait_for("? help")
        terminal.wait_until_still()
        shown = terminal.history().split()
    names = [f"Item-{number}" for number in range(1, 8)]
    names += [f"line_{number}" for number in range(30)] + [f"word-{number}" for number in range(300)]
    assert [word for word in shown if word in set(names)] == names


@pytest.mark.proof
def test_wide_and_right_to_left_text_stay_in_their_columns(tmp_path: Path) -> None:
    wide, right_to_left = "日本語のテキスト🎉と絵文字。" * 6, "فحص صفحة المنتج لسهولة الوصول " * 6
    with console(tmp_path, {"one": [say(text(f"{wide}\n\n{right_to_left}\n\nEnd."))]}, columns=60) as (terminal, _):
        terminal.submit(cue("one", "Hi."))
        screen = terminal.wait_for("End.")
    from stenograph.views.text import width

    assert "".join(line.strip() for line in screen.split("\n") if "日" in line or "絵" in line or "テ" in line) == wide
    assert all(width(line) <= 60 for line in screen.split("\n"))


@pytest.mark.proof
def test_a_long_output_is_kept_in_a_file_and_two_lines(tmp_path: Path) -> None:
    command = "python3 -c \"print('x' * 99 + chr(10)) or [print('y' * 99) for _ in range(50000)]\""
    steps = [say(tool("Bash", command=command, description="5 MB")), say(text("Over."))]
    with console(tmp_path, {"long": steps}, ALLOW_ALL) as (terminal, _):
        terminal.submit(cue("long", "Print."))
        screen = terminal.wait_for("Over.")
    assert "in all, kept in" in screen
    assert "yyyy" not in screen


@pytest.mark.proof
def test_a_dying_endpoint_is_named_and_the_session_goes_on(tmp_path: Path) -> None:
    dies = Fail(529, "overloaded_error", say(text("Back again.")), times=2)
    with console(tmp_path, {"dies": [dies]}) as (terminal, _):
        terminal.submit(cue("dies", "Hi."))
        terminal.wait_for(re.compile(r"retry \d of \d+ in"))
        terminal.wait_for("Back again.")


@pytest.mark.proof
def test_killed_and_resumed(tmp_path: Path) -> None:
    wait = [say(tool("Bash", command="echo begun; sleep 60", description="Wait"))]
    with console(tmp_path, {"wait": wait}, ALLOW_ALL) as (terminal, _):
        terminal.submit(cue("wait", "Begin."))
        terminal.wait_for("begun")
        terminal.wait_for_line("sleep 60")
        (process,) = [pid for pid in children_of(terminal) if command_of(pid).startswith(sys.executable)]
        os.kill(process, signal.SIGKILL)
        terminal.wait_for_exit()
    with console(tmp_path, {"next": [say(text("Next answer."))]}, "--continue", ALLOW_ALL) as (terminal, stage):
        terminal.wait_for("> Begin.")
        called = re.compile(r"■ Bash echo begun; sleep 60 +interrupted$", re.MULTILINE)
        terminal.wait_for(called)
        terminal.press("C-o")
        assert "■ Bash $ echo begun; sleep 60" in terminal.wait_for("q back")
        terminal.press("q")
        terminal.submit(cue("next", "Go ahead."))
        terminal.wait_for("Next answer.")
    # The line that answers it now is for the model.
    with console(tmp_path, {}, "--continue", ALLOW_ALL) as (terminal, _):
        terminal.wait_for("Next answer.")
        assert len(called.findall(terminal.screen())) == 1
        assert "session ended before" not in terminal.screen()
    blocks = [block for message in stage.requests[-1]["messages"] for block in message["content"]]
    assert [block["type"] for block in blocks if block["type"].startswith("tool")] == ["tool_use", "tool_result"]


def children_of(terminal: Terminal) -> list[int]:
    """Every process below the terminal's shell."""
    found: list[int] = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            fields = path.read_text().rpartition(") ")[2].split()
            if int(fields[3]) in terminal._groups:
                found.append(int(path.parent.name))
    return found


def command_of(process: int) -> str:
    try:
        return Path(f"/proc/{process}/cmdline").read_text()
    except OSError:
        return ""


def test_plain_lines_for_screen_readers(tmp_path: Path) -> None:
    steps = [say(tool("Bash", command="touch made", description="Make it")), say(text("Made."))]
    with console(tmp_path, {"make": steps}, "--plain", is_ready="you:") as (terminal, _):
        enter(terminal, cue("make", "Make it."))
        assert "tool: Bash touch made\nMake it\nquestion: Run this command?" in terminal.wait_for("number, y or n:")
        enter(terminal, "y")
        screen = terminal.wait_for("status: done")
        assert "model: Made." in screen
        assert not set(screen) & set("•●─▌━")
        enter(terminal, "/help")
        terminal.wait_for("# add to CLAUDE.md")
        # No key that only a drawn screen has.
        assert not re.search(r"\b(esc|ctrl-[obtrgv]|shift-tab|up, down)\b", terminal.history().partition("Keys\n")[2])
        enter(terminal, "/exit")
        assert terminal.wait_for_exit() == 0
    assert (tmp_path / "work" / "made").exists()


@pytest.mark.proof
def test_questions_of_the_model_and_a_plan_are_answered_with_numbers(tmp_path: Path) -> None:
    options = [{"label": "Red", "description": "Warm"}, {"label": "Blue", "description": "Cold"}]
    asks = tool("AskUserQuestion", questions=[{"question": "Which color?", "header": "Color", "options": options}])
    plans = tool("ExitPlanMode", plan="1. Do it\n2. Test it")
    scenes = {"ask": [say(asks), say(text("Chosen."))], "plan": [say(plans), say(text("Carrying out."))]}
    with console(tmp_path, scenes) as (terminal, stage):
        enter(terminal, cue("ask", "Ask me."))
        assert "2  Blue" in terminal.wait_for("enter choose")
        terminal.press("2")
        assert "• Which color?\n> Blue\n" in terminal.wait_for("Chosen.")
        assert '"Which color?"="Blue"' in messages_of(stage.requests[-1])
        terminal.press("BTab", "BTab")
        terminal.wait_for("  plan  ")
        enter(terminal, cue("plan", "Plan it."))
        assert "2 Test it" in terminal.wait_for("1-3  esc keep planning")
        terminal.press("1")
        terminal.wait_for("Carrying out.")
        terminal.wait_for("  accept edits  ")
