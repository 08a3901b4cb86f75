"""What ten releases wrote in print mode, against what the scripts made them do."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.turns.comparing import foreseen, seen
from tests.turns.expected.printed import RELEASES, SCENARIOS, expected
from tests.turns.recordings import print_session

from stenograph.sessions.loading import load_file
from stenograph.turns import AgentRun

# Forks of these keep the old session's id on copied lines; 2.1.112 and later rewrite it, 1.0.128 too (rule 52, and the files).
FORKS_THAT_TELL = ("2.0.36", "2.0.42", "2.0.50", "2.0.76", "2.1.29", "2.1.45")


@pytest.mark.parametrize("release", RELEASES)
@pytest.mark.parametrize("scenario", SCENARIOS)
def test_the_turns_are_what_the_script_made_the_client_do(scenario: str, release: str) -> None:
    path = print_session(release, scenario)
    recorded = expected(scenario, release)
    assert seen(load_file(path), recorded) == foreseen(recorded, path, release)


@pytest.mark.parametrize("release", RELEASES)
def test_a_fork_has_the_turns_of_its_origin_under_the_same_numbers(release: str) -> None:
    origin, fork = load_file(print_session(release, "tools")), load_file(print_session(release, "fork"))
    assert [(turn.number, turn.uuid) for turn in fork.turns[:2]] == [(turn.number, turn.uuid) for turn in origin.turns[:2]]
    assert fork.turns[2].number == origin.turns[2].number == 3
    assert fork.turns[2].uuid != origin.turns[2].uuid


@pytest.mark.parametrize("release", RELEASES)
def test_a_fork_names_its_origin_where_the_release_left_the_old_id_on_copies(release: str) -> None:
    origin, fork = print_session(release, "tools"), load_file(print_session(release, "fork"))
    assert [link.session_id for link in fork.continues] == ([origin.stem] if release in FORKS_THAT_TELL else [])
    assert load_file(origin).continues == ()


@pytest.mark.parametrize("release", [release for release in RELEASES if release.startswith("2.1.")])
def test_a_long_output_is_read_from_the_file_it_was_spilled_to(release: str) -> None:
    session = load_file(print_session(release, "tools"))
    [tool] = [tool for tool in session.turns[0].tool_calls if tool.input.get("command") == "seq 1 20000"]
    assert tool.spilled is not None
    assert tool.read_output().split() == [str(number) for number in range(1, 20001)]


@pytest.mark.parametrize("release", RELEASES)
def test_sub_agents_that_no_tool_call_started_only_warmed_up(release: str) -> None:
    # 2.0.36 to 2.0.76 warm agents up. Those are given no script, and the stand-in for the API says "Scripted run" then.
    strays = [run for run in _agents_of(print_session(release, "tools").parent) if not run.tool_use_id]
    assert bool(strays) == release.startswith("2.0.")
    assert {run.answer for run in strays} <= {"Scripted run"}


@pytest.mark.parametrize("release", ["2.0.36", "2.0.76"])
def test_an_agent_whose_prompt_is_the_warm_up_is_known_for_one(release: str) -> None:
    folder = print_session(release, "tools").parent
    files = {path.stem.removeprefix("agent-") for path in folder.glob("agent-*.jsonl") if b'"Warmup"' in path.read_bytes()}
    assert files
    assert {run.agent_id for run in _agents_of(folder) if run.is_warmup} == files


def _agents_of(project: Path) -> list[AgentRun]:
    sessions = [path for path in sorted(project.glob("*.jsonl")) if not path.stem.startswith("agent-")]
    return [run for path in sessions for run in load_file(path).agents]


@pytest.mark.parametrize("release", RELEASES)
def test_every_empty_file_is_a_session_without_turns(release: str) -> None:
    empty = [path for path in print_session(release, "tools").parent.glob("*.jsonl") if not path.stat().st_size]
    assert bool(empty) == release.startswith("2.0.")
    for path in empty:
        session = load_file(path)
        assert (session.turns, session.branches, session.findings) == ((), (), ())


@pytest.mark.parametrize("release", RELEASES)
def test_the_compaction_knows_its_summary_and_its_tokens(release: str) -> None:
    path = print_session(release, "tools")
    lines = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    [boundary] = [line for line in lines if line.get("subtype") == "compact_boundary"]
    [summary] = [line for line in lines if line.get("isCompactSummary")]
    [compaction] = load_file(path).compactions
    assert compaction.summary == summary["message"]["content"]
    assert compaction.tokens_before == boundary["compactMetadata"]["preTokens"]
