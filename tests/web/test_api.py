"""The API over the wire, on sessions written by hand: what it answers, page by page, and what it refuses."""

from __future__ import annotations

import contextlib
import json
import re
import socket
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from jsonschema import Draft202012Validator
from tests.homes import LONG_AGO, assistant, session_id, turns, user, write_session
from tests.web.serving import Answer, Served, served

from stenograph.testing.lines import encode, text
from stenograph.views import documents, json_schema
from stenograph.web import home_questions
from stenograph.web.loading import AnswerCache

LONG, TOOLS, TAGGED = session_id(1), session_id(2), session_id(3)
KEY = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"


USAGE = {"input_tokens": 5, "output_tokens": 70, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0}


def uuid(number: int) -> str:
    return f"{number:08x}-1111-4111-8111-111111111111"


def chained(records: list[dict[str, Any]], start: int = 0) -> list[dict[str, Any]]:
    """The records as one chain, a second apart."""
    return [
        record
        | {
            "uuid": uuid(start + place),
            "parentUuid": uuid(start + place - 1) if place else None,
            "timestamp": f"2026-01-31T12:{place // 60:02}:{place % 60:02}.000Z",
            "version": "2.1.300",
            "gitBranch": "main",
        }
        for place, record in enumerate(records)
    ]


def tool_session() -> list[dict[str, Any]]:
    use = {"type": "tool_use", "id": "toolu_1", "name": "Bash", "input": {"command": "cat key"}}
    broken = {"type": "tool_use", "id": "toolu_2", "name": "Read", "input": {"file_path": "/nowhere"}}
    results = [
        user([{"type": "tool_result", "tool_use_id": "toolu_1", "content": f"the key is {KEY}"}]),
        user([{"type": "tool_result", "tool_use_id": "toolu_2", "content": "no such file", "is_error": True}]),
    ]
    return chained(
        [
            user("Read the key"),
            assistant(text("I will."), use),
            results[0],
            {**assistant(broken), "message": {**assistant(broken)["message"], "id": "msg_2"}},
            results[1],
            {
                **assistant(text("Done.")),
                "message": {**assistant(text("Done."))["message"], "id": "msg_3", "stop_reason": "end_turn", "usage": USAGE},
                "requestId": "req_3",
            },
        ]
    )


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("home")
    write_session(home, LONG, chained(turns(7, "Paint the fence")))
    write_session(home, TOOLS, tool_session(), modified=LONG_AGO + 10, tail=b"{broken\n")
    elsewhere = [record | {"cwd": "/home/user/other"} for record in chained(turns(6))]
    write_session(home, TAGGED, [*elsewhere, {"type": "tag", "tag": "later", "sessionId": TAGGED}], project="-home-user-other")
    return home


@pytest.fixture(scope="module")
def viewer(home: Path) -> Iterator[Served]:
    with served(home) as running:
        yield running


def valid(answer: Answer) -> Any:
    """The document, once its schema has it as its status says."""
    document = answer.json
    name = document["schema"].partition("/")[0]
    assert (name == "error") == (answer.status >= 400)
    Draft202012Validator(json_schema(documents()[name])).validate(document)
    return document


def test_sessions_are_listed_page_by_page(viewer: Served) -> None:
    first = viewer.ask("/api/v1/sessions?limit=2&all=true")
    behind = first.headers["Link"].partition(">")[0][1:]
    rest = viewer.ask(behind)
    found = [row["id"] for answer in (first, rest) for row in valid(answer)["sessions"]]
    assert sorted(found) == [LONG, TOOLS, TAGGED]
    assert "Link" not in rest.headers


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("project=other", [TAGGED]),
        ("tag=later", [TAGGED]),
        ("title=PAINT", [LONG]),
        ("until=2020-01-01", []),
        ("since=2026-01-01&all=true&sort=size", [LONG, TAGGED, TOOLS]),
        ("branch=main&limit=1&offset=1&sort=title&all=true", [LONG]),
        ("status=failed", []),
    ],
)
def test_lists_are_filtered_and_sorted(viewer: Served, query: str, found: list[str]) -> None:
    assert [row["id"] for row in valid(viewer.ask(f"/api/v1/sessions?{query}"))["sessions"]] == found


def test_turns_come_in_pages(viewer: Served) -> None:
    first = viewer.ask(f"/api/v1/sessions/{LONG}/turns?first=3&limit=2")
    assert [turn["number"] for turn in valid(first)["turns"]] == [3, 4]
    assert first.headers["Link"] == f'</api/v1/sessions/{LONG}/turns?first=5&limit=2>; rel="next"'
    page = valid(viewer.ask(f"/api/v1/sessions/{LONG}?first=7"))
    assert [turn["number"] for turn in page["turns"]] == [7]
    assert page["session"]["turns"] == 7
    assert valid(viewer.ask(f"/api/v1/sessions/{LONG}/turns?first=8"))["turns"] == []


