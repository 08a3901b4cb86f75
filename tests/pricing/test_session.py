"""The sum over a session's lines beside the total that the client wrote into the same file."""

from __future__ import annotations

import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from tests.corpora import FIXTURES, ROOT

from stenograph.pricing import GapReason, SessionCost, session_cost
from stenograph.records import Record, decode, read_records
from stenograph.testing.lines import assistant, beside

RECORDED = sorted((FIXTURES / "recorded" / "2.1.325").glob("*/*/*.jsonl"))
OBSERVED = sorted((ROOT / "recordings" / "2.1.325").glob("*/*.jsonl"))
# Sessions whose total holds requests that left no usage in any file, by the beginning of their name. The others are exact.
SIDE_REQUESTS = {
    "7390a914": {GapReason.COMPACTION},  # print: /compact
    "59bb3548": {GapReason.COMPACTION},  # interactive: /compact keep the numbers
    "8b13284b": {GapReason.COMPACTION},  # interactive: by itself
    "96461341": {GapReason.COMPACTION},  # compaction
    "b5aa761d": {GapReason.COMPACTION, GapReason.FAILED_STREAM},  # errors
    "94c82b47": {GapReason.COMPACTION},  # hooks
    "fdd39613": {GapReason.WEB_SEARCH, GapReason.WEB_FETCH},  # every tool
}
# USD per million tokens of the two models that the recordings use: input, output, cache read, cache write.
PRICES = {"claude-opus-5-5": (4, 20, 0.2, 5), "claude-sonnet-5-5": (2, 10, 0.1, 2.5)}


def _files(path: Path) -> list[Path]:
    return [path, *sorted((path.parent / path.stem).rglob("agent-*.jsonl"))]


def _cost_of(*paths: Path) -> SessionCost:
    return session_cost(located.record for path in paths for file in _files(path) for located in read_records(file))


def _counted_by_hand(path: Path) -> tuple[float, int, float]:
    """The sum and the number of responses, and the last total, by `json` alone."""
    costs: dict[str, float] = {}
    total = 0.0
    for file in _files(path):
        for line in file.read_text("utf-8").splitlines():
            record = json.loads(line)
            if record["type"] == "cost-state":
                total = record["totalCostUSD"]
            if record["type"] != "assistant" or record["message"]["stop_reason"] is None or not record.get("requestedModel"):
                continue
            counts = record["message"]["usage"]
            assert not counts["cache_creation"]["ephemeral_1h_input_tokens"]
            names = ("input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")
            priced = zip(names, PRICES[record["requestedModel"]], strict=True)
            costs[record["message"]["id"]] = sum(counts[name] * price for name, price in priced) / 1e6
    return sum(costs.values()), len(costs), total


@pytest.mark.parametrize("path", RECORDED + OBSERVED, ids=lambda path: f"{path.parent.name}-{path.stem[:8]}")
def test_a_recorded_session_costs_what_its_client_says_but_for_side_requests(path: Path) -> None:
    usd, responses, total = _counted_by_hand(path)
    cost = _cost_of(path)
    assert float(cost.usd) == pytest.approx(usd, abs=1e-12)
    assert cost.responses == responses
    assert cost.client_usd is not None
    assert cost.gap is not None
    assert float(cost.client_usd) == total
    expected = SIDE_REQUESTS.get(path.stem[:8])
    if path not in RECORDED:
        # Recorded anew from time to time. They keep a few lines of each kind only, so that answers seem to be copied.
        assert abs(cost.gap) < Decimal("1e-12") or set(cost.reasons) - {GapReason.COPIED}
    elif expected is None:
        assert abs(cost.gap) < Decimal("1e-12")
        assert cost.reasons == ()
    else:
        assert cost.gap > Decimal("0.001")
        assert set(cost.reasons) == expected


def test_a_fork_and_its_parent_together_count_copied_responses_once() -> None:
    parent, fork = (next(path for path in RECORDED if path.stem.startswith(name)) for name in ("7390a914", "13e5ec2e"))
    both, first, second = _cost_of(parent, fork), _cost_of(parent), _cost_of(fork)
    assert max(first.responses, second.responses) < both.responses < first.responses + second.responses
    ids = {
        json.loads(line)["message"]["id"]
        for path in (parent, fork)
        for line in path.read_text("utf-8").splitlines()
        if '"type":"assistant"' in line
    }
    assert both.responses == len(ids)
    assert both.client_usd == second.client_usd


def _answer(name: str, *, line: dict[str, Any] | None = None, usage: dict[str, Any] | None = None, **message: Any) -> Record:
    """A line of 2.1.325 with a million tokens of input, 4 USD, unless told otherwise."""
    said = {"model": "claude-opus-5-5", "stop_reason": "end_turn", "content": [], **message}
    counts = {"input_tokens": 1_000_000} if usage is None else usage
    whole = assistant(None, name, said.pop("content"), usage=counts, **said) | {"version": "2.1.325", **(line or {})}
    return decode(json.dumps(whole).encode())


def _total(usd: Any) -> Record:
    return _plain("cost-state", totalCostUSD=usd)


def _plain(kind: str, **members: Any) -> Record:
    return decode(json.dumps(beside(kind, **members)).encode())


def test_a_response_counts_once_at_its_dearest_line() -> None:
    """A fork after a compaction copies lines with their counts set to zero (2.1.325)."""
    cost = session_cost([_answer("a", usage={}), _answer("a"), _answer("a", usage={"input_tokens": 0}), _answer("b")])
    assert (cost.usd, cost.responses, cost.models) == (Decimal(8), 2, {"claude-opus-5-5": Decimal(8)})


