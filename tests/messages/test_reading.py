"""Long files: a client reads them from the last compaction on that preserves nothing (rule 51).

What is expected here is what 2.1.325 sent, asked about the very same sessions.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.corpora import FIXTURES, lines_of
from tests.messages.hard_cases import Json, Line, answer, boundary, hard_cases, session, stamp, uid, user, without

import stenograph
from stenograph.graph import Graph, build_graph
from stenograph.messages import explain, plain, read_for_resume, resume_messages
from stenograph.records import AssistantRecord, UserRecord, decode, read_all_records, rebuild
from stenograph.records.conversation import plain_message

NEW = "2.1.325"
# The longest file that is read as a whole.
LIMIT = 5 * 1024 * 1024


def _long(lines: list[Json], size: int = LIMIT + 50_000) -> bytes:
    """A session with a line behind its first one that no client sends, so long that the whole has this size."""
    filler = {"type": "file-history-snapshot", "messageId": uid(5000), "isSnapshotUpdate": False}
    backups = {"f": ""}
    filler["snapshot"] = {"messageId": uid(5000), "trackedFileBackups": backups, "timestamp": stamp(1)}
    whole: list[Line] = [lines[0], filler, *lines[1:]]
    backups["f"] = "x" * (size - len(session(whole)))
    data = session(whole)
    assert len(data) == size
    return data


def _head() -> list[Json]:
    return [user(1, None, "q1"), answer(2, 1, "a"), user(3, 2, "q2"), answer(4, 3, "b")]


def _compacted(number: int, **metadata: Json | None) -> list[Json]:
    return [
        boundary(number, None, logicalParentUuid=uid(4), compactMetadata=metadata),
        user(number + 1, number, "summary", isCompactSummary=True),
    ]


def _goes_on_from(parent: int) -> list[Json]:
    return [answer(9, 6, "x"), user(7, parent, "q3"), answer(8, 7, "c")]


def _twice(first: dict[str, Json], second: dict[str, Json], parent: int) -> list[Json]:
    return [
        *_head(),
        *_compacted(5, **first),
        answer(9, 6, "x"),
        *_compacted(10, **second),
        user(12, parent, "q4"),
        answer(13, 12, "d"),
    ]


def _segment(head: int, tail: int, anchor: int) -> Json:
    return {"headUuid": uid(head), "anchorUuid": uid(anchor), "tailUuid": uid(tail)}


_SIBLING = [_head()[0], answer(2, 1, "a"), answer(20, 1, "beside", of="msg_shared"), *_head()[2:], *_compacted(5)]
_AS_A_VALUE = {**user(7, 2, "q3"), "toolUseResult": {"type": "system", "subtype": "compact_boundary"}}

#: Session, what is sent of it when it is short, and when it is long.
CASES: dict[str, tuple[list[Json], str, str]] = {
    "plain": ([*_head(), *_compacted(5), user(7, 6, "q3"), answer(8, 7, "c")], "summary q3 | c", "summary q3 | c"),
    "it goes on from a line before": ([*_head(), *_compacted(5), *_goes_on_from(2)], "q1 | a | q3 | c", "summary q3 | c"),
    "a line of the same response before": (
        [*_SIBLING, user(7, 6, "q3"), answer(8, 7, "c", of="msg_shared")],
        "summary q3 | c beside",
        "summary q3 | c",
    ),
    "a line before hangs off the last": (
        [*_head()[:2], user(30, 8, "early"), *_head()[2:], *_compacted(5), user(7, 6, "q3"), answer(8, 7, "c")],
        "summary q3 | c | early | No response requested.",
        "summary q3 | c",
    ),
    "the boundary has no uuid": (
        [*_head(), without(_compacted(5)[0], "uuid"), user(6, None, "summary"), *_goes_on_from(2)],
        "q1 | a | q3 | c",
        "summary q3 | c",
    ),
    "no segment is preserved": (
        [*_head(), *_compacted(5, preservedSegment=None), *_goes_on_from(2)],
        "q1 | a | q3 | c",
        "summary q3 | c",
    ),
    "an empty segment is preserved": (
        [*_head(), *_compacted(5, preservedSegment={}), *_goes_on_from(2)],
        "q1 | a | q3 | c",
        "q1 | a | q3 | c",
    ),
    "a segment is preserved": (
        [*_head(), *_compacted(5, preservedSegment=_segment(3, 4, 6)), user(7, 6, "q3"), answer(8, 7, "c")],
        "summary q2 | b | q3 | c",
        "summary q2 | b | q3 | c",
    ),
    "what is preserved stands behind another compaction": (
        _twice({}, {"preservedSegment": _segment(6, 9, 11)}, 11),
        "summary summary | x | q4 | d",
        "summary summary | x | q4 | d",
    ),
    "what is preserved stands before another compaction": (
        _twice({}, {"preservedSegment": _segment(3, 4, 11)}, 11),
        "summary q2 | b | q4 | d",
        "summary q4 | d",
    ),
    "no boundary, but its name as a value": (
        [*_head(), user(6, None, "summary"), answer(9, 6, "x"), _AS_A_VALUE, answer(8, 7, "c")],
        "q1 | a | q3 | c",
        "q1 | a | q3 | c",
    ),
}


def _said(graph: Graph, release: str = NEW) -> str:
    messages = plain(resume_messages(graph, release))
    return " | ".join(" ".join(block["text"].strip() for block in message["content"]) for message in messages)


def _whole(path: Path) -> Graph:
    return build_graph([(path, "", read_all_records(path))])


@pytest.fixture
def write(tmp_path: Path) -> Callable[[bytes], Path]:
    def written(data: bytes) -> Path:
        path = tmp_path / "s.jsonl"
        path.write_bytes(data)
        return path

    return written


@pytest.mark.parametrize("name", CASES)
def test_of_a_long_file_a_client_reads_what_follows_the_last_compaction(name: str, write: Callable[[bytes], Path]) -> None:
    lines, short, long = CASES[name]
    assert _said(_whole(write(session(lines)))) == short
    path = write(_long(lines))
    assert _said(_whole(path)) == long
    assert _said(read_for_resume(path)) == long


def test_a_file_is_long_from_one_byte_above_five_mebibytes_on(write: Callable[[bytes], Path]) -> None:
    lines, short, long = CASES["it goes on from a line before"]
    for size, said in ((LIMIT, short), (LIMIT + 1, long)):
        path = write(_long(lines, size))
        assert (_said(_whole(path)), _said(read_for_resume(path))) == (said, said)
        # Without the last newline it is one byte shorter.
        path.write_bytes(_long(lines, size + 1)[:-1])
        assert (_said(_whole(path)), _said(read_for_resume(path))) == (said, said)


@pytest.mark.parametrize("release", ["2.0.76", "2.1.45"])
def test_old_releases_read_long_files_whole(release: str, write: Callable[[bytes], Path]) -> None:
    path = write(_long(CASES["it goes on from a line before"][0]))
    assert _said(read_for_resume(path, release), release) == "summary | x"


def test_a_boundary_that_is_damaged_is_none(write: Callable[[bytes], Path]) -> None:
    data = _long(CASES["it goes on from a line before"][0]).replace(b'"level":"info"', b'"level":"info')
    assert _said(read_for_resume(write(data))) == "q1 | a | q3 | c"


def test_lines_keep_their_numbers_when_only_the_end_is_read(write: Callable[[bytes], Path]) -> None:
    path = write(_long(CASES["plain"][0]))
    graph = read_for_resume(path)
    # One of the six lines before the boundary is the long one.
    assert [node.number for node in graph.nodes] == [6, 7, 8, 9]
    whole = {node.number: (node.offset, node.length) for node in _whole(path).nodes}
    assert all(whole[node.number] == (node.offset, node.length) for node in graph.nodes)


def test_lines_that_are_not_read_are_explained_as_such(write: Callable[[bytes], Path]) -> None:
    graph = _whole(write(_long(CASES["plain"][0])))
    told = {one.line: one.rule.split(":")[0] for one in explain(resume_messages(graph, NEW), graph)}
    assert told == {1: "51", 2: "34", 3: "51", 4: "51", 5: "51", 6: "48", 7: "sent", 8: "sent", 9: "sent"}


def test_what_a_resume_needs_of_a_message_is_read_as_the_whole_message_is() -> None:
    hard = [line for case in hard_cases() for line in case.data.split(b"\n")]
    recorded = [line for path in sorted(FIXTURES.rglob("*.jsonl")) for line in lines_of(path)]
    compared = 0
    for record in map(decode, (*hard, *recorded)):
        if isinstance(record, UserRecord | AssistantRecord):
            read = plain_message(record)
            assert read.content == rebuild(record.content) or not isinstance(read.content, str | list)
            if isinstance(record, AssistantRecord) and record.message:
                assert (read.id or None, read.model or None) == (record.message.id or None, record.message.model or None)
            compared += 1
    assert compared > 2000


def test_a_session_s_messages_are_loaded_by_path_and_by_name(write: Callable[[bytes], Path]) -> None:
    path = write(session(CASES["plain"][0]))
    by_path = stenograph.load_messages(path)
    assert json.dumps(plain(by_path)) == json.dumps(plain(stenograph.load_messages(str(path), NEW)))
    assert [message["role"] for message in plain(by_path)] == ["user", "assistant"]
