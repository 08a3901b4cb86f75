"""Usage of a home that was generated, against the truth that its generator kept, and against ccusage on the same files."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Callable
from datetime import UTC, datetime, timedelta, tzinfo
from decimal import Decimal
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from bench.usage_home import Call, Truth, make_home
from tests.conftest import Ccusage
from tests.homes import assistant, session_id, user, write_session

from stenograph.analysis import Spent, UsageBy, UsageScope, UsageTable, reconcile_sessions, session_costs, usage_table
from stenograph.archive import keep_sessions
from stenograph.catalog import Catalog
from stenograph.index import IndexStore, open_store, sync_usage
from stenograph.pricing import OwnPrices, PricesFile, Tariff, micro_usd, session_cost
from stenograph.records import read_records
from stenograph.testing import lines
from stenograph.testing.lines import text

#: USD per million tokens, as measured on the client: input, output, cache read, write 5 min, write 1 h.
PRICES = {
    "claude-opus-5-5": ("4", "20", "0.2", "5", "8"),
    "claude-sonnet-5-5": ("2", "10", "0.1", "2.5", "4"),
    "claude-opus-4-5-20251101": ("5", "25", "0.5", "6.25", "10"),
    "claude-sonnet-4-5-20250929": ("3", "15", "0.3", "3.75", "6"),
}
HAIKU = (("0.1", "0.5", "0.01", "0.125", "0.2"), ("0.5", "2.5", "0.05", "0.625", "1"))
#: In fast mode opus 5.5 costs twice as much; the others have no other price.
FAST = {"claude-opus-5-5": 2}


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Truth]:
    folder = tmp_path_factory.mktemp("home")
    return folder, make_home(folder, seed=3, size=3_000_000, largest=40_000, results=(50, 300))


@pytest.fixture(scope="module")
def store(home: tuple[Path, Truth]) -> IndexStore:
    found = open_store(None)
    assert sync_usage(found, [home[0]]).findings == ()
    return found


def charged(truth: Truth) -> list[Call]:
    return [call for call in truth.calls if not call.is_aborted]


def cost_of(call: Call) -> Decimal:
    prompt = call.input + call.cache_read + call.cache_write_5m + call.cache_write_1h
    prices = HAIKU[prompt > 100_000] if call.model == "claude-haiku-5-5" else PRICES[call.model]
    counts = (call.input, call.written, call.cache_read, call.cache_write_5m, call.cache_write_1h)
    usd = sum((Decimal(price) * count for price, count in zip(prices, counts, strict=True)), Decimal(0)) / 1_000_000
    usd *= (FAST.get(call.model, 1) if call.is_fast else 1) * (Decimal("1.1") if call.is_us else 1)
    return usd + call.web_searches * Decimal("0.01")


def counts_of(spent: Spent) -> tuple[int, ...]:
    return (spent.calls, spent.input, spent.output, spent.cache_read, spent.cache_write_5m, spent.cache_write_1h)


def summed(calls: list[Call]) -> tuple[int, ...]:
    fields = ("input", "written", "cache_read", "cache_write_5m", "cache_write_1h")
    return (len(calls), *(sum(getattr(call, field) for call in calls) for field in fields))


def table_of(store: IndexStore, home: Path, by: UsageBy = UsageBy.DAY, zone: tzinfo | None = UTC) -> UsageTable:
    return usage_table(store, UsageScope((home,)), Tariff(), by=by, zone=zone)


def test_the_home_has_everything_that_makes_a_count_go_wrong(home: tuple[Path, Truth]) -> None:
    truth = home[1]
    assert set(truth.copies) == {"fork", "replay", "clone"}
    assert {call.release for call in truth.calls} == {"2.1.325", "2.1.200", "2.0.55", "2.1.39"}
    assert any(call.is_agent for call in truth.calls)
    assert any(call.is_aborted for call in truth.calls)
    assert any(call.is_fast and call.model == "claude-opus-5-5" for call in truth.calls)
    assert any(call.is_us for call in truth.calls)
    assert any(call.web_searches for call in truth.calls)
    assert any(call.output < call.written for call in truth.calls)


def test_every_call_counts_once(home: tuple[Path, Truth], store: IndexStore) -> None:
    folder, truth = home
    table = table_of(store, folder)
    calls = charged(truth)
    assert counts_of(table.total.spent) == summed(calls)
    assert table.total.spent.estimated_output == sum(call.written - call.output for call in calls)
    assert table.total.spent.web_searches == sum(call.web_searches for call in calls)
    assert table.interrupted.calls == len(truth.calls) - len(calls)
    assert table.copies == sum(truth.copies.values())


def test_the_cost_is_exact(home: tuple[Path, Truth], store: IndexStore) -> None:
    folder, truth = home
    calls = charged(truth)
    spent = table_of(store, folder).total.spent
    assert spent.cost == sum(cost_of(call) for call in calls) * 10**12
    placeholders = [call._replace(written=call.output) for call in calls]
    assert spent.measured == sum(cost_of(call) for call in placeholders) * 10**12


def test_the_cost_of_each_kind_of_token_is_exact(home: tuple[Path, Truth], store: IndexStore) -> None:
    """One kind at a time: a call without the other tokens costs what they cost. The length of the prompt stays that of the call,
    on which the price of haiku depends."""
    folder, truth = home
    nothing = dict.fromkeys(("input", "written", "cache_read", "cache_write_5m", "cache_write_1h", "web_searches"), 0)
    calls = [call for call in charged(truth) if call.model != "claude-haiku-5-5"]
    kinds = {kind: sum(cost_of(call._replace(**nothing | {kind: getattr(call, kind)})) for call in calls) for kind in nothing}
    haiku = [call for call in charged(truth) if call.model == "claude-haiku-5-5"]
    for call in haiku:
        prompt = call.input + call.cache_read + call.cache_write_5m + call.cache_write_1h
        for kind, price in zip(list(nothing)[:5], HAIKU[prompt > 100_000], strict=True):
            kinds[kind] += getattr(call, kind) * Decimal(price) / 1_000_000 * (Decimal("1.1") if call.is_us else 1)
        kinds["web_searches"] += call.web_searches * Decimal("0.01")
    found = table_of(store, folder).kinds
    expected = [kinds[kind] * 10**12 for kind in nothing]
    assert [
        found.input,
        found.output,
        found.cache_read,
        found.cache_write_5m,
        found.cache_write_1h,
        found.web_searches,
    ] == expected
    by_tool = table_of(store, folder, UsageBy.TOOL).kinds
    assert by_tool == found


def _blocks(calls: list[Call]) -> dict[datetime, list[Call]]:
    """As ccusage defines them: five hours from the full hour of the first call after the block before."""
    found: dict[datetime, list[Call]] = {}
    start = None
    for call in sorted(calls, key=lambda call: call.time):
        if start is None or call.time - start >= timedelta(hours=5):
            start = call.time.replace(minute=0, second=0, microsecond=0)
        found.setdefault(start, []).append(call)
    return found


BERLIN = ZoneInfo("Europe/Berlin")
KATHMANDU = ZoneInfo("Asia/Kathmandu")


@pytest.mark.parametrize(
    ("by", "zone", "name"),
    [
        (UsageBy.DAY, UTC, lambda call: call.time.date().isoformat()),
        (UsageBy.DAY, BERLIN, lambda call: call.time.astimezone(BERLIN).date().isoformat()),
        (UsageBy.DAY, KATHMANDU, lambda call: call.time.astimezone(KATHMANDU).date().isoformat()),
        (UsageBy.WEEK, UTC, lambda call: (call.time.date() - timedelta(days=call.time.weekday())).isoformat()),
        (UsageBy.MONTH, BERLIN, lambda call: call.time.astimezone(BERLIN).date().isoformat()[:7]),
        (UsageBy.MODEL, UTC, lambda call: call.model.removesuffix("-20251101").removesuffix("-20250929")),
        (UsageBy.PROJECT, UTC, lambda call: f"/home/user/{call.project}"),
        (UsageBy.SESSION, UTC, lambda call: call.session),
        (UsageBy.BRANCH, UTC, lambda _: "main"),
    ],
)
def test_rows_are_those_of_the_truth(
    by: UsageBy, zone: tzinfo, name: Callable[[Call], str], home: tuple[Path, Truth], store: IndexStore
) -> None:
    folder, truth = home
    expected = defaultdict(list)
    for call in charged(truth):
        expected[name(call)].append(call)
    rows = {row.name: row for row in table_of(store, folder, by, zone).rows}
    assert {each: counts_of(row.spent) for each, row in rows.items()} == {each: summed(calls) for each, calls in expected.items()}
    assert {each: row.sessions for each, row in rows.items()} == {
        each: len({call.session for call in calls}) for each, calls in expected.items()
    }
    for each, calls in expected.items():
        assert rows[each].spent.cost == sum(cost_of(call) for call in calls) * 10**12


def test_blocks_of_five_hours(home: tuple[Path, Truth], store: IndexStore) -> None:
    folder, truth = home
    expected = {start: summed(calls) for start, calls in _blocks(truth.calls).items()}
    aborted = Counter(start for start, calls in _blocks(truth.calls).items() for call in calls if call.is_aborted)
    for row in table_of(store, folder, UsageBy.BLOCK).rows:
        assert row.start is not None
        assert row.end == row.start + timedelta(hours=5)
        assert row.spent.calls == expected[row.start][0] - aborted[row.start]


def test_a_range_of_time_does_not_move_blocks(home: tuple[Path, Truth], store: IndexStore) -> None:
    """Wherever it begins, a block that has calls in it is one of all blocks."""
    folder, truth = home
    blocks = _blocks(truth.calls)
    longest = max(blocks.values(), key=lambda calls: calls[-1].time - calls[0].time)
    since = longest[-1].time.timestamp()
    table = usage_table(store, UsageScope((folder,), since), Tariff(), by=UsageBy.BLOCK, zone=UTC)
    assert longest[-1].time - longest[0].time > timedelta(hours=1)
    assert table.rows[0].start == next(start for start, calls in blocks.items() if calls is longest)
    assert {row.start for row in table.rows} <= set(blocks)


@pytest.mark.parametrize("zone", [BERLIN, KATHMANDU])
def test_blocks_are_named_in_the_time_zone(zone: tzinfo, home: tuple[Path, Truth], store: IndexStore) -> None:
    rows = table_of(store, home[0], UsageBy.BLOCK, zone).rows
    assert [row.name for row in rows] == [f"{row.start.astimezone(zone):%Y-%m-%d %H:%M}" for row in rows if row.start]


#: As far from now as ISO 8601 can say, and a little out of what a clock shows.
EXTREME_TIMES = ("0001-01-01T00:00:00Z", "9999-12-31T23:59:59Z", "1969-12-31T23:00:00Z", "2150-01-01T00:00:00Z")


@pytest.mark.parametrize("zone", [UTC, ZoneInfo("America/Los_Angeles"), ZoneInfo("Pacific/Auckland")])
@pytest.mark.parametrize("time", EXTREME_TIMES)
def test_a_time_that_no_clock_shows_is_counted_as_unknown(time: str, zone: tzinfo, tmp_path: Path) -> None:
    write_session(tmp_path, session_id(1), [user("Go"), _called("msg_1", 100, 50)])
    store = open_store(tmp_path / "index.sqlite")
    sync_usage(store, [tmp_path])
    assert table_of(store, tmp_path, UsageBy.DAY, zone).total.spent.tokens == 150
    # Behind sums that are kept: they are made anew.
    path = write_session(tmp_path, session_id(2), [user("Go"), _called("msg_2", 1000, 500) | {"timestamp": time}])
    sync_usage(store, [tmp_path])
    for by in UsageBy:
        table = table_of(store, tmp_path, by, zone)
        assert table.total.spent.tokens == 1650
        if by in (UsageBy.DAY, UsageBy.WEEK, UsageBy.MONTH, UsageBy.BLOCK):
            assert [(row.name == "(unknown)", row.spent.tokens) for row in table.rows] == [(False, 150), (True, 1500)]
    for since, until in ((0.0, None), (None, 2.0**37), (0.0, 2.0**37)):
        assert usage_table(store, UsageScope((tmp_path,), since, until), Tariff(), zone=zone).total.spent.tokens == 150
    path.unlink()
    sync_usage(store, [tmp_path])
    assert [row.spent.tokens for row in table_of(store, tmp_path, UsageBy.DAY, zone).rows] == [150]


def test_subagents_are_apart_and_included(home: tuple[Path, Truth], store: IndexStore) -> None:
    folder, truth = home
    rows = {row.name: row.spent.calls for row in table_of(store, folder, UsageBy.AGENT).rows}
    assert set(rows) <= {"main", "Explore", "Plan"}
    assert rows["main"] == sum(not call.is_agent for call in charged(truth))
    assert sum(rows.values()) == len(charged(truth))


def test_what_a_session_repeats_of_its_own_is_not_a_copy(tmp_path: Path) -> None:
    """As 2.1.29 does: the session's file has a line of progress for each response of a subagent."""
    said = assistant(text("Found."), isSidechain=True, agentId="a1", timestamp="2026-11-15T10:00:00.000Z")
    said["message"] |= {
        "id": "msg_1",
        "model": "claude-opus-4-5",
        "stop_reason": "end_turn",
        "usage": {"input_tokens": 9, "output_tokens": 9},
    }
    progress = {"type": "agent_progress", "agentId": "a1", "message": {name: said[name] for name in ("type", "message")}}
    session = write_session(tmp_path, session_id(1), [user("Go"), {"type": "progress", "data": progress}])
    (agents := session.with_suffix("") / "subagents").mkdir(parents=True)
    (agents / "agent-a1.jsonl").write_bytes(lines.encode([said]))
    store = open_store(None)
    sync_usage(store, [tmp_path])
    for until in (None, 4e9):
        table = usage_table(store, UsageScope((tmp_path,), until=until), Tariff(), zone=UTC)
        assert (table.total.spent.calls, table.copies) == (1, 0)


