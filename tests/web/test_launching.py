"""The page that opens the browser, and the ticket in it."""

from __future__ import annotations

import os
import re
import stat
import time
from html import unescape
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest
from tests.homes import session_id, turns, write_session
from tests.web.serving import Served, served

from stenograph.errors import UnwritableError
from stenograph.web import security
from stenograph.web.launching import LaunchPage

FIRST = session_id(1)
LINK = "http://127.0.0.1:1/?token=a&b"


def path_of(address: str) -> Path:
    assert address.startswith("file:///")
    return Path(unquote(urlsplit(address).path))


def test_only_the_user_can_read_the_page_that_leads_to_the_link(tmp_path: Path) -> None:
    folder = tmp_path / "state" / "viewer"
    page = LaunchPage(folder)
    address = page.write(LINK)
    path = path_of(address)
    assert path.parent == folder
    assert "token" not in address
    assert re.findall(r'(?:url=|href=")([^"]+)"', unescape(path.read_text())) == [LINK, LINK]
    if os.name == "posix":
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    page.remove()
    page.remove()
    assert list(folder.iterdir()) == []


@pytest.mark.skipif(os.name != "posix", reason="modes of POSIX")
def test_a_folder_that_others_could_list_is_made_private(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    LaunchPage(tmp_path).write(LINK)
    assert stat.S_IMODE(tmp_path.stat().st_mode) == 0o700


def test_what_a_killed_server_left_is_removed(tmp_path: Path) -> None:
    old, new = LaunchPage(tmp_path), LaunchPage(tmp_path)
    left, other = path_of(old.write(LINK)), tmp_path / "other.html"
    other.touch()
    for path in (left, other):
        os.utime(path, (time.time() - 3600,) * 2)
    written = path_of(new.write(LINK))
    assert set(tmp_path.iterdir()) == {written, other}


def test_a_page_that_cannot_be_written_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "viewer").touch()
    with pytest.raises(UnwritableError):
        LaunchPage(tmp_path / "viewer").write(LINK)


def target_of(viewer: Served) -> str:
    return viewer.access.link(once=True).partition(str(viewer.access.port))[2]


def cookie_for(viewer: Served, target: str) -> dict[str, str]:
    return {"Cookie": viewer.raw(target).headers["Set-Cookie"].partition(";")[0]}


def test_a_ticket_that_comes_back_takes_away_what_it_gave(tmp_path: Path) -> None:
    with served(tmp_path) as viewer:
        said: list[str] = []
        viewer.access.on_ticket = lambda: said.append("used")
        viewer.access.on_reused_ticket = lambda: said.append("reused")
        target = target_of(viewer)
        cookie, linked = cookie_for(viewer, target), cookie_for(viewer, f"/?token={viewer.access.token}")
        assert viewer.raw("/", headers=cookie).status == 200
        assert [viewer.raw(target).status for _ in range(3)] == [401, 401, 401]
        assert viewer.raw("/", headers=cookie).status == 401
        assert said == ["used", "reused"]
        # The printed link is not concerned.
        assert viewer.raw("/", headers=linked).status == 200
        assert viewer.raw("/", headers=cookie_for(viewer, target_of(viewer))).status == 200


def test_a_ticket_that_comes_too_late_lets_no_one_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with served(tmp_path) as viewer:
        monkeypatch.setattr(security, "TICKET_SECONDS", -1.0)
        assert viewer.raw(target_of(viewer)).status == 401


def test_live_events_end_with_the_session_that_reads_them(tmp_path: Path) -> None:
    import http.client

    path = write_session(tmp_path, FIRST, turns(3), modified=time.time())
    with served(tmp_path) as viewer:
        target = target_of(viewer)
        connection = http.client.HTTPConnection("127.0.0.1", viewer.access.port, timeout=20)
        connection.request("GET", f"/api/v1/sessions/{FIRST}/events", headers=cookie_for(viewer, target))
        events = connection.getresponse()
        assert events.readline() == b"event: ready\n"
        assert viewer.raw(target).status == 401
        with path.open("ab") as file:
            file.write(b'{"type":"summary","summary":"Private words","leafUuid":"x"}\n')
        with pytest.raises((http.client.IncompleteRead, ConnectionError)):
            events.read()
        connection.close()


def test_a_browser_gets_in_by_the_page(browser: Any, tmp_path: Path) -> None:
    write_session(tmp_path / "home", FIRST, turns(3, "Paint the fence"))
    with served(tmp_path / "home") as viewer:
        page = LaunchPage(tmp_path / "viewer")
        viewer.access.on_ticket = page.remove
        address = page.write(viewer.access.link(once=True))
        tab = browser.new_context().new_page()
        tab.goto(address)
        tab.wait_for_url(f"http://127.0.0.1:{viewer.access.port}/")
        tab.get_by_text("Paint the fence").first.wait_for()
        assert not path_of(address).exists()
        # Nothing of the ticket is left in the history.
        tab.reload()
        tab.get_by_text("Paint the fence").first.wait_for()
        assert tab.evaluate("history.length") <= 2
        tab.context.close()
