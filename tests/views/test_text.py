"""Text from a transcript can't do anything to a terminal but be read."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stenograph.views.text import amount, cut, duration, harmless, one_line, thousands, time_taken, width, wrap


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain", "plain"),
        ("a\tb", "a   b"),
        ("two\nlines\r\nthree\rfour", "two\nlines\nthree\nfour"),
        ("\x1b[31mred\x1b[0m", "red"),
        ("\x1b[2J\x1b[Hgone", "\\x1b[2J\\x1b[Hgone"),
        ("\x1b]0;title\x07", "\\x1b]0;title\\x07"),
        ("\x9b31m", "\\x9b31m"),
        ("a\u202eb", "a\\u202eb"),
        ("zero\u200bwidth", "zero\\u200bwidth"),
        ("👩\u200d💻", "👩\u200d💻"),
        ("x\u2028y", "x\ny"),
        ("\ud800", "\\ud800"),
        ("back\bspace", "back\\x08space"),
    ],
)
def test_what_is_no_text_becomes_visible(text: str, shown: str) -> None:
    assert harmless(text) == shown


@given(st.text())
def test_no_control_character_is_left(text: str) -> None:
    assert all(character in "\n\u200d" or character.isprintable() for character in harmless(text))
    assert "\n" not in one_line(text)


def test_lines_are_wrapped_at_spaces_and_nothing_is_lost() -> None:
    assert wrap("one two three", 7) == ["one two", "three"]
    assert wrap("    indented words here", 14) == ["    indented", "words here"]
    assert wrap("unbreakable", 4) == ["unbr", "eaka", "ble"]
    assert wrap("日本語です", 4) == ["日本", "語で", "す"]
    assert wrap("", 10) == [""]
    assert wrap("any length", None) == ["any length"]


@given(st.text(alphabet=st.characters(categories=("L", "N", "Zs"))), st.integers(2, 40))
def test_no_wrapped_line_is_too_wide(text: str, columns: int) -> None:
    pieces = wrap(text, columns)
    assert all(width(piece.rstrip()) <= columns for piece in pieces)
    assert "".join("".join(pieces).split()) == "".join(text.split())


def test_amounts_are_for_people() -> None:
    assert [amount("a" * number) for number in (0, 999, 1200, 34_000, 2_500_000)] == ["0 B", "999 B", "1.2 kB", "34 kB", "2.5 MB"]
    assert [duration(number) for number in (400, 40_000, 185_000, 7_800_000)] == ["0.4 s", "40 s", "3 min 5 s", "2 h 10 min"]
    assert [thousands(number) for number in (950, 1200, 34_000, 1_200_000)] == ["950", "1.2k", "34k", "1.2M"]
    assert cut("日本語", 5) == "日本…"
    assert [time_taken(number) for number in (None, 0, 50, 51, 400)] == ["", "", "", "0.1 s", "0.4 s"]