def test_tools_share_what_their_call_cost(home: tuple[Path, Truth], store: IndexStore) -> None:
    folder, truth = home
    table = table_of(store, folder, UsageBy.TOOL)
    uses = Counter(tool for call in charged(truth) for tool in call.tools or ("(no tool)",))
    assert {row.name: row.spent.calls for row in table.rows} == uses
    assert sum(row.spent.tokens for row in table.rows) == table.total.spent.tokens
    assert table.total.spent.calls == len(charged(truth))


def test_since_and_until_narrow_by_the_time_of_a_call(home: tuple[Path, Truth], store: IndexStore) -> None:
    folder, truth = home
    calls = sorted(charged(truth), key=lambda call: call.time)
    since, until = calls[len(calls) // 3].time.timestamp(), calls[len(calls) // 2].time.timestamp()
    expected = [call for call in calls if since <= call.time.timestamp() < until]
    table = usage_table(store, UsageScope((folder,), since, until), Tariff(), zone=UTC)
    assert counts_of(table.total.spent) == summed(expected)


def test_a_model_without_a_price_is_counted_and_not_guessed(tmp_path: Path) -> None:
    usage = {"input_tokens": 1000, "output_tokens": 10}
    line = lines.assistant("u", "m", [], model="glm-5", stop_reason="end_turn", usage=usage) | {
        "version": "2.1.325",
        "sessionId": "s",
    }
    lines.write(tmp_path / "projects" / "-p" / "s.jsonl", [line])
    store = open_store(None)
    sync_usage(store, [tmp_path])
    table = table_of(store, tmp_path)
    assert (table.unpriced, table.total.spent.cost, table.total.spent.unpriced_tokens) == ({"glm-5": 1}, 0, 1010)
    own = PricesFile(models={"GLM-5": _own(2, 4)})
    priced = usage_table(store, UsageScope((tmp_path,)), Tariff(own), zone=UTC)
    assert micro_usd(priced.total.spent.cost) == 2 * 1000 + 4 * 10


def test_a_response_is_charged_if_any_of_its_lines_says_why_it_stopped(tmp_path: Path) -> None:
    """As subagents of 2.1.114 in public sessions: null on every line but the last one, which may come after the first count."""
    usage = {"input_tokens": 1000, "output_tokens": 10}
    whole = [
        lines.assistant("u", "m", [], model="claude-opus-5-5", stop_reason=reason, usage=usage)
        | {"version": "2.1.114", "sessionId": "s", "uuid": f"uuid-{reason}"}
        for reason in (None, "tool_use")
    ]
    path, store = tmp_path / "projects" / "-p" / "s.jsonl", open_store(None)
    for count, charged_calls in ((1, 0), (2, 1)):
        lines.write(path, whole[:count])
        sync_usage(store, [tmp_path])
        assert table_of(store, tmp_path).total.spent.calls == charged_calls


@pytest.mark.parametrize("steps", [(2,), (1, 2)])
def test_an_advisor_is_charged_with_the_response_that_asked_it(tmp_path: Path, steps: tuple[int, ...]) -> None:
    advice = {"type": "advisor_message", "model": "claude-sonnet-5-5", "input_tokens": 500, "output_tokens": 100}
    usage = {"input_tokens": 1000, "output_tokens": 10, "iterations": [{"type": "message"}, advice]}
    whole = [
        lines.assistant("u", "m", [], model="claude-opus-5-5", stop_reason=reason, usage=usage)
        | {"version": "2.1.325", "sessionId": "s", "uuid": f"uuid-{reason}"}
        for reason in (None, "tool_use")
    ]
    path, store = tmp_path / "projects" / "-p" / "s.jsonl", open_store(None)
    for count in steps:
        lines.write(path, whole[:count])
        sync_usage(store, [tmp_path])
    # (1000 x 4 + 10 x 20 + 500 x 2 + 100 x 10) USD per million
    usd = Decimal("0.0062")
    table = table_of(store, tmp_path)
    assert (micro_usd(table.total.spent.cost), table.interrupted.calls) == (6200, 0)
    assert session_cost(located.record for located in read_records(path)).usd == usd
    lines.write(path, [*whole, lines.beside("cost-state", totalCostUSD=float(usd))])
    sync_usage(store, [tmp_path])
    (reconciled,) = reconcile_sessions(store, (tmp_path,), Tariff())
    assert (micro_usd(reconciled.ours), reconciled.difference) == (6200, 0)


@pytest.mark.parametrize(("said", "charged_calls"), [({}, 0), ({"stop_reason": None}, 0), ({"stop_reason": ""}, 1)])
def test_a_response_without_a_stop_reason_was_interrupted(tmp_path: Path, said: dict[str, Any], charged_calls: int) -> None:
    """The index and the sum over a session's records agree, also where the member is missing."""
    line = lines.assistant("u", "m", [], model="claude-opus-5-5", usage={"input_tokens": 1000, "output_tokens": 10})
    del line["message"]["stop_reason"]
    line["message"] |= said
    path, store = tmp_path / "projects" / "-p" / "s.jsonl", open_store(None)
    lines.write(path, [line | {"version": "2.1.325", "sessionId": "s"}])
    sync_usage(store, [tmp_path])
    assert table_of(store, tmp_path).total.spent.calls == charged_calls
    assert session_cost(located.record for located in read_records(path)).responses == charged_calls


def test_half_a_character_in_a_name_stops_no_count(tmp_path: Path) -> None:
    line = lines.assistant("u", "m", [lines.tool_use(name="?")], model="?", usage={"output_tokens": 10}, stop_reason="end")
    data = lines.encode([line | {"version": "2.1.325", "sessionId": "s", "cwd": "/?", "gitBranch": "?"}])
    path, store = tmp_path / "projects" / "-p" / "s.jsonl", open_store(None)
    path.parent.mkdir(parents=True)
    path.write_bytes(data.replace(b"?", rb"\ud83d"))
    sync_usage(store, [tmp_path])
    assert table_of(store, tmp_path).unpriced == {"\ufffd": 1}


def _own(sent: float, output: float) -> OwnPrices:
    return OwnPrices(input=sent, output=output, cache_read=0, cache_write_5m=0)


@pytest.mark.clients
@pytest.mark.sample
def test_ccusage_counts_the_same_but_for_what_rules_explain(
    home: tuple[Path, Truth], store: IndexStore, ccusage: Ccusage
) -> None:
    """ccusage counts interrupted responses, and no output that was not recorded."""
    folder, _ = home
    theirs = ccusage(folder)
    table = table_of(store, folder)
    spent, left_out = table.total.spent, table.interrupted
    ours = (
        spent.input + left_out.input,
        spent.output - spent.estimated_output + left_out.output,
        spent.cache_read + left_out.cache_read,
        spent.cache_write_5m + spent.cache_write_1h + left_out.cache_write_5m + left_out.cache_write_1h,
    )
    assert ours == theirs


def test_a_home_that_changes_is_counted_as_if_it_were_new(tmp_path: Path) -> None:
    truth = make_home(tmp_path / "home", seed=5, size=600_000, largest=8_000, results=(50, 300))
    home = tmp_path / "home"
    store = open_store(tmp_path / "index.sqlite")
    files = sorted((home / "projects").rglob("*.jsonl"))
    whole = {file: file.read_bytes() for file in files}
    for file in files:  # half of every file, torn in the middle of a line
        file.write_bytes(whole[file][: len(whole[file]) // 2])
    sync_usage(store, [home])
    for file in files[::2]:
        with file.open("ab") as appended:
            appended.write(whole[file][len(whole[file]) // 2 :])
    sync_usage(store, [home])
    for file in files:
        file.write_bytes(whole[file])
    assert sync_usage(store, [home]).pending == 0
    assert sync_usage(store, [home]).changed == 0
    assert counts_of(table_of(store, home).total.spent) == summed(charged(truth))
    # The original of a fork goes: its copies count instead, but for those whose counts are zero.
    gone = next(file for file in files if file.parent.parent.name == "projects" and _is_copied(file, files))
    gone.unlink()
    assert sync_usage(store, [home]).removed == 1
    fresh = open_store(None)
    sync_usage(fresh, [home])
    assert counts_of(table_of(store, home).total.spent) == counts_of(table_of(fresh, home).total.spent)


def test_days_are_those_of_a_new_count_after_every_change(tmp_path: Path) -> None:
    home = tmp_path / "home"
    truth = make_home(home, seed=6, size=300_000, largest=8_000, results=(50, 300))
    files = sorted((home / "projects").rglob("*.jsonl"))
    whole = {file: file.read_bytes() for file in files}
    for file in files:
        file.write_bytes(whole[file][: len(whole[file]) // 2])
    store = open_store(tmp_path / "index.sqlite")

    def is_as_new(zone: tzinfo) -> bool:
        sync_usage(store, [home])
        fresh = open_store(None)
        sync_usage(fresh, [home])
        ours, theirs = (usage_table(each, UsageScope((home,)), Tariff(), by=UsageBy.WEEK, zone=zone) for each in (store, fresh))
        assert ours == theirs
        return True

    berlin, auckland = ZoneInfo("Europe/Berlin"), ZoneInfo("Pacific/Auckland")
    assert is_as_new(berlin)
    for file in files[:6]:
        file.write_bytes(whole[file])
        assert is_as_new(berlin)
    assert is_as_new(auckland)
    files[0].unlink()
    assert is_as_new(auckland)
    for file in files:
        file.write_bytes(whole[file])
    assert is_as_new(auckland)
    assert counts_of(table_of(store, home).total.spent) == summed(charged(truth))


def _is_copied(file: Path, files: list[Path]) -> bool:
    ids = [json.loads(line)["message"].get("id") for line in file.read_bytes().splitlines() if b'"assistant"' in line]
    return any(other != file and ids and ids[0].encode() in other.read_bytes() for other in files)


def test_calls_of_a_session_that_only_the_archive_has_still_count(tmp_path: Path) -> None:
    """Known before it was deleted, or read from the archive afterwards: the same total."""
    home = tmp_path / "home"
    write_session(home, session_id(1), [_called("msg_1", 100, 50)])
    path = write_session(home, session_id(2), [user("Go"), _called("msg_2", 1000, 500)])
    keep_sessions(tmp_path / "archive", [home])
    store, fresh = open_store(None), open_store(None)
    sync_usage(store, [home])
    path.unlink()
    scope = UsageScope((home,))
    for each in (store, fresh):
        with Catalog([home], tmp_path / "archive") as catalog:
            sync_usage(each, [home], archived=catalog.archived_files())
            (listed,) = catalog.archived()
        assert usage_table(each, scope, Tariff(), by=UsageBy.SESSION).total.spent.tokens == 100 + 50 + 1000 + 500
        assert session_costs(each, [home], [path], Tariff())[path].tokens == 1500
    assert (listed.archived, listed.turns) == (True, 1)
    sync_usage(store, [home])
    assert usage_table(store, scope, Tariff()).total.spent.tokens == 150


def _called(message: str, given: int, output: int) -> dict[str, Any]:
    record = assistant(text("Done."), uuid=message, timestamp="2026-11-15T10:00:00.000Z")
    record["message"] |= {"id": message, "model": "claude-opus-4-6", "stop_reason": "end_turn"}
    record["message"]["usage"] = {"input_tokens": given, "output_tokens": output}
    return record
