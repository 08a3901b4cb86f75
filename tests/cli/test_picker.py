"""Choosing a session: what is listed, drawn and done with it."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

import click
import pytest
from tests.cli.running import run, run_in_terminal
from tests.corpora import DEMO

from stenograph.cli._picker import _Screen
from stenograph.index import PickList, open_store, sync
from stenograph.redact import as_is
from stenograph.views import RenderOptions, picker_page, preview_page, render_choices, render_picker
from stenograph.views.text import width

_COLORS = re.compile(r"\x1b\[[0-9;]*m")
CHECKOUT = "4583cf3d-7694-5e7d-9832-dde049d0357c"


@pytest.fixture(scope="module")
def sessions() -> PickList:
    store = open_store(None)
    sync(store, [DEMO])
    return PickList(store, [DEMO])


@pytest.mark.parametrize("command", ["show", "resume", "edit", "clone", "turns", "files", "messages"])
def test_without_a_session_and_a_terminal_a_command_exits_with_2(command: str) -> None:
    done = run(command, "--demo")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.endswith(f"--demo {command} last\n")


def test_search_without_words_and_a_terminal_exits_with_2() -> None:
    done = run("search", "--demo")
    assert (done.returncode, done.stdout) == (2, "")


def test_without_words_all_sessions_are_listed_newest_first(sessions: PickList) -> None:
    picks = sessions.find("")
    times = [pick.row.info.last_record for pick in picks.picks]
    assert times == sorted(times, reverse=True)
    assert picks.total == sessions.sessions == len(times)


def test_the_last_word_may_be_unfinished_and_half_a_query_keeps_what_was_found(sessions: PickList) -> None:
    found = sessions.find("discount cod")
    assert CHECKOUT in [pick.row.info.id for pick in found.picks]
    assert sessions.find('discount "cod') == found


@pytest.mark.parametrize("columns", [120, 80, 60])
@pytest.mark.parametrize("text", ["", "discount codes", "zzzzzz"])
def test_a_screen_fits(sessions: PickList, columns: int, text: str) -> None:
    picks = sessions.find(text)
    turn = sessions.turn(picks.picks[0]) if picks.picks else None
    page = picker_page(text, "show", picks, sessions.sessions)
    for color in (False, True):
        options = RenderOptions(width=columns, color=color)
        lines = list(render_picker(page, options, height=25, preview=preview_page(turn) if turn else None))
        assert len(lines) == 25
        assert max(width(_COLORS.sub("", line)) for line in lines) <= columns
    assert "enter show" in lines[-1] or "enter" in _COLORS.sub("", lines[-1])


def test_the_preview_is_beside_the_list_where_there_is_room_and_below_it_where_not(sessions: PickList) -> None:
    picks = sessions.find("discount codes")
    turn = sessions.turn(picks.picks[0])
    assert turn is not None
    page = picker_page("discount codes", "show", picks, sessions.sessions)
    wide, narrow = (
        list(render_picker(page, RenderOptions(width=columns), height=25, preview=preview_page(turn))) for columns in (120, 60)
    )
    assert all("│" in line for line in wide[1:-2])
    assert not any("│" in line for line in narrow[1:8])
    assert [line for line in narrow if set(line) == {"─"}] == ["─" * 60] * 3


def test_plain_choices_are_numbered(sessions: PickList) -> None:
    page = picker_page("discount", "show", sessions.find("discount"), sessions.sessions)
    lines = list(render_choices(page, RenderOptions()))
    assert lines[0].startswith("1. ")
    assert any(line.strip().startswith("turn ") for line in lines)


class _Keys:
    """A picker that gets these keys."""

    def __init__(self, sessions: PickList) -> None:
        self._sessions = sessions

    def press(self, keys: str, verb: str = "show") -> Any:
        from prompt_toolkit.application import create_app_session
        from prompt_toolkit.input import create_pipe_input
        from prompt_toolkit.output import DummyOutput

        with create_pipe_input() as pipe, create_app_session(input=pipe, output=DummyOutput()):
            pipe.send_text(keys)
            return _Screen(click.Context(click.Command("show")), self._sessions, verb, as_is).application().run()


@pytest.fixture
def keys(sessions: PickList) -> _Keys:
    return _Keys(sessions)


def test_enter_chooses_what_is_selected_with_its_turn(keys: _Keys, sessions: PickList) -> None:
    best = sessions.find("discount codes").picks[0]
    assert best.line is not None
    assert keys.press("discount codes\r") == (str(best.row.info.path), "show", best.line.turn)


def test_arrows_move_and_another_key_resumes(keys: _Keys, sessions: PickList) -> None:
    newest = sessions.find("").picks
    assert keys.press("\x1b[B\x12") == (str(newest[1].row.info.path), "resume", None)
    assert keys.press("\x1b[B\x1b[A\r", "edit") == (str(newest[0].row.info.path), "edit", None)


def test_nothing_can_be_chosen_where_nothing_matches(keys: _Keys) -> None:
    assert keys.press("zzzzzz\r\x1b") is None


@pytest.mark.skipif(sys.platform == "win32", reason="needs a pseudo-terminal")
def test_a_dumb_terminal_gets_a_numbered_list(tmp_path: Path) -> None:
    world = {"TERM": "dumb", "XDG_DATA_HOME": str(tmp_path)}
    shown = run_in_terminal("show", "--demo", environment=world, answers="1\n")
    assert "1. " in shown
    assert "turn 1" in shown


#: Of the demo's sessions the only one whose last turn has no end.
UNFINISHED = "706a"


def test_tab_filters_by_status_and_back(keys: _Keys, sessions: PickList) -> None:
    newest = str(sessions.find("").picks[0].row.info.path)
    assert Path(keys.press("\t\r")[0]).name.startswith(UNFINISHED)
    assert Path(keys.press("the\t\r")[0]).name.startswith(UNFINISHED)
    assert keys.press("\t\t\r")[0] == keys.press("\t\x1b[Z\r")[0] == newest


def test_tab_filters_by_this_project(keys: _Keys, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.getcwd", lambda: "/home/user/field-notes-blog")
    assert Path(keys.press("\t\r")[0]).parent.name == "-home-user-field-notes-blog"


def test_a_key_edits_unless_enter_does(keys: _Keys, sessions: PickList) -> None:
    newest = str(sessions.find("").picks[0].row.info.path)
    assert keys.press("\x05") == (newest, "edit", None)
    assert keys.press("\x05\x1b", "edit") is None


def test_keys_that_do_not_fit_are_left_out(sessions: PickList) -> None:
    filters = sessions.filters("/home/user/tidemark")
    page = picker_page("", "show", sessions.find(""), sessions.sessions, None, filters, edits=True)
    shown = [list(render_picker(page, RenderOptions(width=columns), height=25))[-1] for columns in (120, 80, 60)]
    assert shown == [
        "  enter show  ctrl-r resume  ctrl-e edit  ctrl-y copy id  tab filter: project, status  ctrl-p preview  esc quit",
        "  enter show  ctrl-r resume  ctrl-e edit  tab filter: project, status  esc quit",
        "  enter show  ctrl-r resume  tab filter  esc quit",
    ]


@pytest.mark.parametrize("words", ["frost walk Sunday", "audit the product page accessibility"])
def test_the_preview_has_the_cost_that_show_has(sessions: PickList, words: str) -> None:
    """With the subagents of the turn, which it does not draw."""
    pick = sessions.find(words).picks[0]
    turn = sessions.turn(pick)
    assert turn is not None
    assert turn.number == 1
    assert turn.agent_runs
    (shown,) = json.loads(run("--demo", "show", pick.row.info.id, "--turn", "1", "--json").stdout)["turns"]
    assert preview_page(turn).usd == shown["usd"]
