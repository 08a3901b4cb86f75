"""Sessions that no client wrote: what the real clients sent for blocks, ids and texts that are of no sensible kind.

Each was asked of the releases that it names. Where a client dies of a session nothing is said but that messages can be made.
"""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any

import pytest
from tests.messages.golden import RELEASES
from tests.messages.hard_cases import Json, Line, answer, call, result, returned, session, text, thinking, user

from stenograph.graph import Graph, build_graph
from stenograph.messages import explain, lost, plain, resume_messages
from stenograph.records import read_all_records

OLD, MIDDLE, NEW = RELEASES
ODD_KINDS: list[Any] = [None, 5, True, 1e308, [], {}, ["x"], {"a": 1}]


def _graph(folder: Path, lines: list[Line] | bytes) -> Graph:
    path = folder / "session.jsonl"
    path.write_bytes(lines if isinstance(lines, bytes) else session(lines))
    return build_graph([(path, "", read_all_records(path))])


def _sent(folder: Path, release: str, *lines: Line) -> list[tuple[str, list[Json]]]:
    messages = plain(resume_messages(_graph(folder, list(lines)), release))
    return [(message["role"][0], message["content"]) for message in messages]


def _contents(folder: Path, release: str, *lines: Line) -> list[list[Json]]:
    return [content for _, content in _sent(folder, release, *lines)]


@pytest.mark.parametrize("kind", ODD_KINDS)
def test_the_newest_client_leaves_out_a_block_whose_type_is_no_string(tmp_path: Path, kind: Any) -> None:
    odd = {"type": kind, "text": "t"}
    lines = [user(1, 0, [text("q"), odd]), answer(2, 1, [odd, text("a")])]
    assert _contents(tmp_path, NEW, *lines) == [[text("q")], [text("a")]]
    for release in (OLD, MIDDLE):
        assert _contents(tmp_path, release, *lines) == [[text("q"), odd], [odd, text("a")]]


def test_a_line_of_such_blocks_alone_is_as_if_it_were_not_there(tmp_path: Path) -> None:
    odd = {"type": 7}
    answered = [user(1, 0, "q"), answer(2, 1, [odd]), user(3, 2, "q2"), answer(4, 3, "a2")]
    assert _contents(tmp_path, NEW, *answered) == [[text("q\n"), text("q2")], [text("a2")]]
    assert _contents(tmp_path, NEW, user(1, 0, "q"), answer(2, 1, "a"), user(3, 2, [odd])) == [[text("q")], [text("a")]]
    ends = [user(1, 0, "q"), answer(2, 1, [odd])]
    assert _contents(tmp_path, NEW, *ends) == [[text("q")], [text("No response requested.")]]
    thought = [user(1, 0, "q"), answer(2, 1, [thinking("x"), odd]), user(3, 2, "q2"), answer(4, 3, "b")]
    assert _contents(tmp_path, NEW, *thought) == [[text("q\n"), text("q2")], [text("b")]]
    assert _contents(tmp_path, MIDDLE, *thought) == [[text("q")], [thinking("x"), odd], [text("q2")], [text("b")]]


@pytest.mark.parametrize("words", [{}, {"text": None}])
def test_a_text_without_words_is_left_out_by_the_newest_client_alone(tmp_path: Path, words: Json) -> None:
    bare = {"type": "text", **words}
    lines = [user(1, 0, [bare]), user(2, 1, "q"), answer(3, 2, [bare, text("a")])]
    assert _contents(tmp_path, NEW, *lines) == [[text("q")], [text("a")]]
    if not words:  # of null 2.1.45 dies
        assert _contents(tmp_path, MIDDLE, *lines) == [[bare, text("q")], [bare, text("a")]]


def test_a_text_that_is_a_number_is_left_out_of_an_answer(tmp_path: Path) -> None:
    lines = [user(1, 0, "q"), answer(2, 1, [{"type": "text", "text": 5}])]
    assert _contents(tmp_path, NEW, *lines) == [[text("q")], [text("No response requested.")]]
    assert _contents(tmp_path, OLD, *lines) == [[text("q")], [{"type": "text", "text": 5}]]


@pytest.mark.parametrize("use", [5, None])
def test_a_call_is_answered_by_a_result_with_the_same_number_except_in_the_oldest_client(tmp_path: Path, use: Any) -> None:
    asked, given = call("x") | {"id": use}, returned("x") | {"tool_use_id": use}
    lines = [user(1, 0, "q"), answer(2, 1, [asked]), result(3, 2, given), answer(4, 3, "done")]
    for release in (MIDDLE, NEW):
        assert _contents(tmp_path, release, *lines) == [[text("q")], [asked], [given], [text("done")]]
    assert _contents(tmp_path, OLD, *lines) == [[given, text("q")], [text("done")]]


