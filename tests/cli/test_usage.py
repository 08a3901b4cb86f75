"""`steno usage`, as a user runs it."""

from __future__ import annotations

import csv
import io
import json
import os
import shutil
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.cli.running import SOURCE, run
from tests.corpora import FIXTURES

from stenograph.index import store_path
from stenograph.testing.lines import assistant, text, tool_use

FIRST = "11111111-2222-4333-8444-555555555555"
#: A million tokens of input: $4 for opus 5.5, $2 for sonnet 5.5.
MILLION = {"input_tokens": 1_000_000, "output_tokens": 0}


def _line(name: str, time: str, model: str = "claude-opus-5-5", usage: Any = MILLION, **members: Any) -> bytes:
    line = assistant(name, f"msg_{name}", [text("Done")], model=model, stop_reason="end_turn", usage=usage) | {
        "sessionId": FIRST, "version": "2.1.325", "timestamp": time, "cwd": "/home/user/shop", "gitBranch": "main",
        "requestedModel": model, **members,
    }  # fmt: skip
    return json.dumps(line, separators=(",", ":")).encode() + b"\n"


def _home(tmp_path: Path) -> Path:
    project = tmp_path / ".claude" / "projects" / "-home-user-shop"
    project.mkdir(parents=True)
    (project / f"{FIRST}.jsonl").write_bytes(
        _line("a", "2026-10-01T23:30:00.000Z")
        + _line("a", "2026-10-01T23:30:01.000Z")
        + _line("b", "2026-10-02T10:00:00.000Z", "claude-sonnet-5-5")
        + _line("c", "2026-10-02T10:00:10.000Z", "glm-5")
        + b'{"type":"cost-state","sessionId":"' + FIRST.encode() + b'","totalCostUSD":6.5}\n'
    )  # fmt: skip
    return tmp_path / ".claude"


def _page(home: Path, *arguments: str) -> dict[str, Any]:
    page: dict[str, Any] = json.loads(run("--home", home, "usage", "--json", *arguments).stdout)
    return page


def test_days_have_their_cost_in_whole_microdollars(tmp_path: Path) -> None:
    page = _page(_home(tmp_path))
    assert [(row["name"], row["cost_micro_usd"], row["calls"]) for row in page["rows"]] == [
        ("2026-10-01", 4_000_000, 1),
        ("2026-10-02", 2_000_000, 2),
    ]
    assert (page["by"], page["total"]["cost_micro_usd"], page["total"]["sessions"]) == ("day", 6_000_000, 1)
    assert (page["unpriced_models"], page["total"]["unpriced_calls"]) == (["glm-5"], 1)


def test_days_are_those_of_a_time_zone(tmp_path: Path) -> None:
    page = _page(_home(tmp_path), "--tz", "Europe/Berlin")
    assert [(row["name"], row["start"]) for row in page["rows"]] == [("2026-10-02", "2026-10-01T22:00:00Z")]
    since = _page(tmp_path / ".claude", "--tz", "Europe/Berlin", "--since", "2026-10-02", "--until", "2026-10-02T11:00")
    assert since["total"]["calls"] == 1
    assert since["since"] == "2026-10-01T22:00:00Z"


def test_a_time_zone_that_does_not_exist_is_an_error(tmp_path: Path) -> None:
    done = run("--home", _home(tmp_path), "usage", "--tz", "Mars/Base")
    assert done.returncode == 2
    assert 'unknown time zone "Mars/Base"' in done.stderr


def test_the_table_says_how_its_figures_are_known(tmp_path: Path) -> None:
    done = run("--home", _home(tmp_path), "usage", "--by", "model", "--breakdown")
    assert done.returncode == 0
    lines = done.stdout.splitlines()
    assert lines[0] == "  $6.00 in all, 1 session, UTC time"
    assert lines[1] == "  measured $6.00, unpriced 1 call"
    assert [line.split()[:2] for line in lines[3:5]] == [["model", "cost"], ["claude-opus-5-5", "$4.00"]]
    assert any(line.split()[:2] == ["glm-5", "unpriced"] for line in lines)
    assert "No price: glm-5. Set one with --prices." in done.stdout


