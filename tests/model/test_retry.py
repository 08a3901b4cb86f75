"""Which failures are worth another try, and after how long."""

from __future__ import annotations

import pytest

from stenograph.model.failures import asked_wait, is_status_temporary, wait_before

NOW = 1_445_412_480.0  # Wed, 21 Oct 2015 07:28:00 GMT


@pytest.mark.parametrize("status", [408, 409, 429, 500, 502, 503, 504, 520, 529])
def test_these_are_tried_again(status: int) -> None:
    assert is_status_temporary(status, {})


@pytest.mark.parametrize("status", [204, 302, 400, 401, 402, 403, 404, 405, 413, 422])
def test_these_are_not(status: int) -> None:
    assert not is_status_temporary(status, {})


def test_the_endpoint_has_the_last_word() -> None:
    assert is_status_temporary(400, {"x-should-retry": "true"})
    assert not is_status_temporary(529, {"x-should-retry": "False"})
    assert is_status_temporary(529, {"x-should-retry": "perhaps"})


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"retry-after": "7"}, 7.0),
        ({"retry-after-ms": "250", "retry-after": "7"}, 0.25),
        ({"retry-after-ms": "soon", "retry-after": "7"}, 7.0),
    ],
)
def test_milliseconds_win_over_seconds(headers: dict[str, str], seconds: float | None) -> None:
    assert asked_wait(headers, now=NOW) == seconds


def test_waits_double_up_to_a_limit() -> None:
    assert [wait_before(attempt, None, 0.0) for attempt in range(1, 11)] == [0.5, 1, 2, 4, 8, 16, 32, 32, 32, 32]


def test_chance_takes_off_at_most_a_quarter() -> None:
    assert [wait_before(4, None, chance) for chance in (0.0, 0.5, 1.0)] == [4.0, 3.5, 3.0]


def test_what_the_endpoint_asks_for_is_waited_exactly() -> None:
    assert wait_before(1, 90.0, 1.0) == 90.0
    assert wait_before(9, 0.0, 1.0) == 0.0
