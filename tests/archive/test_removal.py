"""What goes with a session, and what must not."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.archive.families import AGENT, NAME, SESSION, contents
from tests.homes import turns, write_session

from stenograph.archive import plan_removal
from stenograph.errors import UnreadableError


@pytest.mark.parametrize("name", ["src", "memory", ".", "..", f"{SESSION}-copy"])
def test_a_folder_beside_a_session_that_is_not_named_by_a_uuid_stays(project: Path, name: str) -> None:
    home = project.parent.parent
    for folder in ("src", "memory", f"{SESSION}-copy"):
        (project / folder).mkdir()
        (project / folder / "work.txt").write_text("not the session's")
        (home / "file-history" / folder).mkdir()
        (home / "file-history" / folder / "work@v1").write_text("not the session's")
    path = Path(f"{project}/{name}.jsonl")
    path.write_bytes((project / NAME).read_bytes())
    plan = plan_removal(path)
    assert (list(plan.files), plan.folders) == ([path], ())


@pytest.mark.parametrize(
    "place", ["{project}/{id}", "{home}/file-history/{id}", "{project}/{id}/subagents", "{project}/{id}/tool-results"]
)
def test_a_session_with_a_link_to_a_folder_is_not_removed(tmp_path: Path, place: str) -> None:
    path = write_session(tmp_path / "home", SESSION, turns(2))
    elsewhere = tmp_path / "elsewhere"
    (elsewhere / "deep").mkdir(parents=True)
    (elsewhere / "deep" / "thesis.tex").write_text("all of it")
    link = Path(place.format(project=path.parent, home=tmp_path / "home", id=SESSION))
    link.parent.mkdir(parents=True, exist_ok=True)
    link.symlink_to(elsewhere)
    with pytest.raises(UnreadableError, match="linked-folder"):
        plan_removal(path)
    assert list(contents(elsewhere)) == ["deep", "deep/thesis.tex"]


def test_a_link_inside_the_file_history_is_refused_too(project: Path, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (project.parent.parent / "file-history" / SESSION / "link").symlink_to(elsewhere)
    with pytest.raises(UnreadableError, match="linked-folder"):
        plan_removal(project / NAME)


def test_a_whole_family_goes(project: Path) -> None:
    plan = plan_removal(project / NAME)
    assert next(iter(plan.files)) == project / NAME
    assert project / AGENT in plan.files
    assert project.parent.parent / "file-history" / SESSION in plan.folders


def test_file_history_stays_while_another_project_has_a_copy_of_the_session(project: Path) -> None:
    copy = project.with_name("-other-project") / NAME
    copy.parent.mkdir()
    copy.write_bytes((project / NAME).read_bytes())
    history = project.parent.parent / "file-history"
    plan = plan_removal(project / NAME)
    assert project / AGENT in plan.files
    assert not [path for path in (*plan.files, *plan.folders) if path.is_relative_to(history)]
    copy.unlink()
    assert history / SESSION in plan_removal(project / NAME).folders
