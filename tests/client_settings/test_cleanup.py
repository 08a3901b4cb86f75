"""After how many days clients delete a session, by the settings of a home, a project and an administrator."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from stenograph.client_settings import cleanup_days, files


def _say(path: Path, days: object) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"cleanupPeriodDays": days}))


@pytest.mark.parametrize(
    ("of_home", "shared", "local", "expected"),
    [
        (None, None, None, None),
        (90, None, None, 90),
        (90, 10, None, 10),
        # The user's own settings of a project override the shared ones.
        (90, 10, 60, 60),
        # A client that starts elsewhere keeps them for the usual 30 days.
        (None, 90, None, 30),
        (7, 90, None, 7),
        (0, 20, None, 20),
        (0, None, None, 0),
        ("soon", -1, True, None),
    ],
)
def test_the_shortest_time_that_a_client_would_go_by_counts(
    of_home: object, shared: object, local: object, expected: int | None, tmp_path: Path
) -> None:
    home, folder = tmp_path / "home", tmp_path / "work"
    places = (home / "settings.json", folder / ".claude" / "settings.json", folder / ".claude" / "settings.local.json")
    for path, days in zip(places, (of_home, shared, local), strict=True):
        if days is not None:
            _say(path, days)
    assert cleanup_days(home, folder) == expected


def test_what_an_administrator_says_overrides_the_rest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _say(tmp_path / "home" / "settings.json", 90)
    _say(tmp_path / "managed.json", 14)
    monkeypatch.setattr(files, "managed_settings", lambda: [tmp_path / "managed.json"])
    assert cleanup_days(tmp_path / "home", tmp_path) == 14
