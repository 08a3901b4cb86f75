"""What 2.1.325 itself says that runs cost, with every model it knows and in sessions of every kind (`lab/bills.py`)."""

from __future__ import annotations

import json
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from lab.bills import NOBODY_KNOWS, USAGES, bill_model
from tests.conftest import Client
from tests.corpora import FIXTURES
from tests.pricing.usages import usage

from stenograph.analysis import Reconciled, reconcile_sessions
from stenograph.index import open_store, sync_usage
from stenograph.pricing import GapReason, Tariff, price_usage, session_cost, table_of
from stenograph.records import read_records
from stenograph.releases import NEWEST
from stenograph.testing.lines import assistant, beside, write

BILLED = FIXTURES / "billed"
MODELS: dict[str, Any] = json.loads((BILLED / "models.json").read_text("utf-8"))
A_MILLIONTH = Decimal("1e-6")
#: What each session's lines show, by the names of the scenarios; the sessions of a scenario in the order of their totals.
REASONS: dict[str, list[set[GapReason]]] = {
    "agents": [set(), {GapReason.COPIED}],
    "resumes": [set(), set()],
    "compactions": [{GapReason.COMPACTION}, {GapReason.COMPACTION, GapReason.COPIED}],
    "errors": [set(), {GapReason.FAILED_STREAM}, set()],
    "web": [{GapReason.WEB_SEARCH, GapReason.WEB_FETCH}],
    "hooks": [{GapReason.HOOK}],
    "killed": [{GapReason.KILLED}],
}
#: Kinds of requests without a line that the client charges.
CHARGED = {"summary", "search", "fetch", "hook", "cut"}


def test_every_model_that_has_a_price_was_charged_by_the_client() -> None:
    assert {*table_of().models, NOBODY_KNOWS} <= MODELS["models"].keys()
    assert MODELS["release"] == NEWEST
    assert len(MODELS["usages"]) == len(USAGES)


@pytest.mark.parametrize("model", MODELS["models"])
def test_usages_cost_what_the_client_charged(model: str, tmp_path: Path) -> None:
    said = MODELS["models"][model]
    costs = [price_usage(usage(**each), model) for each in MODELS["usages"]]
    assert abs(sum(cost.usd for cost in costs) - Decimal(str(said["usd"]))) < A_MILLIONTH
    advisor = sum((cost.advisor for cost in costs), Decimal(0))
    by_model = {name: Decimal(str(each["usd"])) for name, each in said["models"].items()}
    if len(by_model) > 1:
        assert abs(by_model["claude-sonnet-4-6"] - advisor) < A_MILLIONTH
    found = _by_the_index(model, said["usd"], tmp_path)
    if model == NOBODY_KNOWS:
        assert said["models"][model]["basis"] == "unknown"
        assert found.unpriced_calls == len(USAGES)  # the client guesses a price, we do not
    else:
        assert {each["basis"] for each in said["models"].values()} == {"list"}
        assert found.is_equal


def _by_the_index(model: str, usd: float, home: Path) -> Reconciled:
    name = "11111111-2222-4333-8444-555555555555"
    lines: list[Any] = [
        assistant(f"{number}", f"msg_{number}", [], model=model.partition("[")[0], stop_reason="end_turn", usage=each)
        | {"sessionId": name, "version": NEWEST, "timestamp": "2026-11-16T10:00:00.000Z", "requestedModel": model}
        for number, each in enumerate(MODELS["usages"])
    ]
    write(home / "projects" / "-p" / f"{name}.jsonl", [*lines, beside("cost-state", sessionId=name, totalCostUSD=usd)])
    store = open_store(None)
    sync_usage(store, [home])
    (found,) = reconcile_sessions(store, (home,), Tariff())
    return found


@pytest.mark.parametrize("scenario", REASONS)
def test_the_lines_and_the_requests_without_a_line_are_the_clients_total(scenario: str) -> None:
    """The scripted API knows the usage of every request that it answered, also of those that no file tells of."""
    home = BILLED / scenario
    bill = json.loads((home / "bill.json").read_text("utf-8"))
    store = open_store(None)
    sync_usage(store, [home])
    found = sorted(reconcile_sessions(store, (home,), Tariff()), key=lambda each: each.theirs)
    assert {each.session: each.theirs / 1e12 for each in found} == pytest.approx(bill["totals"], abs=1e-9)
    charged = [price_usage(usage(**each["usage"]), each["model"]).usd for each in bill["side"] if each["kind"] in CHARGED]
    side = sum(charged, Decimal(0))
    for each, reasons in zip(found, REASONS[scenario], strict=True):
        assert set(each.reasons) == reasons, each.session
        assert each.is_equal is (not reasons)
        total = Decimal(str(bill["totals"][each.session]))
        lines = session_cost(_records(home, each.session, with_parent=GapReason.COPIED in reasons)).usd
        if GapReason.KILLED in reasons:
            lines -= session_cost(_before_the_total(home, each.session)).usd
        assert abs(total - lines - (side if reasons else 0)) < A_MILLIONTH, each.session
        _check_amounts(each, side)


def _check_amounts(found: Reconciled, side: Decimal) -> None:
    """What no line tells of is by what the API reported; what a fork left behind and what a killed run used are in the lines."""
    assert sum(found.amounts.values()) + found.rest == found.difference
    of_requests = [reason for reason in found.reasons if reason not in (GapReason.COPIED, GapReason.KILLED)]
    amount = sum(found.amounts.get(reason, 0) for reason in of_requests) + found.rest
    assert Decimal(amount) / 10**12 == pytest.approx(side if of_requests else Decimal(0), abs=A_MILLIONTH)
    # Two reasons share what is left.
    assert (found.rest == 0) is (len(of_requests) < 2)


def _records(home: Path, session: str, *, with_parent: bool) -> Any:
    """Of a session and its subagents; of a fork its parent's too."""
    names = "*" if with_parent else session
    files = sorted([*home.glob(f"projects/*/{names}.jsonl"), *home.glob(f"projects/*/{names}/subagents/*.jsonl")])
    return [located.record for file in files for located in read_records(file)]


def _before_the_total(home: Path, session: str) -> Any:
    """The records of a run before the one that wrote the only total, by its beginning."""
    (path,) = home.glob(f"projects/*/{session}.jsonl")
    lines = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    (began,) = {line["startTime"] for line in lines if line["type"] == "cost-state"}
    stamps = [line.get("timestamp") for line in lines]
    first = next(place for place, line in enumerate(lines) if line["type"] == "user" and _ms(stamps[place]) > began)
    return [located.record for located in read_records(path)][:first]


def _ms(stamp: str) -> float:
    return datetime.fromisoformat(stamp).timestamp() * 1000


@pytest.mark.clients
@pytest.mark.parametrize("model", MODELS["models"])
def test_the_client_still_charges_so(model: str, client: Client, tmp_path: Path) -> None:
    said = bill_model(client(NEWEST), NEWEST, model, tmp_path)
    assert said["usd"] == pytest.approx(MODELS["models"][model]["usd"], abs=1e-9)
    assert said["models"].keys() == MODELS["models"][model]["models"].keys()
