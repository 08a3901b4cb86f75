"""`steno clone`, as a user reads what it says; what it writes is tested in tests/surgery."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest
from tests.cli.running import run
from tests.corpora import FIXTURES

#: Two prompts, of which the second was edited, so that there are two branches.
REWOUND = next((FIXTURES / "recorded" / "2.1.325").rglob("278ff95e-*.jsonl"))
_UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")


@pytest.fixture
def session(tmp_path: Path) -> Path:
    folder = tmp_path / "home" / "projects" / "-home-user-project"
    folder.mkdir(parents=True)
    return Path(shutil.copy(REWOUND, folder))


@pytest.mark.parametrize("where", [(), ("--turn", "1")])
def test_the_ids_that_are_told_are_those_of_what_is_written(where: tuple[str, ...], session: Path) -> None:
    told = json.loads(run("clone", session, *where, "--json").stdout)
    old, new = (set(_UUID.findall(path.read_text(encoding="utf-8"))) for path in (session, Path(told["path"])))
    assert told["ids"] == len(new - old)


def test_what_is_left_out_is_named_with_its_unit_in_one_order(session: Path) -> None:
    shown = run("clone", session, "--turn", "1", "--dry-run").stdout.splitlines()
    left_out = [line.removeprefix("Left out: ") for line in shown if line.startswith("Left out: ")]
    assert {line.split()[0] for line in left_out} == {"file", "last-prompt", "lines", "metadata", "request"}
    assert left_out == sorted(left_out)
    assert "the message" not in "".join(left_out)
    whole, kept = (len(path.read_bytes().splitlines()) for path in (session, _cloned(session)))
    assert sum(int(line.rpartition("(")[2].rstrip(")")) for line in left_out) == whole - kept


def _cloned(session: Path) -> Path:
    return Path(json.loads(run("clone", session, "--turn", "1", "--json").stdout)["path"])


def test_the_heading_says_that_its_tokens_are_of_all_branches(session: Path) -> None:
    lines = [json.loads(line) for line in session.read_bytes().splitlines()]
    spent = {line["message"]["id"]: line["message"]["usage"]["output_tokens"] for line in lines if line["type"] == "assistant"}
    shown = run("show", session, "--no-pager").stdout.splitlines()[:5]
    assert any(f"{sum(spent.values())} out on all branches" in line for line in shown)
    assert any("branch 1 of 2" in line for line in shown)
