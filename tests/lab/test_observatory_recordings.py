"""The committed recordings: whole, of this repository's scenarios, and free of what they must not hold."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from lab.observatory import print_scenarios, terminal_scenarios
from lab.observatory.recorder import read_played
from lab.observatory.trim import LONGEST_TEXT

RECORDINGS = Path(__file__).resolve().parents[2] / "recordings"
RELEASES = sorted(path.name for path in RECORDINGS.iterdir() if path.is_dir())
SCENARIOS = {one.name: one.edition for one in (*print_scenarios.SCENARIOS, *terminal_scenarios.SCENARIOS)}
#: Releases at which the format is known to have changed (issue 5).
WANTED = [
    "1.0.128",
    "2.0.36",
    "2.0.37",
    "2.0.42",
    "2.0.50",
    "2.0.55",
    "2.0.58",
    "2.0.76",
    "2.1.29",
    "2.1.45",
    "2.1.112",
    "2.1.200",
]


def strings(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, member in value.items():
            yield key
            yield from strings(member)
    elif isinstance(value, list):
        for member in value:
            yield from strings(member)


def test_there_are_enough_releases_and_the_wanted_ones_among_them() -> None:
    assert len(RELEASES) >= 25
    assert not set(WANTED) - set(RELEASES)


@pytest.mark.parametrize("release", RELEASES)
def test_what_is_recorded_is_what_was_played(release: str) -> None:
    played = read_played(RECORDINGS / release)
    assert {name: one["edition"] for name, one in played.items()}.items() <= SCENARIOS.items()
    kept = {path.name for path in (RECORDINGS / release).iterdir() if path.is_dir()}
    assert kept == {name for name, one in played.items() if one["outcome"] == "ok"}


@pytest.mark.parametrize("release", RELEASES)
def test_recordings_hold_shapes_and_no_place_of_the_machine_they_were_made_on(release: str) -> None:
    for path in (RECORDINGS / release).rglob("*.json*"):
        assert "steno-record" not in str(path)
        if path.name == "played.json":
            continue
        data = path.read_text(encoding="utf-8")
        for line in [data] if path.suffix == ".json" else data.splitlines():
            for text in strings(json.loads(line)):
                assert len(text) <= LONGEST_TEXT, path
                assert "steno-record" not in text, path
                assert not text.startswith(("/root", "/home/")) or text.startswith("/home/user"), path
