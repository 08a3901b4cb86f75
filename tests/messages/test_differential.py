"""Generated sessions: what real clients send of them is what we say, and we get over all of them.

The sessions of a seed are always the same, so a failure can be repeated: `scripts/differ_clients.py --seed N --only NUMBER
--shrink` shows the difference. Nothing here holds words of a session but those that the generator made.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from lab.oracle import ask
from tests.conftest import Client
from tests.messages.generator import HardSession, all_features, hard_sessions, numbered_sessions
from tests.messages.golden import RELEASES, compare_with_answer, our_messages

from stenograph.graph import build_graph
from stenograph.messages import explain, lost, resume_messages
from stenograph.records import read_all_records
from stenograph.testing.scripted_api import ScriptedApi

SEED = 1000
A_FEW = 6
MANY = 500
AT_ONCE = 2
# 2.0.76 never comes back from a loop of parents (rule 25).
TIMEOUT = 30.0

#: Sessions of the seed in which a difference is known, by release: rule and reason.
EXCEPTIONS: dict[str, dict[int, str]] = {}


def _differing(release: str, program: Path, sessions: list[HardSession], folder: Path) -> Iterator[str]:
    """One line for each session that differs: its number and its shapes, and where the file is kept."""

    def differs(number: int) -> bool:
        data = sessions[number].data
        path = folder / f"{number}.jsonl"
        path.write_bytes(data)
        with ScriptedApi() as api:
            answer = ask(program, data, api=api, timeout=TIMEOUT)
        return compare_with_answer(release, data, answer, our_messages(release, data, path)) is not None

    with ThreadPoolExecutor(AT_ONCE) as pool:
        for number, does in enumerate(pool.map(differs, range(len(sessions)))):
            if does and number not in EXCEPTIONS.get(release, {}):
                yield f"#{number} in {folder}: {' '.join(sorted(sessions[number].features))}"


@pytest.mark.sample
@pytest.mark.clients
@pytest.mark.parametrize("release", RELEASES)
def test_a_real_client_sends_what_we_say_of_a_few_generated_sessions(release: str, client: Client, tmp_path: Path) -> None:
    assert list(_differing(release, client(release), list(numbered_sessions(SEED, A_FEW)), tmp_path)) == []


@pytest.mark.clients
@pytest.mark.full
@pytest.mark.parametrize("release", RELEASES)
def test_a_real_client_sends_what_we_say_of_hundreds_of_generated_sessions(release: str, client: Client, tmp_path: Path) -> None:
    assert list(_differing(release, client(release), list(numbered_sessions(SEED, MANY)), tmp_path)) == []


def test_hundreds_of_generated_sessions_have_every_shape_among_them() -> None:
    found = frozenset[str]().union(*(session.features for session in numbered_sessions(SEED, MANY)))
    assert found == all_features()


def test_a_seed_gives_the_same_sessions_every_time() -> None:
    assert list(numbered_sessions(SEED, 20)) == list(numbered_sessions(SEED, 20))
    assert list(numbered_sessions(SEED, 20)) != list(numbered_sessions(SEED + 1, 20))


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(session=hard_sessions())
def test_no_generated_session_is_too_hard_to_explain(session: HardSession, tmp_path: Path) -> None:
    path = tmp_path / "session.jsonl"
    path.write_bytes(session.data)
    graph = build_graph([(path, "", read_all_records(path))])
    for release in RELEASES:
        resume = resume_messages(graph, release)
        assert len(explain(resume, graph)) == len(graph.records)
        assert lost(graph, release).release == release
