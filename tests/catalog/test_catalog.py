"""Sessions that only the archive has are found, listed, searched and opened like others."""

from __future__ import annotations

import contextlib
import json
import re
import shutil
import sqlite3
from pathlib import Path
from typing import Any

import pytest
from tests.cli.running import run
from tests.homes import session_id, turns, write_session

from stenograph.archive import Archive, find_kept, keep_sessions, open_kept, plan_restore, restore_session
from stenograph.catalog import Catalog
from stenograph.errors import ArchivedSessionError, SessionNotFoundError
from stenograph.index import open_store, parse_query, scan, search, sync
from stenograph.sessions import load
from stenograph.testing.lines import user, write

GONE, HERE = session_id(0xAAAA0001), session_id(0xBBBB0002)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """Two sessions, both kept, of which a client has deleted one with all its family."""
    home = tmp_path / "home"
    path = write_session(home, GONE, turns(4, "Build a lighthouse"))
    write(path.with_suffix("") / "subagents" / "agent-a1.jsonl", [user(None, "Count gulls", isSidechain=True)])
    spilled = path.with_suffix("") / "tool-results" / "b1.txt"
    spilled.parent.mkdir()
    spilled.write_text("barnacles everywhere\n")
    write_session(home, HERE, turns(4, "Paint the fence"))
    keep_sessions(tmp_path / "archive", [home])
    path.unlink()
    shutil.rmtree(path.with_suffix(""))
    return home


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    return tmp_path / "archive"


def test_a_session_that_a_client_deleted_is_listed_as_archived(home: Path, archive: Path) -> None:
    with Catalog([home], archive) as catalog:
        listed = catalog.list_sessions()
    assert {info.id: info.archived for info in listed.sessions} == {GONE: True, HERE: False}
    (gone,) = (info for info in listed.sessions if info.archived)
    assert gone.title == "Build a lighthouse"
    assert gone.path == home / "projects" / "-home-user-work" / f"{GONE}.jsonl"


def test_filters_hold_for_archived_sessions_too(home: Path, archive: Path) -> None:
    with Catalog([home], archive) as catalog:
        assert [info.id for info in catalog.list_sessions(where=lambda info: "fence" in (info.title or "")).sessions] == [HERE]
        assert [info.id for info in catalog.list_sessions(project="/somewhere/else").sessions] == []
        assert len(catalog.list_sessions(project="/home/user/work").sessions) == 2
        assert len(catalog.list_sessions(limit=1).sessions) == 1


@pytest.mark.parametrize("reference", [GONE, GONE[:8], "Build a lighthouse", "path"])
def test_it_is_opened_from_a_copy_that_goes_with_the_catalog(home: Path, archive: Path, reference: str) -> None:
    former = home / "projects" / "-home-user-work" / f"{GONE}.jsonl"
    with Catalog([home], archive) as catalog:
        found = catalog.find(str(former) if reference == "path" else reference)
        assert (found.archived, found.file.session_id) == (former, GONE)
        session = load(found.file.path)
        assert [turn.number for turn in session.turns] == [1, 2, 3, 4]
        assert len(session.agents) == 1
        assert found.file.path.stat().st_mode & 0o777 == 0o644
        assert all(folder.stat().st_mode & 0o077 == 0 for folder in found.file.path.parents[:3])
        copy = found.file.path
    assert not copy.exists()
    assert not former.exists()


def test_who_has_to_write_is_told_to_restore_it(home: Path, archive: Path) -> None:
    with Catalog([home], archive) as catalog:
        with pytest.raises(ArchivedSessionError, match="only in the archive"):
            catalog.find(GONE, archived=False)
        with pytest.raises(SessionNotFoundError):
            catalog.find("nothing of the kind")


def test_a_session_in_a_home_is_not_archived(home: Path, archive: Path) -> None:
    moved = home / "projects" / "-elsewhere"
    moved.mkdir()
    write_session(home, GONE, turns(4, "Build a lighthouse"), project="-elsewhere")
    with Catalog([home], archive) as catalog:
        assert catalog.archived() == []
        assert catalog.find(GONE).archived is None


