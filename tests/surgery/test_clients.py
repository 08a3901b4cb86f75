"""Real clients resume edited sessions and send exactly what the plan said.

In `make test` every edit once a release, on a session that it changes; under `--full` every edit on every recorded session and
on forty public ones.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from lab.oracle import PROMPT, normalise, stored_reminders
from tests.conftest import Client
from tests.corpora import CORPUS, without_agents
from tests.homes import session_id, write_session
from tests.messages.asking import Question, ask_question, normalised, of_file
from tests.messages.golden import RELEASES, sends_rendered
from tests.surgery.edited import EDITS, recorded_sessions
from tests.surgery.test_behind_a_compaction import COMPACTED
from tests.surgery.test_new_end import ATTACHMENT_LAST, INTERRUPTED, SECOND_TURN, THIRD_TURN, THREE
from tests.surgery.test_parallel_calls import PARALLEL, READ, three_at_once

from stenograph.errors import UsageError
from stenograph.surgery import AnyEdit, Plan, make_plan

pytestmark = pytest.mark.clients

TIMEOUT = 120.0


def _changing(name: str, path: Path) -> Plan | None:
    try:
        plan = make_plan(path, EDITS[name])
    except UsageError:
        return None
    return None if plan.is_empty or plan.problems else plan


def _difference(program: Path, release: str, path: Path, plan: Plan) -> str:
    """How what a client sends of an edited session differs from what was predicted; empty when it does not."""
    whole = of_file(path, path.name)
    question = Question(whole.name, b"".join(plan.new_file()), whole.session_id, whole.extra_files)
    sent = normalised(question, release, ask_question(program, question, TIMEOUT))
    outcome = next(each for each in plan.outcomes if each.release == release)
    if outcome.refused:  # it was so before: there is nothing to resume
        return "" if sent is None else f"predicted to be refused: {outcome.refused}"
    keep = stored_reminders(question.data, rendered=sends_rendered(release))
    predicted = normalise([*outcome.after, {"role": "user", "content": PROMPT}], keep=keep)
    if sent == predicted:
        return ""
    return f"{len(sent or [])} messages sent, {len(predicted)} predicted"


@pytest.mark.sample
@pytest.mark.parametrize("release", RELEASES)
@pytest.mark.parametrize("name", EDITS)
def test_an_edited_session_is_resumed_as_predicted(name: str, release: str, client: Client) -> None:
    program = client(release)
    sessions = recorded_sessions()
    # Another session for each edit, so that the same one is not asked about all the time.
    start = list(EDITS).index(name) * 7
    chosen = next((p, plan) for p in (*sessions[start:], *sessions[:start]) if (plan := _changing(name, p)))
    assert not _difference(program, release, *chosen)


@pytest.mark.parametrize("release", RELEASES)
def test_a_call_beside_a_dropped_one_is_resumed_as_predicted(release: str, client: Client, tmp_path: Path) -> None:
    program = client(release)
    for path in (PARALLEL, write_session(tmp_path, session_id(1), three_at_once())):
        assert not _difference(program, release, path, make_plan(path, [READ]))


@pytest.mark.parametrize("release", RELEASES)
@pytest.mark.parametrize(
    ("path", "edit"),
    [(COMPACTED, SECOND_TURN), (ATTACHMENT_LAST, SECOND_TURN), (INTERRUPTED, SECOND_TURN), (THREE, THIRD_TURN)],
    ids=["behind a compaction", "before an attachment", "after an interruption", "last"],
)
def test_a_session_without_a_turn_that_ends_or_was_condensed_is_resumed_as_predicted(
    path: Path, edit: AnyEdit, release: str, client: Client
) -> None:
    assert not _difference(client(release), release, path, make_plan(path, [edit]))


def _wrong_edits(program: Path, release: str, path: Path) -> dict[str, str]:
    """The edits of a session of which a client sends something else than predicted, and what differs."""
    asked = set()
    wrong = {}
    for name in EDITS:
        plan = _changing(name, path)
        data = b"".join(plan.new_file()) if plan else b""
        if plan and data not in asked:  # several edits may make the same file
            asked.add(data)
            if said := _difference(program, release, path, plan):
                wrong[name] = said
    return wrong


@pytest.mark.full
@pytest.mark.parametrize("release", RELEASES)
@pytest.mark.parametrize("path", recorded_sessions(), ids=lambda path: path.name[:8])
def test_every_edit_of_every_recorded_session_is_resumed_as_predicted(path: Path, release: str, client: Client) -> None:
    assert not _wrong_edits(client(release), release, path), path.name


def _public() -> list[Path]:
    files = without_agents((CORPUS / "public").rglob("*.jsonl"))
    return sorted((path for path in files if path.stat().st_size < 1_500_000), key=lambda path: path.stat().st_size)[-40:]


@pytest.mark.full
@pytest.mark.parametrize("release", RELEASES)
@pytest.mark.parametrize("place", range(40))
def test_every_edit_of_public_sessions_is_resumed_as_predicted(place: int, release: str, client: Client) -> None:
    if not _public():
        pytest.skip("no corpus of public sessions")
    path = _public()[place]
    assert not _wrong_edits(client(release), release, path), path.name
