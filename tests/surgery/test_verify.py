"""What the proof refuses: a working file is broken on purpose, once for each problem, and nothing of it is ever written."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from tests.archive.families import contents
from tests.homes import assistant, session_id, user, write_session
from tests.surgery.conversations import called, linked, turn

from stenograph.archive import Archive
from stenograph.errors import UsageError
from stenograph.sessions.loading import load_file
from stenograph.surgery import DropTurns, Selector, apply, make_plan
from stenograph.surgery.links import settle
from stenograph.surgery.verify import verify
from stenograph.surgery.working import WorkingFile
from stenograph.testing.lines import text

# Nodes: 0 "One", 1 the call, 2 its result, 3 the answer, 4 "Two", 5 the answer.
LINES = linked(*turn("One", called("Read", {"file_path": "/p"}, "words", identity="toolu_1")), *turn("Two"))
UUIDS = [line["uuid"] for line in LINES]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return write_session(tmp_path / "home", session_id(1), LINES)


def _problems(path: Path, break_it: Callable[[WorkingFile], None]) -> list[str]:
    working = WorkingFile(load_file(path))
    break_it(working)
    return verify(working, path).problems


def test_a_file_that_nobody_broke_has_no_problems(path: Path) -> None:
    def drop_a_turn(working: WorkingFile) -> None:
        working.drop(0, 1, 2, 3)
        settle(working, prune=False)

    assert _problems(path, drop_a_turn) == []


def test_an_answer_that_is_no_list_is_refused_for_the_clients_that_would_not_resume_it(path: Path) -> None:
    """Rule 47: an answer as a string is refused by old releases, not by the newest."""
    problems = _problems(path, lambda working: working.put(3, ("message", "content"), "Done."))
    told = [problem.partition(":")[0] for problem in problems]
    assert told == ["2.0.76 would not resume it (rule 47", "2.1.45 would not resume it (rule 47"]


@pytest.mark.parametrize(
    ("code", "node", "member", "value"),
    [
        ("dangling-parent", 4, "parentUuid", "00000000-0000-4000-8000-999999999999"),
        ("self-parent", 4, "parentUuid", UUIDS[4]),
        ("forward-parent", 3, "parentUuid", UUIDS[5]),
        ("parent-cycle", 3, "parentUuid", UUIDS[5]),
        ("duplicate-uuid", 5, "uuid", UUIDS[3]),
    ],
)
def test_a_tree_that_would_be_worse_than_it_was_is_refused(code: str, node: int, member: str, value: str, path: Path) -> None:
    assert f"the tree would be broken: {code}" in _problems(path, lambda working: working.put(node, member, value))


def test_a_line_that_would_say_nothing_is_refused_by_its_number(path: Path) -> None:
    problems = _problems(path, lambda working: working.put(5, ("message", "content"), []))
    assert "line 6 would be empty" in problems


def test_a_call_that_would_not_be_answered_is_refused_by_its_message(path: Path) -> None:
    """In the user's own line: calls without an answer elsewhere the newest client leaves out or answers itself (rules 42, 43)."""
    use = LINES[1]["message"]["content"]
    problems = _problems(path, lambda working: working.put(4, ("message", "content"), use))
    assert problems == ["message 5 would have a tool call without exactly one result"]


def test_a_turn_that_would_be_lost_is_refused_for_every_client(path: Path) -> None:
    """ "Two" off "One": the call, its result and the answer would be on a branch that nobody resumes."""
    problems = _problems(path, lambda working: working.put(4, "parentUuid", UUIDS[0]))
    told = [problem.partition(":")[0] for problem in problems]
    assert told == [f"{release} would not send the edited conversation" for release in ("2.0.76", "2.1.45", "2.1.325")]
    assert "words" not in "".join(problems)


def test_what_was_broken_before_is_no_problem_of_an_edit_that_changes_nothing(tmp_path: Path) -> None:
    lines = linked(user("One"), assistant(text("Done.")))
    lines[1]["parentUuid"] = lines[1]["uuid"]
    assert _problems(write_session(tmp_path, session_id(1), lines), lambda _: None) == []


def test_a_plan_with_a_problem_is_not_carried_out(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Without its links made right, the second turn still hangs off the first.
    monkeypatch.setattr("stenograph.surgery.plan.settle", lambda *_, **__: None)
    plan = make_plan(path, [DropTurns(Selector(turns=((1, 1),)))])
    assert plan.problems
    before = contents(tmp_path)
    with pytest.raises(UsageError) as caught:
        apply(plan, Archive(tmp_path / "archive"))
    assert str(caught.value) == f"the plan was refused; nothing was written; {plan.problems[0]}"
    assert contents(tmp_path) == before
