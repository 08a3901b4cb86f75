"""The console and Claude Code in the same terminal, with the same keys and the same script: what is sent is alike."""

from __future__ import annotations

import contextlib
import json
import os
import re
import sys
from pathlib import Path
from typing import Any

import pytest
from lab.observatory.scenes import Say, cue, say, text, tool
from lab.observatory.stage import Stage
from lab.terminal import NotSeenError, Terminal
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


def test_escape_before_any_answer_puts_the_prompt_back_into_the_input(tmp_path: Path, program: Path | None) -> None:
    scenes = {
        "first": [say(text("Answer one."))],
        "slow": [Say([text("Never seen.")], pause=30)],
        "next": [say(text("Next answer."))],
    }
    with console(tmp_path, scenes, ALLOW_ALL, program=program) as (terminal, stage):
        enter(terminal, cue("first", "First."))
        terminal.wait_for("Answer one.")
        terminal.wait_until_still()
        enter(terminal, cue("slow", "Second."))
        terminal.wait_until(lambda: len(conversation(stage.requests)) == 2 or None, "the second request")
        terminal.press("Escape")
        screen = terminal.wait_for(re.compile(r"─{20,}\n[>❯]\s+Second\. \[scene slow\]\s*\n─{20,}"))
        assert screen.count("Second.") == 1
        terminal.press("C-c")
        enter(terminal, cue("next", "Third."))
        terminal.wait_for("Next answer.")
        path = terminal.wait_for_line("Next answer.")
    assert "Second." not in messages_of(conversation(stage.requests)[-1])
    prompts = [line for line in map(json.loads, path.read_text().splitlines()) if line["type"] == "user"]
    first, second, third = (line for line in prompts if isinstance(line["message"]["content"], str))
    assert (second["parentUuid"], second["turnPosition"]) == (third["parentUuid"], third["turnPosition"])
    assert first["turnPosition"]["promptIndex"] + 1 == third["turnPosition"]["promptIndex"]


def test_escapes_wide_text_a_resize_and_a_long_paste(tmp_path: Path, program: Path | None) -> None:
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "evil.txt").write_text("\x1b[2J\x1b]0;owned\x07\x1b[31mred\x1b[0m end", encoding="utf-8")
    wide = "日本語のテキスト🎉と絵文字。" * 4
    pasted = "\n".join(f"line {number}" for number in range(10_000))
    look = tool("Bash", command="cat evil.txt", description="Look")
    scenes = {"look": [say(look), say(text(f"{wide} End of it."))], "paste": [say(text("Read it."))]}
    with console(tmp_path, scenes, ALLOW_ALL, program=program, rows=40) as (terminal, stage):
        enter(terminal, cue("look", "Look at it."))
        terminal.wait_for("End of it.")
        for columns in (60, 100):
            terminal.resize(columns, 40)
            terminal.wait_for("─" * columns)
            terminal.wait_until_still()
            seen = terminal.history()
            # The client draws all of it anew, and what it drew before stays in the history.
            assert (seen.count("Look at it."), seen.count("End of it.")) == (1, 1) or program
            assert wide in "".join(line.strip() for line in seen.split("\n"))
        terminal.paste(pasted)
        terminal.wait_for(re.compile(r"\[Pasted text #1 \+\d"))
        enter(terminal, cue("paste", " What is it?"))
        terminal.wait_for("Read it.")
    assert pasted in messages_of(conversation(stage.requests)[-1])


def test_ctrl_z_suspends_and_fg_goes_on(tmp_path: Path, program: Path | None) -> None:
    command = str(program) if program else f"{sys.executable} -m stenograph agent"
    scenes = {"one": [say(text("Hello there."))]}
    bash = ("--norc", "--noprofile", "-i")
    with console(tmp_path, scenes, *bash, program=Path("/bin/bash"), is_ready="bash-") as (terminal, _):
        enter(terminal, command)
        terminal.wait_for(re.compile(r"^[>❯](?=\s)", re.MULTILINE), 40)
        terminal.wait_until_still()
        terminal.press("C-z")
        terminal.wait_for("Stopped")
        enter(terminal, "fg")
        terminal.wait_for(re.compile(r"fg[^$]*\n[>❯](?=\s)"), 40)
        terminal.wait_until_still()
        enter(terminal, cue("one", "Hi."))
        terminal.wait_for("Hello there.")


