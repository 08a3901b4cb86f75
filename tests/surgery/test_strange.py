"""Files that no client wrote: an edit is refused in one line, or does nothing worse than on any other."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.cli.running import assert_one_clear_line, run
from tests.homes import assistant, session_id, user, write_session
from tests.surgery.conversations import linked, turn

from stenograph.errors import UnreadableError
from stenograph.surgery import Compress, DropTurns, Selector, StripThinking, make_plan
from stenograph.testing.lines import text, tool_result, tool_use


@pytest.mark.parametrize(
    "blocks",
    [
        ["words"],
        [["words"]],
        [True],
        [{"type": ["text"]}],
        [{**tool_use(), "id": ["toolu_1"]}],
        [{**tool_result(), "tool_use_id": {"a": 1}}],
        [{**tool_result(), "content": [text("x"), 5]}],
        [{**tool_result(), "content": [{"type": {}}]}],
    ],
    ids=["string", "list", "boolean", "type", "use", "result", "inside a result", "type inside a result"],
)
def test_content_that_no_client_writes_is_refused_by_its_line(blocks: list[Any], tmp_path: Path) -> None:
    lines = linked(*turn("One"), user(blocks), assistant(text("Done.")))
    path = write_session(tmp_path, session_id(1), lines)
    with pytest.raises(
        UnreadableError, match=r"^cannot edit .*; line 3 has content that no client writes; try: steno check "
    ) as caught:
        make_plan(path, [StripThinking()])
    assert "words" not in str(caught.value)
    assert caught.value.path == path
    assert_one_clear_line(run("edit", path, "--strip-thinking", "all"))


def test_values_nested_too_deeply_are_refused(tmp_path: Path) -> None:
    deep: list[Any] = []
    for _ in range(900):
        deep = [deep]
    path = write_session(tmp_path, session_id(1), linked(*turn("One"), assistant({**tool_use(), "input": {"a": deep}})))
    with pytest.raises(UnreadableError, match="nested too deeply"):
        make_plan(path, [StripThinking()])


def test_the_end_can_not_be_marked_behind_a_line_without_a_uuid(tmp_path: Path) -> None:
    lines = linked(*turn("One"), *turn("Two"), *turn("Three"))
    del lines[3]["uuid"]
    path = write_session(tmp_path, session_id(1), lines)
    plan = make_plan(path, [DropTurns(Selector(turns=((3, 3),)))])
    assert plan.problems[0].startswith("2.1.325 would not send the edited conversation")
    assert plan.working.new_lines == []
    compressed = make_plan(path, [Compress(Selector(keep_last=1))])
    assert compressed.problems == []
    [boundary] = [json.loads(line) for line in compressed.new_file() if b'"compact_boundary"' in line]
    assert boundary["logicalParentUuid"] is None
