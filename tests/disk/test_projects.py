from __future__ import annotations

import json
import os
import tempfile
import unicodedata
from collections.abc import Iterator
from pathlib import Path

import pytest
from lab.folder_names import ask_folder_name
from tests.conftest import Client
from tests.disk.conftest import Unprivileged

from stenograph.disk import chosen_project_folder, find_project_folders, project_folder_name
from stenograph.errors import UnreadableError, UsageError
from stenograph.testing.scripted_api import ScriptedApi

#: Recorded by scripts/record_folder_names.py: what real clients made, or null where they made nothing.
RECORDED = json.loads((Path(__file__).parent.parent / "fixtures" / "folder-names.json").read_text(encoding="utf-8"))
ASKED = ("2.0.76", "2.1.45", "2.1.325")
RELEASES = sorted(RECORDED["paths"][0]["names"], key=lambda release: [int(number) for number in release.split(".")])

LONG = "/home/user/" + "a" * 120 + "/" + "b" * 120


def why_there_is_none(cwd: str, release: str) -> str:
    """Why a client made no folder; empty where it should have made one. By hand, from what the clients did."""
    if not all(character < "\ud800" or character > "\udfff" for character in cwd):
        return "no client starts where the path is not UTF-8"
    if release == "2.1.159" and unicodedata.normalize("NFC", cwd) != cwd:
        return "it ends at once where the composed path is another"
    if release in ("2.1.159", "2.1.160") and "\\" in cwd:
        return "these end at once where a folder has a backslash in its name"
    if len(project_folder_name(cwd, release)) > 255:
        return "no file system takes so long a name"
    return ""


@pytest.mark.parametrize("release", RELEASES)
def test_names_are_those_of_real_clients(release: str) -> None:
    assert len(RECORDED["paths"]) >= 40
    for row in RECORDED["paths"]:
        recorded = row["names"][release]
        if recorded is None:
            assert why_there_is_none(row["cwd"], release), row["cwd"]
        else:
            assert project_folder_name(row["cwd"], release) == recorded, row["cwd"]


def test_nearly_every_recorded_path_has_a_name() -> None:
    for release in ASKED:
        assert sum(row["names"][release] is not None for row in RECORDED["paths"]) >= 60


@pytest.mark.parametrize(
    ("cwd", "name"),
    [
        (r"C:\Users\a", "C--Users-a"),
        (r"c:\Users\A B\repo.git", "c--Users-A-B-repo-git"),
        (r"\\server\share", "--server-share"),
        ("C:/Users/a", "C--Users-a"),
        ("/", "-"),
        ("", ""),
        ("/a/\ud83d", "-a--"),
    ],
)
def test_windows_paths_and_odd_ones(cwd: str, name: str) -> None:
    assert project_folder_name(cwd) == name


@pytest.mark.parametrize(
    ("release", "name"),
    [("2.1.37", "-e-"), ("2.1.38", "--"), ("2.1.159", "--"), ("2.1.160", "-e-"), ("3.0.0", "-e-"), ("1.0.128", "-e-")],
)
def test_the_release_decides_on_decomposed_letters(release: str, name: str) -> None:
    assert project_folder_name("/e\u0301", release) == name


def test_a_release_may_carry_a_suffix() -> None:
    assert project_folder_name("/e\u0301", "2.1.45-beta.1 (Claude Code)") == "--"


@pytest.mark.parametrize("release", ["", "latest", "v2"])
def test_what_is_no_release_is_refused(release: str) -> None:
    with pytest.raises(UsageError):
        project_folder_name("/a", release)


def make(projects: Path, *names: str) -> None:
    for name in names:
        (projects / name).mkdir(parents=True)


def test_the_folders_of_every_release_are_found_newest_spelling_first(tmp_path: Path) -> None:
    make(tmp_path, "-e-", "--", "-other")
    assert find_project_folders(tmp_path, "/e\u0301") == [tmp_path / "-e-", tmp_path / "--"]
    assert find_project_folders(tmp_path, "/missing") == []


def test_a_long_name_is_found_hashed_whole_and_with_a_hash_of_another_kind(tmp_path: Path) -> None:
    whole = LONG.replace("/", "-")
    hashed = project_folder_name(LONG)
    foreign = whole[:200] + "-otherhash"
    make(tmp_path, foreign, whole, hashed, whole[:200], whole[:199] + "-x")
    assert find_project_folders(tmp_path, LONG) == [tmp_path / name for name in (hashed, whole, foreign)]


def test_a_file_is_no_project_folder(tmp_path: Path) -> None:
    (tmp_path / "-a").touch()
    assert find_project_folders(tmp_path, "/a") == []


@pytest.mark.parametrize("cwd", ["/a", LONG, "/with\0nul"])
def test_nothing_is_found_where_there_are_no_projects(tmp_path: Path, cwd: str) -> None:
    assert find_project_folders(tmp_path / "missing", cwd) == []


def test_a_projects_folder_that_cannot_be_read_is_refused(open_folder: Path, unprivileged: Unprivileged) -> None:
    closed = open_folder / "projects"
    closed.mkdir(mode=0)
    with unprivileged(), pytest.raises(UnreadableError, match="Permission denied"):
        find_project_folders(closed, LONG)


@pytest.mark.parametrize(
    ("environ", "name"),
    [
        # asked of 2.1.325
        ({"CLAUDE_CODE_PROJECT_DIR_NAME": "chosen_1", "CLAUDE_CONFIG_DIR": "/x"}, "chosen_1"),
        ({"CLAUDE_CODE_PROJECT_DIR_NAME": "chosen_1"}, None),
        ({"CLAUDE_CODE_PROJECT_DIR_NAME": "cho.sen", "CLAUDE_CONFIG_DIR": "/x"}, None),
        ({"CLAUDE_CODE_PROJECT_DIR_NAME": "x" * 65, "CLAUDE_CONFIG_DIR": "/x"}, None),
        ({"CLAUDE_CONFIG_DIR": "/x"}, None),
    ],
)
def test_a_chosen_folder_name_is_heeded_as_clients_do(environ: dict[str, str], name: str | None) -> None:
    assert chosen_project_folder(environ) == name


@pytest.fixture
def scratch() -> Iterator[Path]:
    """A short root of its own: tmp_path alone is so long that every name would be cut."""
    with tempfile.TemporaryDirectory(prefix="steno-") as folder:
        yield Path(folder).resolve()


@pytest.mark.sample
@pytest.mark.clients
@pytest.mark.parametrize("release", ASKED)
def test_real_clients_are_asked_again(client: Client, scratch: Path, release: str) -> None:
    program = client(release)
    with ScriptedApi() as api:
        for name in ("a" * 90 + "/" + "b" * 90 + "/" + "c.d" * 10, "nfd-e\u0301", "emoji-😀"):
            cwd = scratch / name
            cwd.mkdir(parents=True)
            assert ask_folder_name(program, os.fsencode(cwd), api.url) == project_folder_name(str(cwd), release)


@pytest.mark.clients
@pytest.mark.full
@pytest.mark.parametrize("release", ASKED)
def test_real_clients_are_asked_again_about_every_path(client: Client, scratch: Path, release: str) -> None:
    program = client(release)
    with ScriptedApi() as api:
        for row in RECORDED["paths"]:
            cwd = str(scratch) + row["cwd"].removeprefix(RECORDED["root"])
            if why_there_is_none(cwd, release):
                continue
            Path(cwd).mkdir(parents=True, exist_ok=True)
            assert ask_folder_name(program, os.fsencode(cwd), api.url) == project_folder_name(cwd, release), cwd
