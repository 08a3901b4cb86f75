"""Edits of turns that a compaction already stands for.

COMPACTED was recorded from 2.1.325: two turns, `/compact`, which kept the last answer (rule 50) and put two files behind the
summary, and a third turn. What is sent of it is counted by hand.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.cli.running import run
from tests.homes import session_id, write_session
from tests.surgery.conversations import called, linked, turn
from tests.surgery.edited import recorded_sessions

from stenograph.surgery import (
    AnyEdit,
    Compress,
    DropImages,
    DropToolCalls,
    DropTurns,
    Selector,
    StripThinking,
    TruncateResults,
    make_plan,
)

COMPACTED = next(path for path in recorded_sessions() if path.name.startswith("7390a914"))
SECOND = Selector(turns=((2, 2),))
KEPT_ANSWER = "Shown again by resume."


def _words(messages: list[dict[str, Any]]) -> str:
    return json.dumps(messages)


@pytest.mark.parametrize("prune", [False, True])
def test_of_a_dropped_turn_goes_what_the_compaction_kept_of_it_and_not_what_came_with_it(prune: bool) -> None:
    plan = make_plan(COMPACTED, [DropTurns(SECOND)], prune=prune)
    assert plan.problems == []
    newest = plan.outcomes[-1]
    # The answer goes, and the words of the user before and behind it become one message.
    assert (len(newest.before), len(newest.after)) == (8, 6)
    assert KEPT_ANSWER in _words(newest.before)
    assert KEPT_ANSWER not in _words(newest.after)
    for kept in ("This session is being continued", "/compact", "notes.md", "After compaction."):
        assert kept in _words(newest.after)
    for older in plan.outcomes[:-1]:  # they know nothing of what is kept
        assert older.after == older.before


def test_it_is_said_of_each_chosen_turn_that_a_compaction_stands_for_it() -> None:
    (first,) = make_plan(COMPACTED, [DropTurns(Selector(turns=((1, 1),)))]).done
    assert (first.counts, first.note) == ({}, "turn 1 is before a compaction, so no client sends it")
    (second,) = make_plan(COMPACTED, [DropTurns(SECOND)]).done
    assert (second.counts, second.note) == ({"turns": 1}, "turn 2 is before a compaction, so clients send only what it preserved")
    (both,) = make_plan(COMPACTED, [DropTurns(Selector(turns=((1, 2),)))], prune=True).done
    assert (both.counts, both.note) == ({"turns": 2}, f"{first.note}; {second.note}")
    (condensed,) = make_plan(COMPACTED, [Compress(Selector(keep_last=1))]).done
    assert (condensed.counts, condensed.note) == ({}, "turns 1 to 2 are before a compaction already")


@pytest.mark.parametrize(
    "edit", [DropToolCalls(), TruncateResults(limit=100), DropImages(), StripThinking()], ids=lambda edit: edit.summary
)
def test_an_edit_leaves_a_turn_behind_a_compaction_as_it_is_and_says_that_no_client_sends_it(edit: AnyEdit) -> None:
    of_first = msgspec.structs.replace(edit, which=Selector(turns=((1, 1),)))
    left = make_plan(COMPACTED, [of_first])
    assert left.is_empty
    assert left.done[0].note == "turn 1 is before a compaction, so no client sends it"
    assert make_plan(COMPACTED, [of_first], prune=True).done[0].counts
    (done,) = make_plan(COMPACTED, [edit]).done
    assert "turn 1 is before a compaction, so no client sends it" in done.note
    assert "turn 3" not in done.note


def test_an_edit_of_turns_that_are_sent_says_nothing_of_a_compaction() -> None:
    (done,) = make_plan(COMPACTED, [DropToolCalls(Selector(turns=((3, 3),)))]).done
    assert (done.counts, done.note) == ({"tool calls": 1}, "")


def test_tokens_are_said_to_be_no_longer_counted_only_where_a_response_leaves_the_file() -> None:
    # The other lines of both responses that thought stay, with the same usage.
    assert make_plan(COMPACTED, [StripThinking()], prune=True).uncounted == 0
    assert "no longer see" not in run("edit", COMPACTED, "--strip-thinking", "all", "--prune").stdout
    # A call and an answer.
    assert make_plan(COMPACTED, [DropTurns(SECOND)]).uncounted == 0
    assert make_plan(COMPACTED, [DropTurns(SECOND)], prune=True).uncounted == 2
    assert "no longer see" in run("edit", COMPACTED, "--drop-turns", "--turns", "2", "--prune").stdout


def _compacted_in_the_middle(folder: Path) -> Path:
    """Three turns; in the middle of the second a client compacted the conversation by itself, then the turn went on."""
    lines = linked(
        *turn("Begin", answer="Begun."),
        *turn("Look", called("Read", {"file_path": "/a"}, "found"))[:-1],
        {"type": "system", "subtype": "compact_boundary", "content": "Conversation compacted", "isSidechain": False},
        {**turn("The summary.")[0], "isCompactSummary": True},
        *turn("", called("Grep", {"pattern": "b"}, "seen"), answer="Looked.")[1:],
        *turn("End", answer="Ended."),
    )
    lines[5] |= {
        "logicalParentUuid": lines[4]["uuid"],
        "parentUuid": None,
        "compactMetadata": {"trigger": "auto", "preTokens": 9},
    }
    return write_session(folder, session_id(1), lines)


def test_a_turn_that_went_on_behind_a_compaction_is_dropped_and_condensed_as_any_other(tmp_path: Path) -> None:
    path = _compacted_in_the_middle(tmp_path)
    dropped = make_plan(path, [DropTurns(SECOND)])
    assert (dropped.problems, dropped.done[0].note) == ([], "")
    texts = [block["text"] for message in dropped.outcomes[-1].after for block in message["content"]]
    assert [text.strip() for text in texts] == ["The summary.", "End", "Ended."]
    condensed = make_plan(path, [Compress(Selector(keep_last=1))])
    assert (condensed.problems, condensed.done[0].counts["turns"]) == ([], 2)
    digest = condensed.outcomes[-1].after[0]["content"][0]["text"]
    for said in ("The summary.", "> Begin", "> Look", "> Looked."):
        assert said in digest
