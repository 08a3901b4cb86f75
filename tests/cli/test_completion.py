"""Completion as a shell asks for it; bash itself is asked where it is there."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tests.cli.running import SOURCE, run
from tests.homes import LONG_AGO, session_id, turns, write_session

ONE, TWO, THREE = session_id(0xAAAA0001), session_id(0xBBBB0002), session_id(0xBBBB0003)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    write_session(tmp_path / "home", ONE, turns(6, "Rewrite the parser"), modified=LONG_AGO + 10)
    write_session(tmp_path / "home", TWO, turns(6, "Fix the lexer"))
    write_session(tmp_path / "home", THREE, turns(6, "Fix, again, the lexer"))
    return tmp_path / "home"


def complete(*words: str, home: Path | None = None, shell: str = "bash") -> list[str]:
    place = words[-1] if shell == "fish" else str(len(words) - 1)
    asked = {"_STENO_COMPLETE": f"{shell}_complete", "COMP_WORDS": " ".join(words), "COMP_CWORD": place}
    done = run(environment={**asked, **({"CLAUDE_CONFIG_DIR": str(home)} if home else {})})
    assert done.stderr == ""
    return done.stdout.split("\n")[:-1] if done.stdout.strip() else []


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_prints_a_script(shell: str) -> None:
    done = run("completion", shell)
    assert done.returncode == 0
    assert "_STENO_COMPLETE" in done.stdout


def test_commands_and_ids_complete(home: Path) -> None:
    assert complete("steno", "inv", home=home) == ["plain,inventory"]
    assert complete("steno", "rename", "aaaa", home=home) == [f"plain,{ONE}"]
    assert complete("steno", "rename", "la", home=home) == ["plain,last"]
    assert len(complete("steno", "rename", "", home=home)) == 4


def test_the_homes_of_the_line_are_heeded(home: Path) -> None:
    assert complete("steno", "--home", str(home), "rename", "aaaa") == [f"plain,{ONE}"]
    assert complete("steno", "rename", "--home", str(home), "aaaa") == [f"plain,{ONE}"]
    assert complete("steno", "--home", str(home / "missing"), "rename", "aaaa") == []
    assert complete("steno", "--demo", "inventory", "4583") == ["plain,4583cf3d-7694-5e7d-9832-dde049d0357c"]


def test_the_beginning_of_a_title_becomes_the_id(home: Path) -> None:
    """A title with spaces would fall apart into words."""
    assert complete("steno", "rename", "rewr", home=home) == [f"plain,{ONE}"]
    # Two ids that begin alike would leave their common beginning in the place of what was typed.
    assert complete("steno", "rename", "fix", home=home) == ["file,fix"]
    assert complete("steno", "rename", "rewr", home=home, shell="zsh") == ["plain", ONE, "Rewrite the parser"]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
@pytest.mark.parametrize("typed", ["", "run", "Run", "$", "last", "cccc"])
@pytest.mark.parametrize("more", ["", ", a\nplain,$(touch owned)"])
def test_no_shell_is_offered_what_a_transcript_says(tmp_path: Path, shell: str, typed: str, more: str) -> None:
    """A title may be shell syntax, and what is offered is inserted: only ids are, and what was typed."""
    evil = "Run $(touch owned) `touch owned`; touch owned" + more
    write_session(tmp_path / "home", session_id(0xCCCC0001), [*turns(6), {"type": "custom-title", "customTitle": evil}])
    write_session(tmp_path / "home", "$(touch owned)", turns(6, evil))
    lines = complete("steno", "rename", typed, home=tmp_path / "home", shell=shell)
    if shell == "zsh":  # three lines an offer: its kind, the word, and the help, which is only shown
        offered = list(zip(lines[::3], lines[1::3], strict=True))
    else:  # fish gets the help after a tab
        offered = [(kind, word.partition("\t")[0]) for kind, _, word in (line.partition(",") for line in lines)]
    assert offered
    for kind, word in offered:
        assert word in (session_id(0xCCCC0001), "last") if kind == "plain" else (kind, word) == ("file", typed)


def test_paths_complete(home: Path) -> None:
    assert complete("steno", "ls", "--project", "/ho", home=home) == ["dir,/ho"]
    assert complete("steno", "inventory", "./x", home=home) == ["file,./x"]
    assert complete("steno", "inventory", "zzz", home=home) == ["file,zzz"]


def test_a_broken_config_file_completes_nothing_and_says_nothing(home: Path, tmp_path: Path) -> None:
    (tmp_path / "broken.toml").write_text("homes = 3")
    assert complete("steno", "--config", str(tmp_path / "broken.toml"), "rename", "aaaa", home=home) == []


@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
def test_bash_gets_words_that_need_no_quotes(home: Path, tmp_path: Path) -> None:
    """The function of the printed script, called as bash calls it."""
    (tmp_path / "bin").mkdir()
    steno = tmp_path / "bin" / "steno"
    steno.write_text(f'#!/bin/sh\nexec env PYTHONPATH={SOURCE} {sys.executable} -m stenograph "$@"\n')
    steno.chmod(0o755)
    program = (
        f'PATH={tmp_path}/bin:$PATH; eval "$(steno completion bash)"\n'
        f"COMP_WORDS=(steno --home {home} rename rewr); COMP_CWORD=4; _steno_completion steno\n"
        'printf "%s\\n" "${COMPREPLY[@]}"'
    )
    done = subprocess.run(["bash", "-c", program], capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == (f"{ONE}\n", "")


@pytest.mark.parametrize(("shell", "offered"), [("zsh", "Rewrite the parser"), ("fish", f"plain,{ONE}\tRewrite the parser")])
def test_shells_that_can_show_titles_get_them(shell: str, offered: str, home: Path) -> None:
    assert offered in complete("steno", "show", "aaaa", home=home, shell=shell)
