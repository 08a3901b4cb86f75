"""NotebookEdit gives what 2.1.325 gave (`notebook_edits.json`), and leaves a notebook that others read."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from lab.observatory.project import NOTEBOOK
from lab.observatory.scenes import cue, say, text, tool
from tests.agent.world import Json, lines_of, of, world_at
from tests.cli.running import run as run_steno

from stenograph.agent.engine.options import Compat

THEIRS: list[Json] = json.loads(Path(__file__).with_name("notebook_edits.json").read_text())
#: Members that 2.0.76 does not write (its recordings).
NEWER = ("old_source", "notebook_path", "original_file", "updated_file")
OLD = {
    "cells": [{"cell_type": "code", "metadata": {}, "source": ["a = 1\n"], "outputs": [], "execution_count": None}],
    "metadata": {},
    "nbformat": 4,
    "nbformat_minor": 4,
}


def furnish(cwd: Path) -> None:
    (cwd / "book.ipynb").write_text(json.dumps(NOTEBOOK))
    (cwd / "bad.ipynb").write_text("{")
    (cwd / "x.txt").write_text("x")
    (cwd / "old.ipynb").write_text(json.dumps(OLD, indent=1))


def masked(value: Any, cwd: Path) -> Any:
    """Without the folder and new cells' ids, which are random."""
    return json.loads(re.sub(r"\b[0-9a-f]{8}\b", "ID", json.dumps(value).replace(str(cwd), "{cwd}")))


@pytest.mark.parametrize("compat", Compat)
def test_results_are_the_clients(compat: Compat, tmp_path: Path) -> None:
    with world_at(tmp_path.resolve(), {}) as world:
        calls = json.loads(json.dumps(THEIRS).replace("{cwd}", str(world.cwd)))
        world.stage.add("all", [*(say(tool(call["tool"], **call["input"])) for call in calls), say(text("Done."))])
        furnish(world.cwd)
        world.run(cue("all"), compat=compat)
        results = [line for line in of("user", lines_of(world.session)) if isinstance(line["message"]["content"], list)]
        assert len(results) == len(THEIRS)
        for line, theirs in zip(results, THEIRS, strict=True):
            (block,) = line["message"]["content"]
            assert bool(block.get("is_error")) == theirs["is_error"], theirs["input"]
            if "content" in theirs:
                assert masked(block["content"], world.cwd) == masked(theirs["content"], world.cwd)
                structured = theirs["structured"]
                if compat is Compat.OLD and isinstance(structured, dict):
                    structured = {name: value for name, value in structured.items() if name not in NEWER}
                assert masked(line["toolUseResult"], world.cwd) == masked(structured, world.cwd)
        done = run_steno("check", "--strict", world.home / "projects")
        assert (done.returncode, done.stderr) == (0, ""), done.stdout
        cells = json.loads((world.cwd / "book.ipynb").read_text())["cells"]
        left = [(cell["cell_type"], cell["source"]) for cell in cells]
        assert left == [("markdown", "# top"), ("code", "x = 1"), ("markdown", "t")]


def test_a_rewind_brings_the_notebook_back(tmp_path: Path) -> None:
    with world_at(tmp_path.resolve(), {"more": [say(text("More."))]}) as world:
        furnish(world.cwd)
        path = world.cwd / "book.ipynb"
        before = path.read_bytes()
        edit = tool("NotebookEdit", notebook_path=str(path), cell_id="cell-b", new_source="changed")
        world.stage.add("edit", [say(tool("Read", file_path=str(path))), say(edit), say(text("Done."))])
        world.run(cue("edit"))
        assert path.read_bytes() != before
        world.run(cue("more"), resume=world.session.stem, rewind="-1")
        assert path.read_bytes() == before