def test_records_are_lines_of_the_file(viewer: Served, home: Path) -> None:
    lines = (home / "projects" / "-home-user-work" / f"{TOOLS}.jsonl").read_bytes().splitlines()
    page = valid(viewer.ask(f"/api/v1/sessions/{TOOLS}/records"))
    assert page["total"] == len(lines) == 7
    assert [row["kind"] for row in page["records"]] == ["user", "assistant", "user", "assistant", "user", "assistant", "damaged"]
    assert [row["size"] for row in page["records"]] == [len(line) for line in lines]
    assert [row["uuid"] for row in page["records"]][:2] == [uuid(0), uuid(1)]
    assert valid(viewer.ask(f"/api/v1/sessions/{TOOLS}/records/4"))["record"] == json.loads(lines[3])
    assert valid(viewer.ask(f"/api/v1/sessions/{TOOLS}/records/7"))["text"] == "{broken"
    assert valid(viewer.ask(f"/api/v1/sessions/{TOOLS}/records/8"))["code"] == "line-not-found"


def test_steps_and_numbers_are_those_of_the_conversation(viewer: Served) -> None:
    page = valid(viewer.ask(f"/api/v1/sessions/{TOOLS}/steps?offset=1&limit=2"))
    assert (page["total"], [step["type"] for step in page["steps"]]) == (6, ["tool_call", "tool_result"])
    numbers = valid(viewer.ask(f"/api/v1/sessions/{TOOLS}/summary"))
    assert (numbers["tool_calls"], numbers["failed_tool_calls"], numbers["turns"], numbers["calls"]) == (2, 1, 1, 3)
    assert numbers["steps"] == {"assistant_message": 1, "tool_call": 2, "tool_result": 2, "user_message": 1}
    assert {tool["name"]: (tool["calls"], tool["failed"]) for tool in numbers["tools"]} == {"Bash": (1, 0), "Read": (1, 1)}


def test_what_a_resume_sends_and_how_it_is_done(viewer: Served) -> None:
    sent = valid(viewer.ask(f"/api/v1/sessions/{LONG}/messages?limit=3"))
    assert [message["role"] for message in sent["messages"]] == ["user", "assistant", "user"]
    assert valid(viewer.ask(f"/api/v1/sessions/{LONG}/resume"))["command"] == ["claude", "--resume", LONG]
    assert valid(viewer.ask(f"/api/v1/sessions/{LONG}/lost?release=2.0.76"))["said"]["messages"] == 14
    assert valid(viewer.ask(f"/api/v1/sessions/{LONG}/messages?release=nonsense"))["code"] == "invalid-request"


def test_a_search_finds_words(viewer: Served) -> None:
    page = valid(viewer.ask("/api/v1/search?q=fence"))
    assert [hit["id"] for hit in page["hits"]] == [LONG]
    assert valid(viewer.ask("/api/v1/search?q=fence&kinds=answers"))["hits"] == []
    assert valid(viewer.ask("/api/v1/search?q=fence&kinds=poems"))["code"] == "invalid-request"


def test_tokens_are_counted(viewer: Served) -> None:
    page = valid(viewer.ask("/api/v1/usage?by=session"))
    assert [(row["name"], row["tokens"]["input"], row["tokens"]["output"]) for row in page["rows"]] == [(TOOLS, 5, 70)]
    assert valid(viewer.ask("/api/v1/usage?by=day&until=2026-01-01"))["rows"] == []


def test_damage_is_found(viewer: Served) -> None:
    assert valid(viewer.ask(f"/api/v1/sessions/{TOOLS}/check"))["summary"]["damage"] == 1
    assert valid(viewer.ask("/api/v1/check"))["summary"]["damaged_files"] == 1
    assert valid(viewer.ask("/api/v1/overview"))["sessions"] == 3


SECRET_TARGETS = ["", "/turns", "/records/3", "/steps", "/messages"]


@pytest.mark.parametrize("part", SECRET_TARGETS)
def test_secrets_are_masked_and_shown_one_by_one(viewer: Served, part: str) -> None:
    answer = viewer.ask(f"/api/v1/sessions/{TOOLS}{part}")
    assert KEY not in answer.text
    placeholder = "[github-token:" + answer.text.partition("[github-token:")[2].partition("]")[0] + "]"
    asked = json.dumps({"placeholder": placeholder}).encode()
    shown = viewer.ask("/api/v1/reveal", "POST", body=asked, headers={"Content-Type": "application/json"})
    assert valid(shown)["secret"] == KEY
    assert shown.headers["Cache-Control"] == "no-store"