def test_calls_without_a_price_are_mentioned_where_there_are_any(tmp_path: Path) -> None:
    home = _home(tmp_path)
    file = next(home.rglob("*.jsonl"))
    file.write_bytes(_line("a", "2026-10-01T23:30:00.000Z"))
    assert run("--home", home, "usage").stdout.splitlines()[1] == "  measured $4.00"


def test_csv_has_one_line_per_row_and_model(tmp_path: Path) -> None:
    done = run("--home", _home(tmp_path), "usage", "--csv", "--breakdown")
    rows = list(csv.DictReader(io.StringIO(done.stdout)))
    assert [(row["day"], row["model"], row["cost_usd"]) for row in rows] == [
        ("2026-10-01", "claude-opus-5-5", "4.000000"),
        ("2026-10-02", "claude-sonnet-5-5", "2.000000"),
        ("2026-10-02", "glm-5", "0.000000"),
    ]


def test_a_budget_fails(tmp_path: Path) -> None:
    home = _home(tmp_path)
    assert run("--home", home, "usage", "--fail-above", "6").returncode == 0
    done = run("--home", home, "usage", "--fail-above", "5.99")
    assert done.returncode == 1
    assert "$6.00 is more than $5.99" in done.stderr


def test_prices_of_ones_own(tmp_path: Path) -> None:
    home = _home(tmp_path)
    prices = tmp_path / "prices.toml"
    prices.write_text('[models."glm-5"]\ninput = 1\noutput = 1\ncache_read = 1\ncache_write_5m = 1\n')
    assert _page(home, "--prices", str(prices))["total"]["cost_micro_usd"] == 7_000_000
    assert run("--home", home, "usage", "--prices", tmp_path / "none.toml").returncode == 2


def test_prices_of_ones_own_rename_no_row(tmp_path: Path) -> None:
    """A name in the file may be only a part of the model's."""
    home, prices = _home(tmp_path), tmp_path / "prices.toml"
    price = "input = 1\noutput = 1\ncache_read = 1\ncache_write_5m = 1\n"
    prices.write_text(f"[models.opus-5-5]\n{price}[models.glm-5]\n{price}")
    rows = _page(home, "--by", "model", "--prices", str(prices))["rows"]
    assert {row["name"]: row["cost_micro_usd"] for row in rows} == {
        "claude-opus-5-5": 1_000_000,
        "claude-sonnet-5-5": 2_000_000,
        "glm-5": 1_000_000,
    }


def test_sessions_have_titles_and_projects(tmp_path: Path) -> None:
    (row,) = _page(_home(tmp_path), "--by", "session")["rows"]
    assert (row["name"], row["project"], row["path"]) == (
        FIRST,
        "/home/user/shop",
        str(tmp_path / ".claude" / "projects" / "-home-user-shop" / f"{FIRST}.jsonl"),
    )


def test_the_clients_own_figure_stands_beside_ours(tmp_path: Path) -> None:
    page = _page(_home(tmp_path), "--reconcile")
    (session,) = page["sessions"]
    assert (session["ours_micro_usd"], session["theirs_micro_usd"], session["difference_micro_usd"]) == (
        6_000_000,
        6_500_000,
        500_000,
    )
    assert (session["equal"], session["unpriced_calls"], page["equal"]) == (False, 1, 0)
    done = run("--home", tmp_path / ".claude", "usage", "--reconcile")
    assert "Equal to Claude Code's own figure in 0 of 1 session" in done.stdout
    assert "+$0.500000" in done.stdout


def test_nothing_found_is_said(tmp_path: Path) -> None:
    done = run("--home", _home(tmp_path), "usage", "--until", "2026-01-01")
    assert done.returncode == 1
    assert "no calls found" in done.stderr


def _status(home: Path, given: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "stenograph", "--home", str(home), "usage", "--statusline"],
        input=given if isinstance(given, str) else json.dumps(given),
        env={**os.environ, "PYTHONPATH": str(SOURCE)},
        capture_output=True,
        text=True,
        check=False,
    )


