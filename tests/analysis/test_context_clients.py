"""What filled the context, beside a count of each part alone in the requests that real clients sent."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from lab.counting import CountingStage, count, count_request, play_work
from lab.observatory.studio import Studio
from tests.conftest import Client

from stenograph.analysis import Resident, context_of, shape_of
from stenograph.sessions import load_file

#: Tokens beside which a tenth means nothing.
FEW = 40
PARTS = {"tools": "system", "prompts": "conversation", "answers": "conversation", "result Read": "files"}
#: Releases that record memory files, and what they add to the conversation.
RECORDS_NOTES = {"2.1.325"}


@pytest.mark.clients
@pytest.mark.proof
@pytest.mark.parametrize("release", ["2.0.76", "2.1.45", "2.1.325"])
def test_every_part_is_close_to_a_count_of_that_part_alone(release: str, client: Client, tmp_path: Path) -> None:
    """2.1.45 records the beginning of each output, and loses a parallel call when it resumes."""
    with Studio(client(release), release, tmp_path, CountingStage()) as studio:
        session_id = play_work(studio)
    bodies = {message["id"]: body for body, message, _ in studio.stage.answered}
    (path,) = (studio.home / ".claude" / "projects").glob(f"*/{session_id}.jsonl")
    session = load_file(path)
    residents: list[Resident] = []
    found, truth = Counter[str](), Counter[str]()
    contexts = list(context_of(session.turns, session.compactions, shape_of(session.graph.records), residents))
    assert len(contexts) == 13
    for each in contexts:
        counted = count_request(bodies[each.call.message_id])
        assert each.prompt == sum(each.parts.values()) == counted.total()
        assert min(each.parts.values()) >= 0
        found.update(each.parts)
        for part, tokens in counted.items():
            truth["output" if part.startswith("result ") and part not in PARTS else PARTS.get(part, part)] += tokens
    if release in RECORDS_NOTES:
        truth["system"] += truth.pop("notes")
    else:
        # Memory is part of what every request carries, and nothing tells of the notes: they are unknown.
        truth["system"] += truth.pop("memory")
        truth["unknown"] = truth.pop("notes")
    mean = {part: tokens / len(contexts) for part, tokens in truth.items()}
    for part in ("system", "memory", "files", "output", "conversation", "thinking"):
        assert found[part] / len(contexts) == pytest.approx(mean.get(part, 0), rel=0.1), part
    assert found["unknown"] / len(contexts) == pytest.approx(mean.get("unknown", 0), abs=0.005 * sum(mean.values()))
    alone, attributed = Counter[str](), Counter[str]()
    for resident in residents:
        alone[resident.tool.name] += count(resident.tool.result)
        attributed[resident.tool.name] += resident.tokens
    for name, tokens in alone.items():
        assert attributed[name] == pytest.approx(tokens, rel=0.1, abs=FEW), name
