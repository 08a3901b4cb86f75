"""Figures of a plan against what the API counted: the recorded usage of public sessions."""

from __future__ import annotations

import json
import statistics
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from tests.corpora import CORPUS, NO_CORPUS, without_agents
from tests.homes import session_id, write_session
from tests.surgery.conversations import linked, turn

from stenograph.sessions import load_file
from stenograph.surgery import Compress, DropTurns, Selector, make_plan
from stenograph.turns import ApiCall, Session


def _context(call: ApiCall) -> int:
    """As the API counted it, with what was answered, which the next call sends too."""
    tokens = call.tokens
    return tokens.input + tokens.cache_read + tokens.cache_write + tokens.output


def _counted(session: Session) -> list[int]:
    """The context behind each turn; empty where some turn has none, or a compaction made another."""
    turns = [[call for call in turn.calls if not call.is_synthetic and call.tokens.total] for turn in session.turns]
    if any(turn.compactions for turn in session.turns) or not all(turns):
        return []
    return [_context(calls[-1]) for calls in turns]


@pytest.mark.parametrize("corpus", [CORPUS / "public"] if (CORPUS / "public").is_dir() else [NO_CORPUS])
def test_what_a_session_would_have_without_its_last_turns_is_what_the_api_counted_before_them(corpus: Path) -> None:
    """By characters alone it was a fifth to a half of that."""
    befores, ratios = [], []
    for path in without_agents(corpus.rglob("*.jsonl")):
        session = load_file(path) if 10_000 < path.stat().st_size < 1_500_000 else None
        counted = _counted(session) if session else []
        if len(counted) < 3 or not counted[0]:
            continue
        kept = len(counted) * 2 // 3
        plan = make_plan(path, [DropTurns(which=Selector(turns=((kept + 1, len(counted)),)))])
        befores.append((plan.outlook.tokens_before, counted[-1]))
        ratios.append(plan.outlook.tokens_after / counted[kept - 1])
    assert len(ratios) > 15
    assert all(said == api for said, api in befores)
    assert statistics.median(ratios) == pytest.approx(1, abs=0.07)
    assert sum(0.75 < ratio < 1.3 for ratio in ratios) >= 0.9 * len(ratios)


def _session(home: Path, usages: list[dict[str, int] | None]) -> Path:
    """A turn for each usage, of 2,000 characters asked and 2,000 answered."""
    words = [f"{number:04d} " * 400 for number in range(len(usages))]
    lines = linked(*(line for each in words for line in turn(each, answer=each)))
    for line, usage in zip(lines[1::2], usages, strict=True):
        line["message"] = {**line["message"], "model": "claude-opus-4-5-20251101", "usage": usage}
    return write_session(home, session_id(1), lines)


def test_the_context_is_that_of_the_last_call_and_what_goes_is_taken_of_it_at_the_sessions_own_rate(tmp_path: Path) -> None:
    first = {"input_tokens": 3, "cache_creation_input_tokens": 20_497, "cache_read_input_tokens": 0, "output_tokens": 500}
    last = {"input_tokens": 3, "cache_creation_input_tokens": 997, "cache_read_input_tokens": 21_000, "output_tokens": 1_000}
    outlook = make_plan(_session(tmp_path, [first, last]), [DropTurns(which=Selector(turns=((1, 1),)))]).outlook
    assert outlook.is_measured
    # 3 + 997 + 21,000 + 1,000. Of these 20,500 - 500 (2,000 characters) are no part of the conversation, so that its 8,000
    # characters are 3,000 tokens; half of them go.
    assert outlook.tokens_before == 23_000
    assert outlook.tokens_after == 21_500
    assert outlook.tokens_to_cache == 1_500
    # $0.50 and $6.25 a million: the list price of Opus 4.5.
    assert float(outlook.saved_a_turn) == pytest.approx(1_500 * 0.5e-6)
    assert float(outlook.cache_cost) == pytest.approx(1_500 * 6.25e-6)


def test_a_session_without_usage_is_estimated_and_says_so(tmp_path: Path) -> None:
    outlook = make_plan(_session(tmp_path, [None, None]), [DropTurns(which=Selector(turns=((1, 1),)))]).outlook
    assert not outlook.is_measured
    assert outlook.tokens_before == 2 * outlook.tokens_after == 3_000


def test_what_was_compacted_since_is_no_longer_what_the_last_call_sent(tmp_path: Path) -> None:
    usage = {"input_tokens": 150_000, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0, "output_tokens": 500}
    path = _session(tmp_path, [{**usage, "input_tokens": 10_500}, usage])
    compacted = make_plan(path, [Compress(which=Selector(keep_last=1))])
    # Without the call behind the boundary, which nobody counted.
    path.write_bytes(b"".join(line for line in compacted.new_file() if b'"msg_3"' not in line))
    outlook = make_plan(path, []).outlook
    assert not outlook.is_measured
    assert 10_000 < outlook.tokens_before < 20_000


@pytest.mark.parametrize(
    ("age", "kept", "expired"),
    [(timedelta(minutes=1), "5m", False), (timedelta(minutes=6), "5m", True), (timedelta(minutes=6), "1h", False)],
)
def test_a_cache_that_has_expired_costs_nothing_extra(age: timedelta, kept: str, expired: bool, tmp_path: Path) -> None:
    written = {"cache_creation": {f"ephemeral_{kept}_input_tokens": 9_000}, "cache_creation_input_tokens": 9_000}
    path = _session(tmp_path, [{"input_tokens": 3, "output_tokens": 5, **written}] * 3)  # type: ignore[dict-item]
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    at = (datetime.now(UTC) - age).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    path.write_text("".join(json.dumps({**line, "timestamp": at}) + "\n" for line in lines))
    plan = make_plan(path, [DropTurns(which=Selector(turns=((1, 1),)))])
    assert plan.outlook.is_cache_expired is expired
