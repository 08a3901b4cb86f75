"""What `stats` and `waste` find in a conversation that was played, against what was played."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.analysis.played import SYSTEM, Played, tokens_in

from stenograph.analysis import PARTS, KnownSession, WasteFinding, WasteKind, context_of, find_waste, known_sessions, stats_of
from stenograph.analysis.facts import session_facts
from stenograph.index import open_store, sync_usage
from stenograph.pricing import Tariff
from stenograph.sessions import load_file
from stenograph.surgery import DropToolCalls, Selector, TruncateResults, make_plan
from stenograph.views import RenderOptions, waste_page
from stenograph.views.terminal.stats import waste_advice

NAME = "11111111-2222-4333-8444-555555555555"
PROSE = "The tide table is read from the harbor office and kept for a month. "
#: Picodollars per token of opus 5.5, as measured: reading from the cache, and writing to it for five minutes.
READ, WRITE = 200_000, 5_000_000


def _path(tmp_path: Path) -> Path:
    return tmp_path / "home" / "projects" / "-p" / f"{NAME}.jsonl"


def _known(played: Played, tmp_path: Path) -> KnownSession:
    played.write(_path(tmp_path))
    store = open_store(None)
    home = tmp_path / "home"
    sync_usage(store, [home])
    (found,) = known_sessions(store, [home], Tariff())
    return found


def _work(played: Played, turns: int = 4) -> None:
    for turn in range(turns):
        played.prompt(PROSE * (3 + turn))
        for step in range(5):
            kind = (turn + step) % 3
            if kind == 0:
                (read,) = played.call(PROSE * 2, ("Read", {"file_path": f"/p/{turn}-{step}.py"}), thinking=60)
                played.result(read, PROSE * 60, "files")
            elif kind == 1:
                (ran,) = played.call(PROSE, ("Bash", {"command": "make test"}))
                played.result(ran, PROSE * 30)
            else:
                one, other = played.call(PROSE, ("Bash", {"command": "ls"}), ("Read", {"file_path": "/p/a.py"}), thinking=20)
                played.result(one, PROSE * 10)
                played.result(other, PROSE * 20 + str(step + 10 * turn), "files")
        played.call(PROSE * 4)


def test_every_part_of_the_context_is_within_a_tenth_of_the_truth(tmp_path: Path) -> None:
    played = Played()
    _work(played)
    played.write(_path(tmp_path))
    found = list(context_of(load_file(_path(tmp_path)).turns))
    assert len(found) == len(played.calls)
    for each, truth in zip(found, played.calls, strict=True):
        assert sum(each.parts.values()) == each.prompt == sum(truth.values())
        assert min(each.parts.values()) >= 0
    means = {part: sum(each.parts[part] for each in found) / len(found) for part in PARTS}
    for part in ("system", "files", "output", "conversation", "thinking"):
        mean = sum(call[part] for call in played.calls) / len(found)
        assert means[part] == pytest.approx(mean, rel=0.1), part
    assert means["unknown"] < 0.01 * sum(means.values())


def test_what_no_line_tells_of_is_unknown_and_not_spread(tmp_path: Path) -> None:
    played = Played()
    played.prompt("Go")
    (ran,) = played.call("I run it", ("Bash", {"command": "make"}))
    played.result(ran, PROSE)
    played.hide(5_000)
    played.call("Done")
    played.write(_path(tmp_path))
    last = list(context_of(load_file(_path(tmp_path)).turns))[-1]
    assert last.parts["unknown"] == pytest.approx(5_000, abs=60)
    assert last.parts["system"] == pytest.approx(SYSTEM, abs=5)


def test_tools_that_were_searched_for_count_as_tools_and_leave_with_their_search(tmp_path: Path) -> None:
    """The result has their names only, and every later request has their descriptions."""
    played = Played()
    played.prompt("Go")
    (found,) = played.call("I search", ("ToolSearch", {"query": "select:WebFetch,WebSearch"}))
    played.result(found, "")
    names = [{"type": "tool_reference", "tool_name": name} for name in ("WebFetch", "WebSearch")]
    played.lines[-1]["message"]["content"][0]["content"] = names
    played.parts["system"] += 6_000
    played.call("Done")
    path = played.write(_path(tmp_path))
    last = list(context_of(load_file(path).turns))[-1]
    assert last.parts["system"] == pytest.approx(SYSTEM + 6_000, rel=0.01)
    assert last.parts["unknown"] == 0
    outlook = make_plan(path, [DropToolCalls(which=Selector(tools=("ToolSearch",)))]).outlook
    assert outlook.tokens_before - outlook.tokens_after == pytest.approx(6_000, rel=0.02)


def test_what_a_command_printed_and_an_image_are_conversation(tmp_path: Path) -> None:
    played = Played()
    played.prompt("Go")
    played.call("Done")
    played.prompt("<local-command-stdout>" + PROSE * 30 + "</local-command-stdout>")
    played.prompt("What is this?")
    words = played.lines[-1]["message"]["content"]
    source = {"type": "base64", "media_type": "image/png", "data": "aGk="}
    played.lines[-1]["message"]["content"] = [{"type": "text", "text": words}, {"type": "image", "source": source}]
    played.parts["conversation"] += 1_500
    played.call("A tide table")
    last = list(context_of(load_file(played.write(_path(tmp_path))).turns))[-1]
    assert last.parts["conversation"] == pytest.approx(played.calls[-1]["conversation"], rel=0.02)
    assert last.parts["unknown"] < 40


def test_an_image_that_later_requests_leave_out_leaves_the_conversation(tmp_path: Path) -> None:
    """As 2.1.45 does with pasted ones."""
    played = Played()
    played.prompt("Go")
    (read,) = played.call("I read it", ("Read", {"file_path": "/p/a.py"}))
    played.result(read, PROSE * 40, "files")
    played.call("Done")
    played.prompt("What is this?")
    source = {"type": "base64", "media_type": "image/png", "data": "aGk="}
    played.lines[-1]["message"]["content"] = [{"type": "text", "text": "What is this?"}, {"type": "image", "source": source}]
    played.parts["conversation"] += 1_500
    played.call("A tide table")
    played.prompt("And now?")
    played.parts["conversation"] -= 1_500
    played.call("Done", cold=True)
    last = list(context_of(load_file(played.write(_path(tmp_path))).turns))[-1]
    assert last.parts["files"] == pytest.approx(played.calls[-1]["files"], rel=0.1)
    assert last.parts["conversation"] == pytest.approx(played.calls[-1]["conversation"], rel=0.1, abs=60)


def test_a_compaction_leaves_the_fixed_part_and_a_summary(tmp_path: Path) -> None:
    played = Played()
    _work(played, 2)
    played._add({
        "type": "system", "subtype": "compact_boundary", "content": "Conversation compacted", "isMeta": False,
        "compactMetadata": {"trigger": "auto", "preTokens": 40_000, "postTokens": 1_000},
    })  # fmt: skip
    played.lines[-1]["parentUuid"] = None
    summary = PROSE * 40
    played.parts = {"system": SYSTEM, "files": 0, "output": 0, "conversation": 0, "thinking": 0, "hidden": 0}
    played.prompt(summary)
    played.lines[-1] |= {"isCompactSummary": True, "isVisibleInTranscriptOnly": True}
    played.prompt("Now go on")
    played.call("Yes", cold=True)
    known = _known(played, tmp_path)
    session = load_file(_path(tmp_path))
    last = list(context_of(session.turns, session.compactions))[-1]
    assert (last.parts["files"], last.parts["output"]) == (0, 0)
    assert last.parts["conversation"] == pytest.approx(tokens_in(summary), rel=0.1)
    stats = stats_of([known])
    assert [(link.what, link.tokens) for link in stats.compactions] == [("auto", 39_000)]
    assert stats.dropped_tokens == 39_000


def test_figures_have_the_turns_behind_them(tmp_path: Path) -> None:
    played = Played()
    played.prompt("First")
    (ran,) = played.call("Run", ("Bash", {"command": "make"}))
    played.result(ran, "error", is_error=True, seconds=30)
    played.call("It failed")
    played.wait(120)
    played.prompt("Second")
    (ran,) = played.call("Again", ("Bash", {"command": "make"}))
    played.result(ran, "fine", seconds=2)
    played.call("It works")
    stats = stats_of([_known(played, tmp_path)])
    (bash,) = stats.tools
    assert (bash.name, bash.calls, bash.failed) == ("Bash", 2, 1)
    assert [(link.session, link.turn) for link in bash.failed_in] == [(NAME, 1)]
    assert bash.slowest is not None
    assert (bash.slowest.turn, bash.slowest.ms) == (1, 31_000)
    assert (stats.sessions, stats.turns, stats.calls, stats.tool_calls) == (1, 2, 4, 2)
    assert {status: [link.turn for link in links] for status, links in stats.statuses.items()} == {"done": [1, 2]}
    assert stats.user_ms == 121_000
    assert [(day.day, day.turns) for day in stats.days] == [("2026-11-01", 2)]
    assert stats.hours[9] == 2


def test_a_response_with_the_time_of_a_later_rewrite_is_not_a_wait(tmp_path: Path) -> None:
    """As in a public session of 1.0.120, where such waits were 42 hours of less than six."""
    played = Played()
    played.prompt("First")
    played.call("Done")
    played.wait(600)
    played.prompt("Second")
    played.call("Done")
    honest = stats_of([_known(played, tmp_path)]).model_ms
    played.lines[1]["timestamp"] = played.lines[-1]["timestamp"]
    stats = stats_of([_known(played, tmp_path)])
    # Both took the same.
    assert stats.model_ms == honest // 2 > 0


def test_a_cache_that_is_rebuilt_after_a_break_costs_the_difference(tmp_path: Path) -> None:
    played = Played()
    played.prompt("First")
    played.call("Done")
    before = sum(played.calls[-1].values())
    played.wait(3_000)
    played.prompt("Second")
    played.call("Done", cold=True)
    known = _known(played, tmp_path)
    (rebuild,) = known.facts.rebuilds
    assert (rebuild.turn, rebuild.cause, rebuild.tokens) == (2, "break", before)
    assert rebuild.cost == before * (WRITE - READ)
    assert rebuild.gap == pytest.approx(3_001, abs=1)
    finding = next(each for each in find_waste([known]) if each.kind is WasteKind.CACHE_BREAK)
    assert (finding.times, finding.cost, finding.turns[0].turn) == (1, rebuild.cost, 2)


def test_a_result_that_stays_costs_its_tokens_in_every_later_call(tmp_path: Path) -> None:
    played = Played()
    played.prompt("Go")
    (ran,) = played.call("List", ("Bash", {"command": "npm ls --all"}))
    long = PROSE * 300
    played.result(ran, long)
    for _ in range(20):
        (ran,) = played.call("Next", ("Bash", {"command": "true"}))
        played.result(ran, "ok")
    played.call("Done")
    known = _known(played, tmp_path)
    resident = known.facts.residents[0]
    assert (resident.target, resident.turn, resident.calls) == ("npm ls --all", 1, 21)
    assert resident.tokens == pytest.approx(tokens_in(long), rel=0.05)
    assert resident.cost == pytest.approx(tokens_in(long) * (WRITE + 20 * READ), rel=0.05)
    finding = next(each for each in find_waste([known]) if each.kind is WasteKind.RESULT)
    assert (finding.what, finding.calls) == ("Bash: npm ls --all", 21)


def _long_result(played: Played) -> None:
    played.prompt("Go")
    (ran,) = played.call("List", ("Bash", {"command": "npm ls --all"}))
    played.result(ran, PROSE * 300)
    for _ in range(20):
        (ran,) = played.call("Next", ("Bash", {"command": "true"}))
        played.result(ran, "ok")
    played.call("Done")


@pytest.mark.parametrize("is_compacted", [False, True])
def test_an_edit_is_advised_only_for_a_result_that_is_still_sent(tmp_path: Path, *, is_compacted: bool) -> None:
    played = Played()
    _long_result(played)
    if is_compacted:
        compaction = {"trigger": "auto", "preTokens": 40_000, "postTokens": 1_000}
        content = "Conversation compacted"
        played._add({"type": "system", "subtype": "compact_boundary", "content": content, "compactMetadata": compaction})
        played.lines[-1] |= {"parentUuid": None, "logicalParentUuid": played.lines[-2]["uuid"]}
        played.prompt(PROSE * 40)
        played.lines[-1] |= {"isCompactSummary": True, "isVisibleInTranscriptOnly": True}
        played.prompt("Now go on")
        played.call("Yes", cold=True)
    known = _known(played, tmp_path)
    page = waste_page(find_waste([known]), [known])
    (finding,) = [each for each in page.findings if each.kind == WasteKind.RESULT]
    _, _, command = waste_advice(finding, RenderOptions())
    plan = make_plan(_path(tmp_path), [TruncateResults(limit=2_000, which=Selector(turns=((1, 1),)))])
    assert finding.sent is not plan.is_empty is is_compacted
    assert bool(command) is not is_compacted


def test_every_line_of_advice_says_something(tmp_path: Path) -> None:
    """Subagents that have no description have nothing to be named by."""
    played = Played()
    _long_result(played)
    known = _known(played, tmp_path)
    nameless = WasteFinding(WasteKind.AGENTS, 10**11, 2, "", 0, 0, 0, ())
    (finding,) = waste_page([nameless], [known]).findings
    _, lines, _ = waste_advice(finding, RenderOptions())
    assert lines
    assert all(lines)


def test_a_file_read_again_unchanged_is_found_and_one_that_was_edited_is_not(tmp_path: Path) -> None:
    played = Played()
    played.prompt("Go")
    for path, edits in (("/p/same.py", False), ("/p/edited.py", True)):
        content = PROSE * 100 + path
        for time in range(3):
            (read,) = played.call("Look", ("Read", {"file_path": path}))
            played.result(read, content, "files")
            if edits and time < 2:
                (edit,) = played.call("Edit", ("Edit", {"file_path": path}))
                played.result(edit, "ok")
    played.call("Done")
    known = _known(played, tmp_path)
    (reread,) = known.facts.rereads
    assert (reread.path, reread.turns) == ("/p/same.py", [1, 1])
    assert reread.tokens == pytest.approx(2 * tokens_in(PROSE * 100), rel=0.1)


def test_turns_before_a_rewind_are_thrown_away(tmp_path: Path) -> None:
    played = Played()
    played.prompt("First")
    played.call("Done")
    here = played.parent
    played.prompt("A wrong turn")
    played.call("Wrong")
    played.parent = here
    played.prompt("The right turn")
    played.call("Right")
    stats = stats_of([_known(played, tmp_path)])
    (rewound,) = stats.rewound
    assert (rewound.turn, rewound.branch) == (2, 2)  # the kept one is the first
    assert rewound.cost is not None
    assert rewound.cost > 0


def test_a_turn_that_was_written_again_on_the_kept_branch_was_not_thrown_away(tmp_path: Path) -> None:
    """As in a public session of 2.1.29: the file has the kept turns twice, with the same responses under other uuids."""
    played = Played()
    played.prompt("First")
    played.call("Done")
    first = played.lines[-2:]
    played.prompt("A wrong turn")
    played.call("Wrong")
    played.parent = None
    for line in first:
        again = {name: value for name, value in line.items() if name not in ("uuid", "parentUuid", "timestamp")}
        played._add(again)
    played.prompt("The right turn")
    played.call("Right")
    known = _known(played, tmp_path)
    (rewound,) = stats_of([known]).rewound
    assert (rewound.turn, rewound.cost) == (2, next(turn.cost for turn in known.facts.turns if turn.number == 2))
    assert rewound.cost


def _tool(name: str, characters: int) -> dict[str, Any]:
    return {"name": name, "description": "x" * characters, "input_schema": {}}


def test_a_server_whose_tools_were_never_called_is_found(tmp_path: Path) -> None:
    played = Played()
    tools = [_tool("Bash", 20_000), _tool("mcp__shopdb__query", 9_000), _tool("mcp__used__go", 5_000)]
    shape = {"system": [{"type": "text", "text": "y" * 10_000}], "tools": tools}
    played.lines.append({"type": "api-request-shape", "sessionId": NAME, "shapeHash": "h", "version": "2.1.325", "shape": shape})
    played.prompt("Go")
    (used,) = played.call("Use", ("mcp__used__go", {}))
    played.result(used, "ok")
    for _ in range(40):
        (ran,) = played.call("More", ("Bash", {"command": "true"}))
        played.result(ran, "ok")
    played.call("Done")
    known = _known(played, tmp_path)
    servers = {server.name: server for server in known.facts.servers}
    assert (servers["shopdb"].used, servers["used"].used) == (0, 1)
    assert servers["shopdb"].requests == 42
    # 9,000 of 44,000 characters of what every request carries.
    assert servers["shopdb"].tokens == pytest.approx(SYSTEM * 9 / 44, rel=0.1)
    (finding,) = [each for each in find_waste([known]) if each.kind is WasteKind.MCP]
    assert finding.what == "shopdb"


def test_turns_that_a_fork_copied_count_once(tmp_path: Path) -> None:
    played = Played()
    _work(played, 2)
    played.write(_path(tmp_path))
    home = tmp_path / "home"
    store = open_store(None)
    sync_usage(store, [home])
    (alone,) = known_sessions(store, [home], Tariff())
    copied = [{**line, "forkedFrom": {"sessionId": NAME, "messageUuid": line["uuid"]}} for line in played.lines]
    played.lines = copied
    played.prompt("Something else")
    played.call("Done")
    played.write(_path(tmp_path).with_name("99999999-2222-4333-8444-555555555555.jsonl"))
    sync_usage(store, [home])
    both = known_sessions(store, [home], Tariff())
    assert [len(each.facts.turns) for each in both] == [2, 1]
    assert both[0].facts.cost == alone.facts.cost
    stats = stats_of(both)
    assert (stats.turns, stats.calls, stats.tool_calls) == (
        3,
        len(played.calls),
        sum(x.calls for x in alone.facts.tools.values()),
    )


def test_facts_are_kept_until_a_file_changes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    played = Played()
    _work(played, 1)
    played.write(_path(tmp_path))
    home = tmp_path / "home"
    store = open_store(tmp_path / "index.sqlite")
    sync_usage(store, [home])
    first = known_sessions(store, [home], Tariff())
    monkeypatch.setattr("stenograph.analysis.stats.load_file", lambda _: pytest.fail("nothing has changed"))
    assert known_sessions(store, [home], Tariff()) == first
    monkeypatch.undo()
    played.prompt("More")
    played.call("Done")
    played.write(_path(tmp_path))
    sync_usage(store, [home])
    (again,) = known_sessions(store, [home], Tariff())
    assert len(again.facts.turns) == 2


def test_all_results_that_stayed_are_in_the_sum_and_the_dearest_have_findings_of_their_own(tmp_path: Path) -> None:
    """Seven sessions with a result each, of 36,000 to 42,000 characters: the dearest five, and the other two as one finding."""
    known = []
    for number in range(7):
        played = Played()
        played.prompt("Begin")
        (name,) = played.call("Run", ("Bash", {"command": f"job {number}"}))
        played.result(name, "x" * (36_000 + number * 1_000))
        for _ in range(11):
            played.call("On")
        known.append(_known_of(played, tmp_path, number))
    findings = find_waste(known)
    own = [each for each in findings if each.kind is WasteKind.RESULT]
    (others,) = (each for each in findings if each.kind is WasteKind.RESULTS)
    assert [each.what for each in own] == [f"Bash: job {number}" for number in (6, 5, 4, 3, 2)]
    assert (others.times, [link.session for link in others.turns]) == (2, ["session 1", "session 0"])
    # 10,000 and 10,278 tokens, but for the first 500 of each: written once at $5 and read ten times at $0.20 per million tokens.
    assert others.cost == pytest.approx((9_500 + 9_778) * (5 + 10 * 0.2) * 10**6, rel=0.05)
    assert waste_page(findings, known).avoidable_micro_usd == pytest.approx(sum(each.cost for each in findings) / 10**6, abs=1)
    heading, _, _ = waste_advice(waste_page([others], known).findings[0], RenderOptions())
    assert heading == "2 other results stayed in the context"


def _known_of(played: Played, tmp_path: Path, number: int) -> KnownSession:
    path = played.write(tmp_path / f"{number}.jsonl")
    return KnownSession(f"session {number}", path, None, session_facts(load_file(path), Tariff()), None)


def test_all_results_of_one_session_are_in_the_sum(tmp_path: Path) -> None:
    played = Played()
    played.prompt("Begin")
    names = played.call("Run", *(("Bash", {"command": f"job {number}"}) for number in range(14)))
    for name in names:
        played.result(name, "x" * 36_000)
    for _ in range(11):
        played.call("On")
    findings = find_waste([_known_of(played, tmp_path, 1)])
    assert sum(each.times for each in findings if each.kind in (WasteKind.RESULT, WasteKind.RESULTS)) == 14
