"""Random edits on random sessions: a plan is refused with its reason, or it holds, spares what it need not touch, and is done."""

from __future__ import annotations

import json
import uuid
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.messages.generator import HardSession, hard_sessions, numbered_sessions

from stenograph.errors import UsageError
from stenograph.surgery import (
    AnyEdit,
    Compress,
    DropBookkeeping,
    DropBranches,
    DropImages,
    DropToolCalls,
    DropTurns,
    MakePortable,
    Plan,
    Selector,
    StripThinking,
    TruncateResults,
    make_plan,
)

#: Choices that mean the same after the edit was done.
LASTING = st.sampled_from([Selector(), Selector(keep_last=1), Selector(errors=True), Selector(larger_than=200)])
EDITS = st.lists(
    st.one_of(
        st.builds(DropTurns, st.sampled_from([Selector(keep_last=1), Selector(keep_last=2), Selector(turns=((1, 1),))])),
        st.builds(DropToolCalls, LASTING),
        st.builds(TruncateResults, LASTING, limit=st.integers(0, 100)),
        st.builds(DropImages, st.just(Selector())),
        st.builds(StripThinking, st.just(Selector()), refused_only=st.booleans()),
        st.builds(Compress, st.just(Selector(keep_last=1)), keep_tool_calls=st.booleans()),
        st.just(DropBookkeeping()),
        st.just(DropBranches()),
        st.just(MakePortable()),
    ),
    min_size=1,
    max_size=3,
)


def _plan(path: Path, edits: list[AnyEdit], *, prune: bool) -> Plan | None:
    """None where it is refused, be it with a reason or as a choice that means nothing here."""
    try:
        plan = make_plan(path, edits, prune=prune)
    except UsageError:
        return None
    return None if plan.problems else plan


@pytest.mark.proof
@settings(max_examples=300, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(session=hard_sessions(), edits=EDITS, prune=st.booleans())
def test_random_edits_hold_or_are_refused(
    session: HardSession, edits: list[AnyEdit], prune: bool, tmp_path_factory: object
) -> None:
    folder = tmp_path_factory.mktemp("random")  # type: ignore[attr-defined]
    path = folder / f"{uuid.uuid5(uuid.NAMESPACE_OID, 'random')}.jsonl"
    path.write_bytes(session.data)
    plan = _plan(path, edits, prune=prune)
    if plan is None:
        return
    old, new = session.data.split(b"\n"), b"".join(plan.new_file()).split(b"\n")
    untouched = {old[node] for node in range(plan.lines_before)} - {
        old[node] for node in plan.working.changed_nodes() | plan.working.removed | plan.working.gone
    }
    assert untouched <= set(new)
    if plan.is_empty:
        assert b"".join(plan.new_file()).rstrip(b"\n") == session.data.rstrip(b"\n")
    for line in set(new) - set(old):
        # A line that was no UTF-8 before is none afterwards: its other bytes stay.
        assert line == b"" or isinstance(json.loads(line.decode(errors="replace")), dict)


@pytest.mark.proof
@settings(max_examples=60, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(
    session=hard_sessions(), edit=st.one_of(st.builds(DropToolCalls, LASTING), st.builds(StripThinking), st.builds(DropImages))
)
def test_an_edit_that_was_done_is_not_done_again(session: HardSession, edit: AnyEdit, tmp_path_factory: object) -> None:
    folder = tmp_path_factory.mktemp("again")  # type: ignore[attr-defined]
    path = folder / f"{uuid.uuid5(uuid.NAMESPACE_OID, 'again')}.jsonl"
    path.write_bytes(session.data)
    plan = _plan(path, [edit], prune=True)
    if plan is None or plan.is_empty:
        return
    path.write_bytes(b"".join(plan.new_file()))
    again = _plan(path, [edit], prune=True)
    assert again is None or again.is_empty


def test_most_hard_sessions_can_be_edited(tmp_path: Path) -> None:
    """So that the properties above say something: of 100 generated sessions few are refused."""
    path = tmp_path / f"{uuid.uuid5(uuid.NAMESPACE_OID, 'numbered')}.jsonl"
    edits: list[AnyEdit] = [DropToolCalls(), StripThinking()]
    held = 0
    for session in numbered_sessions(77, 100):
        path.write_bytes(session.data)
        plan = _plan(path, edits, prune=False)
        held += plan is not None and not plan.is_empty
    assert held >= 50
