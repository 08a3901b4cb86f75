"""Findings that are accepted once are left out of later reports; new ones are not."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.check.sessions import changed, first, recorded_lines, write
from tests.cli.running import assert_one_clear_line, run

from stenograph.check import baseline_of, check, read_baseline, without, write_baseline


def test_what_is_accepted_is_left_out_and_what_is_new_is_told(tmp_path: Path) -> None:
    path = write(tmp_path, changed(lambda lines: first(lines, "user").update(brandNew=1)))
    path.write_bytes(path.read_bytes()[:-1])
    known = tmp_path / "known.json"
    write_baseline(baseline_of(check([path])), known)
    assert without(check([path]), read_baseline(known)).is_clean
    worse = changed(lambda lines: first(lines, "user").update(brandNew=1, another=2))
    report = without(check([write(tmp_path, worse)]), read_baseline(known))
    assert [each.field for each in report.drift] == ["another"]


def test_damage_is_accepted_only_in_the_files_that_had_it(tmp_path: Path) -> None:
    first_file = write(tmp_path, recorded_lines())
    first_file.write_bytes(first_file.read_bytes()[:-1])
    baseline = baseline_of(check([tmp_path]))
    second = write(tmp_path, recorded_lines(), name="22222222-2222-4222-8222-222222222222.jsonl")
    second.write_bytes(second.read_bytes()[:-1])
    [left] = without(check([tmp_path]), baseline).damage
    assert (left.code, left.path, left.count) == ("missing-final-newline", second, 1)
    assert left.line == len(recorded_lines())


@pytest.mark.parametrize("content", [b"", b"[]", b"{}", b'{"accepted": [{"code": 1}]}', b"\xff"])
def test_a_file_that_is_no_baseline_is_refused_in_one_line(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "known.json").write_bytes(content)
    assert_one_clear_line(run("check", write(tmp_path, recorded_lines()), "--baseline", tmp_path / "known.json"))


def test_a_missing_baseline_and_an_unwritable_one_are_refused_in_one_line(tmp_path: Path) -> None:
    path = write(tmp_path, recorded_lines())
    assert_one_clear_line(run("check", path, "--baseline", tmp_path / "none.json"))
    assert_one_clear_line(run("check", path, "--write-baseline", tmp_path / "no" / "folder.json"))
