"""A session costs the same wherever it is shown, and is marked the same: lists, usage, stats, waste, a session, the viewer."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, tzinfo
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from tests.cli.running import run
from tests.corpora import CORPUS, DEMO, NO_CORPUS
from tests.homes import assistant, recorded_home, session_id, user, write_session

from stenograph.analysis import (
    UsageBy,
    UsageScope,
    find_waste,
    known_sessions,
    session_costs,
    stats_of,
    usage_table,
)
from stenograph.family import session_name
from stenograph.index import copied_calls, open_store, sync_usage
from stenograph.pricing import Tariff, micro_usd
from stenograph.sessions import choose_branch, load_file
from stenograph.testing.lines import text
from stenograph.views import Timeline, session_page, stats_page, waste_page
from stenograph.views.pages.costs import price_of

#: In microdollars, how much of it is estimated, and whether all of it has a price.
Figure = tuple[int | None, bool]


def _figures(home: Path) -> Iterator[tuple[Path, dict[str, Figure]]]:
    """What each session of a home costs, by who says so."""
    store, tariff = open_store(None), Tariff()
    sync_usage(store, [home])
    rows = {row.path: row for row in usage_table(store, UsageScope((home,)), tariff, by=UsageBy.SESSION).rows}
    known = known_sessions(store, [home], tariff)
    listed = session_costs(store, [home], [each.path for each in known], tariff)
    for each in known:
        session, copies = load_file(each.path), copied_calls(store, each.path, [home])
        branch = choose_branch(session, None)
        read = session_page(session, branch, copies=copies).session
        viewed = Timeline(session, branch, copies=copies).page()
        stats, waste = stats_page(stats_of([each])), waste_page(find_waste([each]), [each])
        # What a session costs in which nothing counts: all of it was copied.
        spent = rows[each.path].spent if each.path in rows else None
        in_list = price_of(listed.get(each.path))
        yield (
            each.path,
            {
                "usage": (None if spent is None else micro_usd(spent.cost), bool(spent and spent.estimated)),
                "ls": (_micro(in_list.usd), in_list.is_estimated),
                "show": (_micro(read.usd), read.usd_estimated),
                "viewer": (_micro(viewed.usd), viewed.usd_estimated),
                "stats": (stats.cost_micro_usd, bool(stats.estimated_micro_usd)),
                "waste": (waste.cost_micro_usd, bool(waste.estimated_micro_usd)),
            },
        )


def _micro(usd: float | None) -> int | None:
    return None if usd is None else round(usd * 1_000_000)


def _told(figures: dict[str, Figure]) -> set[Figure]:
    """The different figures; one that is not known and one of nothing are the same."""
    return {(amount or 0, is_estimated) for amount, is_estimated in figures.values()}


@pytest.mark.parametrize("home", ["recorded", "demo"])
def test_every_page_shows_the_same_cost(home: str, tmp_path: Path) -> None:
    found = list(_figures(recorded_home(tmp_path) if home == "recorded" else DEMO))
    assert len(found) >= 8
    assert not [(path.name, figures) for path, figures in found if len(_told(figures)) != 1]


@pytest.mark.parametrize("zone", [UTC, ZoneInfo("Asia/Kathmandu")], ids=str)
@pytest.mark.parametrize("home", ["recorded", "demo"])
def test_days_of_stats_cost_what_days_of_usage_cost(home: str, zone: tzinfo, tmp_path: Path) -> None:
    """Calls outside turns, such as those of subagents that nothing says who started, are in both."""
    _check_days(recorded_home(tmp_path) if home == "recorded" else DEMO, zone)


def _check_days(home: Path, zone: tzinfo) -> None:
    store, tariff = open_store(None), Tariff()
    sync_usage(store, [home])
    table = usage_table(store, UsageScope((home,)), tariff, by=UsageBy.DAY, zone=zone)
    stats = stats_of(known_sessions(store, [home], tariff), zone=zone)
    dated = {row.name: (row.spent.cost, row.spent.estimated) for row in table.rows if row.start}
    assert dated
    assert {day.day: (day.cost, day.estimated) for day in stats.days if day.cost} == dated


def test_a_session_shows_the_tokens_that_usage_counts(tmp_path: Path) -> None:
    """Beside what is estimated, and what was copied."""
    home, store = recorded_home(tmp_path), open_store(None)
    sync_usage(store, [home])
    rows = usage_table(store, UsageScope((home,)), Tariff(), by=UsageBy.SESSION).rows
    assert len(rows) >= 8
    for row in rows:
        assert row.path is not None
        if not copied_calls(store, row.path, [home]):
            found, spent = load_file(row.path).tokens, row.spent
            assert (found.input, found.cache_read) == (spent.input, spent.cache_read), row.path.name
            assert found.output == spent.output - spent.estimated_output, row.path.name


@pytest.mark.full
@pytest.mark.parametrize("corpus", [CORPUS] if CORPUS.is_dir() else [NO_CORPUS])
def test_every_page_shows_the_same_cost_of_public_sessions(corpus: Path, tmp_path: Path) -> None:
    for path in sorted(corpus.rglob("*.jsonl")):
        project = tmp_path / "projects" / str(path.parent.relative_to(corpus)).replace("/", "-")
        project.mkdir(parents=True, exist_ok=True)
        (project / path.name).write_bytes(path.read_bytes())
    found = list(_figures(tmp_path))
    assert any(figures["show"][1] for _, figures in found)
    assert not [(path.name, figures) for path, figures in found if len(_told(figures)) != 1]


OLD = {"version": "1.0.44"}
#: Opus 4 costs $15 per million tokens in and $75 out. Nine hundred characters are three hundred tokens; one was recorded.
PRICES = {"input": 1_000 * 15, "output": 300 * 75, "recorded": 1 * 75}


def _old_answer(identity: str, said: str, **members: Any) -> dict[str, Any]:
    """As 1.0 wrote it: no stop reason, and the output of the response's beginning."""
    line = assistant(text(said), **OLD, **members)
    usage = {"input_tokens": 1_000, "output_tokens": 1, "cache_read_input_tokens": 0, "cache_creation_input_tokens": 0}
    line["message"] |= {"id": identity, "model": "claude-opus-4-20250514", "stop_reason": None, "usage": usage}
    return line


