"""Dates and ages as people type them."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest
from tests.cli.running import assert_one_clear_line, run
from tests.homes import session_id, write_session
from tests.surgery.conversations import linked, turn

from stenograph.cli._arguments import age_before, date_of, moment_of
from stenograph.errors import UsageError

NOW = datetime(2026, 1, 31, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("age", "moment"),
    [
        ("30m", datetime(2026, 1, 31, 11, 30, tzinfo=UTC)),
        ("36h", datetime(2026, 1, 30, tzinfo=UTC)),
        ("7d", datetime(2026, 1, 24, 12, tzinfo=UTC)),
        ("2w", datetime(2026, 1, 17, 12, tzinfo=UTC)),
    ],
)
def test_an_age_is_counted_back_from_now(age: str, moment: datetime) -> None:
    assert age_before(age, NOW) == moment_of(age, NOW) == moment.timestamp()


def test_a_date_is_a_moment_of_its_own() -> None:
    assert (
        date_of("2026-01-30T00:00:00Z") == moment_of("2026-01-30T00:00:00Z", NOW) == datetime(2026, 1, 30, tzinfo=UTC).timestamp()
    )


@pytest.mark.parametrize("text", ["7d", "yesterday", "2026-13-01", "", "0001-01-01T00:00+14:00", "9999-12-31T23:59-12:00"])
def test_what_is_no_date_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(UsageError, match="2026-01-31"):
        date_of(text)


@pytest.mark.parametrize("text", ["2026-01-31", "1y", "7", "d", "-7d", ""])
def test_what_is_no_age_is_refused_with_the_units(text: str) -> None:
    with pytest.raises(UsageError, match=f'^invalid age "{text}"; use 30m, 36h, 7d or 2w$'):
        age_before(text, NOW)


def test_an_age_before_all_dates_is_out_of_range() -> None:
    with pytest.raises(UsageError, match=r'^age "999999w" is out of range$'):
        age_before("999999w", NOW)


@pytest.mark.parametrize("text", ["999999w", "yesterday", "0001-01-01T00:00+14:00"])
def test_a_moment_that_there_never_was_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match=r"36h, 7d or 2w|out of range"):
        moment_of(text, NOW)


@pytest.mark.parametrize("choice", [("--before", "7d"), ("--older-than", "2026-01-31"), ("--older-than", "999999w")])
def test_edit_takes_dates_and_ages_where_its_help_says_so(choice: tuple[str, str], tmp_path: Path) -> None:
    path = write_session(tmp_path, session_id(1), linked(*turn("One"), *turn("Two")))
    assert_one_clear_line(run("edit", path, "--drop-turns", *choice))