def notified(folder: Path) -> list[tuple[str, str]]:
    path = folder / "notified"
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    return [(said["message"], said["notification_type"]) for said in map(json.loads, filter(None, lines))]


def settle_notifications(folder: Path) -> None:
    hook = {"type": "command", "command": f"(cat; echo) >> {folder / 'notified'}"}
    (folder / "home" / ".claude").mkdir(parents=True)
    settings = {"hooks": {"Notification": [{"hooks": [hook]}]}}
    (folder / "home" / ".claude" / "settings.json").write_text(json.dumps(settings), encoding="utf-8")


def test_hooks_hear_of_a_question_that_is_not_answered_at_once(tmp_path: Path, program: Path | None) -> None:
    settle_notifications(tmp_path)
    steps = [say(tool("Bash", command="touch made", description="Make it")), say(text("Made."))]
    with console(tmp_path, {"make": steps}, "--permission-mode", "default", program=program) as (terminal, _):
        enter(terminal, cue("make", "Make it."))
        terminal.wait_for(re.compile(r"1\W+Yes"))
        assert notified(tmp_path) == []
        terminal.wait_until(lambda: notified(tmp_path) or None, "a notification")
        assert notified(tmp_path) == [("Claude needs your permission", "permission_prompt")]
        terminal.press("1")
        terminal.wait_for("Made.")


@pytest.mark.full
def test_hooks_hear_that_nothing_is_typed_for_a_minute(tmp_path: Path, program: Path | None) -> None:
    settle_notifications(tmp_path)
    with console(tmp_path, {"one": [say(text("Hello."))]}, program=program) as (terminal, _):
        enter(terminal, cue("one", "Hi."))
        terminal.wait_for("Hello.")
        terminal.wait_until(lambda: notified(tmp_path) or None, "a notification", 75)
    assert notified(tmp_path) == [("Claude is waiting for your input", "idle_prompt")]


def test_handover_opens_the_client_in_the_same_terminal_and_comes_back(tmp_path: Path, client: Client, need: Need) -> None:
    need_tmux(need)
    scenes = {name: [say(text(f"Answer {name}."))] for name in "abc"}
    path = f"{client(NEWEST).parent}:{os.environ['PATH']}"
    with console(tmp_path, scenes, ALLOW_ALL, environment={"PATH": path}, rows=40) as (terminal, stage):
        enter(terminal, cue("a", "Fact A."))
        terminal.wait_for("Answer a.")
        enter(terminal, "/handover")
        terminal.wait_for("Claude Code v2.1.325", 60)
        terminal.wait_until_still()
        say_until_sent(terminal, stage, cue("b", "Fact B."))
        terminal.wait_for_line("Answer b.")
        terminal.wait_until_still()
        terminal.press("C-c", "C-c")
        terminal.wait_for(re.compile(r"steno 0\.[^$]*Answer b\."), 40)
        terminal.wait_until_still()
        enter(terminal, cue("c", "Fact C."))
        terminal.wait_for("Answer c.")
    said = messages_of(conversation(stage.requests)[-1])
    assert [f"Fact {name}." in said for name in "ABC"] == [True, True, True]


@pytest.mark.parametrize("release", ["2.0.76", NEWEST])
def test_clients_do_not_resume_a_prompt_that_was_taken_back(tmp_path: Path, client: Client, need: Need, release: str) -> None:
    need_tmux(need)
    scenes = {"a": [say(text("Answer a."))], "slow": [Say([text("Never seen.")], pause=30)], "c": [say(text("Answer c."))]}
    with Stage() as stage:
        with console(tmp_path, scenes, ALLOW_ALL, stage=stage) as (terminal, _):
            enter(terminal, cue("a", "Fact a."))
            terminal.wait_for("Answer a.")
            enter(terminal, cue("slow", "Fact b."))
            terminal.wait_until(lambda: len(conversation(stage.requests)) == 2 or None, "the second request")
            terminal.press("Escape")
            terminal.wait_for(re.compile(r"─{20,}\n> Fact b\."))
            terminal.press("C-c", "C-d")
            assert terminal.wait_for_exit() == 0
        with console(tmp_path, {}, ALLOW_ALL, "--continue", stage=stage, program=client(release), rows=40) as (terminal, _):
            terminal.wait_for("Answer a.")
            say_until_sent(terminal, stage, cue("c", "Fact c."))
            terminal.wait_for_line("Answer c.")
    said = messages_of(conversation(stage.requests)[-1])
    assert [f"Fact {name}." in said for name in "abc"] == [True, False, True]