def test_an_estimate_is_in_every_total_and_marked(tmp_path: Path) -> None:
    home, name = tmp_path / "home", session_id(1)
    write_session(home, name, [user("Do it", **OLD), _old_answer("msg_a", "a" * 900)])
    expected = PRICES["input"] + PRICES["output"]
    rows = _rows(home)
    assert (rows["cost_micro_usd"], rows["estimated_micro_usd"]) == (expected, PRICES["output"] - PRICES["recorded"])
    stats = _json(home, "stats", name)
    assert (stats["cost_micro_usd"], stats["estimated_micro_usd"]) == (expected, PRICES["output"] - PRICES["recorded"])
    assert _json(home, "waste", "--session", name)["cost_micro_usd"] == expected
    shown = _json(home, "show", name)["session"]
    listed = _json(home, "ls", "--all")["sessions"][0]
    turn = _json(home, "turns", name)["turns"][0]
    for one in (shown, listed, turn):
        assert (round(one["usd"] * 1_000_000), one["usd_estimated"]) == (expected, True)
    for command in (("show", name), ("stats", name), ("turns", name), ("ls", "--all"), ("usage", "--by", "session")):
        assert "~$0.04" in run(*command, "--home", home).stdout, command


def test_a_history_that_was_written_twice_is_estimated_once(tmp_path: Path) -> None:
    """1.0 wrote the whole conversation again when it was resumed, into the same file."""
    home, name = tmp_path / "home", session_id(1)
    answer = _old_answer("msg_a", "a" * 900)
    again = answer | {"uuid": "33333333-0000-4000-8000-000000000000"}
    write_session(home, name, [user("Do it", **OLD), answer, user("Do it", **OLD), again])
    assert _rows(home)["cost_micro_usd"] == PRICES["input"] + PRICES["output"]
    assert sum(turn["usd"] or 0 for turn in _json(home, "turns", name)["turns"]) == pytest.approx(0.0375)


