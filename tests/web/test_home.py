"""The list of sessions: what a row says, and what stays true while files change."""

from __future__ import annotations

import os
import re
import time
from pathlib import Path
from typing import Any

from tests.corpora import DEMO
from tests.homes import LONG_AGO, assistant, session_id, turns, user, write_session
from tests.web.serving import served
from tests.web.test_pages import AUDIT, DISCOUNTS

from stenograph.analysis import Spent
from stenograph.config import Config
from stenograph.index import open_store, sync_usage
from stenograph.sessions import list_sessions
from stenograph.testing.lines import encode, text
from stenograph.views import HomeQuery, home_page
from stenograph.views.html import PageContext, render_home
from stenograph.web.parameters import SearchQuery
from stenograph.web.questions import Library
from stenograph.web.session_pages import timeline_of
from stenograph.web.shelf import Viewer

_CENT = 10_000_000_000


def rewound(session: str, ways: int) -> list[dict[str, Any]]:
    """One prompt with its answer, and then as many other second prompts, each in the place of the one before."""
    made: list[dict[str, Any]] = []
    for number in range(ways + 1):
        for record in (user(f"Prompt {number}"), assistant(text(f"Answer {number}."))):
            above = len(made) - 1 if record["type"] == "assistant" else 1 if number else None
            record |= {
                "sessionId": session,
                "uuid": f"{len(made):08}-0000-4000-8000-000000000000",
                "parentUuid": None if above is None else f"{above:08}-0000-4000-8000-000000000000",
                "timestamp": f"2023-11-14T12:00:{len(made):02}.000Z",
            }
            if record["type"] == "assistant":
                record["message"] = record["message"] | {"id": f"msg_{len(made)}"}
            made.append(record)
    return made


def test_a_row_counts_the_turns_of_the_branch_that_its_page_shows(tmp_path: Path) -> None:
    home = tmp_path / "claude"
    write_session(home, session_id(1), rewound(session_id(1), 4))
    with served(home) as server:
        listed, page = server.ask("/").text, server.ask(f"/s/{session_id(1)}").text
    assert re.findall(r">(\d+ turns?)<", listed) == ["2 turns"]
    assert "<b>2</b> turns" in page
    assert "<b>4</b> branches" in page


def test_an_estimated_cost_is_marked(tmp_path: Path) -> None:
    paths = [write_session(tmp_path, session_id(number), turns(5), modified=LONG_AGO + number) for number in range(2)]
    spent = {paths[0]: Spent(calls=1, measured=7 * _CENT), paths[1]: Spent(calls=1, measured=_CENT, estimated=2 * _CENT)}
    page = home_page(list_sessions([tmp_path]), HomeQuery(), costs=lambda _: spent)
    html = render_home(page, PageContext())
    assert ">~$0.03<" in html
    assert ">$0.07<" in html
    assert "~$0.07" not in html
    # Of the month, a part is estimated.
    assert "~$0.10" in html


def test_the_first_page_counts_what_is_running(tmp_path: Path) -> None:
    """Nothing has listed the sessions before."""
    home = tmp_path / "claude"
    write_session(home, session_id(1), turns(3)[:-1], modified=time.time())
    with served(home) as server:
        assert "1 running</span>" in server.ask("/").text


def test_a_list_shows_what_was_just_written(tmp_path: Path) -> None:
    home = tmp_path / "claude"
    write_session(home, session_id(1), turns(5, "The first"))
    with served(home) as server:
        assert "The first" in server.ask("/").text
        write_session(home, session_id(1), turns(6, "The second"), modified=LONG_AGO + 1)
        write_session(home, session_id(2), turns(5, "Another one"))
        # Addressed differently, so that it is no answer from a moment ago.
        listed = server.ask("/?sort=size").text
    assert "The second" in listed
    assert "The first" not in listed
    assert "Another one" in listed
    assert re.findall(r">(\d+ turns?)<", listed) == ["6 turns", "5 turns"]


