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


def test_a_page_takes_nothing_from_another_server_on_its_port(browser: Any, tmp_path: Path) -> None:
    """Once the viewer has ended, whoever takes its port is asked by the pages that are still open."""
    write_session(tmp_path, SESSION, [user("Paint the fence"), assistant(text("Done."))])
    evil = '<span id="running"><meta http-equiv="refresh" content="0;url=/evil">Stolen</span>'
    asked: list[str] = []

    def answer(route: Any) -> None:
        asked.append(route.request.url)
        route.fulfill(status=200, content_type="text/html", body=f"<!doctype html><title>x</title>{evil}")

    with served(tmp_path) as server, tab(browser, server) as seen:
        seen.page.route("**/*", answer)
        seen.page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
        seen.page.wait_for_timeout(1000)
        assert asked
        assert "Stolen" not in seen.page.content()
        assert seen.page.url == seen.base + "/"
        seen.page.unroute("**/*")


def test_what_is_put_into_a_page_loads_nothing_by_itself(browser: Any, tmp_path: Path) -> None:
    write_session(tmp_path, SESSION, [user("Paint the fence"), assistant(text("Done."))])
    evil = '<meta http-equiv="refresh" content="0;url=/evil"><base href="/x/"><link rel="stylesheet" href="/y"><b>kept</b>'
    with served(tmp_path) as server, tab(browser, server) as seen:
        scripts = next(each for each in seen.page.evaluate("[...document.scripts].map((each) => each.src)") if "app.js" in each)
        parsed = "([from, html]) => import(from).then((dom) => dom.parse(html).documentElement.innerHTML)"
        assert seen.page.evaluate(parsed, [scripts.replace("app.js", "dom.js"), f"<svg><script></script></svg>{evil}"]) == (
            "<head></head><body><svg></svg><b>kept</b></body>"
        )
