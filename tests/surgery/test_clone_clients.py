"""Real clients resume clones and send what they sent of the originals.

Without `--full` one session of each release's own, whole and cut; with it every recorded session with every client.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from lab.oracle import Answer
from tests.conftest import Client
from tests.corpora import FIXTURES
from tests.messages.asking import Question, ask_question, entry_of, normalised, questions
from tests.messages.golden import RELEASES, golden
from tests.surgery.cloning import contents_of, end_of_turn, put_back
from tests.turns.recordings import interactive_sessions

from stenograph.sessions.loading import load_file
from stenograph.surgery.clone import ClonePlan, plan_clone

pytestmark = pytest.mark.clients

TIMEOUT = 90.0
RECORDED = FIXTURES / "recorded"


def _question(plan: ClonePlan) -> Question:
    """The clone as a client finds it."""
    files = contents_of(plan)
    project = plan.path.parent
    beside = {target.relative_to(project).as_posix(): data for target, data in files.items() if target.is_relative_to(project)}
    return Question(None, beside.pop(plan.path.name), plan.new_id, beside)


def _as_of_the_original(plan: ClonePlan, answer: Answer) -> Answer:
    """An answer with the old ids in the place of the new ones."""
    messages = None if answer.messages is None else json.loads(put_back(plan, json.dumps(answer.messages).encode()))
    return Answer(messages, answer.refused, answer.returncode, answer.model, answer.said)


def _assert_same_as_golden(release: str, original: Question, tmp_path: Path, client: Client) -> None:
    assert original.name
    known = golden("recorded")[release][original.key]
    plan = plan_clone(RECORDED / original.name, to_project=tmp_path / "projects" / "p")
    answer = _as_of_the_original(plan, ask_question(client(release), _question(plan), TIMEOUT))
    # Empty sessions have one golden for all.
    assert entry_of(original, release, answer) == {**known, "name": original.name}


@pytest.mark.sample
@pytest.mark.parametrize("release", RELEASES)
def test_a_client_sends_of_a_clone_what_it_sent_of_the_original(release: str, tmp_path: Path, client: Client) -> None:
    path = interactive_sessions(release, "bg")[-1]
    original = next(one for one in questions("recorded") if one.name == path.relative_to(RECORDED).as_posix())
    _assert_same_as_golden(release, original, tmp_path, client)


@pytest.mark.full
@pytest.mark.parametrize("release", RELEASES)
@pytest.mark.parametrize("original", [pytest.param(one, id=one.name) for one in questions("recorded")])
def test_a_client_sends_the_same_of_every_clone(release: str, original: Question, tmp_path: Path, client: Client) -> None:
    _assert_same_as_golden(release, original, tmp_path, client)


@pytest.mark.parametrize("release", RELEASES)
def test_a_client_sends_of_a_cut_clone_what_it_would_have_sent_at_that_time(release: str, tmp_path: Path, client: Client) -> None:
    path = interactive_sessions(release, "bg")[-1]
    turns = load_file(path).turns
    middle = len(turns) // 2
    plan = plan_clone(path, at=turns[middle].number, to_project=tmp_path / "projects" / "p")
    assert plan.left_out
    end = end_of_turn(path, turns[middle + 1].node)
    assert plan.at == end
    lines = path.read_bytes().split(b"\n")[:-1]
    last = max(place for place, line in enumerate(lines) if b'"uuid":"%b"' % end.encode() in line)
    back_then = Question(None, b"\n".join([*lines[: last + 1], b""]), path.stem)
    sent: list[Any] = []
    for question in (back_then, _question(plan)):
        answer = ask_question(client(release), question, TIMEOUT)
        assert answer.messages, answer.said
        sent.append(normalised(back_then, release, answer if question is back_then else _as_of_the_original(plan, answer)))
    assert sent[0]
    assert sent[0] == sent[1]
