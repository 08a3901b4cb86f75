"""Who may ask, as requests over the wire: everything that is not the user's own browser or program is refused."""

from __future__ import annotations

import contextlib
import io
import socket
import time
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.homes import assistant, session_id, turns, user, write_session
from tests.web.serving import Served, served

from stenograph.testing.lines import encode, text, tool_result, tool_use
from stenograph.web.live import LOOK_SECONDS
from stenograph.web.static_files import static_version

FIRST = session_id(1)
SECRET_FILE = "not-for-readers"


@pytest.fixture(scope="module")
def viewer(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    home = tmp_path_factory.mktemp("home")
    write_session(home, FIRST, turns(6, "Paint the fence"))
    (home / "settings.json").write_text(SECRET_FILE)
    (home.parent / "outside.jsonl").write_text(SECRET_FILE)
    with served(home) as running:
        yield running


def cookie_of(viewer: Served) -> str:
    return viewer.raw(f"/?token={viewer.access.token}").headers["Set-Cookie"].partition(";")[0]


def test_without_the_token_nothing_is_shown(viewer: Served) -> None:
    for target in ("/", f"/s/{FIRST}", "/static/style.css", "/nothing", "/api/v1/sessions"):
        answer = viewer.raw(target)
        assert answer.status == 401, target
        assert "Paint" not in answer.text


def test_the_link_lets_a_browser_in_and_loses_its_token(viewer: Served) -> None:
    landing = viewer.raw(f"/s/{FIRST}?turn=2&token={viewer.access.token}")
    cookie = landing.headers["Set-Cookie"]
    assert landing.status == 200
    assert "HttpOnly" in cookie
    assert "SameSite=Strict" in cookie
    assert viewer.access.token not in cookie + landing.text
    assert f"url=/s/{FIRST}?turn=2" in landing.text
    assert "Paint the fence" in viewer.raw(f"/s/{FIRST}", headers={"Cookie": cookie.partition(";")[0]}).text


def test_the_link_that_opens_the_browser_works_once(viewer: Served) -> None:
    target = viewer.access.link(once=True).partition(str(viewer.access.port))[2]
    assert viewer.raw(target).status == 200
    assert viewer.raw(target).status == 401


def test_a_landing_never_leads_to_another_host(viewer: Served) -> None:
    for target in ("//evil.example/x", "/\\evil.example/x", "///evil.example", "/%5Cevil.example"):
        text = viewer.raw(f"{target}?token={viewer.access.token}").text
        assert "url=//" not in text
        assert "url=/\\" not in text


@pytest.mark.parametrize("token", ["", "x", "0" * 43, "%00", "%F0%9F%94%91"])
def test_a_wrong_token_is_refused(viewer: Served, token: str) -> None:
    assert viewer.raw(f"/?token={token}").status == 401
    assert viewer.raw("/", headers={"Authorization": f"Bearer {token}"}).status == 401
    assert viewer.raw("/", headers={"Cookie": f"{viewer.access.cookie_name}={token}"}).status == 401


def test_two_tokens_in_one_link_are_refused(viewer: Served) -> None:
    assert viewer.raw(f"/?token={viewer.access.token}&token=x").status == 401


@pytest.mark.parametrize(
    "host", ["evil.example", "127.0.0.1", "127.0.0.1:1", "localhost.evil.example:{port}", "", "[::1]:{port}"]
)
def test_a_forged_host_is_refused(viewer: Served, host: str) -> None:
    answer = viewer.ask("/", headers={"Host": host.format(port=viewer.access.port)})
    assert answer.status in (400, 403)
    assert "Paint" not in answer.text


def test_two_hosts_are_refused(viewer: Served) -> None:
    own = f"127.0.0.1:{viewer.access.port}"
    head = f"GET / HTTP/1.1\r\nHost: {own}\r\nHost: evil.example\r\nAuthorization: Bearer {viewer.access.token}\r\n\r\n"
    assert status_of(viewer, head.encode()) in (400, 403)


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "http://127.0.0.1:1", "https://127.0.0.1:{port}"])
def test_another_origin_is_refused(viewer: Served, origin: str) -> None:
    headers = {"Origin": origin.format(port=viewer.access.port), "Cookie": cookie_of(viewer)}
    assert viewer.raw("/", headers=headers).status == 403
    assert viewer.raw("/", "POST", headers=headers).status == 403


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
def test_another_sites_page_may_open_a_link_and_nothing_else(viewer: Served, site: str) -> None:
    cookie = {"Cookie": cookie_of(viewer), "Sec-Fetch-Site": site}
    assert viewer.raw("/", headers={**cookie, "Sec-Fetch-Mode": "navigate"}).status == 200
    for mode in ("no-cors", "cors", "same-origin", "websocket"):
        assert viewer.raw("/", headers={**cookie, "Sec-Fetch-Mode": mode}).status == 403
    assert viewer.raw("/", "POST", headers={**cookie, "Sec-Fetch-Mode": "navigate"}).status == 403


