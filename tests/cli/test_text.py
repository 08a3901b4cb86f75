from __future__ import annotations

import io
import json
import time
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest

from stenograph.cli._output import echo_json, echo_long_json
from stenograph.views.encode import encode_page, page_text
from stenograph.views.pages.page import Document, utc
from stenograph.views.text import age, cut, cut_start, local_time, plain, size, table, width


@pytest.mark.parametrize(
    ("text", "columns"), [("abc", 3), ("日本", 4), ("e\u0301", 1), ("ｆ", 2), ("", 0), ("한글", 4)]
)  # fmt: skip
def test_width_counts_terminal_columns(text: str, columns: int) -> None:
    assert width(text) == columns


def test_cut_never_splits_a_wide_character() -> None:
    assert cut("日本語", 6) == "日本語"
    assert cut("日本語", 5) == "日本…"
    assert cut("日本語", 4) == "日…"
    assert cut("abc", 0) == ""
    assert cut_start("/home/user/work", 8) == "…er/work"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a\x1b[2Jb", "a\\x1b[2Jb"),
        ("two\nlines\tand tab", "two lines and tab"),
        ("\u202ex", "\\u202ex"),
        ("\udce9", "\\udce9"),
        ("\U000e0001", "\\U000e0001"),
        ("日本 é", "日本 é"),
        ("\x85", ""),
    ],
)
def test_plain_text_can_not_move_a_cursor_or_break_a_line(text: str, expected: str) -> None:
    assert plain(text) == expected


@pytest.mark.parametrize(
    ("count", "expected"), [(0, "0 B"), (999, "999 B"), (1000, "1.0 kB"), (45_300, "45 kB"), (2_000_000_000_000_000, "2000 TB")]
)
def test_sizes_are_short(count: int, expected: str) -> None:
    assert size(count) == expected


def test_ages_are_for_people() -> None:
    now = datetime(2026, 1, 10, 12, tzinfo=UTC)
    spans = {5: "just now", 125: "2 min ago", 7300: "2 h ago", 200_000: "2 d ago", 700_000: "2026-01-02", -500: "2026-01-10"}
    assert {seconds: age(now - timedelta(seconds=seconds), now) for seconds in spans} == spans


def test_columns_line_up_also_with_wide_characters() -> None:
    assert table([["日本", "1"], ["a", "22"]], frozenset({1})) == ["日本   1", "a     22"]


def test_one_long_cell_does_not_widen_every_row() -> None:
    lines = table([["x" * 5000, "a"], ["y", "b"], ["z" * 200, "c"]])
    assert lines == ["x" * 5000 + "  a", "y" + " " * 199 + "  b", "z" * 200 + "  c"]


@pytest.mark.parametrize("zone", ["UTC", "Pacific/Kiritimati", "Pacific/Niue"])
def test_the_first_and_the_last_day_are_told_in_any_zone(monkeypatch: pytest.MonkeyPatch, zone: str) -> None:
    monkeypatch.setenv("TZ", zone)
    time.tzset()
    try:
        now = datetime(2026, 1, 10, tzinfo=UTC)
        for moment, year in ((datetime.min.replace(tzinfo=UTC), "0001-01-01"), (datetime.max.replace(tzinfo=UTC), "9999-12-31")):
            assert local_time(moment).startswith(year)
            assert age(moment, now) == year
        beyond = datetime.min.replace(tzinfo=timezone(timedelta(hours=14)))
        assert encode_page(utc(beyond)) == b'"0001-01-01T00:00:00+14:00"'
        assert local_time(beyond)
    finally:
        monkeypatch.undo()
        time.tzset()


@pytest.mark.parametrize(
    "text", ["\x1b[2J", "\x7f", "\x9b31m", "\u202e", "\u2028", "\u200b", "\U000e0001", "\udce9", "a\nb", "\ufeff"]
)
def test_json_can_not_move_a_cursor_and_loses_nothing(capsys: pytest.CaptureFixture[str], text: str) -> None:
    value = {text: [f"日本 é {text}"]}
    echo_json(value)
    shown = capsys.readouterr().out
    assert json.loads(shown) == value
    assert shown.replace("\n", "").isprintable()


def test_json_keeps_what_can_be_read(capsys: pytest.CaptureFixture[str]) -> None:
    echo_json({"title": "日本 é \u202e"})
    assert '"日本 é \\u202e"' in capsys.readouterr().out


class Long(Document, frozen=True, tag="long/1"):
    id: str
    refused: str | None
    items: tuple[Any, ...]


_ODD = [f"{chr(code)} nbsp and the like" for code in (0xA0, 0x200B, 0xFEFF, 0x7F, 0x1F600, 0xE0001)]
_UNASSIGNED = "".join(map(chr, range(0xE000, 0xE100)))


@pytest.mark.parametrize("encoding", ["utf-8", "ascii"])
@pytest.mark.parametrize(
    "items",
    [[], [1], [{"n": n, "text": "x" * n} for n in range(250)], _ODD, [_UNASSIGNED], ["\udce9", 2**70, 1e300, None], [[["é"]]]],
    ids=["none", "one", "many", "odd", "many-odd", "unusual", "nested"],
)
def test_a_long_list_is_written_as_it_is_made_and_loses_nothing(
    monkeypatch: pytest.MonkeyPatch, items: list[object], encoding: str
) -> None:
    written = io.TextIOWrapper(io.BytesIO(), encoding=encoding)
    monkeypatch.setattr("sys.stdout", written)
    echo_long_json(Long("é\u202e", None, ()), iter(items))
    written.flush()
    shown = written.buffer.getvalue().decode(encoding)
    assert json.loads(shown) == {"schema": "long/1", "id": "é\u202e", "refused": None, "items": items}
    assert shown.count("\n") == 1
    assert shown.removesuffix("\n").isprintable()


@pytest.mark.parametrize("text", ["a\x7fb", "ü\x7f", "\x7f\ud800"])
def test_delete_is_escaped_in_json_however_it_is_written(text: str) -> None:
    for written in (encode_page({"a": text}), page_text({"a": text}).encode(), page_text({"a": text}, encoding="ascii").encode()):
        assert b"\x7f" not in written
        assert b"\\u007f" in written
        assert json.loads(written) == {"a": text}
