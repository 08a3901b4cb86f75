"""Generated sessions with every kind of attachment: what five releases answered is what we say, reminders included.

The answers are kept by scripts/ask_attached.py. What is left out of both, because no file holds it, is named in `reminded.py`.
"""

from __future__ import annotations

import json
from collections import defaultdict
from pathlib import Path

import pytest
from lab.oracle import ask
from tests.conftest import Client
from tests.corpora import ROOT
from tests.messages.attached import BODIES, COUNT, attached_sessions
from tests.messages.reminded import OWN_KINDS, RELEASES, entry, entry_of, golden, key_of, our_messages, sessions

from stenograph.releases import own_kinds
from stenograph.testing.scripted_api import ScriptedApi

# So many sessions at least were asked about.
ASKED = 320
# One session each, asked again.
SAMPLE = dict(zip(RELEASES, (3, 8, 12, 17, 26), strict=True))


@pytest.mark.parametrize("release", RELEASES)
def test_our_messages_are_those_of_the_client_reminders_included(release: str, tmp_path: Path) -> None:
    answers = golden()["answers"][release]
    assert len(answers) == COUNT
    assert sum(answer is not None for answer in answers) == ASKED
    differing = {}
    for number, (session, theirs) in enumerate(zip(sessions(), answers, strict=True)):
        ours = entry(our_messages(session, release, tmp_path)) if theirs else None
        if ours != theirs:
            differing[number] = (ours, theirs)
    assert differing == {}


def test_the_sessions_are_those_that_were_asked_about() -> None:
    assert golden()["sessions"] == [key_of(session) for session in attached_sessions()]


def test_every_kind_of_attachment_that_a_client_was_recorded_to_write_is_among_them() -> None:
    recorded = set()
    for path in (ROOT / "recordings").rglob("*.jsonl"):
        for line in path.read_bytes().splitlines():
            record = json.loads(line) if b'"attachment"' in line else {}
            if record.get("type") == "attachment":
                recorded.add(record["attachment"]["type"])
    assert recorded == BODIES.keys()


def test_every_kind_is_in_many_positions() -> None:
    positions = defaultdict(set)
    for session in sessions():
        for kind, position in session.positions:
            positions[kind].add(position)
    assert len(set().union(*positions.values())) == 18
    assert min(map(len, positions.values())) >= 12


def test_own_words_are_left_out_only_of_kinds_that_are_named() -> None:
    """Of the others a release says nothing of its own, or the sessions store what was said."""
    assert OWN_KINDS.keys() <= own_kinds(RELEASES[-1])
    assert all(len(golden()["own"][release]) <= len(OWN_KINDS) * 3 for release in RELEASES)


@pytest.mark.clients
@pytest.mark.parametrize(("release", "number"), SAMPLE.items())
def test_a_client_answers_as_it_did(release: str, number: int, client: Client) -> None:
    with ScriptedApi() as api:
        answer = ask(client(release), sessions()[number].data, api=api)
    own_words = frozenset((length, digest) for length, digest in golden()["own"][release])
    assert entry_of(answer, own_words) == golden()["answers"][release][number]
