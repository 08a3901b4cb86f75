"""Partial reads: what a line says without being decoded."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec import UNSET, Raw

from stenograph.records import AssistantRecord, TextBlock, decode, encode, message_id_of, text_of
from stenograph.records.peek import (
    compactions_backwards,
    file_history_of,
    is_aborted,
    is_object,
    may_be_agent_progress,
    may_name_cwd,
    may_use_the_web,
    members,
    outline,
    session_named,
    shown_file,
)


@pytest.mark.parametrize(
    ("line", "expected"), [(b'{"a":1}', True), (b"{}", True), (b"[1]", False), (b'{"a":', False), (b"1", False), (b"", False)]
)
def test_a_whole_object_is_told_from_anything_else(line: bytes, expected: bool) -> None:
    assert is_object(line) is expected


def test_members_say_whether_a_line_is_strict_json() -> None:
    assert members(b'{"a":1}') == ({"a": 1}, True)
    assert members(b'{"a":"\xff"}')[1] is False


def test_hints_look_for_bytes() -> None:
    assert may_name_cwd(b'{"cwd":"/"}')
    assert not may_name_cwd(b'{"type":"user"}')
    plain = decode(b'{"type":"progress","uuid":"u"}')
    agent = decode(b'{"type":"progress","uuid":"u","data":{"type":"agent_progress"}}')
    assert (may_be_agent_progress(plain), may_be_agent_progress(agent)) == (False, True)
    web = decode(b'{"type":"assistant","uuid":"u","message":{"content":[{"type":"tool_use","id":"t","name":"WebFetch"}]}}')
    assert (may_use_the_web(plain), may_use_the_web(web)) == (False, True)
    for value, expected in ((b"true", True), (b"false", False), (b'"true"', False)):
        line = b'{"type":"assistant","uuid":"u","isAbortedMidStream":' + value + b"}"
        assert is_aborted(decode(line)) is expected


def test_the_history_of_files_is_read_in_order_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    lines = [
        '{"type":"user","said":"\\"file-history-snapshot\\""}',
        '{"type":"file-history-snapshot","n":1}',
        '{"type":"user","note":"file-history-delta"}',
        '{"type":"file-history-delta","n":2}',
        '{"type":"file-history-',
    ]
    path.write_text("\n".join(lines), encoding="utf-8")
    assert [line["n"] for line in file_history_of(path)] == [1, 2]


@pytest.mark.parametrize(
    ("result", "expected"),
    [
        ('{"filePath":"/a\\"b","oldString":"x","newString":"y"}', ('/a"b', None)),
        # With a name too long for the quick look, and in another order.
        ('{"filePath":"/' + 9000 * "a" + '","oldString":"x"}', ("/" + 9000 * "a", None)),
        ('{"oldString":"\\"filePath\\":\\"/b\\"","filePath":"/a"}', ("/a", None)),
        ('{"type":"create","filePath":"/a","content":"x"}', ("/a", True)),
        ('{"type":"text","file":{"filePath":"/a","content":"x","numLines":1,"totalLines":2}}', ("/a", False)),
        ('{"type":"text","file":{"filePath":"/a","content":"x","numLines":2,"totalLines":2}}', ("/a", True)),
        ('{"stdout":"x"}', None),
        ('"Error: x"', None),
        ("{", None),
    ],
)
def test_the_file_of_a_result_is_known_without_its_texts(result: str, expected: tuple[str, bool | None] | None) -> None:
    assert shown_file(Raw(result.encode())) == expected
    assert shown_file(UNSET) is None


def test_compactions_are_found_from_the_end() -> None:
    data = b'{"a":"compact_boundary"}\n{"b":1}\n{"c":"compact_boundary"}'
    found = list(compactions_backwards(data, len(data)))
    assert [data[start:stop] for start, stop in found] == [b'{"c":"compact_boundary"}', b'{"a":"compact_boundary"}']
    assert list(compactions_backwards(data, 30)) == [(0, 24)]


def test_the_last_session_named_counts_within_the_size(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    lines = [b'{"sessionId":"one"}\n', b'{"sessionId":"two"}\n', b'{"sessionId":""}\n', b'{"sessionId":5}\n', b'{"sessionId":"\n']
    path.write_bytes(b"".join(lines))
    assert session_named(path, 1000) == "two"
    assert session_named(path, len(lines[0])) == "one"


@pytest.mark.parametrize("more", ["", ",5"])  # a block that is not an object
def test_an_outline_keeps_places_and_no_words(more: str) -> None:
    blocks = '{"type":"text","text":"secret"},{"type":"tool_use","id":"t","input":{}}' + more
    message = f'{{"id":"m","content":[{blocks}]}}'
    record = outline(f'{{"type":"assistant","uuid":"u","parentUuid":"p","cwd":"/secret","message":{message}}}'.encode())
    assert isinstance(record, AssistantRecord)
    assert (record.uuid, record.parentUuid, message_id_of(record)) == ("u", "p", "m")
    assert record.cwd is UNSET
    assert isinstance(record.content, tuple)
    assert len(record.content) == (3 if more else 2)
    assert b"secret" not in encode(record)


@pytest.mark.parametrize(("content", "expected"), [('"words"', ""), ("null", None), ("[]", ()), ("{}", None), (r'"\ud83d"', "")])
def test_an_outline_keeps_no_text_that_is_not_in_blocks(content: str, expected: object) -> None:
    said = outline(f'{{"type":"user","uuid":"u","message":{{"content":{content}}}}}'.encode())
    assert getattr(said, "content", None) == expected


def test_what_is_not_an_object_has_no_outline() -> None:
    assert [outline(line) for line in (b"", b"5", b"[{}]", b'{"type":"user"')] == [None] * 4


def test_texts_and_ids_are_found_where_they_are() -> None:
    assert text_of("words") == "words"
    assert text_of((TextBlock(text="a"), TextBlock(text="b"))) == "a\n\nb"
    assert text_of(None) == ""
    assert message_id_of(decode(b'{"type":"assistant","uuid":"u","message":{"id":"m"}}')) == "m"
    assert message_id_of(decode(b'{"type":"assistant","uuid":"u","message":{"id":5}}')) == ""
    assert message_id_of(decode(b'{"type":"assistant","uuid":"u"}')) == ""
    assert message_id_of(decode(b'{"type":"user","uuid":"u","message":{"id":"m"}}')) == ""
