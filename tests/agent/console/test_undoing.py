"""Which edit `/undo` undoes."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from tests.cli.running import run
from tests.homes import session_id, turns, write_session

from stenograph.agent.faces.console.undoing import _last_edit
from stenograph.archive import Archive, default_archive_folder


def test_an_edit_of_the_same_session_in_another_home_is_not_the_last_one(tmp_path: Path) -> None:
    here = write_session(tmp_path / "here", session_id(1), turns(4))
    shutil.copytree(tmp_path / "here", tmp_path / "there")
    archive = Archive(default_archive_folder(os.environ))
    for home in ("here", "there"):
        done = run("edit", session_id(1), "--drop-turns", "--turns", "1", "--apply", "--home", tmp_path / home)
        assert done.returncode == 0, done.stderr
    found = _last_edit(archive, here)
    assert found is not None
    assert [file.path for file in found.files] == [here]
    assert _last_edit(archive, tmp_path / "elsewhere" / "projects" / "-p" / here.name) is None
