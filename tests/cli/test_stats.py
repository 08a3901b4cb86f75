"""`steno stats` and `steno waste`, as a user runs them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from msgspec import structs
from tests.analysis.played import Played
from tests.homes import session_id, user, write_session

from stenograph.analysis import known_sessions, stats_of
from stenograph.cli._group import steno
from stenograph.errors import UsageError
from stenograph.index import open_store, sync_usage
from stenograph.pricing import Tariff
from stenograph.testing import lines
from stenograph.views import RenderOptions, list_turns, render_stats, render_waste, stats_page
from stenograph.views.pages.stats import TurnLinkPage, WasteFindingPage, WastePage

NAME = "11111111-2222-4333-8444-555555555555"


def _home(tmp_path: Path) -> Path:
    played = Played()
    played.prompt("First")
    (ran,) = played.call("Run", ("Bash", {"command": "make"}))
    played.result(ran, "error", is_error=True, seconds=30)
    played.call("It failed")
    played.wait(3_000)
    played.prompt("Second")
    played.call("Done", cold=True)
    played.write(tmp_path / "home" / "projects" / "-p" / f"{NAME}.jsonl")
    return tmp_path / "home"


def _run(home: Path, *arguments: str) -> Result:
    return CliRunner().invoke(steno, ["--home", str(home), *arguments], catch_exceptions=False)


def test_stats_begin_with_the_totals(tmp_path: Path) -> None:
    done = _run(_home(tmp_path), "stats")
    assert done.exit_code == 0
    lines = done.stdout.splitlines()
    assert lines[0] == "  1 session, 2 turns, 3 calls, 1 tool call, $0.14"
    assert any(line.split()[:3] == ["System", "and", "tools"] for line in lines)
    assert any(line.split()[:4] == ["Bash", "1", "100%", "31"] for line in lines)
    assert any(line.split() == ["rebuilt", "1", "time"] for line in lines)


def test_the_turns_behind_a_figure_are_listed(tmp_path: Path) -> None:
    home = _home(tmp_path)
    assert _run(home, "stats", "--list", "failed:Bash").stdout == f"  {NAME} turn 1  Bash\n"
    assert _run(home, "stats", "--list", "rebuilt").stdout.startswith(f"  {NAME} turn 2  break  50 min 1 s")


def test_one_session_has_the_same_figures(tmp_path: Path) -> None:
    home = _home(tmp_path)
    both = [json.loads(_run(home, "stats", *arguments, "--json").stdout) for arguments in ((), (NAME[:4],))]
    assert both[0] == both[1]
    assert both[0]["schema"] == "stats/1"


def test_waste_has_a_way_to_avoid_it(tmp_path: Path) -> None:
    home = _home(tmp_path)
    done = _run(home, "waste")
    assert done.stdout.startswith("  ~$0.07 of $0.14 was avoidable (47%), 1 finding\n")
    assert "Prompt cache rebuilt after a break, 1 time" in done.stdout
    assert f"edit {NAME[:8]} --compress --keep-last 5" in done.stdout
    assert _run(home, "waste", "1").stdout.startswith(f"  {NAME} turn 2  ~$0.07")


def test_nothing_to_avoid_is_said(tmp_path: Path) -> None:
    played = Played()
    played.prompt("First")
    played.call("Done")
    played.write(tmp_path / "home" / "projects" / "-p" / f"{NAME}.jsonl")
    assert _run(tmp_path / "home", "waste").stdout == "  Nothing avoidable found in 1 session\n"
    assert _run(tmp_path / "home", "stats", "--since", "2030-01-01").exit_code == 1


def test_a_bar_shows_the_share_of_calls_that_failed(tmp_path: Path) -> None:
    """One failure in ten was drawn as long as a tool that always fails, where it was the most."""
    played = Played()
    played.prompt("Go")
    for number in range(10):
        (ran,) = played.call("Run", ("Bash", {"command": "make"}))
        played.result(ran, "done", is_error=not number)
    played.write(tmp_path / "projects" / "-p" / f"{NAME}.jsonl")
    store = open_store(None)
    sync_usage(store, [tmp_path])
    page = stats_page(stats_of(known_sessions(store, [tmp_path], Tariff())))
    (line,) = [line for line in render_stats(page, RenderOptions(width=80)) if line.split()[:1] == ["Bash"]]
    assert line.split()[2] == "10%"
    assert line.count("━") == 1


LINKS = (
    TurnLinkPage(NAME, 14, None, "break", 3_600_000, 424_000, 1_460_000, 0, 0),
    TurnLinkPage(NAME, 9, None, "other", None, 9_000, 90_000, 0, 0),
    TurnLinkPage(NAME, 1, None, "other", 100, 64_000, None, 0, 1),
)


def test_a_list_of_turns_has_columns() -> None:
    page = structs.replace(stats_page(stats_of([])), rebuilds=LINKS)
    assert [*list_turns(page, "rebuilt", RenderOptions(width=60))] == [
        "  11111111 turn 14  break    1 h  424k tokens     $1.46",
        "  11111111 turn 9   other         9.0k tokens     $0.09",
        "  11111111 turn 1   other  0.1 s   64k tokens  unpriced",
    ]


def test_a_turn_of_another_branch_is_named_as_diff_names_it() -> None:
    page = structs.replace(stats_page(stats_of([])), rewound=(structs.replace(LINKS[0], branch=2),))
    (line,) = list_turns(page, "rewound", RenderOptions(width=60))
    assert line.startswith("  11111111#2 turn 14  break")


def test_a_list_of_turns_cuts_long_names_where_there_is_no_room() -> None:
    links = tuple(structs.replace(link, what=f"mcp__a-server-with-a-long-name__tool_{link.turn}") for link in LINKS)
    found = [*list_turns(structs.replace(stats_page(stats_of([])), waits=links), "waits", RenderOptions(width=60))]
    assert max(map(len, found)) <= 60
    assert "…" in found[0]
    assert found[0].count("tool_14") == 1


def test_every_line_of_findings_fits_into_sixty_columns() -> None:
    """But for commands, which are to be copied."""
    kinds = (
        "cache-rebuilt-after-a-break", "cache-rebuilt-for-another-model", "result-stayed-in-the-context",
        "other-results-stayed-in-the-context", "mcp-server-never-called", "files-read-again", "subagents-repeated-work",
        "turns-thrown-away",
    )  # fmt: skip
    findings = tuple(
        WasteFindingPage(kind, 1_234_560_000, 1_234, "Read: some/where/objective.md", 15_000, 1_234, 43_320, True, LINKS * 500)
        for kind in kinds
    )
    page = WastePage(
        sessions=9, cost_micro_usd=98_765_430_000,
        estimated_micro_usd=1, unpriced_calls=23, avoidable_micro_usd=9_876_540_000, findings=findings,
    )  # fmt: skip
    lines = [*render_waste(page, RenderOptions(width=60))]
    assert [line for line in lines if len(line) > 60 and "try: " not in line] == []
    text = " ".join(" ".join(lines).split())
    assert "unpriced 23 calls" in text
    assert text.count("1,500 times") == 5


def test_usage_and_stats_say_which_sessions_they_count(tmp_path: Path) -> None:
    """A list hides short sessions: it has fewer."""
    played = Played()
    played.prompt("Short")
    played.call("Done")
    played.write(tmp_path / "projects" / "-p" / f"{NAME}.jsonl")
    assert json.loads(_run(tmp_path, "ls", "--json").stdout)["hidden"] == {"short": 1}
    assert json.loads(_run(tmp_path, "usage", "--json").stdout)["total"]["sessions"] == 1
    for command in ("usage", "stats"):
        assert "sessions that `steno ls` hides" in _run(tmp_path, command).stdout


def test_a_history_that_was_written_twice_has_its_tool_calls_once(tmp_path: Path) -> None:
    played = Played()
    played.prompt("Go")
    (ran,) = played.call("Run", ("Bash", {"command": "make"}))
    played.result(ran, "done")
    path = tmp_path / "projects" / "-p" / f"{NAME}.jsonl"
    played.write(path)
    again = [json.loads(line) for line in path.read_text().splitlines()]
    for line in again:
        line["uuid"] = "9" + line["uuid"][1:]
        line["parentUuid"] = "9" + line["parentUuid"][1:] if line["parentUuid"] else None
    path.write_text(path.read_text() + "".join(json.dumps(line) + "\n" for line in again))
    found = json.loads(_run(tmp_path, "stats", "--json").stdout)
    assert [(tool["name"], tool["calls"]) for tool in found["tools"]] == [("Bash", 1)]


def test_a_figure_without_turns_is_said_to_have_none(tmp_path: Path) -> None:
    home = _home(tmp_path)
    for wanted, said in (
        ("failed:Nope", 'no call of the tool "Nope" failed'),
        ("rewound", 'no turns behind "rewound"'),
    ):
        done = _run(home, "stats", "--list", wanted)
        assert (done.exit_code, done.stdout) == (1, "")
        assert said in done.stderr


def test_one_finding_is_counted_as_one(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no finding 99; there is 1 finding"):
        _run(_home(tmp_path), "waste", "99")


def _without_a_price(tmp_path: Path) -> Path:
    """A turn of an unknown model that was rewound, and a turn of 1,000 tokens of output at $20 per million tokens."""
    played = Played()
    played.model = "some-model"
    played.prompt("First")
    played.call("Done")
    played.parent = None
    played.model = "claude-opus-5-5"
    played.prompt("Second")
    played.call("Done", thinking=998)
    played.write(tmp_path / "home" / "projects" / "-p" / f"{NAME}.jsonl")
    return tmp_path / "home"


def test_a_cost_that_is_not_known_is_not_shown_as_one(tmp_path: Path) -> None:
    home = _without_a_price(tmp_path)
    assert _run(home, "stats", "--list", "rewound").stdout == f"  {NAME}#2 turn 1  unpriced\n"
    shown = _run(home, "stats").stdout.splitlines()
    assert shown[0].endswith(", unpriced 1 call")
    assert any("rewound turns" in line and line.endswith("unpriced") for line in shown)
    (link,) = json.loads(_run(home, "stats", "--json").stdout)["rewound"]
    assert (link["cost_micro_usd"], link["unpriced_calls"]) == (None, 1)


def test_an_estimated_cost_has_a_mark_wherever_it_is_shown(tmp_path: Path) -> None:
    """2.0.55 wrote a placeholder of 1 token for an answer of 900 characters, which are 300 tokens: at $15 per million $0.0045."""
    said = lines.assistant(None, "msg_1", [lines.text("b" * 900)], model="claude-sonnet-4-5-20250929", usage={"output_tokens": 1})
    old = {"version": "2.0.55", "isSidechain": False, "timestamp": "2025-11-15T10:00:00.000Z"}
    records = [user("Go") | old | {"uuid": session_id(1), "parentUuid": None}, said | old]
    records[1] |= {"uuid": session_id(2), "parentUuid": session_id(1)}
    write_session(tmp_path / "home", NAME, records)
    assert _run(tmp_path / "home", "stats", "--list", "done").stdout == f"  {NAME} turn 1  ~$0.0045\n"