def test_what_changes_something_needs_the_pages_own_token(viewer: Served) -> None:
    cookie = {"Cookie": cookie_of(viewer), "Origin": f"http://127.0.0.1:{viewer.access.port}"}
    assert viewer.raw("/", "POST", headers=cookie).status == 403
    assert viewer.raw("/", "POST", headers={**cookie, "X-Steno-CSRF": "x"}).status == 403
    assert viewer.raw("/", "POST", headers={**cookie, "X-Steno-CSRF": viewer.access.csrf}).status == 405


TRAVERSALS = [
    "/static/../server.py",
    "/static/..%2fserver.py",
    "/static/%2e%2e/%2e%2e/__init__.py",
    "/static/..\\server.py",
    "/static//etc/passwd",
    "/static/%00",
    "/s/..%2f..%2fsettings",
    "/s/%2e%2e%2foutside",
    "/s/%2fetc%2fpasswd",
    "/s/..",
    "/s/%00",
    "/s/last",
    "/s/%F0%9F%94%91",
]


@pytest.mark.parametrize("target", TRAVERSALS)
def test_no_path_leads_out(viewer: Served, target: str) -> None:
    answer = viewer.ask(target)
    assert answer.status in (400, 404)
    assert SECRET_FILE not in answer.text
    assert "import" not in answer.text


def test_a_link_does_not_lead_out_of_a_home(tmp_path: Path) -> None:
    home, second = tmp_path / "home", session_id(2)
    path = write_session(home, FIRST, turns(6))
    (tmp_path / "outside.jsonl").write_text(SECRET_FILE)
    path.with_name(f"{second}.jsonl").symlink_to(tmp_path / "outside.jsonl")
    agents = path.with_suffix("") / "subagents"
    agents.mkdir(parents=True)
    (agents / "agent-a1b2c3.jsonl").symlink_to(tmp_path / "outside.jsonl")
    with served(home) as viewer:
        for target in (f"{second}/records/1", second, f"{second}/turns", f"{FIRST}/records/1?agent=a1b2c3"):
            answer = viewer.ask(f"/api/v1/sessions/{target}")
            assert (answer.status, answer.json["code"]) == (403, "outside")
        for target in (f"/s/{second}", f"/s/{second}/raw/1", f"/s/{FIRST}/raw/1?agent=a1b2c3"):
            answer = viewer.ask(target)
            assert answer.status == 403
            assert SECRET_FILE not in answer.text


OUTSIDE = "Xylophones"


def charged(message_id: str) -> dict[str, Any]:
    """A response that costs something."""
    record = assistant(text("Counted."))
    usage = {"input_tokens": 3, "output_tokens": 100}
    record["message"] |= {"id": message_id, "model": "claude-opus-4-5-20251101", "stop_reason": "end_turn", "usage": usage}
    return record


