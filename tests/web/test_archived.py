"""Sessions that only the archive has, and sessions that are links: they are read, and no edit is lost or reaches another one."""

from __future__ import annotations

import contextlib
import json
import shutil
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.homes import session_id, turns, write_session
from tests.web.serving import Served, served

from stenograph.archive import keep_sessions
from stenograph.config import Config
from stenograph.web import Viewer, shelf
from stenograph.web.errors import RequestError
from stenograph.web.parameters import SearchQuery, UsageQuery
from stenograph.web.questions import Library

HERE, GONE, LINK = session_id(1), session_id(2), session_id(3)
EDIT = {"edits": [{"edit": "drop-turns", "which": {"turns": [[2, 2]]}}]}


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A session, another one that only the archive has, and a link to the first."""
    home = tmp_path / "home"
    path = write_session(home, HERE, turns(6))
    gone = write_session(home, GONE, turns(6, "Build a lighthouse"))
    keep_sessions(tmp_path / "home-archive", [home])
    gone.unlink()
    shutil.rmtree(gone.with_suffix(""), ignore_errors=True)
    path.with_name(f"{LINK}.jsonl").symlink_to(path)
    return home


@pytest.fixture
def viewer(home: Path) -> Iterator[Served]:
    with served(home, allow_edits=True) as running:
        yield running


def post(viewer: Served, session: str, what: str, body: object) -> tuple[int, str, str]:
    answer = viewer.ask(
        f"/api/v1/sessions/{session}/{what}",
        "POST",
        headers={"Content-Type": "application/json"},
        body=json.dumps(body).encode(),
    )
    return answer.status, answer.json.get("code", ""), answer.json.get("detail", "")


@pytest.mark.parametrize(("what", "body"), [("edit", EDIT), ("edit", {**EDIT, "apply": True}), ("undo", {})])
def test_an_archived_session_has_to_be_restored_before_it_is_edited(viewer: Served, what: str, body: object) -> None:
    status, code, detail = post(viewer, GONE, what, body)
    assert (status, code) == (409, "archived")
    assert detail.endswith(f"restore it first: steno restore {GONE}")


@pytest.mark.parametrize(("what", "body"), [("edit", EDIT), ("edit", {**EDIT, "apply": True}), ("undo", {})])
def test_an_edit_of_a_link_does_not_change_the_session_behind_it(viewer: Served, home: Path, what: str, body: object) -> None:
    file = home / "projects" / "-home-user-work" / f"{HERE}.jsonl"
    before = file.read_bytes()
    assert post(viewer, LINK, what, body)[:2] == (409, "linked")
    assert file.read_bytes() == before


def test_only_sessions_that_can_be_edited_have_a_trim_button(viewer: Served) -> None:
    assert "data-trim-on" in viewer.ask(f"/s/{HERE}").text
    for session in (GONE, LINK):
        page = viewer.ask(f"/s/{session}")
        assert page.status == 200
        assert "data-trim" not in page.text


def test_copies_of_archived_sessions_do_not_pile_up(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shelf, "_CATALOG_SECONDS", 0.0)
    with contextlib.closing(Library(Viewer(homes=[home], config=Config(), archive=tmp_path / "home-archive"))) as library:
        copies = {library.file(GONE).path for _ in range(5)}
        assert len(copies) > 2
        assert sum(copy.exists() for copy in copies) <= 2
        assert library.load(GONE).turns
    assert not any(copy.exists() for copy in copies)


def test_nothing_of_archived_sessions_is_left_when_the_viewer_ends(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scratch, data = tmp_path / "scratch", tmp_path / "data"
    scratch.mkdir()
    data.mkdir()
    (tmp_path / "home-archive").rename(data / "archive")  # where the index looks for it
    monkeypatch.setattr(tempfile, "tempdir", str(scratch))
    viewer = Viewer(homes=[home], config=Config(), archive=data / "archive", index=data / "index.sqlite")
    before = threading.active_count()
    library = Library(viewer)
    assert library.search(SearchQuery(q="lighthouse")).hits
    library.usage(UsageQuery())
    assert library.load(GONE).turns
    assert list(scratch.rglob("*.jsonl"))
    library.close()
    assert not list(scratch.rglob("*.jsonl"))
    assert threading.active_count() == before
    with pytest.raises(RequestError):
        library.search(SearchQuery(q="lighthouse"))
