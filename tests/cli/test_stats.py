"""`steno stats` and `steno waste`, as a user runs them."""

from __future__ import annotations

import json
from pathlib import Path

from click.testing import CliRunner, Result
from tests.analysis.played import Played

from stenograph.analysis import known_sessions, stats_of
from stenograph.cli._group import steno
from stenograph.index import open_store, sync_usage
from stenograph.pricing import Tariff
from stenograph.views import RenderOptions, render_stats, stats_page

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
    assert _run(home, "waste", "1").stdout.startswith(f"  {NAME} turn 2  $0.07")


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


def test_usage_and_stats_say_which_sessions_they_count(tmp_path: Path) -> None:
    """A list hides short sessions: it has fewer."""
    played = Played()
    played.prompt("Short")
    played.call("Done")
    played.write(tmp_path / "projects" / "-p" / f"{NAME}.jsonl")
    assert json.loads(_run(tmp_path, "ls", "--json").stdout)["hidden"] == {"short": 1}
    assert json.loads(_run(tmp_path, "usage", "--json").stdout)["total"]["sessions"] == 1
    for command in ("usage", "stats"):
        assert "also those that `steno ls` hides" in _run(tmp_path, command).stdout


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
