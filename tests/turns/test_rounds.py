"""Round types of our turns: right on real sessions, and how they differ from turns."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from tests.corpora import FIXTURES
from tests.turns.loading import load

from stenograph.sessions.loading import load_file
from stenograph.testing.lines import assistant, text, user
from stenograph.turns.rounds import RoundType, round_types, says_to_continue


def test_a_turn_is_named_by_what_came_before_it_and_not_by_its_permission_mode(tmp_path: Path) -> None:
    """From 2.1.15 on nearly every prompt has a permissionMode: by seed 004 each would be a new session."""
    session = load(
        tmp_path,
        user("u1", "One", permissionMode="default"),
        assistant("a1", "m1", [text("1")], "u1"),
        user("u2", "Two", "a1", timestamp="2026-01-01T10:01:00Z", permissionMode="default"),
        assistant("a2", "m2", [text("2")], "u2"),
        user("u3", "Three", "a2", timestamp="2026-01-01T12:00:00Z", permissionMode="default"),
        {"type": "system", "subtype": "turn_duration", "uuid": "d", "parentUuid": "u3", "timestamp": "2026-01-01T13:00:00Z"},
        user("u4", "Continue, please!", "d", timestamp="2026-01-01T13:00:01Z", permissionMode="plan"),
        user("u5", "<task-notification>done</task-notification>", "u4", timestamp="2026-01-01T15:00:01Z"),
        user("u6", "Another beginning", None, timestamp="2026-01-01T16:00:00Z"),
    )
    by_prompt = {turn.prompt: turn.node for turn in session.all_turns}
    found = round_types(session)
    assert {prompt.split()[0]: found[node].value for prompt, node in by_prompt.items()} == {
        "One": "new_session",
        "Two": "new_round",
        "Three": "resume",
        "Continue,": "continue",
        "<task-notification>done</task-notification>": "continue",
        "Another": "new_session",
    }
    assert round_types(session, threshold_minutes=180)[by_prompt["Three"]] is RoundType.NEW_ROUND


@pytest.mark.parametrize(
    "words",
    ["continue", "Continue.", "please continue", "go on", "Go ahead!", "weiter", "bitte weiter", "Mach weiter…", "continúa",
     "продолжай", "继续", "请继续", "下一步", "続けて", "계속", "devam et", "vas-y", "keep going", "OK, continue", "lanjut"],
)  # fmt: skip
def test_a_prompt_that_only_says_to_go_on_continues(words: str) -> None:
    assert says_to_continue(words)


@pytest.mark.parametrize("words", ["", "continue with the tests", "weiter unten steht es", "Continue reading a.py", "no", "yes"])
def test_a_prompt_that_says_more_does_not(words: str) -> None:
    assert not says_to_continue(words)


def test_in_recorded_sessions_only_the_first_turn_of_a_chain_is_a_new_session() -> None:
    """By hand: a turn without a turn before it has no earlier prompt among its ancestors."""
    met: Counter[str] = Counter()
    for path in sorted((FIXTURES / "recorded").glob("*/*/*/*.jsonl")):
        session = load_file(path)
        for turn in session.all_turns:
            found = round_types(session)[turn.node]
            assert (found is RoundType.NEW_SESSION) == (turn.number == 1), path
            met[found.value] += 1
    assert met["new_round"] > met["new_session"] > 20


def test_round_types_look_past_what_nobody_said(tmp_path: Path) -> None:
    """The message before a prompt is the last thing said, not a hook's note in between."""
    session = load(
        tmp_path,
        user("u1", "One"),
        {"type": "system", "subtype": "turn_duration", "uuid": "d", "parentUuid": "u1", "timestamp": "2026-01-01T11:00:00Z"},
        user("u2", "Two", "d", timestamp="2026-01-01T11:00:01Z"),
    )
    assert [kind.value for kind in round_types(session).values()] == ["new_session", "resume"]


def test_permission_mode_is_absent_from_most_prompts_and_ours_counts_them(tmp_path: Path) -> None:
    """149 of the 236 prompts in the corpus have none: releases before 2.1.15 never write it."""
    session = load(tmp_path, user("u1", "One"), user("u2", "Two", "u1"))
    assert [turn.prompt for turn in session.turns] == ["One", "Two"]


def test_a_null_parent_is_a_new_session_but_after_a_compaction_ours_goes_on(tmp_path: Path) -> None:
    """A compaction's boundary has a null parent (A6): the chain is not broken by it, and numbers go on."""
    session = load(
        tmp_path,
        user("u1", "One"),
        assistant("a1", "m1", [text("1")], "u1"),
        {"type": "system", "subtype": "compact_boundary", "uuid": "b", "parentUuid": None, "logicalParentUuid": "a1"},
        user("s", "Summary", "b", isCompactSummary=True),
        user("u2", "Two", "s"),
    )
    assert [(turn.number, turn.prompt) for turn in session.turns] == [(1, "One"), (2, "Two")]
