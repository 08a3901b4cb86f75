"""The viewer's figures of a session, against those of the commands: one answer to a question, whichever face gives it."""

from __future__ import annotations

import json
import re
from typing import Any

from tests.cli.running import run
from tests.corpora import DEMO
from tests.web.serving import served
from tests.web.test_pages import DISCOUNTS


def _told(*arguments: str) -> Any:
    return json.loads(run("--demo", *arguments, "--json").stdout)


def test_the_context_is_measured_against_the_same_window() -> None:
    """Opus 5.5, which the newest client gives a million tokens without being asked."""
    assert _told("show", DISCOUNTS)["session"]["context_window"] == 1_000_000
    with served(DEMO) as server:
        page = server.ask(f"/s/{DISCOUNTS}").text
    assert re.search(r'<span class="n">[\d.]+k of 1M tokens', page)
    assert "200k" not in page


def test_messages_that_are_sent_are_those_that_a_release_sends() -> None:
    """Not the lines of the session: a client joins the results of one response into one message."""
    with served(DEMO) as server:
        rows = {row["release"]: row for row in server.ask(f"/api/v1/sessions/{DISCOUNTS}/check").json["resume"]}
        piece, tab = server.ask(f"/s/{DISCOUNTS}/resume").text, server.ask(f"/s/{DISCOUNTS}/messages").text
    assert len(rows) > 1
    for release, row in rows.items():
        sent = _told("messages", DISCOUNTS, "--as-of", release)["count"]
        assert row["messages"] == sent < row["said"]["messages"]
        assert f"{row['said']['messages']} messages" not in piece + tab
        assert f"{sent} messages" in piece
        assert f'data-l="Sends">{sent} messages<' in tab
    assert f"{sent} messages before the new prompt" in tab


def test_the_messages_tab_says_how_many_there_are_and_which_are_shown() -> None:
    with served(DEMO) as server:
        count = server.ask(f"/api/v1/sessions/{DISCOUNTS}/messages").json["count"]
        page = server.ask(f"/s/{DISCOUNTS}/messages?offset=5").text
    assert f"{count} messages before the new prompt; 6 to {count} shown" in page
    assert 'rel="next">More' not in page


def test_shares_are_written_as_in_the_terminal() -> None:
    with served(DEMO) as server:
        page = server.ask("/stats?since=all").text
    (share,) = re.findall(r"read from cache\s+(\S+)", run("--demo", "stats").stdout)
    assert f"<b>{share}</b> of prompt tokens were read" in page
