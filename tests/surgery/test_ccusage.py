"""Cost history survives: ccusage counts the same before and after an edit, and a session with its clones once."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.conftest import Ccusage
from tests.corpora import RICH
from tests.surgery.edited import EDITS, recorded_sessions

from stenograph.archive import Archive
from stenograph.surgery import make_plan
from stenograph.surgery.clone import apply_clone, plan_clone

pytestmark = pytest.mark.clients

#: Edits that find nothing to do in RICH, and sessions in which they do. The other branch of c91e0fb0 is a prompt that was never
#: answered: with answers `--drop-branches` takes out what was counted.
ELSEWHERE = {"drop-bookkeeping": "025c32f3", "drop-branches": "c91e0fb0", "make-portable": "3e55d138"}


def _home(folder: Path, data: bytes) -> Path:
    project = folder / "projects" / "-home-user-project"
    project.mkdir(parents=True)
    (project / RICH.name).write_bytes(data)
    return folder


@pytest.mark.parametrize("name", EDITS)
def test_an_edit_changes_no_count(name: str, ccusage: Ccusage, tmp_path: Path) -> None:
    beginning = ELSEWHERE.get(name, RICH.name)
    path = next(path for path in recorded_sessions() if path.name.startswith(beginning))
    plan = make_plan(path, EDITS[name])
    assert not plan.is_empty
    before = ccusage(_home(tmp_path / "before", path.read_bytes()))
    assert before[1] > 0
    assert ccusage(_home(tmp_path / "after", b"".join(plan.new_file()))) == before


@pytest.mark.sample
def test_a_session_with_its_clones_counts_once(ccusage: Ccusage, tmp_path: Path) -> None:
    home = _home(tmp_path / "home", RICH.read_bytes())
    before = ccusage(home)
    original = home / "projects" / "-home-user-project" / RICH.name
    archive = Archive(tmp_path / "archive")
    for _ in range(2):
        apply_clone(plan_clone(original), archive)
    assert len(list(original.parent.glob("*.jsonl"))) == 3
    assert ccusage(home) == before