def test_what_was_not_shown_is_not_revealed(viewer: Served) -> None:
    json_type = {"Content-Type": "application/json"}
    unknown = viewer.ask("/api/v1/reveal", "POST", body=b'{"placeholder": "[github-token:000000000000]"}', headers=json_type)
    assert (unknown.status, valid(unknown)["code"]) == (404, "secret-not-found")
    assert viewer.ask("/api/v1/reveal").status == 405
    assert viewer.ask("/api/v1/reveal", "POST", body=b"{}", headers=json_type).status == 400
    assert viewer.ask("/api/v1/reveal", "POST", body=b"placeholder=x").status == 415


def test_an_answer_that_did_not_change_is_not_sent_again(viewer: Served) -> None:
    first = viewer.ask(f"/api/v1/sessions/{LONG}/turns")
    again = viewer.ask(f"/api/v1/sessions/{LONG}/turns", headers={"If-None-Match": f'"x", W/{first.headers["ETag"]}'})
    assert (again.status, again.body) == (304, b"")
    assert again.headers["ETag"] == first.headers["ETag"]
    assert viewer.ask(f"/api/v1/sessions/{LONG}/turns", headers={"If-None-Match": '"x"'}).status == 200


@pytest.mark.parametrize(
    ("target", "status", "code"),
    [
        ("sessions?limit=0", 400, "invalid-parameter"),
        ("sessions?limit=x", 400, "invalid-parameter"),
        ("sessions?limit=1&limit=2", 400, "invalid-parameter"),
        ("sessions?nonsense=1", 400, "invalid-parameter"),
        ("sessions?since=yesterday", 400, "invalid-request"),
        ("sessions?status=asleep", 400, "invalid-parameter"),
        (f"sessions/{session_id(9)}", 404, "session-not-found"),
        (f"sessions/{LONG}/turns?branch=9", 404, "branch-not-found"),
        (f"sessions/{LONG}/turns?branch=null", 400, "invalid-parameter"),
        (f"sessions/{LONG}/records?agent=x", 404, "agent-not-found"),
        (f"sessions/{LONG}/records/0", 400, "invalid-parameter"),
        (f"sessions/{LONG}/records/x", 400, "invalid-parameter"),
        ("search", 400, "invalid-parameter"),
        ("search?q=%22open", 400, "invalid-request"),
        ("nothing", 404, "not-found"),
    ],
)
def test_errors_have_a_status_and_a_code(viewer: Served, target: str, status: int, code: str) -> None:
    answer = viewer.ask(f"/api/v1/{target}")
    assert (answer.status, valid(answer)["code"]) == (status, code)


@pytest.mark.parametrize("part", ["turns", "records", "steps"])
def test_the_next_page_of_a_session_with_any_name_has_an_address(part: str, tmp_path: Path) -> None:
    path = write_session(tmp_path, LONG, chained(turns(3)))
    name = "\u65e5\u672c <x>"
    path.rename(path.with_name(f"{name}.jsonl"))
    with served(tmp_path) as viewer:
        first = viewer.ask(f"/api/v1/sessions/{quote(name)}/{part}?limit=1")
        assert first.status == 200
        assert viewer.ask(first.headers["Link"].partition(">")[0][1:]).status == 200


@pytest.mark.parametrize("part", ["chunks", "raw"])
@pytest.mark.parametrize("digits", [10, 5_000])
def test_no_page_has_a_number_that_is_too_long_to_read(viewer: Served, part: str, digits: int) -> None:
    assert viewer.ask(f"/s/{LONG}/{part}/{'9' * digits}").status == 404


def test_the_document_describes_every_address(viewer: Served) -> None:
    document = viewer.ask("/api/v1/openapi.json").json
    assert document["openapi"] == "3.1.0"
    for path, methods in document["paths"].items():
        address = path.format(session_id=LONG, line="1")
        for method in methods:
            assert viewer.ask(f"{address}?{'q=x' if path.endswith('search') else ''}", method.upper()).status in (200, 415), path


