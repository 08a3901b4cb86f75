"""Edits stopped at every step leave the old family or the new one."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.archive.killing import SCENARIOS

if sys.platform == "win32":
    pytest.skip("forks processes and kills them", allow_module_level=True)


def stop_everywhere(scratch: Path, way: str, scenario: str, stride: int) -> dict[str, int]:
    done = subprocess.run(
        [sys.executable, "-c", "from tests.archive.killing import main; main()", str(scratch), way, scenario, str(stride)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        timeout=1200,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    counts = json.loads(done.stdout)
    assert isinstance(counts, dict)
    return counts


@pytest.mark.proof
@pytest.mark.parametrize("scenario", SCENARIOS)
def test_a_process_killed_at_any_step_leaves_the_old_family_or_the_new_one(tmp_path: Path, scenario: str) -> None:
    counts = stop_everywhere(tmp_path, "kill", scenario, 13)
    assert counts["stopped mix"] > 3, "it has to be stopped in the middle too"
    assert counts["settled old"] > 10
    assert counts["settled new"] > 0
    assert counts["recoveries stopped"] > 1


@pytest.mark.full
@pytest.mark.parametrize("scenario", SCENARIOS)
def test_a_recovery_killed_at_any_step_can_be_done_again(tmp_path: Path, scenario: str) -> None:
    assert stop_everywhere(tmp_path, "kill", scenario, 1)["recoveries stopped"] > 50


@pytest.mark.proof
@pytest.mark.parametrize("scenario", ["edit", "clone", "restore"])
def test_a_disk_that_fills_up_changes_nothing(tmp_path: Path, scenario: str) -> None:
    counts = stop_everywhere(tmp_path, "fill", scenario, 17)
    assert counts["refused old"] > 2
    assert counts["done new"] > 2
    assert counts.get("refused new", 0) == 0