def test_what_the_user_removed_is_not_listed(home: Path, archive: Path) -> None:
    Archive(archive).remove(home / "projects" / "-home-user-work" / f"{HERE}.jsonl")
    with Catalog([home], archive) as catalog:
        assert [info.id for info in catalog.list_sessions().sessions] == [GONE]


def test_other_homes_are_left_alone(home: Path, archive: Path, tmp_path: Path) -> None:
    del home
    with Catalog([tmp_path / "other"], archive) as catalog:
        assert catalog.archived() == []


def test_facts_of_another_version_are_read_from_the_copy(home: Path, archive: Path) -> None:
    with contextlib.closing(sqlite3.connect(archive / "kept.sqlite", isolation_level=None)) as db:
        db.execute("UPDATE sessions SET facts = '{\"id\": 7}'")
    with Catalog([home], archive) as catalog:
        assert [info.title for info in catalog.archived()] == ["Build a lighthouse"]


def test_without_an_archive_it_is_what_homes_have(home: Path, tmp_path: Path) -> None:
    for folder in (None, tmp_path / "none"):
        with Catalog([home], folder) as catalog:
            assert [info.id for info in catalog.list_sessions().sessions] == [HERE]


WORDS = ["lighthouse", "gulls", "barnacles"]


@pytest.mark.parametrize("is_known", [True, False], ids=["indexed before", "index made anew"])
def test_archived_sessions_are_searched_with_their_texts(tmp_path: Path, is_known: bool, request: pytest.FixtureRequest) -> None:
    store = open_store(None)
    home, archive = tmp_path / "home", tmp_path / "archive"
    request.getfixturevalue("home")
    if is_known:
        with Catalog([home], archive) as catalog:
            kept = open_kept(archive)
            assert kept is not None
            entry = restore_session(Archive(archive), kept, plan_restore(kept, find_kept(kept.sessions(), GONE)))
            assert entry is not None
            sync(store, [home], archived=catalog.archived_files())
            Archive(archive).undo(entry.number)
            kept.close()
    with Catalog([home], archive) as catalog:
        store.place_of = catalog.place_of
        report = sync(store, [home], archived=catalog.archived_files())
        assert report.changed == (0 if is_known else 4), "those that are known are not read again"
        for word in WORDS:
            (hit,) = search(store, parse_query(word)).hits
            assert (hit.session, hit.archived) == (GONE, True)
            assert word in hit.lines[0].text
        (hit,) = scan(store, re.compile("gul+s")).hits
        assert hit.session == GONE
    with Catalog([home], archive) as catalog:
        assert sync(store, [home], archived=catalog.archived_files()).changed == 0
    assert sync(store, [home]).removed == 3
    store.close()


def asked(home: Path, *arguments: str) -> Any:
    done = run(*arguments, "--home", home, "--json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_commands_read_what_only_the_archive_has(tmp_path: Path) -> None:
    home = tmp_path / "home"
    path = write_session(home, GONE, turns(4, "Build a lighthouse"))
    asked(home, "archive", "keep")
    path.unlink()
    (row,) = asked(home, "ls")["sessions"]
    assert (row["id"], row["archived"]) == (GONE, True)
    assert "archived" in run("ls", "--home", home).stdout
    shown = run("show", GONE[:8], "--home", home)
    assert shown.returncode == 0
    assert "Build a lighthouse" in shown.stdout
    assert "in the archive" in shown.stderr
    assert len(asked(home, "turns", GONE)["turns"]) == 4
    (hit,) = asked(home, "search", "lighthouse")["hits"]
    assert (hit["archived"], hit["lines"][0]["snippet"]) == (True, "Build a lighthouse")
    refused = run("resume", GONE, "--home", home)
    assert refused.returncode == 2
    assert "restore" in refused.stderr
    assert asked(home, "restore", GONE, "--apply")["applied"]
    (row,) = asked(home, "ls")["sessions"]
    assert row["archived"] is False