def test_a_reader_sees_what_is_added_to_a_session(tmp_path: Path) -> None:
    path = write_session(tmp_path, LONG, chained(turns(3)), modified=time.time())
    with served(tmp_path) as viewer, socket.create_connection(("127.0.0.1", viewer.access.port), timeout=20) as reader:
        head = f"GET /api/v1/sessions/{LONG}/events HTTP/1.1\r\nHost: 127.0.0.1:{viewer.access.port}\r\n"
        reader.sendall(f"{head}Authorization: Bearer {viewer.access.token}\r\n\r\n".encode())
        received = b""
        while b"event: ready" not in received:
            received += reader.recv(65536)
        assert b"text/event-stream" in received
        assert b"event: update" not in received
        with path.open("ab") as file:
            file.write(encode(chained([user(f"My token is {KEY}")], 100)))
        while b"My token is" not in received:
            received += reader.recv(65536)
        assert KEY.encode() not in received
        event = json.loads(received.partition(b"event: update\ndata: ")[2].partition(b"\n\n")[0])
        Draft202012Validator(json_schema(documents()["update"])).validate(event)
        assert event["parts"][0]["text"].startswith("My token is [github-token:")


def test_every_reader_is_told_when_it_misses_nothing_more(viewer: Served) -> None:
    head = f"GET /api/v1/sessions/{LONG}/events HTTP/1.1\r\nHost: 127.0.0.1:{viewer.access.port}\r\n"
    with contextlib.ExitStack() as readers:
        for _ in range(3):
            reader = readers.enter_context(socket.create_connection(("127.0.0.1", viewer.access.port), timeout=20))
            reader.sendall(f"{head}Authorization: Bearer {viewer.access.token}\r\n\r\n".encode())
            received = b""
            while b"event: ready" not in received:
                received += reader.recv(65536)


def test_edits_are_off_unless_allowed(viewer: Served, home: Path) -> None:
    body = {"edits": [{"edit": "drop-turns", "which": {"turns": [[1, 2]]}}], "apply": True}
    before = (home / "projects" / "-home-user-work" / f"{LONG}.jsonl").read_bytes()
    json_type = {"Content-Type": "application/json"}
    refused = viewer.ask(f"/api/v1/sessions/{LONG}/edit", "POST", body=json.dumps(body).encode(), headers=json_type)
    assert (refused.status, valid(refused)["code"]) == (403, "read-only")
    plan = viewer.ask(
        f"/api/v1/sessions/{LONG}/edit", "POST", body=json.dumps(body | {"apply": False}).encode(), headers=json_type
    )
    assert (valid(plan)["applied"], plan.json["refusal"]) == (False, "the viewer was started without --allow-edits")
    assert viewer.ask(f"/api/v1/sessions/{LONG}/undo", "POST", body=b"{}", headers=json_type).status == 403
    assert (home / "projects" / "-home-user-work" / f"{LONG}.jsonl").read_bytes() == before


def test_an_edit_is_applied_and_undone(tmp_path: Path) -> None:
    path = write_session(tmp_path / "home", LONG, chained(turns(6)))
    before = path.read_bytes()
    json_type = {"Content-Type": "application/json"}
    with served(tmp_path / "home", allow_edits=True) as viewer:

        def post(what: str, body: dict[str, Any]) -> Answer:
            return viewer.ask(f"/api/v1/sessions/{LONG}/{what}", "POST", body=json.dumps(body).encode(), headers=json_type)

        everything = post("edit", {"edits": [{"edit": "drop-turns"}], "apply": True})
        assert (everything.status, valid(everything)["code"]) == (400, "invalid-request")
        edited = valid(post("edit", {"edits": [{"edit": "drop-turns", "which": {"turns": [[1, 2]]}}], "apply": True}))
        assert (edited["applied"], edited["entry"]) == (True, 1)
        assert len(valid(viewer.ask(f"/api/v1/sessions/{LONG}/turns"))["turns"]) == 4
        assert path.read_bytes() != before
        assert [entry["entry"] for entry in valid(viewer.ask(f"/api/v1/sessions/{LONG}/edits"))["entries"]] == [1]
        assert valid(post("undo", {"entry": 7}))["code"] == "edit-not-found"
        assert valid(post("undo", {}))["schema"].startswith("undo/")
        assert path.read_bytes() == before


def test_a_plan_is_applied_only_to_the_session_that_it_was_made_from(tmp_path: Path) -> None:
    """Two tabs: after the edit of one, the turns of the other's plan have other numbers."""
    path = write_session(tmp_path / "home", LONG, chained(turns(6)))
    json_type = {"Content-Type": "application/json"}
    with served(tmp_path / "home", allow_edits=True) as viewer:

        def post(number: int, **more: Any) -> Answer:
            body = {"edits": [{"edit": "drop-turns", "which": {"turns": [[number, number]]}}], **more}
            return viewer.ask(f"/api/v1/sessions/{LONG}/edit", "POST", body=json.dumps(body).encode(), headers=json_type)

        first, second = (valid(post(number)) for number in (1, 2))
        assert valid(post(1, apply=True, state=first["state"]))["applied"] is True
        edited = path.read_bytes()
        refused = post(2, apply=True, state=second["state"])
        assert (refused.status, valid(refused)["code"]) == (409, "session-changed")
        assert path.read_bytes() == edited