def test_a_status_line_takes_what_the_client_passes(tmp_path: Path) -> None:
    home = _home(tmp_path)
    transcript = home / "projects" / "-home-user-shop" / f"{FIRST}.jsonl"
    given = {
        "hook_event_name": "Status", "session_id": FIRST, "transcript_path": str(transcript), "version": "2.1.325",
        "model": {"id": "claude-opus-5-5", "display_name": "Opus 5.5"}, "cost": {"total_cost_usd": 0.4211},
        "context_window": {"total_input_tokens": 45_000, "context_window_size": 200_000},
    }  # fmt: skip
    done = _status(home, given)
    assert (done.returncode, done.stdout) == (0, "Opus 5.5 | $0.42 session | $0.00 today | 45k context (22%)\n")
    done = _status(home, {"transcript_path": str(transcript), "model": "odd", "cost": {"total_cost_usd": "odd"}})
    assert done.stdout == "$6.00 session | $0.00 today | 1.0M context\n"


def test_a_status_line_does_not_wait_for_a_writer(tmp_path: Path) -> None:
    home = _home(tmp_path)
    transcript = home / "projects" / "-home-user-shop" / f"{FIRST}.jsonl"
    assert run("--home", home, "usage").returncode == 0
    with transcript.open("ab") as file:
        file.write(_line("d", "2026-10-03T10:00:00.000Z"))
    path = store_path(os.environ)
    assert path is not None
    writer = sqlite3.connect(path, isolation_level=None)
    writer.execute("BEGIN IMMEDIATE")
    # What was read before; the new call comes with the next status line.
    assert _status(home, {"transcript_path": str(transcript)}).stdout.startswith("$6.00 session")
    writer.execute("COMMIT")
    writer.close()
    assert _status(home, {"transcript_path": str(transcript)}).stdout.startswith("$10.00 session")


def test_a_status_line_without_json_is_an_error(tmp_path: Path) -> None:
    done = _status(_home(tmp_path), "not json")
    assert done.returncode == 2
    assert "reads the JSON that Claude Code passes" in done.stderr


def test_a_session_that_only_the_archive_has_is_counted_and_explained(tmp_path: Path) -> None:
    recorded = FIXTURES / "recorded" / "2.1.325" / "print"
    home = tmp_path / "home"
    shutil.copytree(recorded, home / "projects")
    before = run("--home", str(home), "usage", "--reconcile", "--json").stdout
    stats = json.loads(run("--home", str(home), "stats", "--json").stdout)
    run("--home", str(home), "archive", "keep")
    shutil.rmtree(home / "projects")
    assert run("--home", str(home), "usage", "--reconcile", "--json").stdout == before
    assert json.loads(run("--home", str(home), "stats", "--json").stdout)["calls"] == stats["calls"] > 0


def _first_line(home: Path, *arguments: str, **environment: str) -> str:
    return run("--home", home, "usage", *arguments, environment=environment).stdout.splitlines()[0]


def test_blocks_are_shown_in_the_time_zone_that_is_named(tmp_path: Path) -> None:
    home = _home(tmp_path)
    page = _page(home, "--by", "block", "--tz", "Asia/Tokyo")
    assert [(row["name"], row["start"]) for row in page["rows"]] == [
        ("2026-10-02 08:00", "2026-10-01T23:00:00Z"),
        ("2026-10-02 19:00", "2026-10-02T10:00:00Z"),
    ]
    done = run("--home", home, "usage", "--by", "block", environment={"TZ": "Asia/Tokyo"})
    assert done.stdout.startswith("  $6.00 on 2026-10-02, 1 session, Asia/Tokyo time\n")
    assert "\n  2026-10-02 08:00 " in done.stdout


