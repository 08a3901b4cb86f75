"""`steno search`, as a user runs it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.cli.running import run

from stenograph.testing.lines import assistant, encode, text, tool_use, user

NAME = "11111111-2222-4333-8444-555555555555"


def _home(tmp_path: Path, prompt: str) -> Path:
    project = tmp_path / ".claude" / "projects" / "-home-user-shop"
    project.mkdir(parents=True)
    (project / f"{NAME}.jsonl").write_bytes(
        encode([user("u1", prompt, cwd="/home/user/shop"), assistant("a1", "m1", [text("It is gone")], "u1")])
    )
    return tmp_path / ".claude"


def test_a_hit_says_where_it_is_and_how_to_open_it(tmp_path: Path) -> None:
    home = _home(tmp_path, "Please drop Redis")
    done = run("--home", home, "search", "redis")
    assert done.returncode == 0
    assert "1 match in 1 session" in done.stdout
    assert f"turn 1  {home}/projects/-home-user-shop/{NAME}.jsonl:1  > Please drop [Redis]" in done.stdout
    assert f"show {NAME[:8]} --turn 1" in done.stdout


def test_words_that_no_session_has_are_named(tmp_path: Path) -> None:
    home = _home(tmp_path, "Please drop the cart")
    shown = run("--home", home, "search", "drop", "redis").stdout
    assert 'No session has "redis". These have other words of the query.' in shown
    assert "most of them" not in shown


def test_json_gives_the_place_and_the_matches(tmp_path: Path) -> None:
    home = _home(tmp_path, "Please drop Redis")
    (hit,) = json.loads(run("--home", home, "search", "redis", "--json").stdout)["hits"]
    (line,) = hit["lines"]
    assert (hit["id"], line["line"], line["turn"], line["kind"]) == (NAME, 1, 1, "prompt")
    assert [line["snippet"][begin:end] for begin, end in line["matches"]] == ["Redis"]


def test_nothing_found_ends_with_1_and_a_bad_query_with_2(tmp_path: Path) -> None:
    home = _home(tmp_path, "Please drop Redis")
    nothing, bad, pattern = (run("--home", home, "search", *words) for words in (["walrus"], ['"open'], ["--regex", "("]))
    assert (nothing.returncode, nothing.stderr) == (1, "note: nothing matches\n")
    assert (bad.returncode, bad.stderr) == (2, "error: the query has an unmatched quote\n")
    assert (pattern.returncode, pattern.stderr.startswith("error: invalid regular expression: ")) == (2, True)


def test_secrets_are_masked_in_snippets_and_not_kept_in_the_clear(tmp_path: Path) -> None:
    secret = "sk-ant-api03-" + "Zk7" * 30
    home = _home(tmp_path, f"The key is {secret} for redis")
    shown = run("--home", home, "search", "redis", "--json").stdout
    assert "redis" in shown
    assert secret not in shown
    assert secret in run("--home", home, "search", "redis", "--json", "--reveal").stdout


def test_the_demo_leaves_no_index_behind(tmp_path: Path) -> None:
    data = tmp_path / "data"
    assert run("--demo", "search", "checkout", environment={"XDG_DATA_HOME": str(data)}).returncode == 0
    assert not list(data.rglob("*.sqlite"))


def test_another_home_is_searched_as_a_whole_at_once_and_all_matches_are_counted(tmp_path: Path) -> None:
    data = {"XDG_DATA_HOME": str(tmp_path / "data")}
    first = _home(tmp_path / "first", "Only redis")
    assert run("--home", first, "search", "redis", environment=data).returncode == 0
    second = _home(tmp_path / "second", "More redis")
    project = second / "projects" / "-home-user-shop"
    for number in range(40):
        name = f"{number:08x}-2222-4333-8444-555555555555"
        (project / f"{name}.jsonl").write_bytes(encode([user(f"w{number}", "redis"), user(f"x{number}", "redis", f"w{number}")]))
    done = run("--home", second, "search", "redis", "-n", "1", "--json", environment=data)
    page = json.loads(done.stdout)
    assert (page["total"], page["matching_lines"], len(page["hits"]), page["stale"]) == (41, 81, 1, False)
    assert done.stderr == ""


def test_context_shows_the_lines_around_a_match(tmp_path: Path) -> None:
    words = "one\ntwo\nthree walrus\nfour\nfive\nsix"
    home = _home(tmp_path, words)
    page = json.loads(run("search", "walrus", "--context", "2", "--json", "--home", home).stdout)
    line = page["hits"][0]["lines"][0]
    assert (line["before"], line["snippet"], line["after"]) == (["one", "two"], "three walrus", ["four", "five"])
    shown = run("search", "walrus", "-C", "1", "--home", home).stdout
    assert [line.strip().rpartition("  ")[2] for line in shown.splitlines()[3:6]] == ["two", "> three [walrus]", "four"]


def test_values_that_only_their_names_make_secrets_are_masked_in_snippets(tmp_path: Path) -> None:
    """The text of a call goes without the names of its members: `{"password": …}` is found by its value alone."""
    home = _home(tmp_path, "Log in")
    given = {
        "command": "login quartz",
        "password": "kT9vQ2mLx8WzAA1",
        "headers": [{"name": "Authorization", "value": "tango whisky 77"}],
    }
    with (home / "projects" / "-home-user-shop" / f"{NAME}.jsonl").open("ab") as file:
        file.write(encode([assistant("a2", "m2", [tool_use("toolu_1", "Bash", **given)], "a1")]))
    for words in (["quartz"], ["--regex", "quartz"], ["kT9vQ2mLx8WzAA1"]):
        shown = run("--home", home, "search", *words, "--json").stdout
        assert "quartz" in shown
        assert "kT9vQ2mLx8WzAA1" not in shown.replace('"query":"kT9vQ2mLx8WzAA1"', "")
        assert "whisky" not in shown
    assert "kT9vQ2mLx8WzAA1" in run("--home", home, "search", "quartz", "--reveal").stdout


def test_a_query_of_thousands_of_words_is_refused(tmp_path: Path) -> None:
    done = run("--home", _home(tmp_path, "x"), "search", "redis OR " * 3000 + "redis")
    assert (done.returncode, done.stderr) == (2, "error: the query is too long; use at most 200 words\n")


@pytest.mark.proof
def test_a_regular_expression_that_explodes_gives_up(tmp_path: Path) -> None:
    """`(a|aa)+$` has a hundred million ways to split forty letters before another one."""
    home = _home(tmp_path, "a" * 40 + "b")
    done = run("--home", home, "search", "--regex", "(a|aa)+$")
    assert (done.returncode, done.stdout) == (2, "")
    assert "the regular expression takes longer than 2 s on one text" in done.stderr
    assert run("--home", home, "search", "--regex", "a{40}b").returncode == 0
    assert "invalid regular expression" in run("--home", home, "search", "--regex", "(").stderr


def test_another_form_of_a_word_is_suggested(tmp_path: Path) -> None:
    done = run("--home", _home(tmp_path, "Let us decide it"), "search", "decided")
    assert (done.returncode, done.stderr.splitlines()[0]) == (1, "note: nothing matches")
    assert done.stderr.rstrip().endswith("search 'decid*'")


def test_marks_are_words_and_parts_of_names_in_any_form_that_was_searched(tmp_path: Path) -> None:
    home = _home(tmp_path, "We decide to store it in TokenStore because of use")
    done = run("--home", home, "search", "decided", "to", "use", "store", "--json")
    (hit,) = json.loads(done.stdout)["hits"]
    (line,) = hit["lines"]
    assert [line["snippet"][begin:end] for begin, end in line["matches"]] == ["decide", "store", "use"]
    done = run("--home", home, "search", "token", "--json")
    (line,) = json.loads(done.stdout)["hits"][0]["lines"]
    assert [line["snippet"][begin:end] for begin, end in line["matches"]] == ["Token"]
