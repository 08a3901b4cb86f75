"""Repositories that lead to another one: git would show what is there."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from stenograph.agent.permissions.git_reading import is_plain_repository

PATH = os.environ.get("PATH", os.defpath)


def git(folder: Path, *arguments: str) -> None:
    names = {f"GIT_{who}_{what}": "x" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    environment = {"PATH": PATH, "HOME": str(folder), "GIT_CONFIG_NOSYSTEM": "1", **names}
    subprocess.run(["git", *arguments], cwd=folder, env=environment, check=True, capture_output=True)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    for name in ("other", "project"):
        folder = tmp_path / name
        folder.mkdir()
        git(folder, "init", "-q", "-b", "main")
        (folder / "file.txt").write_text(name)
        git(folder, "add", ".")
        git(folder, "commit", "-qm", f"of {name}")
    return tmp_path / "project"


def test_an_ordinary_repository_and_its_worktrees_are_plain(repository: Path) -> None:
    git(repository, "worktree", "add", "-q", "-b", "side", "../side")
    git(repository, "config", "blame.date", "iso")
    (repository / ".git" / "hooks" / "link").symlink_to("elsewhere")
    assert is_plain_repository(repository, PATH)
    assert is_plain_repository(repository.parent / "side", PATH)


def _common(git: Path) -> None:
    (git / "commondir").write_text("../../other/.git\n")


def _linked(*parts: str) -> Callable[[Path], None]:
    def link(git: Path) -> None:
        place = git.joinpath(*parts)
        if place.is_dir():
            shutil.rmtree(place)
        place.unlink(missing_ok=True)
        place.symlink_to(git.parent.parent.joinpath("other", ".git", *parts))

    return link


def _alternates(git: Path) -> None:
    (git / "objects" / "info" / "alternates").write_text("../../../other/.git/objects\n")


def _revisions(git: Path) -> None:
    with (git / "config").open("a") as file:
        file.write("[blame]\n\tignoreRevsFile = ../outside.txt\n")


@pytest.mark.parametrize(
    "lead",
    [
        _common,
        _linked("objects"),
        _linked("objects", "pack"),
        _linked("refs"),
        _linked("refs", "heads", "main"),
        _linked("HEAD"),
        _linked("index"),
        _alternates,
        _revisions,
    ],
)
def test_a_repository_that_leads_to_another_is_not_plain(repository: Path, lead: Callable[[Path], None]) -> None:
    assert is_plain_repository(repository, PATH)
    lead(repository / ".git")
    assert not is_plain_repository(repository, PATH)


@pytest.mark.parametrize("name", ["index", "sharedindex.aa"])
def test_an_index_that_is_a_pipe_keeps_nobody_waiting(repository: Path, name: str) -> None:
    (repository / ".git" / name).unlink(missing_ok=True)
    os.mkfifo(repository / ".git" / name)
    assert not is_plain_repository(repository, PATH)


def test_a_worktree_whose_way_back_is_a_pipe_keeps_nobody_waiting(repository: Path) -> None:
    git(repository, "worktree", "add", "-q", "-b", "side", "../side")
    way_back = repository / ".git" / "worktrees" / "side" / "gitdir"
    way_back.unlink()
    os.mkfifo(way_back)
    assert not is_plain_repository(repository.parent / "side", PATH)
