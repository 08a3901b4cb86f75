"""Server-sent events: any pieces, any line ends, nothing but the events."""

from __future__ import annotations

import random
import time

import pytest

from stenograph.model import sse
from stenograph.model.sse import EventReader


def read(*pieces: bytes) -> list[tuple[bytes, bytes]]:
    reader = EventReader()
    return [event for piece in pieces for event in reader.feed(piece)]


# Each case by the standard's own rules (WHATWG HTML, "Interpreting an event stream"), worked out by hand.
CASES = {
    "one event": (b"event: a\ndata: 1\n\n", [(b"a", b"1")]),
    "no name": (b"data: 1\n\n", [(b"", b"1")]),
    "a name does not last": (b"event: a\ndata: 1\n\ndata: 2\n\n", [(b"a", b"1"), (b"", b"2")]),
    "no blank after the colon": (b"event:a\ndata:1\n\n", [(b"a", b"1")]),
    "only one blank is taken off": (b"data:  1 \n\n", [(b"", b" 1 ")]),
    "colons in the data": (b"data: a: b:\n\n", [(b"", b"a: b:")]),
    "data over lines": (b"data: a\ndata: b\ndata:\ndata: c\n\n", [(b"", b"a\nb\n\nc")]),
    "empty data": (b"data\n\n", [(b"", b"")]),
    "returns": (b"event: a\rdata: 1\r\rdata: 2\r\r", [(b"a", b"1"), (b"", b"2")]),
    "returns and newlines": (b"event: a\r\ndata: 1\r\n\r\ndata: 2\r\n\r\n", [(b"a", b"1"), (b"", b"2")]),
    "line ends of all sorts": (b"data: 1\n\r\ndata: 2\r\n\ndata: 3\r\r\ndata: 4\n\n", [(b"", b"%d" % n) for n in (1, 2, 3, 4)]),
    "comments": (b": hello\n\ndata: 1\n: in between\ndata: 2\n\n:\n\n", [(b"", b"1\n2")]),
    "other fields": (b"id: 7\nretry: 10\nnonsense\ndata: 1\n\n", [(b"", b"1")]),
    "a name without data is none": (b"event: ping\n\ndata: 1\n\n", [(b"", b"1")]),
    "many empty lines": (b"\n\n\ndata: 1\n\n\n\n\ndata: 2\n\n\n", [(b"", b"1"), (b"", b"2")]),
    "a separator of lines is a letter": (
        "data: a\u2028b\u2029c\u0085d\x0be\n\n".encode(), [(b"", "a\u2028b\u2029c\u0085d\x0be".encode())],
    ),
    "a byte order mark": (b"\xef\xbb\xbfdata: 1\n\n", [(b"", b"1")]),
    "a second byte order mark is data": (b"\xef\xbb\xbf\xef\xbb\xbfdata: 1\n\ndata: 2\n\n", [(b"", b"2")]),
    "cut off": (b"data: 1\n\ndata: 2\n", [(b"", b"1")]),
    "nothing": (b"", []),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_events_are_read_as_the_standard_says(name: str) -> None:
    stream, expected = CASES[name]
    assert read(stream) == expected


@pytest.mark.parametrize("name", CASES)
def test_pieces_of_any_size_give_the_same_events(name: str) -> None:
    stream, expected = CASES[name]
    for size in range(1, len(stream) + 1):
        assert read(*(stream[at : at + size] for at in range(0, len(stream), size))) == expected, size
    chance = random.Random(7)
    for _ in range(50):
        cuts = sorted(chance.choices(range(len(stream) + 1), k=4))
        pieces = [stream[a:b] for a, b in zip([0, *cuts], [*cuts, len(stream)], strict=True)]
        assert read(*pieces) == expected, cuts


@pytest.mark.parametrize("ending", [b"\n", b"\r\n", b"\r"])
def test_an_event_is_there_as_soon_as_its_empty_line_is(ending: bytes) -> None:
    assert read(b"data: 1" + ending * 2) == [(b"", b"1")]


def test_one_long_event_in_many_pieces_takes_no_longer_than_its_length() -> None:
    reader = EventReader()
    piece = b"x" * 16_384
    began = time.process_time()
    reader.feed(b"data: ")
    for _ in range(2_000):
        assert not reader.feed(piece)
    [(_, data)] = reader.feed(b"\n\n")
    # 32 MB. Joined at every piece this copies 32 GB.
    assert len(data) == 2_000 * len(piece)
    assert time.process_time() - began < 2.0


def test_an_event_without_an_end_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sse, "LONGEST_EVENT", 100)
    reader = EventReader()
    reader.feed(b"data: 1\n\ndata: " + b"x" * 80)
    assert not reader.is_too_long
    reader.feed(b"x" * 80)
    assert reader.is_too_long