@pytest.mark.parametrize("use", [["x"], {"a": 1}, [], {}])
def test_ids_that_are_objects_are_never_the_same(tmp_path: Path, use: Any) -> None:
    asked, given = call("x") | {"id": use}, returned("x") | {"tool_use_id": use}
    lines = [user(1, 0, "q"), answer(2, 1, [asked]), result(3, 2, given), answer(4, 3, "done")]
    assert _contents(tmp_path, NEW, *lines) == [[text("q")], [text("done")]]
    for release in (OLD, MIDDLE):
        assert _contents(tmp_path, release, *lines) == [[given, text("q")], [text("done")]]
    cut_off = _contents(tmp_path, NEW, *lines[:2])
    assert cut_off[1] == [asked]
    assert [block["tool_use_id"] for block in cut_off[2]] == [use]
    beside = [user(1, 0, "q"), answer(2, 1, [call("a")]), result(3, 2, returned("a"), given), answer(4, 3, "done")]
    assert _contents(tmp_path, NEW, *beside)[2] == [returned("a")]


@pytest.mark.parametrize("parts", [[None], [1, "x"]])
def test_parts_of_a_result_that_are_no_blocks_are_sent_as_they_stand(tmp_path: Path, parts: Any) -> None:
    lines = [user(1, 0, "q"), answer(2, 1, [call("a")]), result(3, 2, returned("a", parts)), answer(4, 3, "done")]
    assert _contents(tmp_path, NEW, *lines)[2] == [returned("a", parts)]


def test_the_texts_of_a_failed_call_are_joined_whatever_stands_among_them(tmp_path: Path) -> None:
    failed = returned("a", [1, "x", text("w"), {"type": "text"}], is_error=True)
    lines = [user(1, 0, "q"), answer(2, 1, [call("a")]), result(3, 2, failed), answer(4, 3, "done")]
    assert _contents(tmp_path, NEW, *lines)[2] == [returned("a", [text("w\n\n")], is_error=True)]


def test_half_a_surrogate_pair_in_a_name_is_replaced_by_the_newest_client_too(tmp_path: Path) -> None:
    lines = [
        user(1, 0, "q"),
        answer(2, 1, [call("a", input={"a\ud800": "b\ud800"})]),
        result(3, 2, returned("a")),
        answer(4, 3, [{"type": "x", "\udc00": "y"}]),
    ]
    data = b"".join(json.dumps(line).encode() + b"\n" for line in lines)
    messages = plain(resume_messages(_graph(tmp_path, data), NEW))
    assert messages[1]["content"][0]["input"] == {"a\ufffd": "b\ufffd"}
    assert messages[3]["content"] == [{"type": "x", "\ufffd": "y"}]


def test_messages_can_be_made_of_every_member_with_every_kind_of_value(tmp_path: Path) -> None:
    values: list[Any] = [*ODD_KINDS, "", "\ud800", [None], [[]], [{"type": ["x"]}], [{"type": "tool_use"}], [{"type": "text"}]]
    values += [[{"type": "tool_result"}], [{"type": "tool_reference", "tool_name": ["x"]}]]
    uses = [thinking("t"), text("a"), call("a"), call("b")]
    lines = [
        user(1, 0, [text("q")]),
        answer(2, 1, uses),
        result(3, 2, returned("a", [text("r")], is_error=True), returned("b", [{"type": "tool_reference", "tool_name": "x"}])),
        answer(4, 3, [thinking("t"), text(" ")]),
        user(5, 4, [text("p")]),
        answer(6, 5, [call("c")]),
    ]
    names = ("type", "id", "name", "input", "tool_use_id", "content", "is_error", "text", "thinking", "signature")
    for name, value in itertools.product(names, values):
        changed = json.loads(json.dumps(lines))
        for line in changed:
            for block in line["message"]["content"]:
                if name in block:
                    block[name] = value
        graph = _graph(tmp_path, b"".join(json.dumps(line).encode() + b"\n" for line in changed))
        for release in RELEASES:
            resume = resume_messages(graph, release)
            assert resume.messages is not None, (release, name, value)
            assert len(explain(resume, graph)) == len(lines)
            assert lost(graph, release).said.messages == len(lines)


@pytest.mark.parametrize("depth", [400, 600, 900])
def test_an_input_may_be_deep(tmp_path: Path, depth: int) -> None:
    lines = [user(1, 0, "q"), answer(2, 1, [call("a", input={"x": "deep"})]), result(3, 2, returned("a")), answer(4, 3, "done")]
    graph = _graph(tmp_path, session(lines).replace(b'"deep"', b"[" * depth + b"]" * depth))
    for release in RELEASES:
        resume = resume_messages(graph, release)
        assert [message.role for message in resume.messages or []] == ["user", "assistant", "user", "assistant"]
        assert [one.rule for one in explain(resume, graph)] == ["sent"] * 4
        assert lost(graph, release).said.tool_calls == 1
