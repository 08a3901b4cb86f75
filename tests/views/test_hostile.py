"""Sessions that nobody had, as somebody might write them: what is shown of them ends, soon, and says what is missing."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.homes import PROJECT, assistant, session_id, user, write_session
from tests.views.reading import live_lines, render_session

from stenograph.sessions.loading import load_file
from stenograph.testing.lines import text
from stenograph.turns import Session
from stenograph.views import RenderOptions
from stenograph.views.encode import encode_page
from stenograph.views.pages.session import stray_agents
from stenograph.views.pages.transcript import NotePart
from stenograph.views.pages.turns import agent_detail, turn_detail
from stenograph.views.terminal.markdown import markdown_lines
from stenograph.views.terminal.transcript import render_part
from stenograph.views.text import duration, local_time, thousands

LOOK = RenderOptions(agents=True)
KEY = "ghp_" + "0aB1" * 9


def _starts(*uses: str) -> list[dict[str, Any]]:
    """A conversation whose model asks for an agent under each of these ids."""
    blocks = [{"type": "tool_use", "id": use, "name": "Task", "input": {"prompt": "go"}} for use in uses]
    return [user("go", uuid="u0", parentUuid=None), assistant(*blocks, text("done"), uuid="u1", parentUuid="u0")]


def _session(home: Path, main: list[dict[str, Any]], agents: dict[str, tuple[str, list[dict[str, Any]]]]) -> Session:
    """A session with agents: by their id the tool use that started each, and what it did."""
    path = write_session(home, session_id(1), main)
    for agent, (use, records) in agents.items():
        lines = [
            {**each, "uuid": f"{agent}{number}", "parentUuid": f"{agent}{number - 1}" if number else None}
            for number, each in enumerate(records)
        ]
        for number, line in enumerate(lines):
            line |= {"isSidechain": True, "agentId": agent, "sessionId": session_id(1)}
            if "id" in line["message"]:
                line["message"] = {**line["message"], "id": f"msg_{agent}{number}"}
        folder = f"{PROJECT}/{session_id(1)}/subagents"
        written = write_session(home, f"agent-{agent}", lines, project=folder)
        written.with_name(f"agent-{agent}.meta.json").write_text(json.dumps({"agentType": "helper", "toolUseId": use}))
    return load_file(path)


def test_an_agent_that_starts_itself_is_told_once(tmp_path: Path) -> None:
    """Three times at each of twelve depths would be half a million times."""
    session = _session(tmp_path, _starts("t1"), {"a1": ("t1", _starts("t1", "t1", "t1"))})
    lines = list(render_session(session, LOOK))
    assert len(lines) < 100
    assert sum("│ helper a1" in line for line in lines) == 4
    assert sum("shown above" in line for line in lines) == 3
    (call,) = turn_detail(session.turns[0]).calls[0].tool_calls
    assert call.agent is not None
    inner = [tool.agent for tool in call.agent.turns[0].calls[0].tool_calls]
    assert [each and (each.shown_above, each.turns) for each in inner] == [(True, ())] * 3


def test_what_stands_too_deep_is_counted(tmp_path: Path) -> None:
    agents = {f"a{depth}": (f"t{depth}", _starts(f"t{depth + 1}")) for depth in range(1, 16)}
    session = _session(tmp_path, _starts("t1"), agents)
    shown = "\n".join(render_session(session, LOOK))
    assert "│ helper a13" in shown
    assert "nested too deeply: 3 subagents left out" in shown
    assert b'"left_out":3' in encode_page(turn_detail(session.turns[0]))


def test_agents_that_only_each_other_started_are_shown_once(tmp_path: Path) -> None:
    session = _session(tmp_path, _starts("t1"), {"a1": ("t3", _starts("t2")), "a2": ("t2", _starts("t3"))})
    assert [run.agent_id for run in stray_agents(session)] == ["a1"]
    assert "│ helper a2" in "\n".join(render_session(session, LOOK))
    told = agent_detail(next(stray_agents(session))).turns[0].calls[0].tool_calls[0].agent
    assert told is not None
    assert told.agent_id == "a2"


def test_the_agents_of_a_stray_agent_stand_inside_it(tmp_path: Path) -> None:
    session = _session(tmp_path, _starts("t9"), {"a1": ("t2", _starts()), "a2": ("t8", _starts("t2"))})
    assert [run.agent_id for run in stray_agents(session)] == ["a2"]


@pytest.mark.parametrize("at", ["0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-12:00", "0001-01-01T00:00:00Z"])
@pytest.mark.parametrize("zone", ["Pacific/Auckland", "America/New_York"])
def test_the_first_and_the_last_day_are_no_trouble(at: str, zone: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import time

    with monkeypatch.context() as world:
        world.setenv("TZ", zone)
        time.tzset()
        path = write_session(tmp_path, session_id(1), [user("hello", timestamp=at), assistant(text("hi"), timestamp=at)])
        session = load_file(path)
        assert any("hello" in line for line in render_session(session, LOOK))
        assert turn_detail(session.turns[0]).prompt == "hello"
        from datetime import UTC, datetime

        assert local_time(datetime.min.replace(tzinfo=UTC)).startswith("0001-01-01")
    time.tzset()


def test_numbers_of_any_size_are_told() -> None:
    assert thousands(10**400) == "1" + "0" * 394 + "M"
    assert duration(36 * 10**405) == "1" + "0" * 400 + " h"
    assert [thousands(number) for number in (999, 1250, 9949, 34_499, 999_499, 999_500, 1_234_000)] == [
        "999", "1.3k", "9.9k", "34k", "999k", "1.0M", "1.2M",
    ]  # fmt: skip
    assert [duration(number) for number in (0, 449, 9949, 10_400, 185_000, 7_800_000)] == [
        "0.0 s", "0.4 s", "9.9 s", "10 s", "3 min 5 s", "2 h 10 min",
    ]  # fmt: skip


def test_a_note_is_one_line_whatever_its_words() -> None:
    (line,) = render_part(NotePart("compaction", "compacted (man\nual\u2028> me)"), LOOK)
    assert "\n" not in line
    assert line == "┊ compacted (man ual > me)"


@pytest.mark.parametrize("hidden", [f"{KEY[:9]}**{KEY[9:20]}**{KEY[20:]}", KEY.replace("_", "&#95;"), KEY.replace("_", "\\_")])
@pytest.mark.parametrize("columns", [20, 80])
def test_a_secret_that_markdown_put_together_is_masked(hidden: str, columns: int) -> None:
    from stenograph.redact import Masker

    shown = list(markdown_lines(f"# A key\n\nIt is {hidden}, yes.\n\n---\n", columns, color=True, mask=Masker().mask))
    assert "[github-token:1]" in " ".join(shown)
    assert KEY[9:20] not in "".join(shown)
    assert max(map(len, shown)) <= columns


def test_a_secret_in_pieces_is_masked_in_a_session_and_in_a_live_one(tmp_path: Path) -> None:
    from stenograph.redact import Masker

    hidden = f"It is {KEY[:9]}**{KEY[9:20]}**{KEY[20:]}."
    session = load_file(write_session(tmp_path, session_id(1), [user("x"), assistant(text(hidden))]))
    options = RenderOptions(width=80, color=True, markdown=True)
    masker = Masker()
    shown = "".join(render_session(session, options, mask=masker.mask))
    told = "".join(live_lines(session, options, mask=masker.mask))
    assert "[github-token:1]" in shown
    assert "[github-token:1]" in told
    assert KEY[9:20] not in shown + told


def test_branches_are_found_without_going_through_all_of_them_at_every_turn(tmp_path: Path) -> None:
    """A thousand turns with a branch after each: each is named once, behind its turn."""
    import time

    records = []
    for number in range(1000):
        parent = f"a{number - 1}" if number else None
        answer = assistant(text("yes"), uuid=f"a{number}", parentUuid=f"u{number}")
        answer["message"]["id"] = f"msg_{number}"
        records += [user("go", uuid=f"b{number}", parentUuid=parent), user("go", uuid=f"u{number}", parentUuid=parent), answer]
    session = load_file(write_session(tmp_path, session_id(1), records))
    started = time.process_time()
    lines = [line for line in render_session(session, LOOK) if line.startswith("┬ branch ")]
    assert time.process_time() - started < 10
    assert len(lines) == len(session.branches) - 1
