"""Whole files: every byte belongs to a record or a finding, whatever the bytes."""

from __future__ import annotations

import gc
import json
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.corpora import FIXTURES

from stenograph.errors import UnreadableError
from stenograph.records import (
    DamagedRecord,
    Located,
    encode,
    find_invalid_text,
    gc_paused,
    read_all_records,
    read_grown_records,
    read_records,
    rebuild,
)

ZOO = (FIXTURES / "zoo.jsonl").read_bytes()
ANY_BYTES = st.binary(max_size=40) | st.sampled_from(
    [b"\n", b"\r\n", b"\x00", b"\xef\xbb\xbf", b"\xff", b"null\n", b"{}", b'"', b"\\"]
)

quick = settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


def put_together(located: list[Located], size: int) -> bytes:
    """The file from its records alone, each at its place, newlines everywhere else."""
    whole = bytearray(b"\n" * size)
    for each in located:
        line = encode(each.record)
        assert len(line) == each.length
        whole[each.offset : each.offset + each.length] = line
    return bytes(whole)


def assert_whole(path: Path) -> list[Located]:
    data = path.read_bytes()
    located = list(read_records(path))
    assert put_together(located, len(data)) == data
    assert [each.number for each in located] == list(range(1, len(located) + 1))
    for each in located:
        assert isinstance(each.record, DamagedRecord) <= (each.finding is not None)
        if not isinstance(each.record, DamagedRecord):
            json.dumps(rebuild(each.record))
    return located


@quick
@given(data=st.data())
def test_any_mutation_of_a_session_still_reads(tmp_path: Path, data: st.DataObject) -> None:
    damaged = bytearray(ZOO)
    for _ in range(data.draw(st.integers(1, 8))):
        at = data.draw(st.integers(0, len(damaged)))
        until = data.draw(st.integers(at, min(len(damaged), at + 60)))
        damaged[at:until] = data.draw(ANY_BYTES)
    path = tmp_path / "session.jsonl"
    path.write_bytes(damaged)
    assert_whole(path)


@quick
@given(content=st.binary(max_size=400) | st.lists(ANY_BYTES, max_size=20).map(b"".join))
def test_any_bytes_at_all_read(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "session.jsonl"
    path.write_bytes(content)
    assert_whole(path)


@pytest.mark.parametrize("path", sorted((FIXTURES / "invented").glob("*.jsonl")), ids=lambda path: path.name)
def test_invented_lines_hide_none_of_their_neighbours(path: Path) -> None:
    assert len(assert_whole(path)) == path.read_bytes().count(b"\n") + (not path.read_bytes().endswith(b"\n"))


def read_text(tmp_path: Path, content: bytes) -> list[Located]:
    path = tmp_path / "session.jsonl"
    path.write_bytes(content)
    return list(read_records(path))


@pytest.mark.parametrize(
    ("content", "codes"),
    [
        (b'{"type":"user"}\n{"type":"us', [None, "torn-tail"]),
        (b'{"type":"us\n{"type":"user"}\n', ["damaged-line-not-json", None]),
        (b'{"type":"user"}', ["missing-final-newline"]),
        (b'{"type":"user"}\n\n{"type":"user"}\n', [None, "blank-line", None]),
        (b'{"type":"user"}{"type":"user"}\n', ["damaged-line-several-values"]),
        (b"null\n", ["damaged-line-not-an-object"]),
        (b'{"type":"user","cwd":"\xff"}\n', [None]),
        ('{"type":"user","cwd":"/é\u2028"}\n'.encode(), [None]),
        (b'\xef\xbb\xbf{"type":"user"}\r\n', [None]),
        (b"", []),
    ],
)
def test_what_is_wrong_with_a_line_is_a_finding_beside_it(tmp_path: Path, content: bytes, codes: list[str | None]) -> None:
    found = [each.finding and each.finding.code for each in read_text(tmp_path, content)]
    assert found == codes


def test_bytes_that_are_not_utf8_are_found_by_a_look_of_their_own(tmp_path: Path) -> None:
    located = read_text(tmp_path, '{"cwd":"/é"}\n'.encode() + b'{"cwd":"\xff"}\n{"cwd":"a"}\n')
    (found,) = find_invalid_text(tmp_path / "session.jsonl", located)
    assert (found.code, found.line, found.offset, found.length) == ("invalid-utf8", 2, 14, 11)


@quick
@given(content=st.lists(ANY_BYTES, max_size=20).map(b"".join))
def test_a_file_read_as_a_whole_gives_the_same_records(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "session.jsonl"
    path.write_bytes(content)
    streamed, whole = list(read_records(path)), list(read_all_records(path))
    assert [encode(each.record) for each in whole] == [encode(each.record) for each in streamed]
    assert [each.record.kind for each in whole] == [each.record.kind for each in streamed]
    places = [(each.number, each.offset, each.length, each.finding) for each in whole]
    assert places == [(each.number, each.offset, each.length, each.finding) for each in streamed]


def test_a_finding_says_where(tmp_path: Path) -> None:
    finding = read_text(tmp_path, b'{"type":"user"}\n{"type":\n')[1].finding
    assert finding
    assert (finding.line, finding.offset, finding.length) == (2, 16, 8)
    assert finding.path == tmp_path / "session.jsonl"


def test_reading_goes_on_from_an_offset(tmp_path: Path) -> None:
    read_text(tmp_path, b'{"type":"user","uuid":"a"}\n{"type":"user","uuid":"b"}\n')
    later = list(read_records(tmp_path / "session.jsonl", start=27))
    assert [rebuild(each.record)["uuid"] for each in later] == ["b"]
    assert later[0].offset == 27


def test_a_folder_or_a_missing_file_is_refused_in_one_line(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "none.jsonl"):
        with pytest.raises(UnreadableError) as refused:
            list(read_records(path))
        assert "\n" not in str(refused.value)


@pytest.mark.parametrize("was_on", [True, False])
def test_garbage_is_not_collected_while_values_are_made(was_on: bool) -> None:
    before = gc.isenabled()
    try:
        (gc.enable if was_on else gc.disable)()
        with gc_paused():
            assert not gc.isenabled()
        assert gc.isenabled() is was_on
    finally:
        (gc.enable if before else gc.disable)()


@quick
@given(lines=st.lists(ANY_BYTES | st.sampled_from(ZOO.splitlines(keepends=True)), max_size=12), data=st.data())
def test_a_file_that_grew_is_read_as_if_it_had_always_been_so_long(
    tmp_path: Path, lines: list[bytes], data: st.DataObject
) -> None:
    whole = b"".join(lines)
    path = tmp_path / "grown.jsonl"
    known: list[Located] = []
    for cut in sorted(data.draw(st.lists(st.integers(0, len(whole)), max_size=4))):
        path.write_bytes(whole[:cut])
        known = read_grown_records(path, known)
        assert known == list(read_all_records(path))


def test_of_a_file_that_grew_only_new_lines_are_read(tmp_path: Path) -> None:
    path = tmp_path / "grown.jsonl"
    first, second, *rest = ZOO.splitlines(keepends=True)
    path.write_bytes(first + second)
    known = read_grown_records(path, ())
    path.write_bytes(ZOO)
    grown = read_grown_records(path, known)
    assert [each is old for each, old in zip(grown, known, strict=False)] == [True, True]
    assert len(grown) == len(rest) + 2
    # Another file, shorter or as long: nothing of the old one is left.
    for other in (second, second * len(grown)):
        path.write_bytes(other)
        assert read_grown_records(path, grown) == list(read_all_records(path))
