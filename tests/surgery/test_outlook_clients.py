"""A plan's tokens beside the request that the real client sends with the edited file, counted by the scripted API."""

from __future__ import annotations

from pathlib import Path

import pytest
from lab.counting import CountingStage, play_work
from lab.observatory.studio import Studio
from lab.resuming import count_resumed
from tests.conftest import Client

from stenograph.surgery import (
    AnyEdit,
    Compress,
    DropToolCalls,
    DropTurns,
    Selector,
    StripThinking,
    TruncateResults,
    make_plan,
)

EDITS: list[list[AnyEdit]] = [
    [DropTurns(which=Selector(turns=((2, 2),)))],
    [DropTurns(which=Selector(turns=((1, 2),)))],
    [TruncateResults(limit=500)],
    [StripThinking()],
    [DropToolCalls(which=Selector(tools=("Read",)))],
    [Compress(which=Selector(keep_last=1))],
]


@pytest.mark.clients
@pytest.mark.proof
@pytest.mark.parametrize("release", ["2.0.76", "2.1.45", "2.1.325"])
def test_predicted_tokens_are_within_a_tenth_of_what_the_client_sends(release: str, client: Client, tmp_path: Path) -> None:
    with Studio(client(release), release, tmp_path, CountingStage()) as studio:
        session_id = play_work(studio)
        (path,) = (studio.home / ".claude" / "projects").glob(f"*/{session_id}.jsonl")
        unedited = count_resumed(studio, path.read_bytes())
        for edits in EDITS:
            plan = make_plan(path, edits)
            assert not plan.problems
            assert plan.outlook.is_measured
            assert plan.outlook.tokens_before == pytest.approx(unedited, rel=0.1)
            sent = count_resumed(studio, b"".join(plan.new_file()))
            assert plan.outlook.tokens_after == pytest.approx(sent, rel=0.1), edits