def test_the_header_names_the_days_of_calls_or_the_time_that_was_asked_for(tmp_path: Path) -> None:
    home = _home(tmp_path)
    rest = ", 1 session, UTC time"
    assert _first_line(home, "--by", "week") == f"  $6.00 from 2026-10-01 to 2026-10-02{rest}"
    assert _first_line(home, "--by", "month", "--tz", "Asia/Tokyo") == "  $6.00 on 2026-10-02, 1 session, Asia/Tokyo time"
    assert _first_line(home, "--since", "2026-10-01 06:30") == f"  $6.00 since 2026-10-01 06:30{rest}"
    assert _first_line(home, "--by", "model", "--until", "2026-10-02") == f"  $4.00 until 2026-10-02{rest}"
    both = ("--since", "2026-10-02", "--until", "2026-10-03T12:00")
    assert _first_line(home, "--by", "week", *both) == f"  $2.00 from 2026-10-02 until 2026-10-03 12:00{rest}"
    zoned = _first_line(home, "--since", "2026-10-02", "--tz", "Asia/Tokyo")
    assert zoned == "  $6.00 since 2026-10-02, 1 session, Asia/Tokyo time"


def test_the_header_leaves_out_times_that_no_clock_shows(tmp_path: Path) -> None:
    home = _home(tmp_path)
    with next(home.rglob("*.jsonl")).open("ab") as file:
        file.write(_line("d", "0001-01-01T00:00:00Z") + _line("e", "9999-12-31T23:59:59Z"))
    for by in ("day", "week", "month", "block"):
        done = run("--home", home, "usage", "--by", by)
        assert (done.returncode, done.stderr) == (0, "")
        assert done.stdout.startswith("  $14.00 from 2026-10-01 to 2026-10-02, ")
        assert "(unknown)" in done.stdout


def test_since_after_until_is_an_error(tmp_path: Path) -> None:
    done = run("--home", _home(tmp_path), "usage", "--since", "2026-10-03", "--until", "2026-10-02")
    assert (done.returncode, done.stderr) == (2, "error: --since must be before --until\n")


def test_the_clients_own_figure_is_of_the_sessions_in_a_range_of_time(tmp_path: Path) -> None:
    home = _home(tmp_path)
    for until, count in (("2026-10-01", 0), ("2026-10-02", 1)):
        assert len(_page(home, "--reconcile", "--until", until)["sessions"]) == count
    with (home / "projects" / "-home-user-shop" / "22222222-2222-4333-8444-555555555555.jsonl").open("wb") as file:
        file.write(_line("x", "2026-10-05T10:00:00.000Z", sessionId="22222222-2222-4333-8444-555555555555"))
        file.write(b'{"type":"cost-state","totalCostUSD":4.0}\n')
    assert "in 1 of 2 sessions (--reconcile)" in run("--home", home, "usage").stdout
    assert "in 0 of 1 session (--reconcile)" in run("--home", home, "usage", "--until", "2026-10-04").stdout


def test_the_sums_of_both_figures_have_a_fork_and_its_parent_once(tmp_path: Path) -> None:
    """A fork's total starts from its parent's: $10 = $6 + $4."""
    home, fork = tmp_path / ".claude", "22222222-2222-4333-8444-555555555555"
    project = home / "projects" / "-home-user-shop"
    project.mkdir(parents=True)
    shared = (("a", "2026-10-01T10:00:00Z", "claude-opus-5-5"), ("b", "2026-10-01T10:01:00Z", "claude-sonnet-5-5"))
    own = (("c", "2026-10-01T11:00:00Z", "claude-opus-5-5"),)
    for session, calls, total in ((FIRST, shared, 6), (fork, (*shared, *own), 10)):
        lines = b"".join(_line(*call, sessionId=session) for call in calls)
        state = {"type": "cost-state", "sessionId": session, "totalCostUSD": total}
        (project / f"{session}.jsonl").write_bytes(lines + json.dumps(state).encode().replace(b": ", b":") + b"\n")
    page = _page(home, "--reconcile")
    assert {session["ours_micro_usd"] for session in page["sessions"]} == {6_000_000, 10_000_000}
    assert (page["ours_micro_usd"], page["theirs_micro_usd"], page["equal"]) == (10_000_000, 10_000_000, 2)
    assert page["ours_micro_usd"] == _page(home)["total"]["cost_micro_usd"]


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ("--reconcile --fail-above 1", "--reconcile conflicts with --fail-above"),
        ("--reconcile --by day", "--reconcile conflicts with --by"),
        ("--reconcile --breakdown --csv", "--reconcile conflicts with --csv and --breakdown"),
        ("--statusline --since 3d --until 1d", "--statusline conflicts with --since and --until"),
        ("--statusline --fail-above 1", "--statusline conflicts with --fail-above"),
        ("--statusline --by week", "--statusline conflicts with --by"),
        ("--statusline --breakdown", "--statusline conflicts with --breakdown"),
        ("--statusline --json", "use only one of --json, --csv and --statusline"),
    ],
)
def test_options_that_would_be_ignored_are_an_error(options: str, problem: str, tmp_path: Path) -> None:
    done = run("--home", _home(tmp_path), "usage", *options.split())
    assert (done.returncode, done.stderr) == (2, f"error: {problem}\n")


