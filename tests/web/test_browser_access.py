"""Signing in and revealing, in a real browser."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.homes import assistant, session_id, user, write_session
from tests.web.browsing import tab
from tests.web.serving import served

from stenograph.testing.lines import text

SESSION = session_id(1)
KEY = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"


def test_the_link_signs_in_and_a_secret_is_shown_and_hidden_again(browser: Any, tmp_path: Path) -> None:
    write_session(tmp_path, SESSION, [user(f"My token is {KEY}"), assistant(text("Keep it secret."))])
    with served(tmp_path) as server, tab(browser, server) as seen:
        assert "token" not in seen.page.url
        assert seen.page.context.cookies()[0]["httpOnly"]
        seen.open(f"/s/{SESSION}")
        assert KEY not in seen.page.content()
        button = seen.page.locator(".secret").first
        button.click()
        seen.page.get_by_text(KEY).wait_for()
        button.click()
        assert KEY not in seen.page.content()
        assert seen.problems == []


def test_a_page_of_another_server_on_this_machine_reads_nothing(browser: Any, tmp_path: Path) -> None:
    """Its cookies go there too, for ports share them: what keeps its pages out is that requests say whose they are."""
    write_session(tmp_path / "one", SESSION, [user("Private words"), assistant(text("Yes."))])
    write_session(tmp_path / "two", SESSION, [user("Other words"), assistant(text("Yes."))])
    with served(tmp_path / "one") as server, served(tmp_path / "two") as other, tab(browser, server) as seen:
        target = f"http://127.0.0.1:{server.access.port}/api/v1/sessions"
        seen.page.goto(other.access.link())
        seen.page.wait_for_url("**/")
        fetch = (
            "(target) => fetch(target, {credentials: 'include', mode: 'no-cors'}).then((answer) => answer.type, () => 'refused')"
        )
        assert seen.page.evaluate(fetch, target) == "refused"
        csp = other.raw("/").headers["Content-Security-Policy"]
        assert "connect-src 'self'" in csp