# Not 2.1.45: it continues from the last prompt or answer by time, so there a rewind holds from the next prompt on.
@pytest.mark.parametrize("release", ["2.0.76", NEWEST])
def test_clients_start_where_a_session_was_rewound_to(tmp_path: Path, client: Client, need: Need, release: str) -> None:
    need_tmux(need)
    scenes = {name: [say(text(f"Answer {name}."))] for name in "abc"}
    with Stage() as stage:
        with console(tmp_path, scenes, ALLOW_ALL, stage=stage, rows=40) as (terminal, _):
            for name in "ab":
                enter(terminal, cue(name, f"Fact {name}."))
                terminal.wait_for(f"Answer {name}.")
            terminal.wait_until_still()
            terminal.press("Escape", "Escape")
            terminal.wait_for("Rewind to before a prompt")
            terminal.press("Enter")
            terminal.wait_for("Rewound.")
            terminal.wait_until_still()
        with console(tmp_path, {}, ALLOW_ALL, "--continue", stage=stage, program=client(release), rows=40) as (terminal, _):
            terminal.wait_for("Answer a.")
            say_until_sent(terminal, stage, cue("c", "Fact c."))
            terminal.wait_for_line("Answer c.")
    said = messages_of(conversation(stage.requests)[-1])
    assert [f"Fact {name}." in said for name in "abc"] == [True, False, True]


@pytest.mark.full
def test_five_hand_overs_in_the_middle_of_work(tmp_path: Path, client: Client, need: Need) -> None:
    """Ours begins, and a client and ours take turns in one session; every fact and output is in every later request."""
    need_tmux(need)
    # 2.0.76 before 2.1.325: its screen breaks on a line that ends every turn of 2.1.325, a `turn_duration` without content.
    chain = [None, "2.0.76", None, "2.1.45", None, "2.0.76", None, NEWEST, None, NEWEST, None]
    # One for all: 2.1.325 drops a call whose id it knows from an earlier turn.
    with Stage() as stage:
        for number, release in enumerate(chain):
            call = tool("Bash", command=f"echo output-{number}", description="Say it")
            scenes = {f"s{number}": [say(text(f"Working {number}."), call), say(text(f"Answer {number}."))]}
            more = ("--continue",) if number else ()
            program = client(release) if release else None
            with console(tmp_path, scenes, ALLOW_ALL, *more, stage=stage, program=program, columns=120, rows=40) as (terminal, _):
                if number:
                    terminal.wait_for(f"Answer {number - 1}.")
                    terminal.wait_until_still()
                say_until_sent(terminal, stage, cue(f"s{number}", f"fact-{number}."))
                terminal.wait_for_line(f"Answer {number}.", 60)
                terminal.wait_until_still()
            said = messages_of(conversation(stage.requests)[-1])
            wanted = [words for earlier in range(number + 1) for words in (f"fact-{earlier}.", f"output-{earlier}")]
            assert [words for words in wanted if words not in said] == [], (number, release)


def say_until_sent(terminal: Terminal, stage: Stage, words: str) -> None:
    """Clients lose what is typed while they start, and old ones take Enter for a new line then."""
    before = len(conversation(stage.requests))
    for _ in range(5):
        if words not in terminal.screen():
            terminal.type(words)
        terminal.press("Enter")
        with contextlib.suppress(NotSeenError):
            terminal.wait_until(lambda: len(conversation(stage.requests)) > before or None, "a request", 6)
            return


def test_a_command_that_is_put_into_the_background_is_recorded_alike(tmp_path: Path, program: Path | None) -> None:
    steps = [say(tool("Bash", command=WAIT, description="Wait")), say(text("Went on."))]
    with console(tmp_path, {"wait": steps}, ALLOW_ALL, program=program) as (terminal, _):
        enter(terminal, cue("wait", "Wait."))
        terminal.wait_for("ctrl+b" if program else "sleep 0.1")  # from then on it takes the key
        terminal.press("C-b")
        path = terminal.wait_for_line("Went on.")
        (tmp_path / "work" / "go").touch()
    results = [line["toolUseResult"] for line in map(json.loads, path.read_text().splitlines()) if "toolUseResult" in line]
    assert results[0].keys() >= {"backgroundTaskId", "backgroundedByUser"}
    assert results[0]["backgroundedByUser"] is True