@pytest.mark.parametrize("amount", ["nan", "inf", "1e400", "-1", "-inf"])
def test_a_budget_that_is_not_an_amount_is_an_error(amount: str, tmp_path: Path) -> None:
    done = run("--home", _home(tmp_path), "usage", f"--fail-above={amount}")
    assert (done.returncode, done.stderr) == (2, "error: --fail-above must be a positive number, or 0\n")


@pytest.mark.parametrize(
    ("limit", "words"),
    [
        ("5.9999", "$6.0000 is more than $5.9999"),
        ("5.999", "$6.000 is more than $5.999"),
        ("0", "$6.00 is more than $0.00"),
        ("5.9", "$6.00 is more than $5.90"),
    ],
)
def test_a_budget_is_shown_with_the_digits_that_tell_it_from_the_total(limit: str, words: str, tmp_path: Path) -> None:
    assert run("--home", _home(tmp_path), "usage", "--fail-above", limit).stderr == f"warning: {words}\n"


def test_a_total_just_above_the_budget_has_more_digits(tmp_path: Path) -> None:
    home = _home(tmp_path)
    with next(home.rglob("*.jsonl")).open("ab") as file:
        file.write(_line("d", "2026-10-02T10:00:00Z", usage={"input_tokens": 500, "output_tokens": 0}))
    assert run("--home", home, "usage", "--fail-above", "6").stderr == "warning: $6.002 is more than $6.000\n"


def test_usage_says_that_it_counts_sessions_whose_file_is_gone_only_where_it_does(tmp_path: Path) -> None:
    home = _home(tmp_path)
    assert "Includes sessions that `steno ls` hides (if there are any).\n" in run("--home", home, "usage").stdout
    (file,) = home.rglob("*.jsonl")
    agent = file.with_suffix("") / "subagents" / "agent-1234567.jsonl"
    agent.parent.mkdir(parents=True)
    agent.write_bytes(_line("x", "2026-10-03T10:00:00Z", isSidechain=True, agentId="1234567"))
    file.unlink()
    assert ", and calls of sessions whose file is gone.\n" in run("--home", home, "usage").stdout


def test_the_total_of_tools_counts_what_their_rows_count(tmp_path: Path) -> None:
    home = tmp_path / ".claude"
    project = home / "projects" / "-home-user-shop"
    project.mkdir(parents=True)
    line = json.loads(_line("a", "2026-10-01T10:00:00Z"))
    line["message"]["content"] = [tool_use(f"t{number}", "Bash") for number in range(3)]
    (project / f"{FIRST}.jsonl").write_bytes(json.dumps(line).encode() + b"\n" + _line("b", "2026-10-01T10:01:00Z"))
    lines = [line.split() for line in run("--home", home, "usage", "--by", "tool").stdout.splitlines()]
    assert ["tool", "cost", "sessions", "tool", "calls", "tokens"] in lines
    assert {line[0]: line[-2] for line in lines if line[:1] in (["Bash"], ["(no"], ["total"])} == {
        "Bash": "3",
        "(no": "1",
        "total": "4",
    }
    assert _page(home, "--by", "tool")["total"]["calls"] == 2


def test_a_time_zone_that_the_system_does_not_know_is_utc(tmp_path: Path) -> None:
    home = _home(tmp_path)
    assert _first_line(home, TZ="Foo/Bar").endswith(" UTC time")
    assert _first_line(home, TZ=":Europe/Berlin").endswith(" Europe/Berlin time")