@pytest.fixture(scope="module")
def linked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A home in which links lead out: of a subagent, a spilled result, another file of the session, and a whole session."""
    home = tmp_path_factory.mktemp("linked")
    outside = write_session(tmp_path_factory.mktemp("outside"), session_id(2), turns(6, f"{OUTSIDE} are private"))
    other = write_session(tmp_path_factory.mktemp("other"), session_id(3), turns(6, f"{OUTSIDE} are private"))
    with outside.open("ab") as lines:
        lines.write(encode([charged("msg_2")]) + b"{torn\n")  # for the pages of usage and health
    records = [
        user("Ask a subagent"),
        assistant(tool_use("toolu_1", "Task", prompt="Look", description="Look", subagent_type="general")),
        user([tool_result("toolu_1", "ok")], toolUseResult={"agentId": "a1b2c3", "status": "completed"}),
        *turns(6),
        charged("msg_1"),
    ]
    path = write_session(home, FIRST, records)
    path.with_name(outside.name).symlink_to(outside)
    beside = path.with_suffix("")
    for name in ("subagents/agent-a1b2c3.jsonl", "tool-results/toolu_1.txt", "shadow"):
        link = beside / name
        link.parent.mkdir(parents=True, exist_ok=True)
        link.symlink_to(other)
    with served(home) as running:
        yield running


@pytest.mark.parametrize(
    "target",
    [
        f"/s/{FIRST}",
        f"/s/{FIRST}/markdown",
        f"/s/{FIRST}/download/html",
        f"/s/{FIRST}/download/md",
        f"/s/{FIRST}/download/json",
        f"/s/{FIRST}/steps/toolu_1?full=1",
        f"/api/v1/sessions/{FIRST}?agents=true",
        f"/api/v1/sessions/{FIRST}/turns?results=true",
        f"/api/v1/sessions/{FIRST}/steps",
    ],
)
def test_no_page_of_a_session_holds_what_its_links_lead_to(linked: Served, target: str) -> None:
    answer = linked.ask(target)
    assert answer.status == 200
    assert OUTSIDE not in answer.text


def test_a_zip_holds_no_file_that_a_link_leads_to(linked: Served) -> None:
    with zipfile.ZipFile(io.BytesIO(linked.ask(f"/s/{FIRST}/download/zip").body)) as archive:
        assert archive.namelist() == [f"{FIRST}.jsonl"]


@pytest.mark.parametrize(
    "target",
    [
        "/",
        "/?hidden=1",
        "/search?q=private",
        "/api/v1/search?q=private",
        "/api/v1/sessions?all=true",
        "/api/v1/overview",
        "/health",
        "/usage?since=all",
        "/api/v1/usage?by=session",
        "/api/v1/usage?by=project",
        "/api/v1/check",
        "/stats?since=all",
    ],
)
def test_a_session_whose_file_is_outside_is_in_no_list(linked: Served, target: str) -> None:
    answer = linked.ask(target)
    assert answer.status == 200
    assert OUTSIDE not in answer.text


def test_a_session_whose_file_is_outside_is_not_counted(linked: Served) -> None:
    linked.ask("/api/v1/search?q=private")  # the index knows it
    usage = linked.ask("/api/v1/usage?by=session").json
    assert [(row["name"], row["calls"]) for row in usage["rows"]] == [(FIRST, 1)]
    assert usage["total"]["calls"] == 1
    damaged = linked.ask("/api/v1/check").json["damage"]
    assert not [place for each in damaged for place in each["places"] if session_id(2) in place["path"]]
    assert linked.ask("/api/v1/search?q=plants&facets=true").json.get("facets") is None


def test_live_events_say_nothing_of_a_subagent_whose_file_is_outside(tmp_path: Path) -> None:
    path = write_session(tmp_path / "home", FIRST, turns(2))
    outside = write_session(tmp_path / "outside", session_id(2), turns(1))
    link = path.with_suffix("") / "subagents" / "agent-a1b2c3.jsonl"
    link.parent.mkdir(parents=True)
    link.symlink_to(outside)
    with served(tmp_path / "home") as viewer, contextlib.closing(_follow(viewer, FIRST)) as events:
        for file, said in ((outside, OUTSIDE), (path, "Water the plants")):
            with file.open("ab") as lines:
                lines.write(encode([user(said, isSidechain=file is outside)]))
            time.sleep(2 * LOOK_SECONDS)
        heard = events.recv(1 << 20).decode()
    assert "Water the plants" in heard
    assert OUTSIDE not in heard


def _follow(viewer: Served, session: str) -> socket.socket:
    """The live events of a session, from when it is followed on."""
    events = socket.create_connection(("127.0.0.1", viewer.access.port), timeout=10)
    address = f"/api/v1/sessions/{session}/events"
    own = f"Host: 127.0.0.1:{viewer.access.port}\r\nAuthorization: Bearer {viewer.access.token}"
    events.sendall(f"GET {address} HTTP/1.1\r\n{own}\r\n\r\n".encode())
    heard = b""
    while b"event: ready" not in heard:
        heard += events.recv(65536)
    return events


def test_a_link_within_a_home_is_followed(tmp_path: Path) -> None:
    path = write_session(tmp_path / "home", FIRST, turns(6, "Paint the fence"), project="-one")
    linked = tmp_path / "home" / "projects" / "-two" / f"{session_id(2)}.jsonl"
    linked.parent.mkdir()
    linked.symlink_to(path)
    with served(tmp_path / "home") as viewer:
        assert "Paint the fence" in viewer.ask(f"/s/{session_id(2)}").text


def test_what_is_too_large_is_refused(viewer: Served) -> None:
    assert viewer.ask(f"/?q={'x' * 9000}").status == 414
    own = f"Host: 127.0.0.1:{viewer.access.port}"
    assert status_of(viewer, f"GET /?q={'x' * 100_000} HTTP/1.1\r\n{own}\r\n\r\n".encode()) in (0, 400, 414)
    assert status_of(viewer, f"GET / HTTP/1.1\r\n{own}\r\nX-Long: {'x' * 200_000}\r\n\r\n".encode()) in (0, 400, 431)
    assert viewer.ask("/", "POST", headers={"Content-Length": "99999999999"}).status == 413
    assert viewer.ask("/", "POST", headers={"Content-Length": "-1"}).status in (400, 413)


MALFORMED = [
    b"\0\0\0\0\r\n\r\n",
    b"GET\r\n\r\n",
    b"GET / HTTP/9.9\r\n\r\n",
    b"GET / HTTP/1.1\r\nbroken\r\n\r\n",
    b"\x16\x03\x01\x02\r\n\r\n",
]


@pytest.mark.parametrize("sent", MALFORMED)
def test_what_is_not_http_is_refused(viewer: Served, sent: bytes) -> None:
    assert status_of(viewer, sent) in (0, 400, 403)
    assert viewer.ask("/").status == 200


def test_every_answer_forbids_what_pages_do_not_need(viewer: Served) -> None:
    for answer in (viewer.ask("/"), viewer.raw("/"), viewer.ask("/nothing"), viewer.raw(f"/?token={viewer.access.token}")):
        policy = answer.headers["Content-Security-Policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert answer.headers["Referrer-Policy"] == "no-referrer"
        assert answer.headers["X-Content-Type-Options"] == "nosniff"
        assert answer.headers["Cross-Origin-Resource-Policy"] == "same-origin"
        assert answer.headers["Cache-Control"] == "no-store"
        assert "Server" not in answer.headers


@pytest.mark.parametrize(
    "target",
    [
        "/",
        "/usage.csv",
        f"/s/{FIRST}",
        *(f"/s/{FIRST}/{part}" for part in ("chunks/0", "markdown", "records", "raw/1", "download/zip")),
        *("/api/v1/sessions", f"/api/v1/sessions/{FIRST}", f"/api/v1/sessions/{FIRST}/records/1", "/api/v1/search?q=paint"),
    ],
)
def test_a_browser_keeps_nothing_that_sessions_say(viewer: Served, target: str) -> None:
    answer = viewer.ask(target)
    assert answer.status == 200
    assert answer.headers["Cache-Control"] == "no-store"
    again = viewer.ask(target, headers={"If-None-Match": answer.headers["ETag"]})
    assert again.headers["Cache-Control"] == "no-store"


def test_a_browser_keeps_style_and_scripts(viewer: Served) -> None:
    assert viewer.ask("/static/style.css").headers["Cache-Control"] == "private, no-cache"
    assert "immutable" in viewer.ask(f"/static/{static_version()}/style.css").headers["Cache-Control"]


def test_it_listens_on_the_loopback_interface_only(viewer: Served) -> None:
    with socket.socket() as other:
        # The same port of another address of this machine is free.
        other.bind(("127.0.0.2", viewer.access.port))


def status_of(viewer: Served, sent: bytes) -> int:
    """Of what comes back for these bytes; 0 where the connection just ends."""
    with socket.create_connection(("127.0.0.1", viewer.access.port), timeout=10) as connection:
        answer = b""
        # It is closed before all was sent.
        with contextlib.suppress(OSError):
            connection.sendall(sent)
            connection.shutdown(socket.SHUT_WR)
            while piece := connection.recv(65536):
                answer += piece
    return int(answer.split(b" ", 2)[1]) if answer else 0


def test_a_taken_port_is_an_error_with_a_way_out(viewer: Served, tmp_path: Path) -> None:
    from stenograph.errors import UsageError

    with pytest.raises(UsageError, match="try another --port"), served(tmp_path, port=viewer.access.port):
        pass
