"""What the store knows of sessions, turns and calls, against the files themselves."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
from tests.corpora import DEMO, FIXTURES, without_agents

from stenograph.family import is_agent_file
from stenograph.index import (
    Filter,
    IndexStore,
    StoredTurn,
    known_glances,
    list_catalogue,
    open_session,
    open_store,
    parse_query,
    scan,
    search,
    stored_turns,
    sync,
    turn_lines,
)
from stenograph.index.reading import repository_of
from stenograph.sessions import list_sessions, load_file
from stenograph.testing.lines import assistant, encode, text, tool_result, tool_use, user
from stenograph.turns import Turn, read_turn
from stenograph.views import Piece, RenderOptions, opened_pieces, render_session, session_pieces

NAME = "11111111-2222-4333-8444-555555555555"
OTHER = "99999999-2222-4333-8444-555555555555"


@pytest.fixture(scope="module")
def demo() -> IndexStore:
    store = open_store(None)
    sync(store, [DEMO])
    return store


def _project(tmp_path: Path, name: str = "-home-user-shop") -> Path:
    folder = tmp_path / "projects" / name
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def _store(home: Path) -> IndexStore:
    store = open_store(None)
    sync(store, [home])
    return store


def test_the_catalogue_says_what_a_look_at_every_file_says(demo: IndexStore) -> None:
    listed = list_sessions([DEMO], everything=True, turns=True, sort="started", now=2e9).sessions
    rows = {row.info.id: row.info for row in list_catalogue(demo, [DEMO], now=2e9)}
    assert listed
    assert {info.id: info for info in listed} == rows


def test_a_list_from_the_store_is_the_list_from_the_files(tmp_path: Path) -> None:
    home = tmp_path / "home"
    shutil.copytree(DEMO, home)
    store = open_store(None)
    sync(store, [home])
    files = sorted(home.glob("projects/*/*.jsonl"))
    with files[0].open("ab") as file:  # since then it has a title
        file.write(encode([{"type": "custom-title", "customTitle": "Another title", "sessionId": files[0].stem}]))
    files[1].unlink()
    shutil.copyfile(files[2], files[2].with_name("11111111-2222-4333-8444-555555555555.jsonl"))
    asked = partial(list_sessions, [home], everything=True, turns=True)
    listed = asked(cache=known_glances(store))
    assert listed == asked()
    assert [info.title for info in listed.sessions if info.path == files[0]] == ["Another title"]


def test_a_list_reads_no_file_that_the_store_knows(demo: IndexStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("stenograph.sessions.find.glance", lambda path: pytest.fail(f"{path} was read"))
    listed = list_sessions([DEMO], everything=True, turns=True, cache=known_glances(demo))
    assert len(listed.sessions) == len(without_agents(DEMO.glob("projects/*/*.jsonl")))
    assert all(info.turns is not None for info in listed.sessions)


def test_models_releases_and_branches_are_all_that_lines_name(tmp_path: Path) -> None:
    lines = [
        user("u1", "One", version="2.0.76", gitBranch="main"),
        assistant("a1", "m1", [text("Done")], "u1", model="claude-opus-4-5"),
        user("u2", "Two", "a1", version="2.1.45", gitBranch="topic"),
        assistant("a2", "m2", [text("Done")], "u2", model="<synthetic>") | {"version": "2.1.45", "gitBranch": "main"},
    ]
    (_project(tmp_path) / f"{NAME}.jsonl").write_bytes(encode(lines))
    store = _store(tmp_path)
    (row,) = list_catalogue(store, [tmp_path])
    assert row.models == ("claude-opus-4-5",)
    assert row.releases == ("2.0.76", "2.1.45")
    assert row.branches == ("topic", "main")
    for narrowed, count in [
        (Filter(release="2.0.76"), 1), (Filter(release="2.1"), 1), (Filter(release="2"), 1), (Filter(release="2.0.7"), 0),
        (Filter(model="Opus"), 1), (Filter(model="sonnet"), 0), (Filter(branch="topic"), 1), (Filter(branch="top"), 0),
    ]:  # fmt: skip
        assert len(search(store, parse_query("two"), narrowed).hits) == count, narrowed


@pytest.mark.parametrize(
    "path",
    [path for path in sorted((DEMO / "projects").glob("*/*.jsonl")) if not is_agent_file(path)],
    ids=lambda path: path.stem[:8],
)
def test_a_turn_read_from_its_byte_ranges_is_the_turn_of_the_whole_session(path: Path, demo: IndexStore) -> None:
    session = load_file(path)
    known = stored_turns(demo, path)
    assert known is not None
    turns, current = known
    offsets = [node.offset for node in session.graph.nodes[: session.graph.files[0].last]]
    assert [turn.number for turn in turns] == [turn.number for turn in session.all_turns]
    assert [turn.opening for turn in turns] == [offsets[turn.node] for turn in session.all_turns]
    assert current == (offsets[session.turns[-1].node] if session.turns else None)
    by_opening = {turn.opening: turn for turn in turns}
    for stored, whole in zip(turns, session.all_turns, strict=True):
        turn, _ = read_turn(path, turn_lines(demo, path, stored))
        assert (turn.prompt, turn.answer, turn.status) == (whole.prompt, whole.answer, whole.status)
        assert turn.tokens == whole.tokens
        assert [(call.name, call.result) for call in turn.tool_calls] == [(call.name, call.result) for call in whole.tool_calls]
        before = by_opening[stored.previous].opening if stored.previous is not None else None
        assert before == (offsets[whole.previous] if whole.previous >= 0 else None)


def test_a_session_that_has_changed_since_has_no_stored_turns(tmp_path: Path) -> None:
    path = _project(tmp_path) / f"{NAME}.jsonl"
    path.write_bytes(encode([user("u1", "One")]))
    store = _store(tmp_path)
    assert stored_turns(store, path) is not None
    path.write_bytes(encode([user("u1", "Two and more")]))
    assert stored_turns(store, path) is None
    path.unlink()
    assert stored_turns(store, path) is None


@pytest.fixture
def spilling(tmp_path: Path) -> Path:
    """A session whose second turn has a result in a file of its own."""
    folder = _project(tmp_path)
    results = folder / NAME / "tool-results"
    results.mkdir(parents=True)
    (results / "toolu_2.txt").write_text("first line\n" * 999 + "a narwhal here\nlast line\n")
    saved = f"<persisted-output>\nOutput too large (1.2MB). Full output saved to: {results}/toolu_2.txt\n"
    lines = [
        user("u1", "One"),
        assistant("a1", "m1", [text("Done")], "u1"),
        user("u2", "Two", "a1"),
        assistant("a2", "m2", [tool_use("toolu_2", "Bash", command="cat log")], "u2"),
        user("r2", [tool_result("toolu_2", saved)], "a2"),
    ]
    (folder / f"{NAME}.jsonl").write_bytes(encode(lines))
    return tmp_path


def test_a_spilled_result_is_found_with_its_line_and_turn(spilling: Path) -> None:
    store = _store(spilling)
    for found in (search(store, parse_query("narwhal")), scan(store, re.compile("narw.al"))):
        (hit,) = found.hits
        line = hit.lines[0]
        assert (hit.session, line.file.name, line.line, line.turn) == (NAME, "toolu_2.txt", 1000, 2)
        assert "a narwhal here" in line.text
    assert len(search(store, parse_query("narwhal"), Filter(tool="bash")).hits) == 1
    assert search(store, parse_query("narwhal"), Filter(tool="Read")).hits == ()
    (spilling / "projects" / "-home-user-shop" / NAME / "tool-results" / "toolu_2.txt").unlink()
    sync(store, [spilling])
    assert search(store, parse_query("narwhal")).hits == ()


def test_one_conversation_in_several_files_is_one_hit(tmp_path: Path) -> None:
    first = [user("u1", "A walrus"), assistant("a1", "msg_1", [text("Done")], "u1")]
    renewed = [user("v1", "A walrus"), assistant("b1", "msg_1", [text("Done")], "v1"), user("v2", "A walrus, again", "b1")]
    (_project(tmp_path) / f"{NAME}.jsonl").write_bytes(encode(first))
    (_project(tmp_path) / f"{OTHER}.jsonl").write_bytes(encode(renewed))
    (hit,) = search(_store(tmp_path), parse_query("walrus")).hits
    assert {hit.session, *hit.copies} == {NAME, OTHER}


def test_a_worktree_is_found_with_its_repository_and_a_moved_session_where_it_is(tmp_path: Path) -> None:
    linked = tmp_path / "elsewhere"
    linked.mkdir()
    (linked / ".git").write_text("gitdir: /home/user/shop/.git/worktrees/elsewhere\n")
    assert repository_of(str(linked)) == "/home/user/shop"
    assert repository_of("/home/user/shop/.claude/worktrees/fix") == "/home/user/shop"
    assert repository_of(str(tmp_path)) is None
    for number, (folder, cwd) in enumerate(
        [("-tmp-elsewhere", str(linked)), ("-home-user-shop", "/home/user/old-name"), ("-home-user-till", "/home/user/till")]
    ):
        line = user(f"u{number}", f"A walrus {number}", cwd=cwd)
        (_project(tmp_path, folder) / f"{number}{NAME[1:]}.jsonl").write_bytes(encode([line]))
    hits = search(_store(tmp_path), parse_query("walrus"), Filter(project="shop")).hits
    assert {hit.session[0] for hit in hits} == {"0", "1"}


def test_half_a_character_is_no_reason_to_fail(tmp_path: Path) -> None:
    line = encode([user("u1", "A walrus HALF", gitBranch="HALF"), assistant("a1", "m1", [text("Done")], "u1")])
    (_project(tmp_path) / f"{NAME}.jsonl").write_bytes(line.replace(b"HALF", rb"\ud83d"))
    (hit,) = search(_store(tmp_path), parse_query("walrus")).hits
    assert hit.session == NAME


def _rendered(pieces: Iterator[Piece]) -> list[str]:
    return list(render_session(pieces, RenderOptions(width=100, thinking=True, agents=True, full=True)))


def _recorded() -> list[Path]:
    """One session of each recorded release, and of each scenario of the newest."""
    by_place = {path.parent.parent.parent.name: path for path in without_agents((FIXTURES / "recorded").rglob("*.jsonl"))}
    return list(by_place.values())


@pytest.mark.parametrize(
    "path",
    [*without_agents((DEMO / "projects").glob("*/*.jsonl")), *_recorded()],
    ids=lambda path: path.stem[:8],
)
def test_a_turn_that_is_opened_alone_looks_as_it_does_in_the_whole_session(path: Path, tmp_path: Path) -> None:
    folder = _project(tmp_path)
    shutil.copyfile(path, folder / path.name)
    if (extra := path.with_suffix("")).is_dir():
        shutil.copytree(extra, folder / extra.name)
    own = folder / path.name
    opened = open_session(_store(tmp_path), own)
    assert opened is not None
    session = load_file(own)
    branch = next((branch for branch in session.branches if branch.is_current), None)
    stored = opened.branches[0].turns if opened.branches else ()
    assert [turn.number for turn in stored] == [turn.number for turn in (branch.turns if branch else ())]
    if branch is None or len(branch.turns) == 1:
        return
    for turn in branch.turns:
        wanted = partial(_is_number, turn.number)
        whole = session_pieces(session, branch, wanted=wanted, title=session.title, full=True)
        assert _rendered(opened_pieces(opened, wanted=wanted, full=True)) == _rendered(whole)


def _is_number(number: int, turn: Turn | StoredTurn) -> bool:
    return turn.number == number