def test_the_requested_model_is_charged_and_not_the_one_that_answered() -> None:
    cost = session_cost([_answer("a", line={"requestedModel": "claude-opus-4-8[1m]"}, model="claude-haiku-4-5")])
    assert cost.models == {"claude-opus-4-8[1m]": 5}


def test_interrupted_responses_and_those_that_the_client_made_up_cost_nothing() -> None:
    records = [
        _answer("a", stop_reason=None),
        _answer("b", line={"isAbortedMidStream": True}),
        _answer("c", model="<synthetic>"),
        _answer("d"),
    ]
    assert session_cost(records).usd == 4


def test_a_response_is_finished_if_one_of_its_lines_says_why_it_stopped() -> None:
    """As subagents of 2.1.114 in public sessions: null on every line but the last one."""
    assert session_cost([_answer("a", stop_reason=None), _answer("a", stop_reason="tool_use")]).usd == 4
    aborted = _answer("a", line={"isAbortedMidStream": True}, stop_reason=None)
    assert session_cost([aborted, _answer("a", stop_reason="tool_use")]).usd == 0


def test_a_response_whose_tool_was_interrupted_is_charged() -> None:
    """Recorded in 2.1.325, scenario `toolint`: its total holds the response that `interruptedMessageId` names."""
    user = _plain(
        "user", interruptedMessageId="a", message={"role": "user", "content": "[Request interrupted by user for tool use]"}
    )
    assert session_cost([_answer("a", stop_reason="tool_use"), user]).usd == 4


def test_older_releases_never_say_why_a_response_stopped() -> None:
    """2.1.29 and 2.1.45 write null on every line."""
    assert session_cost([_answer("a", line={"version": "2.1.45"}, stop_reason=None)]).usd == 4
    assert session_cost([_answer("a", line={"version": "unversioned"}, stop_reason=None)]).usd == 4


def test_lines_without_an_id_stand_for_themselves() -> None:
    assert session_cost([_answer(""), _answer("a"), _answer(""), _answer("a"), _answer("")]).usd == 16


def test_the_table_can_be_that_of_another_release() -> None:
    records = [_answer("a", model="claude-sonnet-4-5")]
    assert [session_cost(records, release=release).usd for release in ("2.0.76", "2.1.45", None)] == [6, 10, 3]


def test_unknown_models_are_named() -> None:
    cost = session_cost([_answer("a", model="gpt-9"), _answer("b"), _answer("c", model="gpt-9")])
    assert (cost.usd, cost.unknown_models) == (Decimal(12), ("gpt-9",))


def test_the_last_total_is_the_session_s() -> None:
    cost = session_cost([_answer("a"), _total(4), _answer("b"), _total(8.0), _total("much"), _total(1e300)])
    assert (cost.client_usd, cost.gap, cost.reasons) == (Decimal(8), Decimal(0), ())


def test_without_a_total_there_is_no_gap() -> None:
    cost = session_cost([_answer("a"), _plain("ai-title", aiTitle="T")])
    assert (cost.client_usd, cost.gap, cost.reasons) == (None, None, ())


def _web(name: str) -> Record:
    return _answer("a", content=[{"type": "tool_use", "id": "toolu_1", "name": name, "input": {}}], stop_reason="tool_use")


@pytest.mark.parametrize(
    ("records", "total", "reason"),
    [
        ([_answer("a"), _plain("system", subtype="compact_boundary")], 5, GapReason.COMPACTION),
        ([_web("WebSearch")], 5, GapReason.WEB_SEARCH),
        ([_web("WebFetch")], 5, GapReason.WEB_FETCH),
        ([_answer("a"), _plain("ai-title", aiTitle="T")], 5, GapReason.TITLE),
        (
            [_plain("api-request", id="r1"), _plain("api-request", id="r2"), _answer("a", line={"requestRef": "r2"})],
            5,
            GapReason.FAILED_STREAM,
        ),
        ([_answer("a", line={"requestRef": "r0"})], 5, GapReason.COPIED),
        ([_answer("a", line={"version": "2.1.240"})], 1, GapReason.OTHER_RELEASE),
    ],
)
def test_what_explains_a_gap_is_named(records: list[Record], total: int, reason: GapReason) -> None:
    cost = session_cost([*records, _total(total)])
    assert (cost.gap, cost.reasons) == (Decimal(total - 4), (reason,))
    assert session_cost([*records, _total(4)]).reasons == ()


def test_responses_after_the_last_total_are_not_in_it() -> None:
    cost = session_cost([_answer("a"), _total(4), _answer("b"), _answer("c", line={"isSidechain": True})])
    assert (cost.gap, cost.reasons) == (Decimal(-8), (GapReason.AFTER_LAST_TOTAL,))


def test_a_gap_that_nothing_explains_has_no_reason() -> None:
    """As after a run that was killed before it wrote a total (2.1.325)."""
    cost = session_cost([_answer("a"), _answer("b"), _total(4)])
    assert (cost.gap, cost.reasons) == (Decimal(-4), ())


def test_neither_costs_nor_their_parts_say_what_a_transcript_says() -> None:
    cost = session_cost([_answer("a", content=[{"type": "text", "text": "hush-hush"}])])
    assert "hush-hush" not in repr(cost)
