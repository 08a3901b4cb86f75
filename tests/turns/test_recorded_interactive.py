"""What three releases wrote while a person typed, against what was typed and what the scripts made the model answer."""

from __future__ import annotations

import json

import pytest
from tests.turns.comparing import foreseen, seen
from tests.turns.expected.interactive import RELEASES, expected
from tests.turns.recordings import interactive_sessions

from stenograph.sessions.loading import load_file

SCENARIOS = (
    "basic", "bangrename", "interrupt", "toolint", "queue", "rewind", "clear", "compact",
    "autocompact", "plan", "perm", "ask", "bg", "hooks", "stophook", "image",
)  # fmt: skip


@pytest.mark.parametrize("release", RELEASES)
@pytest.mark.parametrize("scenario", SCENARIOS)
def test_the_turns_are_what_was_typed_and_what_the_script_answered(scenario: str, release: str) -> None:
    paths = interactive_sessions(release, scenario)
    sessions = expected(scenario, release)
    assert len(paths) == len(sessions)
    for path, recorded in zip(paths, sessions, strict=True):
        assert seen(load_file(path), recorded) == foreseen(recorded, path, release)


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_a_turn_lasts_as_long_as_2_1_325_measured(scenario: str) -> None:
    for path in interactive_sessions("2.1.325", scenario):
        lines = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
        measured = [line["durationMs"] for line in lines if line.get("subtype") == "turn_duration"]
        turns = [turn for turn in load_file(path).all_turns if any(event.kind == "turn-duration" for event in turn.events)]
        assert measured
        # The report of a background command: the client counts from the turn that started the command, 4.4 s before.
        expected = [77 if scenario == "bg" and duration == 4460 else duration for duration in measured]
        assert [turn.duration_ms for turn in turns] == expected


@pytest.mark.parametrize(("release", "evidence"), [("2.0.76", "queue"), ("2.1.45", "queue"), ("2.1.325", "attachment")])
def test_a_prompt_taken_in_mid_turn_says_where_it_was_found(release: str, evidence: str) -> None:
    # Contract A3: older releases tell of it in the queue's lines alone.
    [path] = interactive_sessions(release, "queue")
    assert {each.evidence for turn in load_file(path).turns for each in turn.interjections} == {evidence}


def test_calls_after_a_change_of_model_are_another_model_s() -> None:
    [path] = interactive_sessions("2.1.325", "basic")
    models = [{call.model for call in turn.calls} for turn in load_file(path).turns]
    assert models == [{"claude-opus-5-5"}, {"claude-opus-5-5"}, {"claude-opus-5-5"}, {"claude-sonnet-5-5"}]
