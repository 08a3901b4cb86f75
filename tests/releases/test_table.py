"""The table of what changed in which release. What each row says is proved where it is used: tests/messages, tests/graph."""

from __future__ import annotations

import ast
import itertools
from pathlib import Path

import pytest
from click.testing import CliRunner
from tests.homes import session_id, turns, write_session

from stenograph.cli._group import steno
from stenograph.drift import load_registry
from stenograph.drift.registry import NOT_MET
from stenograph.errors import UsageError
from stenograph.graph.readings import ReadingHabits
from stenograph.messages.habits import MessageHabits
from stenograph.releases import (
    NEWEST,
    OLD,
    PROVED,
    TABLE,
    ReleaseBehavior,
    first_with,
    newest_rules_note,
    release_numbers,
    rules_note,
    stages,
    value_of,
)

PACKAGE = Path(__file__).parents[2] / "src" / "stenograph"


@pytest.mark.parametrize("row", TABLE.values(), ids=list(TABLE))
def test_every_change_is_a_change_and_comes_after_the_one_before(row: ReleaseBehavior) -> None:
    values = [row.before, *(since.value for since in row.changes)]
    assert all(value != after for value, after in itertools.pairwise(values))
    numbers = [release_numbers(since.release) for since in row.changes]
    assert numbers == sorted(set(numbers))
    assert numbers[-1] <= release_numbers(NEWEST)
    assert row.meaning
    assert row.source


def test_every_row_is_used() -> None:
    nodes = [
        node
        for path in PACKAGE.rglob("*.py")
        if "releases" not in path.parts
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
    ]
    asked = {node.value for node in nodes if isinstance(node, ast.Constant) and node.value.__class__ is str}
    # Some have a function of their own.
    asked |= {node.name for node in nodes if isinstance(node, ast.alias)}
    assert set(TABLE) - {*MessageHabits._fields, *ReadingHabits._fields} <= asked


def test_a_value_holds_from_its_release_to_the_next_change() -> None:
    told = [value_of("null_line", release) for release in ("1.0.0", "2.1.18", "2.1.19", "2.1.115", "2.1.116", "2.1.228", "3.0")]
    assert told == ["skipped", "skipped", "ends", "ends", "refused", "skipped", "skipped"]
    assert first_with("null_line") == "2.1.19"


def test_the_first_release_with_totals_is_the_first_that_was_recorded_with_one() -> None:
    registry = load_registry()
    seen = registry.shapes["record:cost-state"].seen
    first = next(number for number, mark in enumerate(seen) if mark != NOT_MET)
    assert registry.releases[first] == first_with("writes_totals")


def test_stages_are_the_releases_between_which_nothing_changed() -> None:
    assert stages("composes_folder_names", "cuts_folder_names") == ("2.1.160", "2.1.47", "2.1.38", OLD)


@pytest.mark.parametrize("release", [*PROVED, "1.0.128", f"{NEWEST}-beta"])
def test_a_release_that_the_table_covers_is_read_by_its_own_rules(release: str) -> None:
    assert rules_note(release) == ""


def test_a_newer_release_is_read_by_the_rules_of_the_newest_and_that_is_said() -> None:
    assert rules_note("9.1.400") == f"9.1.400 is newer than the newest recorded release; using the rules of {NEWEST}"


def test_what_is_not_a_release_is_refused() -> None:
    for wrong in ("", "newest", "v2.1"):
        with pytest.raises(UsageError, match="invalid release"):
            rules_note(wrong)


def test_of_many_releases_the_newest_is_told_and_nothing_else_that_a_line_says() -> None:
    assert newest_rules_note(["2.0.76", "9.1.500\x1b[2Jsecret", "9.1.400", "?", ""]).startswith("9.1.500 is newer")
    assert newest_rules_note(["?", "", NEWEST]) == ""
    assert newest_rules_note(["9" * 10_000]).startswith("999999999 is newer")


def test_commands_say_whose_rules_they_use(tmp_path: Path) -> None:
    path = write_session(tmp_path, session_id(1), turns(1))
    told = f"9.1.400 is newer than the newest recorded release; using the rules of {NEWEST}"
    done = CliRunner().invoke(steno, ["messages", str(path), "--as-of", "9.1.400"])
    assert done.exit_code == 0
    assert told in done.stderr
    assert told not in done.stdout
    assert CliRunner().invoke(steno, ["messages", str(path), "--as-of", NEWEST]).stderr == ""
    newer = write_session(tmp_path, session_id(2), [{**line, "version": "9.1.400"} for line in turns(1)])
    assert told in CliRunner().invoke(steno, ["check", str(newer)]).stderr
    assert "is newer" not in CliRunner().invoke(steno, ["check", str(path)]).stderr
