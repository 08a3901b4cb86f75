from __future__ import annotations

import io
import itertools
import os
import tracemalloc
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stenograph.disk import Line, read_ends, read_line_blocks, read_lines, scan_line_blocks
from stenograph.errors import UnreadableError

#: Bytes with many newlines: plain random bytes hardly hold any.
lumpy_bytes = st.lists(st.sampled_from([b"\n", b"\r\n", b"{}", b"\x00", b"\xff", b"long line"]) | st.binary()).map(b"".join)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "session.jsonl"


@pytest.fixture(scope="module")
def shared_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One file for all examples of a property."""
    return tmp_path_factory.mktemp("lines") / "session.jsonl"


@pytest.mark.parametrize(
    ("data", "lines"),
    [
        pytest.param(b"", [], id="empty file"),
        pytest.param(b"\n", [Line(1, 0, b"")], id="one blank line"),
        pytest.param(b"{}\n", [Line(1, 0, b"{}")], id="one line"),
        pytest.param(b"{}", [Line(1, 0, b"{}", ended=False)], id="no final newline"),
        pytest.param(b"a\nb", [Line(1, 0, b"a"), Line(2, 2, b"b", ended=False)], id="a torn tail"),
        pytest.param(b"\xef\xbb\xbf{}\n", [Line(1, 0, b"\xef\xbb\xbf{}")], id="BOM"),
        pytest.param(b"a\r\nb\r\n", [Line(1, 0, b"a\r"), Line(2, 3, b"b\r")], id="CRLF"),
        pytest.param(b"a\rb\n", [Line(1, 0, b"a\rb")], id="lone carriage return"),
        pytest.param(b"\x00\x00\na\n", [Line(1, 0, b"\x00\x00"), Line(2, 3, b"a")], id="NUL bytes"),
        pytest.param(b"a\n\n\nb\n", [Line(1, 0, b"a"), Line(2, 2, b""), Line(3, 3, b""), Line(4, 4, b"b")], id="blank"),
        pytest.param(b'"\xe2\x80\xa8"\n', [Line(1, 0, b'"\xe2\x80\xa8"')], id="U+2028"),
        pytest.param(b"\x0b\x0c\x1c\x85\n", [Line(1, 0, b"\x0b\x0c\x1c\x85")], id="what str.splitlines would split on"),
        pytest.param(b"\xff\xfe\n", [Line(1, 0, b"\xff\xfe")], id="invalid UTF-8"),
    ],
)
@pytest.mark.parametrize("block_size", [1, 2, 3, 1 << 20])
def test_lines_come_out_as_they_stand(file: Path, data: bytes, lines: list[Line], block_size: int) -> None:
    file.write_bytes(data)
    assert list(read_lines(file, block_size=block_size)) == lines


@given(data=lumpy_bytes, block_size=st.integers(1, 40))
def test_every_byte_is_in_a_line_or_is_its_newline(shared_file: Path, data: bytes, block_size: int) -> None:
    shared_file.write_bytes(data)
    lines = list(read_lines(shared_file, block_size=block_size))
    assert b"".join(line.data + b"\n" * line.ended for line in lines) == data
    assert [line.number for line in lines] == list(range(1, len(lines) + 1))
    assert all(data[line.offset : line.offset + len(line.data)] == line.data for line in lines)
    assert not any(b"\n" in line.data for line in lines)
    assert all(line.ended for line in lines[:-1])


@given(data=lumpy_bytes, block_size=st.integers(1, 40), skipped=st.integers(0, 20), dropped=st.integers(0, 20))
def test_a_range_is_read_as_a_file_of_its_own(
    shared_file: Path, data: bytes, block_size: int, skipped: int, dropped: int
) -> None:
    shared_file.write_bytes(data)
    stop = max(skipped, len(data) - dropped)
    lines = list(read_lines(shared_file, skipped, stop, block_size=block_size))
    assert b"".join(line.data + b"\n" * line.ended for line in lines) == data[skipped:stop]
    assert all(data[line.offset : line.offset + len(line.data)] == line.data for line in lines)


def test_a_stop_beyond_the_end_is_the_end(file: Path) -> None:
    file.write_bytes(b"a\nb\n")
    assert list(read_lines(file, 2, 1000)) == [Line(1, 2, b"b")]


def test_lines_longer_than_a_block_stand_between_short_ones(file: Path) -> None:
    long = bytes(range(11, 256)) * 20
    file.write_bytes(b"a\n" + long + b"\nb\n" + long + b"\n" + long)
    assert list(read_lines(file, block_size=64)) == [
        Line(1, 0, b"a"),
        Line(2, 2, long),
        Line(3, 4903, b"b"),
        Line(4, 4905, long),
        Line(5, 9806, long, ended=False),
    ]


def test_a_long_line_takes_its_size_in_memory_once(file: Path) -> None:
    size = 48 << 20
    with file.open("wb") as out:
        out.write(b"short\n")
        out.seek(size, os.SEEK_CUR)
        out.write(b"\nshort\n")
    lengths = []
    tracemalloc.start()
    try:
        for line in read_lines(file):
            lengths.append(len(line.data))
            del line
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert lengths == [5, size, 5]
    assert peak < size + (6 << 20)


def test_many_lines_take_a_few_blocks_in_memory(file: Path) -> None:
    file.write_bytes((b"x" * 999 + b"\n") * 40_000)
    tracemalloc.start()
    try:
        count = sum(1 for _ in read_lines(file))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert count == 40_000
    assert peak < 5 << 20


@pytest.mark.parametrize("block_size", [2, 5, 1 << 20])
def test_what_is_appended_while_reading_is_left_for_the_next_time(file: Path, block_size: int) -> None:
    file.write_bytes(b"one\ntwo\nthr")
    lines = read_lines(file, block_size=block_size)
    assert next(lines).data == b"one"
    with file.open("ab") as out:
        out.write(b"ee\nfour\n")
    assert list(lines) == [Line(2, 4, b"two"), Line(3, 8, b"thr", ended=False)]


@pytest.mark.parametrize("size", range(12))
def test_a_file_that_shrinks_while_reading_ends_early(file: Path, size: int) -> None:
    file.write_bytes(b"one\ntwo-two-two\nthree\n")
    lines = read_lines(file, block_size=4)
    assert next(lines).data == b"one"
    os.truncate(file, size)
    rest = list(lines)
    left = b"two-two-two"[: max(0, size - 4)]
    assert [(line.data, line.ended) for line in rest] == ([(left, False)] if left else [])


@pytest.mark.parametrize("size", [0, 4, 7])
def test_a_file_that_shrinks_while_a_long_line_is_measured_ends_early(
    file: Path, monkeypatch: pytest.MonkeyPatch, size: int
) -> None:
    from stenograph.disk import lines as module

    file.write_bytes(b"one\ntwo-two-two\nthree\n")
    find = module._find_newline

    def find_then_shrink(*args: object) -> int:
        found = find(*args)  # type: ignore[arg-type]
        os.truncate(file, size)
        return found

    monkeypatch.setattr(module, "_find_newline", find_then_shrink)
    lines = [(line.data, line.ended) for line in read_lines(file, block_size=4)]
    assert lines == [(b"one", True), *([(b"two", False)] if size == 7 else [])]


def test_a_file_rewritten_while_a_long_line_is_measured_still_splits_on_newlines(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from stenograph.disk import lines as module

    file.write_bytes(b"aaaaaaaaaa\nb\n")
    find = module._find_newline

    def find_then_rewrite(*args: object) -> int:
        found = find(*args)  # type: ignore[arg-type]
        file.write_bytes(b"cc\ndddd\neee\nb\n"[:13])
        return found

    monkeypatch.setattr(module, "_find_newline", find_then_rewrite)
    assert [line.data for line in read_lines(file, block_size=4)] == [b"cc", b"dddd", b"eee", b"b"]


@given(data=lumpy_bytes, block_size=st.integers(1, 40))
def test_blocks_are_whole_lines_that_hold_every_byte(shared_file: Path, data: bytes, block_size: int) -> None:
    shared_file.write_bytes(data)
    blocks = list(read_line_blocks(shared_file, block_size=block_size))
    assert b"".join(block for _, block in blocks) == data
    assert [offset for offset, _ in blocks] == list(itertools.accumulate((len(block) for _, block in blocks), initial=0))[:-1]
    assert all(block.endswith(b"\n") for _, block in blocks[:-1])


@pytest.fixture
def few_reads(monkeypatch: pytest.MonkeyPatch) -> None:
    """A loop that reads the same place again and again, into ever more memory, ends."""
    from stenograph.disk import lines as module

    fill, left = module._fill, iter(range(12))

    def count_and_fill(*args: object) -> int:
        assert next(left, None) is not None, "too many reads"
        return fill(*args)  # type: ignore[arg-type]

    monkeypatch.setattr(module, "_fill", count_and_fill)


@pytest.mark.usefixtures("few_reads")
@pytest.mark.parametrize("size", range(4, 14))
def test_blocks_of_a_file_that_shrinks_while_reading_end_early(file: Path, size: int) -> None:
    file.write_bytes(b"one\ntwo-two-two\nthree\n")
    buffer = bytearray(4)
    blocks = scan_line_blocks(file, buffer)
    assert next(blocks)[:2] == (0, 4)
    os.truncate(file, size)
    assert [bytes(found[:length]) for _, length, found in blocks] == [b"two-two-two"[: size - 4]] * (size > 4)
    assert len(buffer) == 4


@pytest.mark.usefixtures("few_reads")
@pytest.mark.parametrize("now", [b"one\ncc", b"one\ncc\n", b"one\ncc\ndddd\neee\n", b"one\n" + b"c" * 18])
def test_blocks_of_a_file_that_is_rewritten_while_a_long_line_is_measured_hold_what_there_is(
    file: Path, monkeypatch: pytest.MonkeyPatch, now: bytes
) -> None:
    from stenograph.disk import lines as module

    file.write_bytes(b"one\ntwo-two-two\nthree\n")
    find = module._find_newline

    def find_then_rewrite(*args: object) -> int:
        found = find(*args)  # type: ignore[arg-type]
        file.write_bytes(now)
        return found

    monkeypatch.setattr(module, "_find_newline", find_then_rewrite)
    assert b"".join(data for _, data in read_line_blocks(file, block_size=4)) == now


def test_a_long_line_leaves_a_shared_buffer_as_it_was(tmp_path: Path) -> None:
    long, short = tmp_path / "long", tmp_path / "short"
    long.write_bytes(b"a\n" + b"x" * 1000 + b"\nb\n")
    short.write_bytes(b"c\n" * 100)
    buffer = bytearray(64)
    assert [(offset, size, len(found)) for offset, size, found in scan_line_blocks(long, buffer)] == [
        (0, 2, 64),
        (2, 1001, 1001),
        (1003, 2, 64),
    ]
    blocks = [(size, found is buffer) for _, size, found in scan_line_blocks(short, buffer)]
    assert blocks == [(64, True), (64, True), (64, True), (8, True)]
    assert len(buffer) == 64


@pytest.mark.parametrize("read", [lambda path: list(read_lines(path)), lambda path: read_ends(path, 10, 10)])
def test_what_is_no_file_is_refused_in_one_line(tmp_path: Path, read: object) -> None:
    assert callable(read)
    os.mkfifo(tmp_path / "pipe")
    for name in ("missing", "pipe", "."):
        with pytest.raises(UnreadableError) as caught:
            read(tmp_path / name)
        assert caught.value.path == tmp_path / name
        assert str(tmp_path / name) in str(caught.value)
        assert "\n" not in str(caught.value)


def test_an_abandoned_read_closes_the_file(file: Path) -> None:
    file.write_bytes(b"a\nb\n")
    lines = read_lines(file)
    next(lines)
    descriptors = Path("/proc/self/fd")
    if not descriptors.exists():
        pytest.skip("needs /proc to count open files")
    open_files = len(list(descriptors.iterdir()))
    del lines
    assert len(list(descriptors.iterdir())) == open_files - 1


def test_both_ends_of_a_long_file_hold_whole_lines_only(file: Path) -> None:
    file.write_bytes(b"first\nsecond\n" + b"x" * 100 + b"\nlast but one\nlast\n")
    ends = read_ends(file, 10, 20)
    assert (ends.head, ends.tail, ends.whole, ends.torn) == ([b"first"], [b"last but one", b"last"], False, False)
    assert ends.size == 132
    assert ends.mtime_ns == file.stat().st_mtime_ns


def test_a_short_file_is_read_whole(file: Path) -> None:
    file.write_bytes(b"a\n\nb\n")
    ends = read_ends(file, 3, 2)
    assert (ends.head, ends.whole, ends.torn) == ([b"a", b"", b"b"], True, False)
    assert ends.tail is ends.head


@pytest.mark.parametrize("tail", [0, 1, 5, 1000])
def test_a_torn_tail_is_told_and_kept(file: Path, tail: int) -> None:
    file.write_bytes(b"a" * 50 + b"\nb\n{torn")
    ends = read_ends(file, 10, tail)
    assert ends.torn
    assert ends.tail == {0: [], 1: [], 5: [b"{torn"], 1000: [b"a" * 50, b"b", b"{torn"]}[tail]


def test_an_empty_file_has_two_empty_ends(file: Path) -> None:
    file.touch()
    ends = read_ends(file, 10, 10)
    assert (ends.size, ends.head, ends.tail, ends.whole, ends.torn) == (0, [], [], True, False)


@given(data=lumpy_bytes, head=st.integers(0, 60), tail=st.integers(0, 60))
def test_the_ends_are_those_of_all_lines(shared_file: Path, data: bytes, head: int, tail: int) -> None:
    shared_file.write_bytes(data)
    ends = read_ends(shared_file, head, tail)
    pieces = data.split(b"\n")
    starts = list(itertools.accumulate((len(piece) + 1 for piece in pieces), initial=0))[: len(pieces)]
    lines = list(zip(starts, pieces, strict=True))
    if not pieces[-1]:
        lines.pop()
    assert ends.torn == bool(pieces[-1])
    assert ends.whole == (len(data) <= head + tail)
    if ends.whole:
        assert ends.head == [piece for _, piece in lines]
    else:
        assert ends.head == [piece for start, piece in lines if start + len(piece) + 1 <= head]
        assert ends.tail == [piece for start, piece in lines if start >= len(data) - tail]


class _Halting(io.BytesIO):
    """As a read of more than 2 GiB: it gives less than was asked for."""

    def read(self, size: int | None = -1, /) -> bytes:
        return super().read(min(3, size if size is not None and size >= 0 else 3))


def test_a_read_that_gives_less_than_asked_for_is_continued() -> None:
    from stenograph.disk.lines import _read_fully

    assert _read_fully(_Halting(b"0123456789"), 8) == b"01234567"  # type: ignore[arg-type]
    assert _read_fully(_Halting(b"01"), 8) == b"01"  # type: ignore[arg-type]
