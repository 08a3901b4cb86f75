"""`steno blame`, as a user runs it."""

from __future__ import annotations

import json
from pathlib import Path

from tests.analysis.test_blame import Story
from tests.cli.running import run
from tests.homes import session_id

from stenograph.testing.lines import write

PEM = ["-----BEGIN PRIVATE KEY-----", "MIIEvQIBADANBgkqhkiG9w0BAQEFAASC", "-----END PRIVATE KEY-----"]


def _home(tmp_path: Path, path: Path | str, content: str = "a\nb\n") -> Path:
    story = Story(1).prompt("Begin the cart").write(content, None)
    story.prompt("Say it louder").edit("b", "B", content)
    project = tmp_path / ".claude" / "projects" / "-home-user-shop"
    project.mkdir(parents=True)
    lines = json.loads(json.dumps(story.lines).replace("/home/user/shop/cart.ts", str(path)))
    write(project / f"{session_id(1)}.jsonl", lines)
    return tmp_path / ".claude"


def test_each_line_names_its_turn(tmp_path: Path) -> None:
    file = tmp_path / "cart.ts"
    file.write_text("a\nB\nmine\n")
    home = _home(tmp_path, file)
    page = json.loads(run("--home", home, "blame", file, "--json").stdout)
    assert (page["schema"], page["total"], page["on_disk"]) == ("blame/1", 3, True)
    assert page["origins"] == {"turn": 2, "outside": 1}
    assert [(writer["turn"], writer["prompt"], writer["lines"]) for writer in page["writers"]] == [
        (1, "Begin the cart", 1),
        (2, "Say it louder", 1),
    ]
    assert [(line["number"], line["text"], line["writer"]) for line in page["lines"]] == [
        (1, "a", 0),
        (2, "B", 1),
        (3, "mine", None),
    ]
    rows = run("--home", home, "blame", file).stdout.splitlines()
    assert [session_id(1) in row for row in rows] == [True, True, False]
    assert rows[2].split() == ["by", "hand", "or", "a", "command", "3", "mine"]


def test_one_line_has_its_prompt_and_what_was_there_before(tmp_path: Path) -> None:
    file = tmp_path / "cart.ts"
    file.write_text("a\nconst b = 2;\n")
    home = _home(tmp_path, file, "a\nconst b = 1;\n")
    shown = run("--home", home, "blame", f"{file}:1").stdout
    assert "> Begin the cart" in shown
    assert f"show {session_id(1)[:8]} --turn 1" in shown
    page = json.loads(run("--home", home, "blame", f"{file}:2", "--json").stdout)
    assert [line["origin"] for line in page["lines"]] == ["outside"]
    assert [(each["text"], each["writer"]) for each in page["earlier"]] == [("const B = 1;", 1), ("const b = 1;", 0)]


def test_a_file_that_is_gone_is_shown_as_it_was_left(tmp_path: Path) -> None:
    home = _home(tmp_path, "/home/user/shop/cart.ts")
    page = json.loads(run("--home", home, "blame", "shop/cart.ts", "--json").stdout)
    assert (page["file"], page["on_disk"]) == ("/home/user/shop/cart.ts", False)
    assert [line["text"] for line in page["lines"]] == ["a", "B"]


def test_what_can_not_be_shown_is_said_in_a_line(tmp_path: Path) -> None:
    home = _home(tmp_path, "/home/user/shop/cart.ts")
    done = run("--home", home, "blame", "art.ts")
    assert (done.returncode, done.stderr) == (1, "note: no session changed art.ts\n")
    done = run("--home", home, "blame", "cart.ts:3")
    assert (done.returncode, "has 2 lines" in done.stderr) == (2, True)
    other = _home(tmp_path / "other", "/home/user/other/cart.ts")
    done = run("--home", home, "--home", other, "blame", "cart.ts")
    assert (done.returncode, "/home/user/other/cart.ts" in done.stderr) == (2, True)


def test_a_file_may_have_a_colon_in_its_name(tmp_path: Path) -> None:
    file = tmp_path / "cart:1"
    file.write_text("a\nB\n")
    page = json.loads(run("--home", _home(tmp_path, file), "blame", file, "--json").stdout)
    assert page["total"] == 2


def test_every_line_of_a_key_is_masked(tmp_path: Path) -> None:
    file = tmp_path / "key"
    content = "\n".join(["first", *PEM, "b", ""])
    file.write_text(content)
    home = _home(tmp_path, file, content)
    page = json.loads(run("--home", home, "blame", file, "--json").stdout)
    texts = [line["text"] for line in page["lines"]]
    assert (texts[0], texts[4], len(texts)) == ("first", "b", 5)
    assert not any("MIIE" in text for text in texts)
    assert "MIIE" in run("--home", home, "blame", file, "--reveal").stdout


def test_lines_keep_their_indentation(tmp_path: Path) -> None:
    file = tmp_path / "main.go"
    content = "type Adv struct {\n\tProtocol    string // b\n}\n"
    file.write_text(content)
    home = _home(tmp_path, file, content)
    assert "2      Protocol    string // b" in run("--home", home, "blame", file).stdout
    assert "2 │     Protocol    string // b" in run("--home", home, "blame", f"{file}:2").stdout


def test_a_session_that_only_the_archive_has_counts(tmp_path: Path) -> None:
    home = _home(tmp_path, "/home/user/shop/cart.ts")
    run("--home", home, "archive", "keep")
    (session,) = home.rglob("*.jsonl")
    session.unlink()
    page = json.loads(run("--home", home, "blame", "shop/cart.ts", "--json").stdout)
    assert [line["writer"] for line in page["lines"]] == [0, 1]
