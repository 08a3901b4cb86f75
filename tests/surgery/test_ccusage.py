"""Cost history survives: ccusage counts the same before and after an edit, and a session with its clones once."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.conftest import Need
from tests.corpora import RICH
from tests.surgery.edited import EDITS, recorded_sessions

from stenograph.archive import Archive
from stenograph.surgery import make_plan
from stenograph.surgery.clone import apply_clone, plan_clone

pytestmark = pytest.mark.clients

VERSION = "20.0.24"
COUNTED = ("inputTokens", "outputTokens", "cacheCreationTokens", "cacheReadTokens")
#: Edits that find nothing to do in RICH, and sessions in which they do. The other branch of c91e0fb0 is a prompt that was never
#: answered: with answers `--drop-branches` takes out what was counted.
ELSEWHERE = {"drop-bookkeeping": "025c32f3", "drop-branches": "c91e0fb0", "make-portable": "3e55d138"}

Count = Callable[[Path], dict[str, int]]


@pytest.fixture(scope="module")
def count(clients_cache: Path, need: Need) -> Count:
    """`count(home)`: the tokens that ccusage finds in a home."""
    folder = clients_cache.parent / f"ccusage-{VERSION}"
    program = folder / "node_modules" / ".bin" / "ccusage"
    npm = shutil.which("npm")
    if npm is None:
        need("clients", "there is no npm to install ccusage")
    if not program.exists():
        clients_cache.parent.mkdir(parents=True, exist_ok=True)
        scratch = Path(tempfile.mkdtemp(prefix="ccusage.", dir=clients_cache.parent))
        (scratch / "package.json").write_text("{}\n", encoding="utf-8")
        done = subprocess.run([npm, "install", "--silent", f"ccusage@{VERSION}"], cwd=scratch, check=False, timeout=300)
        if done.returncode:
            need("clients", "ccusage could not be installed")
        with contextlib.suppress(OSError):  # another process was quicker
            scratch.rename(folder)
        shutil.rmtree(scratch, ignore_errors=True)

    def tokens(home: Path) -> dict[str, int]:
        environment = {"PATH": os.environ["PATH"], "HOME": str(home), "CLAUDE_CONFIG_DIR": str(home)}
        done = subprocess.run(
            [program, "session", "--json", "--offline"], env=environment, capture_output=True, check=True, timeout=60
        )
        totals = json.loads(done.stdout)["totals"]
        return {name: totals[name] for name in COUNTED}

    return tokens


def _home(folder: Path, data: bytes) -> Path:
    project = folder / "projects" / "-home-user-project"
    project.mkdir(parents=True)
    (project / RICH.name).write_bytes(data)
    return folder


@pytest.mark.parametrize("name", EDITS)
def test_an_edit_changes_no_count(name: str, count: Count, tmp_path: Path) -> None:
    beginning = ELSEWHERE.get(name, RICH.name)
    path = next(path for path in recorded_sessions() if path.name.startswith(beginning))
    plan = make_plan(path, EDITS[name])
    assert not plan.is_empty
    before = count(_home(tmp_path / "before", path.read_bytes()))
    assert before["outputTokens"] > 0
    assert count(_home(tmp_path / "after", b"".join(plan.new_file()))) == before


@pytest.mark.sample
def test_a_session_with_its_clones_counts_once(count: Count, tmp_path: Path) -> None:
    home = _home(tmp_path / "home", RICH.read_bytes())
    before = count(home)
    original = home / "projects" / "-home-user-project" / RICH.name
    archive = Archive(tmp_path / "archive")
    for _ in range(2):
        apply_clone(plan_clone(original), archive)
    assert len(list(original.parent.glob("*.jsonl"))) == 3
    assert count(home) == before
