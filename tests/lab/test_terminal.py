from __future__ import annotations

import os
import re
import shutil
import stat
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from lab.clients import ClientMissing
from lab.terminal import NotSeenError, Terminal, prepare_home
from tests.conftest import Client, Need
from tests.terminals import need_tmux

from stenograph.testing.scripted_api import ScriptedApi, script_prompt

pytestmark = pytest.mark.proof
Start = Callable[[str], Terminal]

# Stands in for a client: shows a prompt and says again, between brackets, every line that it reads.
ECHO = 'while printf "> "; IFS= read -r line; do echo "[$line]"; done'
# One that draws late, and takes an Enter which it reads together with letters for a new line, as a client does.
LATE = """
import os, time, tty
tty.setraw(0)
field = ""
while True:
    print("\\033[2J\\033[H" + f"────\\r\\n> {field}\\r\\n────\\r", end="", flush=True)
    time.sleep(1)
    data = os.read(0, 1000).decode()
    if data == "\\r":
        print(f"\\r\\n[{field}]\\r", flush=True)
        time.sleep(60)
    field += data.replace("\\r", "\\r\\n  ")
"""


@pytest.fixture
def start(need: Need, tmp_path: Path) -> Start:
    """`start(script)`: a terminal, not entered yet, in which a shell script stands in for a client."""
    need_tmux(need)

    def make(script: str) -> Terminal:
        program = tmp_path / "claude"
        program.write_text(f"#!/bin/sh\n{script}\n")
        program.chmod(stat.S_IRWXU)
        return Terminal(program, home=tmp_path / "home", cwd=tmp_path / "work", base_url="http://127.0.0.1:1")

    return make


def test_letters_arrive_as_they_were_typed(start: Start) -> None:
    with start(ECHO) as terminal:
        terminal.wait_until_ready()
        for letters in ("one;", "-l Enter", "#{pane_pid} $HOME \\; é ❯"):
            terminal.submit(letters)
            terminal.wait_for(f"[{letters}]")


def test_a_text_is_sent_once_a_late_client_shows_it(start: Start, tmp_path: Path) -> None:
    (tmp_path / "late.py").write_text(LATE, encoding="utf-8")
    with start(f"exec {sys.executable} {tmp_path / 'late.py'}") as terminal:
        terminal.wait_until_ready()
        terminal.submit("Some words")
        terminal.wait_for("[Some words]")


def test_pasted_text_and_keys_arrive(start: Start) -> None:
    with start(ECHO) as terminal:
        terminal.wait_until_ready()
        terminal.paste("pasted;")
        terminal.press("3", "Enter")
        terminal.wait_for("[pasted;3]")
        terminal.press("C-d")
        assert terminal.wait_for_exit() == 0


def test_the_client_gets_an_environment_built_from_nothing(start: Start, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OF_THE_USER", "secret")
    with start("env > env.txt; pwd; exit 3") as terminal:
        assert terminal.wait_for_exit() == 3
        terminal.wait_for(str(tmp_path / "work"))
    names = {line.partition("=")[0] for line in (tmp_path / "work" / "env.txt").read_text().splitlines()}
    assert {"HOME", "ANTHROPIC_BASE_URL", "TERM"} <= names
    assert not {"OF_THE_USER", "TMUX", "TMUX_PANE"} & names


def test_a_wait_ends_with_its_time_or_with_the_client_and_shows_the_screen(start: Start) -> None:
    with (
        start("echo something else; sleep 60") as terminal,
        pytest.raises(NotSeenError, match=r"1 s passed(.|\n)*something else"),
    ):
        terminal.wait_for("never", timeout=1)
    with start("echo last words; exit 4") as terminal:
        terminal.wait_for(re.compile("last w[a-z]+"))
        began = time.monotonic()
        with pytest.raises(NotSeenError, match="the client ended"):
            terminal.wait_for_line("never", timeout=60)
        assert time.monotonic() - began < 10


def test_a_client_that_will_not_go_is_ended_with_its_children(start: Start, tmp_path: Path) -> None:
    with start('trap "" HUP TERM; sleep 600 & echo $$ $! > pids; echo "> "; wait') as terminal:
        terminal.wait_until_ready()
        pids = [int(pid) for pid in (tmp_path / "work" / "pids").read_text().split()]
    assert [pid for pid in pids if _runs(pid)] == []
    assert not (tmp_path / "home" / "tmux.socket").exists()


def test_a_home_may_stand_as_deep_as_no_socket_can(start: Start, tmp_path: Path) -> None:
    deep = tmp_path / ("d" * 120)
    with start(ECHO):
        pass
    with Terminal(tmp_path / "claude", home=deep, cwd=deep / "work", base_url="http://127.0.0.1:1") as terminal:
        terminal.wait_until_ready()


def test_only_whole_lines_of_a_transcript_count(start: Start, tmp_path: Path) -> None:
    with start("sleep 60") as terminal:
        path = tmp_path / "home" / ".claude" / "projects" / "p" / "s.jsonl"
        path.parent.mkdir(parents=True)
        path.write_text('{"text":"é \\"one\\"\\n"}\n{"text":"two"}')
        assert terminal.wait_for_line('é "one"\n') == path
        with pytest.raises(NotSeenError):
            terminal.wait_for_line("two", timeout=0.3)


def test_what_a_home_knows_already_stays(tmp_path: Path) -> None:
    (tmp_path / ".claude.json").write_text('{"theme":"light","projects":{"/other":{"x":1}}}')
    prepare_home(tmp_path, tmp_path / "work")
    prepared = (tmp_path / ".claude.json").read_text()
    assert '"theme": "light"' in prepared
    assert '"/other": {"x": 1}' in prepared
    assert str(tmp_path / "work") in prepared


def test_without_tmux_the_reason_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda *_args, **_more: None)
    with (
        pytest.raises(ClientMissing, match="no tmux"),
        Terminal(Path("claude"), home=tmp_path / "home", cwd=tmp_path, base_url="http://127.0.0.1:1"),
    ):
        pass


@pytest.mark.clients
@pytest.mark.parametrize("release", [pytest.param("1.0.128", marks=pytest.mark.full), "2.0.76", "2.1.45", "2.1.325"])
def test_a_real_client_takes_a_prompt_and_shows_and_writes_the_answer(
    release: str, client: Client, need: Need, tmp_path: Path
) -> None:
    need_tmux(need)
    program = client(release)
    answer = "Answered; as scripted."
    with (
        ScriptedApi() as api,
        Terminal(program, home=tmp_path / "home", cwd=tmp_path / "work", base_url=api.url) as terminal,
    ):
        terminal.wait_until_ready()
        terminal.submit(script_prompt([[{"text": answer}]], "Say it;"))
        terminal.wait_for(answer)
        transcript = terminal.wait_for_line(answer)
        assert b"Say it;" in transcript.read_bytes()
        terminal.press("C-c", "C-c")
        assert terminal.wait_for_exit() == 0


def _runs(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    stat_file = Path(f"/proc/{pid}/stat")
    return not stat_file.exists() or stat_file.read_text().rpartition(") ")[2][0] != "Z"
