"""Each recorded release against a registry that never saw it: no false alarm, and all that is truly new is named.

What is new is found by a reader of its own: types of lines and names of their members, by the standard library alone.
"""

from __future__ import annotations

import functools
import json
from pathlib import Path

import make_registry as maker
import pytest
from make_registry import Evidence, make_registry

from stenograph.drift import judge, load_registry, merge
from stenograph.drift.judge import Drift
from stenograph.drift.shapes import ShapeTally
from stenograph.releases import release_numbers

RECORDED = load_registry().recorded


@functools.cache
def _recorded() -> dict[str, Evidence]:
    return maker.recorded_evidence()


def _files(release: str) -> list[Path]:
    return [path for folder in maker.RECORDINGS for path in maker.session_files(folder / release)]


@functools.cache
def _found(release: str) -> list[Drift]:
    others = {other: evidence for other, evidence in _recorded().items() if other != release}
    registry = make_registry(others, {other: found for other, found in maker.public_evidence().items() if other != release})
    tally = ShapeTally()
    for number, path in enumerate(_files(release)):
        tally.begin(number)
        for line, data in enumerate(path.read_bytes().split(b"\n"), 1):
            if data:
                tally.add(json.loads(data), line)
        tally.end()
    return merge(judge(registry, release, tally.forms(release)))


@pytest.mark.spread(4)
@pytest.mark.parametrize("release", RECORDED)
def test_no_release_is_accused_by_the_others(release: str) -> None:
    accused = [(drift.code, drift.shape, drift.field, drift.met) for drift in _found(release)]
    assert [each for each in accused if each[0] in ("TYPE_MISMATCH", "MISSING_FIELD")] == []


@functools.cache
def _members(release: str) -> dict[str, set[str]]:
    """Type of a line -> its members, as the release's own recordings have them; lines of other releases in them left out."""
    found: dict[str, set[str]] = {}
    for path in _files(release):
        for data in path.read_text(encoding="utf-8").splitlines() if path.stat().st_size else ():
            line = json.loads(data)
            if line.get("version", release) == release and line["type"] != "system":
                found.setdefault(line["type"], set()).update(line)
    return found


@pytest.mark.parametrize("release", RECORDED)
def test_all_that_is_truly_new_in_a_release_is_named(release: str) -> None:
    place = RECORDED.index(release)
    known: dict[str, set[str]] = {}
    for other in RECORDED[: place + 2]:
        for kind, members in _members(other).items() if other != release else ():
            known.setdefault(kind, set()).update(members)
    for other, evidence in maker.public_evidence().items():
        if place + 1 < len(RECORDED) and release_numbers(other) > release_numbers(RECORDED[place + 1]):
            continue
        for shape, places in evidence.items() if other != release else ():
            if shape.startswith("record:") and "" in places:
                known.setdefault(shape.removeprefix("record:"), set()).update(places[""].fields)
    named = {(drift.code, drift.shape, drift.field) for drift in _found(release)}
    for kind, members in _members(release).items():
        if kind not in known:
            assert ("UNKNOWN_TYPE", f"record:{kind}", "") in named
        for member in members - known.get(kind, members):
            assert ("NEW_FIELD", f"record:{kind}", member) in named
