from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from stenograph.cli._text import age, cut, cut_start, plain, size, table, width


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
