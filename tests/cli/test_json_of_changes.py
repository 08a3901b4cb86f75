"""What commands that check or change sessions print with --json is what the generated schemas say."""

from __future__ import annotations

import json
import shutil
import time
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from tests.cli.test_json_schemas import SESSIONS, check
from tests.corpora import DEMO, FIXTURES, without_agents

from stenograph.cli._group import steno
from stenograph.drift import load_registry

RECORDED = without_agents((FIXTURES / "recorded").rglob("*.jsonl"))
#: The demo's, and the first session of each recorded release.
COPIED = [
    *without_agents(DEMO.rglob("*.jsonl")),
    *{path.relative_to(FIXTURES).parts[1]: path for path in reversed(RECORDED) if path.stat().st_size}.values(),
]


def printed(schema: str, *arguments: str | Path, codes: tuple[int, ...] = (0,)) -> Any:
    """The document that a command prints, which has to be of this schema; None where it is refused."""
    done = CliRunner().invoke(steno, [*map(str, arguments), "--json"])
    assert done.exit_code in codes, (arguments, done.output, done.exception)
    if not done.stdout:
        return None
    document = json.loads(done.stdout)
    assert document["schema"].partition("/")[0] == schema
    check(document)
    return document


def _name(path: Path) -> str:
    return f"{path.parent.parent.name}/{path.stem[:8]}"


@pytest.mark.parametrize("path", SESSIONS, ids=_name)
def test_what_is_said_of_a_session_is_what_the_schemas_say(path: Path) -> None:
    assert printed("check", "check", path)["files"] >= 1
    assert printed("resume", "resume", path)["path"] == str(path)
    printed("clone", "clone", path, "--dry-run")
    printed("rm", "rm", path)
    printed("purge", "purge", path)
    cut = ("--truncate-results", "100", "--strip-thinking", "all", "--drop-images")
    printed("edit", "edit", path, *cut, "--preview", codes=(0, 2))
    printed("edit", "edit", path, "--compress", "--keep-last", "1", "--preview", codes=(0, 2))
    printed("edit", "edit", path, "--portable", codes=(0, 2))


def test_what_is_kept_is_what_the_schemas_say(tmp_path: Path) -> None:
    project = tmp_path / "home" / "projects" / "p"
    shutil.copytree(RECORDED[0].parent, project)
    home = ("--home", tmp_path / "home")
    assert printed("archive", "archive", *home)["kept"]["sessions"] == 0
    assert printed("expiring", "archive", "--expiring", "60d", *home)["sessions"]
    assert printed("keep", "archive", "keep", *home)["kept"]
    assert printed("archive", "archive", *home)["kept"]["sessions"]
    assert not printed("restore", "restore", RECORDED[0].stem, *home)["changed"]
    (project / RECORDED[0].name).unlink()
    assert printed("restore", "restore", RECORDED[0].stem, *home)["apply"]
    assert printed("restore", "restore", RECORDED[0].stem, "--apply", *home)["applied"]
    assert printed("archive-install", "archive", "install", *home)["changed"]
    assert printed("archive-install", "archive", "install", "--apply", *home)["applied"]
    assert printed("archive-install", "archive", "uninstall", "--apply", *home)["applied"]
    assert printed("archive-install", "archive", "install", "--timer", *home)["changed"]


@pytest.mark.parametrize("path", COPIED, ids=_name)
def test_what_is_done_to_a_copy_is_what_the_schemas_say(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time, "time", lambda: 4e9)  # nobody is at work on the copy
    project = tmp_path / "home" / "projects" / path.parent.name
    shutil.copytree(path.parent, project)
    copy = project / path.name
    original = copy.read_bytes()
    cloned = printed("clone", "clone", copy, "--title", "A clone")
    assert (cloned["applied"], Path(cloned["path"]).exists()) == (True, True)
    assert printed("undo", "undo", "--apply", "--entry", str(cloned["entry"]))["undoes"] == cloned["entry"]
    assert not Path(cloned["path"]).exists()
    edited = printed("edit", "edit", copy, "--truncate-results", "10", "--strip-thinking", "all", "--apply", codes=(0, 3))
    if edited and edited["applied"]:
        originals = printed("originals", "undo", "--entry", str(edited["entry"]), "--to", tmp_path / "originals")
        assert Path(originals["files"][0]).read_bytes() == original
        assert printed("undo", "undo", "--apply", "--entry", str(edited["entry"]))["undo"]
    assert copy.read_bytes() == original
    removed = printed("rm", "rm", copy, "--apply")
    assert not copy.exists()
    printed("undo", "undo", "--apply", "--entry", str(removed["removals"][0]["entry"]))
    assert copy.read_bytes() == original
    assert printed("edits", "undo", "--list")["entries"][0]["summary"] == "clone"
    assert printed("rename", "rename", copy, "Another title")["title"] == "Another title"
    assert printed("tag", "tag", copy, "keep")["tag"] == "keep"
    assert printed("tag", "tag", copy, "--clear")["before"] == "keep"
    assert printed("purge", "purge", copy, "--apply")["edits"]
    assert not copy.exists()


def test_what_releases_write_and_what_is_installed_is_what_the_schemas_say(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    recorded = load_registry().recorded
    printed("schema", "schema")
    for release in recorded:
        printed("release-schema", "schema", "show", release)
    for old, new in pairwise(recorded):
        printed("schema-diff", "schema", "diff", old, new)
    printed("doctor", "doctor")
    printed("completion", "completion", "bash")
    printed("demo", "demo", "--copy", tmp_path / "demo")
    printed("trace", "trace")
    monkeypatch.setenv("STENO_TRACE_URL", "http://127.0.0.1:9")
    printed("trace", "trace")
    printed("trace-status", "trace", "status")
    printed("trace-backfill", "trace", "backfill", "--dry-run")
    printed("trace-test", "trace", "test", codes=(2,))
    for options in ((), ("--apply",)):
        printed("trace-install", "trace", "install", *options)
    printed("trace-install", "trace", "uninstall", "--apply")