def test_a_page_counts_copied_calls_elsewhere_once_the_index_knows_them(tmp_path: Path) -> None:
    home, index = tmp_path / "claude", tmp_path / "index.sqlite"
    for number in (1, 2):
        answer = assistant(text("Done."), sessionId=session_id(number), version="2.1.325")
        answer["message"] |= {
            "model": "claude-sonnet-4-5-20250929",
            "stop_reason": "end_turn",
            "usage": {"input_tokens": 100_000, "output_tokens": 20_000},
        }
        write_session(home, session_id(number), [user("Do it"), answer], modified=LONG_AGO + number)
    library = Library(Viewer(homes=[home], config=Config(), archive=tmp_path / "archive", index=index))
    assert timeline_of(library, session_id(2)).page(0, 0).usd == 0.6
    sync_usage(store := open_store(index), [home])
    store.close()
    page = timeline_of(library, session_id(2)).page(0, 0)
    assert (page.usd, page.session.copied_usd) == (None, 0.6)


def test_a_row_counts_a_subagent_that_is_indexed_later_than_its_session(tmp_path: Path) -> None:
    home, index = tmp_path / "claude", tmp_path / "index.sqlite"
    path = write_session(home, session_id(1), turns(5))
    library = Library(Viewer(homes=[home], config=Config(), archive=tmp_path / "archive", index=index))
    sessions = list_sessions([home]).sessions
    library.search(SearchQuery(q="anything"))  # brings the index up to date
    assert library.drawn(sessions)[path].agents == 0
    agent = path.with_suffix("") / "subagents" / "agent-a1b2c3.jsonl"
    agent.parent.mkdir(parents=True)
    agent.write_bytes(encode([user("Look", isSidechain=True, agentId="a1b2c3", sessionId=session_id(1))]))
    library.search(SearchQuery(q="anything"))  # brings the index up to date
    assert library.drawn(sessions)[path].agents == 1


def test_a_file_whose_name_is_not_utf8_costs_no_other_session_its_pages(tmp_path: Path) -> None:
    path = write_session(tmp_path, session_id(1), turns(6))
    (path.parent / os.fsdecode(b"bad\xff\xfename.jsonl")).write_bytes(path.read_bytes())
    with served(tmp_path) as server:
        for target in ("/", "/usage?since=all", "/stats?since=all", "/usage.csv", "/health", "/search?q=do", "/api/v1/waste"):
            assert server.ask(target).status == 200, target


def test_the_list_is_sorted_by_turns(tmp_path: Path) -> None:
    home = tmp_path / "claude"
    for number, count in enumerate((3, 5, 4, 9)):
        write_session(
            home, session_id(number), [r for each in range(count) for r in turns(1, f"Prompt {each}")], modified=LONG_AGO
        )
    with served(home) as server:
        assert re.findall(r">(\d+) turns?<", server.ask("/?sort=turns").text) == ["9", "5", "4", "3"]


def test_a_command_that_was_typed_is_shown_as_typed(tmp_path: Path) -> None:
    home = tmp_path / "claude"
    write_session(home, session_id(1), turns(3, "<bash-input>make test</bash-input>"), modified=LONG_AGO)
    with served(home) as server:
        page = server.ask("/").text
    assert "!make test" in page
    assert "bash-input" not in page


def test_projects_with_the_same_name_are_told_apart_in_search(tmp_path: Path) -> None:
    home = tmp_path / "claude"
    for session, folder in ((DISCOUNTS, "/home/user"), (AUDIT, "/work")):
        (path,) = DEMO.glob(f"projects/*/{session}.jsonl")
        place = home / "projects" / folder.replace("/", "-")
        place.mkdir(parents=True)
        (place / path.name).write_text(path.read_text().replace("/home/user/lantern-shop", f"{folder}/lantern-shop"))
    with served(home) as server:
        names = re.findall(r"<bdi>(\S*lantern-shop)</bdi>", server.ask("/search?q=cart").text)
    assert sorted(names) == ["user/lantern-shop"] * 2 + ["work/lantern-shop"] * 2
