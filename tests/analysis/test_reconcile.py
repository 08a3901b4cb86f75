"""Our sum beside the total that the real client wrote into the same session, over every recording of 2.1.325."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from tests.corpora import FIXTURES
from tests.pricing.test_session import SIDE_REQUESTS

from stenograph.analysis import Reconciled, reconcile_sessions
from stenograph.index import open_store, sync_usage
from stenograph.pricing import GapReason, Tariff

RECORDED = FIXTURES / "recorded" / "2.1.325"


@pytest.fixture(scope="module")
def reconciled(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Reconciled]:
    home = tmp_path_factory.mktemp("home")
    for kind in ("print", "interactive"):
        shutil.copytree(RECORDED / kind, home / "projects", dirs_exist_ok=True)
    store = open_store(None)
    sync_usage(store, [home])
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
