"""`steno history`, as a user runs it."""

from __future__ import annotations

import json
import os
from pathlib import Path

from tests.cli.running import run
from tests.homes import LONG_AGO

from stenograph.testing.lines import assistant, encode, text, tool_result, tool_use, user

FIRST = "11111111-2222-4333-8444-555555555555"
SECOND = "99999999-2222-4333-8444-555555555555"


def _home(tmp_path: Path) -> Path:
    project = tmp_path / ".claude" / "projects" / "-home-user-shop"
    project.mkdir(parents=True)
    (project / f"{FIRST}.jsonl").write_bytes(
        encode(
            [
                user("u1", "Look at the cart", cwd="/home/user/shop"),
                assistant("a1", "m1", [tool_use("t1", "Read", file_path="/home/user/shop/src/cart.ts")], "u1"),
                user("r1", [tool_result("t1", "export …")], "a1"),
                assistant("a2", "m2", [text("Fine")], "r1"),
                user("u2", "Now change it", "a2"),
                assistant("a3", "m3", [tool_use("t2", "Edit", file_path="/home/user/shop/src/cart.ts", old_string="a")], "u2"),
                user("r2", [tool_result("t2", "String to replace not found", is_error=True)], "a3"),
            ]
        )
    )
    used = tool_use("t9", "Write", file_path="/home/user/other/cart.ts")
    (project / f"{SECOND}.jsonl").write_bytes(encode([user("v1", "Write another"), assistant("b1", "m9", [used], "v1")]))
    return tmp_path / ".claude"


def _calls(home: Path, *arguments: str) -> list[tuple[str, int | None, str, bool, str]]:
    page = json.loads(run("--home", home, "history", *arguments, "--json").stdout)
    return [
        (session["id"], call["turn"], call["tool"], call["changes"], call["outcome"])
        for session in page["sessions"]
        for call in session["calls"]
    ]


def test_every_turn_that_read_or_changed_a_file_is_listed(tmp_path: Path) -> None:
    home = _home(tmp_path)
    first = [(FIRST, 1, "Read", False, "done"), (FIRST, 2, "Edit", True, "failed")]
    assert _calls(home, "/home/user/shop/src/cart.ts") == first
    assert _calls(home, "src/cart.ts") == first
    assert _calls(home, "src/cart.ts", "--changed") == first[1:]
    assert sorted(_calls(home, "cart.ts")) == sorted([*first, (SECOND, 1, "Write", True, "unanswered")])


def test_part_of_a_name_is_not_the_file(tmp_path: Path) -> None:
    done = run("--home", _home(tmp_path), "history", "art.ts")
    assert (done.returncode, done.stderr) == (1, "note: no session read or changed art.ts\n")


def test_the_table_names_the_turns(tmp_path: Path) -> None:
    done = run("--home", _home(tmp_path), "history", "src/cart.ts")
    assert "1 change and 1 read of src/cart.ts in 1 session" in done.stdout
    assert "turn 2, 1 failed" in done.stdout
    assert f"show {FIRST[:8]} --turn 2" in done.stdout


def test_a_call_that_a_clone_copied_counts_once(tmp_path: Path) -> None:
    home = _home(tmp_path)
    (original,) = home.rglob(f"{FIRST}.jsonl")
    stamped = [
        {**json.loads(line), "timestamp": f"2026-01-01T00:00:0{number}.000Z"}
        for number, line in enumerate(original.read_text().splitlines())
    ]
    original.write_bytes(encode(stamped))
    os.utime(original, (LONG_AGO, LONG_AGO))
    clone = json.loads(run("--home", home, "clone", FIRST, "--json").stdout)["id"]
    page = json.loads(run("--home", home, "history", "src/cart.ts", "--json").stdout)
    assert {each["id"]: [call["copied"] for call in each["calls"]] for each in page["sessions"]} == {
        FIRST: [False, False],
        clone: [True, True],
    }
    shown = run("--home", home, "history", "src/cart.ts").stdout
    assert "1 change and 1 read of src/cart.ts in 2 sessions, newest first; copied calls count once" in shown
