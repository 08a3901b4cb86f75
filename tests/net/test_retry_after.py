"""How long a server asks to be left alone."""

from __future__ import annotations

import pytest

from stenograph.net import read_retry_after

NOW = 1_445_412_480.0  # Wed, 21 Oct 2015 07:28:00 GMT


@pytest.mark.parametrize(
    ("written", "seconds"),
    [
        ("", None),
        ("7", 7.0),
        (" 0 ", 0.0),
        ("1.5", 1.5),
        ("Wed, 21 Oct 2015 07:28:30 GMT", 30.0),
        ("Wed, 21 Oct 2015 09:28:30 +0200", 30.0),
        ("Wed, 21 Oct 2015 07:28:30 -0000", 30.0),
        ("Wed, 21 Oct 2015 07:27:00 GMT", 0.0),
        ("-5", None),
        ("soon", None),
        ("٣", None),
        ("1" * 400, None),
        ("Wed, 99 Oct 2015 07:28:30 GMT", None),
        ("1e5", None),
        ("nan", None),
    ],
)
def test_retry_after_is_a_number_or_a_date(written: str, seconds: float | None) -> None:
    assert read_retry_after(written, now=NOW) == seconds
