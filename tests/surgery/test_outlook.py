"""Figures of a plan against what the API counted: the recorded usage of public sessions."""

from __future__ import annotations

import json
import statistics
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from measure_estimates import estimates
from tests.analysis.played import Played
from tests.corpora import CORPUS, NO_CORPUS, without_agents
from tests.homes import session_id, user, write_session
from tests.surgery.conversations import linked, turn

from stenograph.surgery import (
    AnyEdit,
    Compress,
    DropImages,
    DropToolCalls,
    DropTurns,
    Selector,
    TruncateResults,
    make_plan,
)


@pytest.mark.parametrize("corpus", [CORPUS / "public"] if (CORPUS / "public").is_dir() else [NO_CORPUS])
def test_what_a_session_would_have_without_its_last_turns_is_what_the_api_counted_before_them(corpus: Path) -> None:
    """By characters alone it was a fifth to a half of that."""
    found = list(estimates(without_agents(corpus.rglob("*.jsonl"))))
    assert len(found) > 15
    # Instructions for plan mode are not recorded, so that a resume does not send them.
    assert all(
        before == counted or (b"ExitPlanMode" in path.read_bytes() and before < counted) for path, before, counted, _, _ in found
    )
    ratios = [said / counted for _, _, _, said, counted in found]
    assert statistics.median(ratios) == pytest.approx(1, abs=0.05)
    assert all(0.9 < ratio < 1.1 for ratio in ratios)


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
    assert float(outlook.saved_a_call) == pytest.approx(1_500 * 0.5e-6)
    assert float(outlook.cache_cost) == pytest.approx(1_500 * 6.25e-6)


def test_a_session_without_usage_is_estimated_and_says_so(tmp_path: Path) -> None:
    outlook = make_plan(_session(tmp_path, [None, None]), [DropTurns(which=Selector(turns=((1, 1),)))]).outlook
    assert not outlook.is_measured
    assert outlook.tokens_before == 2 * outlook.tokens_after == 3_000


def test_everything_from_the_first_changed_message_on_is_cached_again(tmp_path: Path) -> None:
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="}}
    words = "word " * 80  # 400 characters, 100 tokens by the usual count
    seen = [user([{"type": "text", "text": words}, image]), *turn(words, answer=words)[1:]]
    lines = linked(*turn(words, answer=words), *seen, *turn(words, answer=words))
    for line in lines[1::2]:
        line["message"] = {**line["message"], "usage": None}
    outlook = make_plan(write_session(tmp_path, session_id(1), lines), [DropImages()]).outlook
    # Two messages stay cached. The third has 100 and "[image removed]", which is 4; three of 100 follow. A half more of each,
    # because nobody counted this session.
    assert outlook.tokens_to_cache == 606


def test_what_was_compacted_since_is_no_longer_what_the_last_call_sent(tmp_path: Path) -> None:
    usage = {"input_tokens": 150_000, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0, "output_tokens": 500}
    path = _session(tmp_path, [{**usage, "input_tokens": 10_500}, usage])
    compacted = make_plan(path, [Compress(which=Selector(keep_last=1))])
    # Without the call behind the boundary, which nobody counted.
    path.write_bytes(b"".join(line for line in compacted.new_file() if b'"msg_3"' not in line))
    outlook = make_plan(path, []).outlook
    assert not outlook.is_measured
    assert 10_000 < outlook.tokens_before < 20_000


def test_what_the_client_says_of_the_project_does_not_count_and_what_follows_it_does(tmp_path: Path) -> None:
    said = "note " * 80  # 400 characters
    note = {"type": "text", "text": f"<system-reminder>\n{said.strip()}\n</system-reminder>"}
    words = "word " * 80  # 400 characters, 100 tokens by the usual count
    part = {"type": "text", "text": words}
    asked = [user([part, note, part]), *turn(words, answer=words)[1:]]
    listing = {"type": "skill_listing", "content": said}
    rules = {"type": "attachment", "attachment": listing, "rendered": [{"content": said.strip()}]}
    lines = linked(*turn(words, answer=words), *asked, rules, *turn(words, answer=words))
    for line in lines:
        if line["type"] == "assistant":
            line["message"] = {**line["message"], "usage": None}
    outlook = make_plan(write_session(tmp_path, session_id(1), lines), [DropTurns(which=Selector(turns=((1, 1),)))]).outlook
    # Seven texts of 100 and a half more of each, because nobody counted this session; the note comes back with the next prompt.
    assert outlook.tokens_before == 1_050
    assert outlook.tokens_after == 750


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
    assert plan.outlook.cache_cost > 0
    assert plan.outlook.cost_once == (0 if expired else plan.outlook.cache_cost)


PROSE = "The tide table is read from the harbor office and kept for a month. "


def _played(tmp_path: Path, tool: str, hidden: int, result: str = PROSE * 30) -> Path:
    """A result with something that no line tells of beside it."""
    played = Played()
    played.prompt("Go")
    (made,) = played.call("I do it", (tool, {"plan": PROSE}))
    played.result(made, result)
    played.hide(hidden)
    played.call("Done")
    return played.write(tmp_path / f"{session_id(1)}.jsonl")


def test_instructions_for_plan_mode_that_are_not_recorded_are_not_sent_again(tmp_path: Path) -> None:
    strip: list[AnyEdit] = [TruncateResults(limit=20)]
    plain, planned = (make_plan(_played(tmp_path, tool, 5_000, PROSE), strip).outlook for tool in ("Bash", "ExitPlanMode"))
    assert plain.tokens_before - planned.tokens_before == pytest.approx(5_000, rel=0.05)


def test_what_came_with_a_result_and_is_not_recorded_goes_with_it(tmp_path: Path) -> None:
    drop: list[AnyEdit] = [DropToolCalls(which=Selector())]
    with_note, without = (make_plan(_played(tmp_path, "Bash", hidden), drop).outlook for hidden in (500, 0))
    assert with_note.tokens_before - without.tokens_before == 500
    assert with_note.tokens_after == pytest.approx(without.tokens_after, abs=50)
