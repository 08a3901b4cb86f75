"""Plans for every recorded session: they hold what they promise, and what they leave alone keeps its bytes."""

from __future__ import annotations

import itertools
import json
import shutil
from pathlib import Path

import pytest
from tests.cli.running import run
from tests.corpora import RICH
from tests.homes import session_id, write_session
from tests.surgery.conversations import called, linked, turn
from tests.surgery.edited import EDITS, recorded_sessions

from stenograph.archive import Archive
from stenograph.check import check
from stenograph.errors import BusyError, UsageError
from stenograph.records import Record, decode
from stenograph.surgery import (
    AnyEdit,
    Compress,
    DropToolCalls,
    DropTurns,
    MakePortable,
    Plan,
    Selector,
    TruncateResults,
    apply,
    make_plan,
)

SESSIONS = recorded_sessions()


def _plan(path: Path, edits: list[AnyEdit], *, prune: bool = False) -> Plan | None:
    try:
        return make_plan(path, edits, prune=prune)
    except UsageError:  # a session of one turn has nothing to compress
        return None


COUNTED = ("input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")


def _usage(lines: list[bytes]) -> dict[str, tuple[int, ...]]:
    """Message id -> tokens, as tools that count them see it: each response once, at its greatest."""
    found: dict[str, tuple[int, ...]] = {}
    for line in lines:
        record = json.loads(line)
        message = record.get("message")
        if record.get("type") == "assistant" and isinstance(message, dict) and message.get("usage"):
            tokens = tuple(message["usage"].get(name) or 0 for name in COUNTED)
            found[message["id"]] = max(found.get(message["id"], ()), tokens)
    return found


@pytest.mark.proof
@pytest.mark.parametrize("name", EDITS)
def test_every_edit_of_every_recorded_session_is_proved_and_keeps_the_token_counts(name: str) -> None:
    touched = 0
    for path in SESSIONS:
        plan = _plan(path, EDITS[name])
        if plan is None or plan.is_empty:
            continue
        touched += 1
        assert plan.problems == [], path
        old, new = path.read_bytes().splitlines(), b"".join(plan.new_file()).splitlines()
        if name not in ("drop-branches", "drop-agents"):  # these take out what was counted, and say so
            assert _usage(new) == _usage(old), path
        assert set(new) & set(old) >= set(old) - {old[node] for node in plan.working.changed_nodes() | plan.working.removed}
    assert touched


@pytest.mark.proof
@pytest.mark.parametrize("name", [name for name in EDITS if name != "drop-second-turn"])  # there another turn is then the second
@pytest.mark.parametrize("prune", [True, False])
def test_the_same_edits_on_the_result_give_an_empty_plan(name: str, prune: bool, tmp_path: Path) -> None:
    plans = (
        plan for path in (*SESSIONS[::5], *SESSIONS) if (plan := _plan(path, EDITS[name], prune=prune)) and not plan.is_empty
    )
    looked_at = 0
    for plan in itertools.islice(plans, 10):
        copy = tmp_path / plan.path.name
        copy.write_bytes(b"".join(plan.new_file()))
        again = _plan(copy, EDITS[name], prune=prune)
        # None: what was chosen, or all but one turn, is not there any more.
        assert again is None or again.is_empty, plan.path
        looked_at += 1
    assert looked_at >= 4


def test_an_edited_session_has_no_damage(tmp_path: Path) -> None:
    for name, edits in EDITS.items():
        plan = next(plan for path in (RICH, *SESSIONS) if (plan := _plan(path, edits)) and not plan.is_empty)
        if name == "drop-agents":  # what it says itself: the calls are there, their agents' files are not
            continue
        copy = tmp_path / name / RICH.name
        copy.parent.mkdir()
        copy.write_bytes(b"".join(plan.new_file()))
        report = check([copy])
        assert report.drift == [], name
        assert {each.code for each in report.damage} <= {"missing-agent-file"}, name  # the family stayed where it was


def test_a_plan_is_carried_out_and_undone_byte_for_byte(tmp_path: Path) -> None:
    path = tmp_path / RICH.name
    shutil.copy(RICH, path)
    archive = Archive(tmp_path / "archive")
    for edits in EDITS.values():
        plan = make_plan(path, edits)
        if plan.is_empty:
            continue
        entry = apply(plan, archive)
        assert entry is not None
        assert path.read_bytes() == b"".join(plan.new_file())
        archive.undo(entry.number)
        assert path.read_bytes() == RICH.read_bytes()


def test_a_plan_for_a_file_that_was_changed_since_is_refused(tmp_path: Path) -> None:
    path = tmp_path / RICH.name
    shutil.copy(RICH, path)
    plan = make_plan(path, [TruncateResults(limit=100)])
    with path.open("ab") as file:
        file.write(b'{"type":"mode","mode":"x"}\n')
    before = path.read_bytes()
    with pytest.raises(BusyError):
        apply(plan, Archive(tmp_path / "archive"))
    assert path.read_bytes() == before


def test_only_the_oldest_turns_can_be_compressed() -> None:
    with pytest.raises(UsageError, match="oldest"):
        make_plan(RICH, [Compress(Selector(turns=((2, 2),)))])
    with pytest.raises(UsageError, match="newest"):
        make_plan(RICH, [Compress()])


def test_turns_that_leave_stay_in_the_file_unless_it_is_pruned() -> None:
    edits: list[AnyEdit] = [DropTurns(Selector(keep_last=1))]
    kept, pruned = make_plan(RICH, edits), make_plan(RICH, edits, prune=True)
    assert (kept.lines_after, kept.aside > 10, kept.removed) == (kept.lines_before, True, 0)
    assert pruned.lines_after == pruned.lines_before - kept.aside


def test_lines_that_keep_their_bytes_are_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file of 400,000 empty objects took most of a minute, because each reading decoded all of it again."""
    decoded: list[bytes] = []

    def counted(line: bytes) -> Record:
        decoded.append(line)
        return decode(line)

    monkeypatch.setattr("stenograph.surgery.verify.decode", counted)
    empty = tmp_path / "5e550000-0000-4000-8000-000000000001.jsonl"
    empty.write_bytes(b"{}\n" * 100)
    assert make_plan(empty, [MakePortable()]).is_empty
    assert decoded == []
    plan = make_plan(RICH, [TruncateResults(limit=10)])
    assert len(decoded) == plan.changed < plan.lines_before


def test_a_refused_edit_names_a_way_out_that_works(tmp_path: Path) -> None:
    """A prompt that is in the file behind its answer: without the call between, the answer would hang off a later line."""
    prompt, use, result, answer, *rest = linked(
        *turn("One", called("Read", {"file_path": "/p"}, "words", identity="toolu_1")), *turn("Two")
    )
    path = write_session(tmp_path / "home", session_id(1), [use, result, answer, prompt, *rest])
    archive = Archive(tmp_path / "archive")
    plan = make_plan(path, [DropToolCalls()])
    assert plan.problems == ["the tree would be broken: forward-parent"]
    with pytest.raises(UsageError, match="make the session portable first"):
        apply(plan, archive)
    refused = run("edit", path, "--drop-tool-calls")
    assert refused.returncode == 3
    way_out = refused.stderr.splitlines()[-1]
    assert way_out.startswith("try: ")
    assert way_out.endswith(f" edit {path} --portable --apply, then this edit again")
    assert json.loads(run("edit", path, "--drop-tool-calls", "--json").stdout)["try_first"] in way_out
    assert run("edit", path, "--portable", "--apply").returncode == 0
    assert run("edit", path, "--drop-tool-calls", "--apply").returncode == 0
