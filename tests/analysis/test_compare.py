"""Where two sessions, or two branches, part. What the recorded ones did is in tests/fixtures/recorded/README.md."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.corpora import DEMO
from tests.homes import assistant, session_id, user, write_session
from tests.surgery.conversations import called, linked, turn

from stenograph.analysis import compare
from stenograph.sessions.loading import load_file
from stenograph.testing.lines import text
from stenograph.turns import Session
from stenograph.views import RenderOptions, comparison_page, render_comparison

RECORDED = Path(__file__).parent.parent / "fixtures" / "recorded"


def _session(home: Path, number: int, *pairs: tuple[str, str]) -> Session:
    records, before = [], None
    for place, (prompt, answer) in enumerate(pairs):
        # Other uuids in each session, as a fork that copies gives them.
        records.append(user(prompt, uuid=f"{number}-{place}-u", parentUuid=before))
        said = assistant(text(answer), uuid=f"{number}-{place}-a", parentUuid=f"{number}-{place}-u")
        said["message"]["id"] = f"msg_{number}_{place}"
        records.append(said)
        before = f"{number}-{place}-a"
    return load_file(write_session(home, session_id(number), records))


@pytest.mark.parametrize(
    ("second", "shared", "parting"),
    [
        ([("A", "1"), ("B", "2")], 2, "same"),
        ([("A", "1")], 1, "ahead"),
        ([("A", "1"), ("B", "2"), ("C", "3")], 2, "ahead"),
        ([("A", "1"), ("B", "other")], 1, "answer"),
        ([("A", "1"), ("X", "2")], 1, "prompt"),
        ([("X", "1"), ("B", "2")], 0, "prompt"),
    ],
)
def test_sessions_part_where_they_first_differ(tmp_path: Path, second: list[tuple[str, str]], shared: int, parting: str) -> None:
    found = compare(_session(tmp_path, 1, ("A", "1"), ("B", "2")), _session(tmp_path, 2, *second))
    assert (found.shared, found.parting) == (shared, parting)
    assert [turn.prompt for turn in found.second.rest] == [prompt for prompt, _ in second[shared:]]


@pytest.mark.parametrize(("release", "folder"), [("2.0.76", "2-0-76"), ("2.1.45", "2-1-45"), ("2.1.325", "2-1-325")])
def test_a_rewound_session_parts_at_the_edited_prompt(release: str, folder: str) -> None:
    """`rewind`: Esc Esc back to the second prompt, which is edited and sent again."""
    project = RECORDED / release / "interactive" / f"-home-user-proj-i-{folder}"
    path = next(path for path in project.glob("*-*-*-*-*.jsonl") if b"Second Q EDITED" in path.read_bytes())
    session = load_file(path)
    found = compare(session, session, session.turns, session.branches[1].turns)
    assert (found.shared, found.parting) == (1, "prompt")
    assert [turn.prompt.split(" SCRIPT")[0] for turn in found.first.rest] == ["Second Q EDITED."]
    assert [turn.prompt.split(" SCRIPT")[0] for turn in found.second.rest] == ["Second Q.", "Third Q."]


def test_a_recorded_fork_is_the_same_up_to_its_own_turn() -> None:
    """`fork`: a copy of the chain and one turn, "Shown again by fork."; the original was resumed once and compacted."""
    project = RECORDED / "2.1.325" / "print" / "-home-user-rec-2-1-325"
    sessions = [load_file(path) for path in sorted(project.glob("*-*-*-*-*.jsonl"))]
    forks = [each for each in sessions if any("Shown again by fork." in turn.answer for turn in each.turns)]
    originals = [
        each for each in sessions if each not in forks and each.turns and each.turns[0].prompt == forks[0].turns[0].prompt
    ]
    found = compare(originals[0], forks[0])
    assert found.shared >= 1
    assert found.first.turns[0].prompt.startswith("Please tidy the notes.")
    assert "Shown again by fork." in found.second.rest[-1].answer


def test_files_that_only_one_side_touched_are_named() -> None:
    one, other = (load_file(next(DEMO.glob(f"projects/*/{start}*.jsonl"))) for start in ("44b4d198", "5fd970a0"))
    found = compare(one, other)
    assert {Path(path).name for path in found.first.only_files} == {"frost.md", "2025-11-herons.md", "2026-01-frost.md"}
    assert found.common_files == ()
    assert compare(one, one).common_files == ()


def _edit(directory: str, number: int) -> Session:
    """One prompt, and one file written in the session's own directory."""
    path = f"{directory}/src/app.py"
    use = {"type": "tool_use", "id": "toolu_1", "name": "Write", "input": {"file_path": path, "content": f"a = {number}\n"}}
    done = [{"type": "tool_result", "tool_use_id": "toolu_1", "content": f"File created successfully at: {path}"}]
    ids = [f"{number}-{place}" for place in range(3)]
    records = [
        user("Write it", uuid=ids[0], parentUuid=None, cwd=directory),
        assistant(use, uuid=ids[1], parentUuid=ids[0], cwd=directory),
        user(done, uuid=ids[2], parentUuid=ids[1], cwd=directory, toolUseResult={"type": "create", "filePath": path}),
    ]
    return load_file(write_session(Path(directory).parent / "home", session_id(number), records))


def test_a_file_in_two_worktrees_is_one_file(tmp_path: Path) -> None:
    found = compare(_edit(f"{tmp_path}/app", 1), _edit(f"{tmp_path}/app-fix", 2))
    assert found.common_files == ("src/app.py",)
    assert found.first.only_files == found.second.only_files == ()
    assert found.parting == "answer"


def test_the_same_work_in_two_worktrees_is_the_same(tmp_path: Path) -> None:
    one, other = _edit(f"{tmp_path}/app", 1), _edit(f"{tmp_path}/app-fix", 1)
    assert compare(one, other).parting == "same"
    assert compare(other, one).parting == "same"


def test_a_report_of_a_background_task_is_not_shown_as_a_prompt(tmp_path: Path) -> None:
    report = "<task-notification>\n<task-id>b1</task-id>\n<summary>Tests passed</summary>\n</task-notification>"
    one, other = _session(tmp_path, 1, ("A", "1")), _session(tmp_path, 2, ("A", "1"), (report, "Fine."))
    page = comparison_page(compare(one, other), (one, 1), (other, 1))
    shown = "\n".join(render_comparison(page, RenderOptions()))
    assert "2 done a background task reported: Tests passed" in shown
    assert "<task-notification>" not in shown


def test_a_file_that_both_touched_before_they_part_is_not_only_the_firsts(tmp_path: Path) -> None:
    """A clone of one turn, and the original that changed the same file again."""
    path = "/home/user/app/app.py"

    def changed(number: int, times: int) -> Session:
        writes = [called("Write", {"file_path": path, "content": str(place)}, "ok" * (place + 1)) for place in range(times)]
        lines = linked(*(line for place, write in enumerate(writes) for line in turn(f"Prompt {place}", write)))
        return load_file(write_session(tmp_path, session_id(number), lines))

    for first, second in ((changed(1, 2), changed(2, 1)), (changed(3, 1), changed(4, 2))):
        found = compare(first, second)
        assert (found.shared, found.parting) == (1, "ahead")
        assert found.common_files == (path,)
        assert found.first.only_files == found.second.only_files == ()
