"""Our sum beside the total that the real client wrote into the same session, over every recording of 2.1.325."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from tests.corpora import FIXTURES
from tests.pricing.test_session import SIDE_REQUESTS

from stenograph.analysis import Reconciled, UsageScope, reconcile_sessions, usage_table
from stenograph.index import IndexStore, open_store, sync_usage
from stenograph.pricing import GapReason, Tariff

RECORDED = FIXTURES / "recorded" / "2.1.325"


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("home")
    for kind in ("print", "interactive"):
        shutil.copytree(RECORDED / kind, home / "projects", dirs_exist_ok=True)
    return home


@pytest.fixture(scope="module")
def store(home: Path) -> IndexStore:
    store = open_store(None)
    sync_usage(store, [home])
    return store


@pytest.fixture(scope="module")
def reconciled(home: Path, store: IndexStore) -> dict[str, Reconciled]:
    return {each.session: each for each in reconcile_sessions(store, (home,), Tariff())}


def _total(path: Path) -> float:
    totals = [json.loads(line)["totalCostUSD"] for line in path.read_text("utf-8").splitlines() if '"cost-state"' in line]
    return float(totals[-1])


def test_every_session_is_equal_or_the_difference_is_explained(reconciled: dict[str, Reconciled]) -> None:
    paths = {path.stem: path for path in RECORDED.glob("*/*/*.jsonl")}
    assert reconciled.keys() == paths.keys()
    assert len(paths) > 10
    for session, each in reconciled.items():
        assert each.theirs == pytest.approx(_total(paths[session]) * 1e12, abs=1000)
        expected = SIDE_REQUESTS.get(session[:8])
        if expected is None:
            assert abs(each.difference) < 1_000_000, session  # a millionth of a dollar
            assert each.is_equal
            assert each.reasons == ()
        else:
            assert each.difference > 10**9
            assert set(each.reasons) == expected


def test_forks_and_their_parents_add_up_to_what_all_calls_cost(
    reconciled: dict[str, Reconciled], home: Path, store: IndexStore
) -> None:
    """All sessions have a total, so a sum in which each call counts once is that of `usage`."""
    forks = [each for each in reconciled.values() if each.shared is not None]
    assert forks
    total = usage_table(store, UsageScope((home,)), Tariff()).total.spent
    assert sum(each.ours_once for each in reconciled.values()) == total.measured
    assert sum(each.ours for each in reconciled.values()) > total.measured
    # What is left of the difference was requested, but is in no file.
    side_requests = sum(each.theirs_once - each.ours_once for each in reconciled.values())
    copied = sum(each.amounts.get(GapReason.COPIED, 0) for each in forks)
    assert side_requests == sum(each.difference for each in reconciled.values()) - copied


def test_a_session_is_compared_if_it_has_a_call_in_a_range_of_time(home: Path, store: IndexStore) -> None:
    times = [time for (time,) in store.connection.execute("SELECT time FROM model_calls ORDER BY time")]
    every = reconcile_sessions(store, (home,), Tariff(), since=times[0], until=times[-1] + 1, explain=False)
    without = {each.session for each in reconcile_sessions(store, (home,), Tariff(), explain=False) if not each.calls}
    assert len(every) + len(without) == len(reconcile_sessions(store, (home,), Tariff(), explain=False))
    for middle in times[1:-1:50]:
        before = reconcile_sessions(store, (home,), Tariff(), until=middle, explain=False)
        behind = reconcile_sessions(store, (home,), Tariff(), since=middle, explain=False)
        both = {each.session for each in before} | {each.session for each in behind}
        assert both == {each.session for each in every}
    assert len(reconcile_sessions(store, (home,), Tariff(), until=times[len(times) // 2], explain=False)) < len(every)
    assert reconcile_sessions(store, (home,), Tariff(), until=times[0], explain=False) == []


def test_a_session_whose_subagents_are_gone_says_so(tmp_path: Path) -> None:
    folder = next(RECORDED.glob("*/*/*/subagents")).parent
    project = tmp_path / "projects" / "-p"
    project.mkdir(parents=True)
    shutil.copy(folder.with_name(f"{folder.name}.jsonl"), project)
    store = open_store(None)
    sync_usage(store, [tmp_path])
    (each,) = reconcile_sessions(store, (tmp_path,), Tariff())
    assert each.difference > 0
    assert GapReason.MISSING_AGENTS in each.reasons
