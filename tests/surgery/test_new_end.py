"""A session whose last turn was dropped, or that was cloned up to an earlier one: what clients make of the new end, and what they
call the session. The sessions were recorded from 2.1.325; what is expected is read off their lines."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.cli.running import run
from tests.surgery.edited import recorded_sessions

from stenograph.sessions.glance import glance
from stenograph.sessions.titles import title
from stenograph.surgery import DropTurns, Selector, make_plan
from stenograph.surgery.clone import plan_clone


def _recorded(name: str) -> Path:
    return next(path for path in recorded_sessions() if path.name.startswith(name))


#: The first turn ends with an attachment behind its answer, which 2.1.45 answers (rule 41); the second does not.
ATTACHMENT_LAST = _recorded("278ff95e")
#: The first turn was interrupted, and the prompt of the second stands behind the client's mark of that.
INTERRUPTED = _recorded("78343b70")
#: "Q one", "Q two", a compaction, "Q three".
THREE = _recorded("59bb3548")
SECOND_TURN = DropTurns(Selector(turns=((2, 2),)))
THIRD_TURN = DropTurns(Selector(turns=((3, 3),)))


def _told(release: str, count: int) -> str:
    return f"{release} will add {count} message{'' if count == 1 else 's'} of its own: the new end looks unanswered"


def test_a_note_says_which_client_answers_the_new_end_itself() -> None:
    plan = make_plan(ATTACHMENT_LAST, [SECOND_TURN])
    sent = next(outcome.after for outcome in plan.outcomes if outcome.release == "2.1.45")
    assert [block["text"] for message in sent[-2:] for block in message["content"]] == [
        "Continue from where you left off.",
        "No response requested.",
    ]
    assert (plan.problems, plan.notes) == ([], [_told("2.1.45", 2)])
    assert _told("2.1.45", 2) in " ".join(run("edit", ATTACHMENT_LAST, "--drop-turns", "--turns", "2").stdout.split())
    assert make_plan(INTERRUPTED, [SECOND_TURN]).notes == [_told("2.1.45", 1), _told("2.1.325", 1)]


def test_no_note_where_no_client_adds_more_than_it_did() -> None:
    assert make_plan(ATTACHMENT_LAST, [DropTurns(Selector(turns=((1, 1),)))]).notes == []
    assert make_plan(THREE, [DropTurns(Selector(turns=((2, 2),)))]).notes == []


def test_a_clone_that_is_cut_there_says_so_too() -> None:
    assert _told("2.1.45", 2) in plan_clone(ATTACHMENT_LAST, at=1).notes
    assert not any("of its own" in note for note in plan_clone(ATTACHMENT_LAST, at=2).notes)


@pytest.mark.parametrize("prune", [False, True])
@pytest.mark.parametrize(
    ("path", "edit", "before", "after"),
    [(THREE, THIRD_TURN, "Q three.", "Q two."), (ATTACHMENT_LAST, SECOND_TURN, "Second Q EDITED.", "First Q.")],
    ids=["before a compaction", "behind an attachment"],
)
def test_a_session_is_no_longer_called_by_the_prompt_of_a_turn_that_was_dropped(
    path: Path, edit: DropTurns, before: str, after: str, prune: bool, tmp_path: Path
) -> None:
    copy = tmp_path / path.name
    plan = make_plan(path, [edit], prune=prune)
    copy.write_bytes(b"".join(plan.new_file()))
    assert str(title(glance(path))).startswith(before)
    assert plan.problems == []
    assert str(title(glance(copy))).startswith(after)


def test_a_dropped_turn_in_the_middle_leaves_the_name_and_the_lines_alone() -> None:
    plan = make_plan(THREE, [DropTurns(Selector(turns=((1, 1),)))])
    assert (plan.problems, plan.removed) == ([], 0)
    named = [json.loads(line) for line in b"".join(plan.new_file()).splitlines()]
    assert [line["lastPrompt"][:7] for line in named if line["type"] == "last-prompt"] == ["Q one. ", "Q two. ", "Q three"]