def test_a_response_that_a_prompt_splits_costs_the_whole_in_its_turn(tmp_path: Path) -> None:
    home, name = tmp_path / "home", session_id(1)
    first, second = _old_answer("msg_a", "a" * 600), _old_answer("msg_a", "b" * 300)
    write_session(home, name, [user("Do it", **OLD), first, user("And this", **OLD), second])
    assert sum(turn["usd"] or 0 for turn in _json(home, "turns", name)["turns"]) == pytest.approx(0.0375)
    assert _rows(home)["cost_micro_usd"] == 37_500


def test_a_fork_shows_its_own_cost_and_what_it_copied(tmp_path: Path) -> None:
    home, parent, fork = tmp_path / "home", session_id(1), session_id(2)
    said = [user("Do it", **OLD, sessionId=parent), _old_answer("msg_a", "a" * 900, sessionId=parent)]
    write_session(home, parent, said)
    copied = [line | {"sessionId": fork, "forkedFrom": {"sessionId": parent}} for line in said]
    more = [user("More", **OLD, sessionId=fork), _old_answer("msg_b", "b" * 900, sessionId=fork)]
    write_session(home, fork, copied + more)
    assert _json(home, "usage", "--by", "session")["total"]["cost_micro_usd"] == 75_000
    for name in (parent, fork):
        assert round(_json(home, "show", name)["session"]["usd"] * 1_000_000) == 37_500
        assert _json(home, "stats", name)["cost_micro_usd"] == 37_500
    assert _json(home, "show", fork)["session"]["copied_usd"] == 0.0375
    assert "~$0.04 + $0.04 copied" in run("show", fork, "--home", home).stdout


def test_tokens_of_an_interrupted_response_are_not_in_a_session_s_own(tmp_path: Path) -> None:
    """2.1.325 writes why a response stopped, unless it was interrupted; then it does not charge it."""
    home, name = tmp_path / "home", session_id(1)
    answers = [assistant(text("Yes"), version="2.1.325") for _ in range(2)]
    for number, (answer, why) in enumerate(zip(answers, ("end_turn", None), strict=True)):
        usage = {"input_tokens": 1_000, "output_tokens": 10}
        answer["message"] |= {"id": f"msg_{number}", "model": "claude-opus-5-5", "stop_reason": why, "usage": usage}
    write_session(home, name, [user("Do it"), *answers])
    assert _rows(home)["tokens"]["input"] == 1_000
    shown = _json(home, "show", name)["session"]["tokens"]
    assert (shown["input"], shown["output"]) == (1_000, 10)
    assert "1.0k tokens in  10 out" in run("show", name, "--home", home).stdout


def test_a_session_without_a_price_says_so_in_lists_too(tmp_path: Path) -> None:
    home, name = tmp_path / "home", session_id(1)
    answer = _old_answer("msg_a", "a" * 900)
    answer["message"]["model"] = "glm-9"
    write_session(home, name, [user("Do it", **OLD), answer])
    for command in (("usage", "--by", "session"), ("ls", "--all"), ("show", name), ("stats", name)):
        assert "unpriced" in run(*command, "--home", home).stdout, command
    assert session_name(Path(_rows(home)["path"])) == name


def _rows(home: Path) -> dict[str, Any]:
    rows: list[dict[str, Any]] = _json(home, "usage", "--by", "session")["rows"]
    assert len(rows) == 1
    return rows[0]


def _json(home: Path, *arguments: str) -> dict[str, Any]:
    done = run(*arguments, "--json", "--home", home)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_a_home_costs_the_same_beside_a_copy_of_it_and_both_together_cost_once(tmp_path: Path) -> None:
    one, other, name = tmp_path / "one", tmp_path / "other", session_id(1)
    for home in (one, other):
        write_session(home, name, [user("Do it", **OLD), _old_answer("msg_a", "a" * 900)])
    for home in (one, other, one):
        assert _rows(home)["cost_micro_usd"] == 37_500
        assert round(_json(home, "show", name)["session"]["usd"] * 1_000_000) == 37_500
        assert _json(home, "stats")["cost_micro_usd"] == 37_500
    for command in (("usage",), ("usage", "--by", "session"), ("stats",), ("waste",)):
        done = json.loads(run(*command, "--json", "--home", one, "--home", other).stdout)
        assert done.get("total", done)["cost_micro_usd"] == 37_500, command