def test_a_page_reveals_with_its_cookie_and_its_own_token(viewer: Served) -> None:
    shown = viewer.ask(f"/api/v1/sessions/{TOOLS}/records/3").text
    placeholder = "[github-token:" + shown.partition("[github-token:")[2].partition("]")[0] + "]"
    body = json.dumps({"placeholder": placeholder}).encode()
    cookie = viewer.raw(f"/?token={viewer.access.token}").headers["Set-Cookie"].partition(";")[0]
    page = {"Cookie": cookie, "Origin": f"http://127.0.0.1:{viewer.access.port}", "Content-Type": "application/json"}
    assert viewer.raw("/api/v1/reveal", "POST", body=body, headers=page).status == 403
    assert f'name="csrf" content="{viewer.access.csrf}"' in viewer.raw(f"/s/{TOOLS}", headers={"Cookie": cookie}).text
    answer = viewer.raw("/api/v1/reveal", "POST", body=body, headers=page | {"X-Steno-CSRF": viewer.access.csrf})
    assert valid(answer)["secret"] == KEY


def test_an_answer_is_made_once_for_many_readers() -> None:
    cache = AnswerCache(100)
    made: list[int] = []

    def make() -> bytes:
        made.append(1)
        return b"x" * 20

    assert {cache.get("one", 1, make) for _ in range(3)} == {b"x" * 20}
    assert len(made) == 1
    time.sleep(0.01)
    cache.get("one", 2, make)
    assert len(made) == 2
    for number in range(10):
        cache.get(number, 1, make)
    cache.get("one", 2, make)  # forgotten, for there is room for five
    assert len(made) == 13
    assert cache.get("large", 1, lambda: b"x" * 90) == b"x" * 90


def test_a_search_counts_by_place_project_and_tool(viewer: Served) -> None:
    # "key" is in the prompt of one session, in its call of Bash, and in what that printed.
    found = viewer.ask("/api/v1/search?q=key&facets=true").json["facets"]
    assert found["kinds"] == {"prompt": 1, "input": 1, "output": 1}
    assert found["tools"] == {"Bash": 2}
    assert sum(found["projects"].values()) == 3
    assert viewer.ask("/api/v1/search?q=key").json["facets"] is None


def test_statistics_do_not_wait_for_the_usage_page(viewer: Served) -> None:
    tools = {tool["name"]: (tool["calls"], tool["failed"]) for tool in viewer.ask("/api/v1/stats").json["tools"]}
    assert tools == {"Bash": (1, 0), "Read": (1, 1)}


def test_a_page_that_is_missing_leads_back(viewer: Served) -> None:
    missing = viewer.ask("/s/none")
    assert missing.status == 404
    assert "No such session" in missing.text
    assert 'aria-label="Pages"' in missing.text
    # Who is not let in learns nothing but that.
    assert "aria-label" not in viewer.raw("/s/none").text


def test_a_page_says_what_is_not_there(viewer: Served) -> None:
    headings = [re.findall("<h1[^>]*>([^<]*)", viewer.ask(f"/s/{target}").text) for target in ("none", f"{LONG}?branch=9")]
    assert headings == [["No such session"], ["No such branch"]]


def test_a_search_ends_in_time(viewer: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    """A link of any site can open the page of a search, and others wait until it is answered."""
    many = "+OR+".join(f"{letter}*" for letter in "abcdefghijklmnopqrstuvwxyz")

    def ask(limit: int) -> Answer:
        """With a limit of its own: answers are kept as long as nothing changes."""
        return viewer.ask(f"/api/v1/search?q={many}&facets=true&limit={limit}")

    found = ask(50).json
    assert found["facets"]["kinds"]
    monkeypatch.setattr("stenograph.index.store._BETWEEN_LOOKS", 10)  # these sessions are small
    monkeypatch.setattr(home_questions, "_LONGEST_COUNT", -1.0)
    assert ask(51).json == found | {"facets": None}
    monkeypatch.setattr(home_questions, "_LONGEST_SEARCH", -1.0)
    assert (ask(52).status, "took too long" in ask(52).json["detail"]) == (400, True)
    assert "took too long" in viewer.ask(f"/search?q={many}").text
    monkeypatch.undo()
    assert ask(53).json == found
