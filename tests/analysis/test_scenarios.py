"""What filled the context, and what an edit leaves of it, in every kind of session that is recorded: each scenario is played
by a real client against an API that counts what it is sent."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from lab.counting import CountingStage, count_request
from lab.observatory import print_scenarios, terminal_scenarios
from lab.observatory.studio import Scenario, Studio
from lab.resuming import count_resumed
from tests.conftest import Client

from stenograph.analysis import context_of, shape_of
from stenograph.sessions import load_file
from stenograph.surgery import AnyEdit, Compress, DropToolCalls, DropTurns, Selector, StripThinking, TruncateResults, make_plan
from stenograph.turns import Session

SCENARIOS = (*print_scenarios.SCENARIOS, *terminal_scenarios.SCENARIOS)
#: Releases that record what they add to the conversation.
RECORDS_NOTES = {"2.1.325"}
OURS = {"tools": "system", "prompts": "conversation", "answers": "conversation", "result Read": "files"}
#: Beside a hundredth of the prompt, a tenth of a part means nothing.
LITTLE = 0.01


@pytest.mark.clients
@pytest.mark.full
@pytest.mark.parametrize("release", ["2.0.76", "2.1.45", "2.1.325"])
@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.name)
def test_figures_are_within_a_tenth_of_what_the_client_sends(
    release: str, scenario: Scenario, client: Client, tmp_path: Path
) -> None:
    with Studio(client(release), release, tmp_path, CountingStage()) as studio:
        scenario.play(studio)
        files = [path for path in (studio.home / ".claude" / "projects").glob("*/*.jsonl") if not path.name.startswith("agent-")]
        for path in files:
            session = load_file(path)
            if any(call.tokens.total for turn in session.turns for call in turn.calls):
                _check_parts(session, studio, has_notes=release in RECORDS_NOTES)
                _check_edits(path, len(session.turns), studio, scenario)


def _check_parts(session: Session, studio: Studio, *, has_notes: bool) -> None:
    bodies = {message["id"]: body for body, message, answer in studio.stage.answered if not answer.usage}
    found, truth = Counter[str](), Counter[str]()
    for each in context_of(session.turns, session.compactions, shape_of(session.graph.records)):
        body = bodies.get(each.call.message_id)
        if body is None:  # a usage that the scenario made up
            continue
        counted = count_request(body)
        assert each.prompt == sum(each.parts.values()) == counted.total()
        found.update(each.parts)
        for part, tokens in counted.items():
            truth["output" if part.startswith("result ") and part not in OURS else OURS.get(part, part)] += tokens
    truth["system"] += truth.pop("notes", 0)
    unknown = found.pop("unknown", 0)
    if has_notes:
        assert unknown <= 2 * LITTLE * truth.total()
    else:  # memory files are part of what every request carries, and what nothing tells of is unknown
        truth["system"] += truth.pop("memory", 0)
    little = LITTLE * truth.total()
    for part in {*truth, *found}:
        assert found[part] <= 1.1 * truth[part] + little, part
        assert found[part] + (0 if has_notes else unknown) >= 0.9 * truth[part] - little, part


def _edits(turns: int) -> dict[str, list[AnyEdit]]:
    some: dict[str, list[AnyEdit]] = {
        "results": [TruncateResults(limit=100)],
        "tools": [DropToolCalls(which=Selector())],
        "thinking": [StripThinking()],
    }
    if turns > 1:
        some["last"] = [DropTurns(which=Selector(turns=((turns, turns),)))]
        some["first"] = [DropTurns(which=Selector(turns=((1, 1),)))]
        some["compress"] = [Compress(which=Selector(keep_last=1))]
    return some


def _check_edits(path: Path, turns: int, studio: Studio, scenario: Scenario) -> None:
    original = path.read_bytes()
    settings = {"ENABLE_TOOL_SEARCH": "true"} if scenario.name == "deferred" else None
    if b"Try the others." in original:
        settings = print_scenarios.MORE_TOOLS
    in_terminal = scenario in terminal_scenarios.SCENARIOS
    unedited = count_resumed(studio, original, in_terminal=in_terminal, environment=settings)
    for name, edits in _edits(turns).items():
        plan = make_plan(path, edits)
        edited = b"".join(plan.new_file())
        if edited == original:
            continue
        if unedited is not None:
            assert plan.outlook.tokens_before == pytest.approx(unedited, rel=0.1), name
        sent = count_resumed(studio, edited, in_terminal=in_terminal, environment=settings)
        if sent is not None:  # 2.0.76 does not resume every result of every tool
            assert plan.outlook.tokens_after == pytest.approx(sent, rel=0.1), name
