"""Public sessions: only those that another tool touched drift, and what it did to them is found."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.corpora import CORPUS

from stenograph.check import CheckReport, check

PUBLIC = CORPUS / "public"
#: Three of its lines were appended by another program, without what every client writes.
TOUCHED = "airing0805__claude-code-runner-python"


@pytest.fixture(scope="module")
def report() -> CheckReport:
    if not PUBLIC.is_dir():
        pytest.skip("no corpus of public sessions")
    return check([PUBLIC])


def test_no_type_is_doubted(report: CheckReport) -> None:
    assert [each for each in report.drift if each.code == "TYPE_MISMATCH"] == []


def test_only_the_touched_sessions_drift(report: CheckReport) -> None:
    assert {TOUCHED in str(each.path) for each in report.drift} == {True}


def test_the_three_appended_lines_are_found(report: CheckReport) -> None:
    missing = {each.field: (each.count, each.path.name) for each in report.drift if each.code == "MISSING_FIELD"}
    for field in ("isSidechain", "parentUuid", "sessionId", "userType", "version"):
        assert missing[field][0] == 3


def test_the_comment_lines_are_found(report: CheckReport) -> None:
    [comments] = [each for each in report.damage if each.code == "damaged-line-not-json"]
    by_hand = {path: _lines_that_are_no_json(path) for path in PUBLIC.rglob("*.jsonl")}
    assert {path: found.count for path, found in comments.files.items()} == {path: n for path, n in by_hand.items() if n}
    assert all("moredip" in str(path) for path in comments.files)
    assert comments.count == 8


def _lines_that_are_no_json(path: Path) -> int:
    count = 0
    for line in path.read_bytes().split(b"\n"):
        try:
            json.loads(line or b"{}")
        except ValueError:
            count += 1
    return count
