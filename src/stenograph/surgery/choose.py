"""A selection -> the turns and tool calls of a session that it means, on the branch that a client resumes."""

from __future__ import annotations

from collections.abc import Iterator

from stenograph.errors import UsageError
from stenograph.records.times import moment
from stenograph.surgery.edits import Which
from stenograph.turns import Session, ToolCall, Turn


def turns_of(session: Session, which: Which) -> list[Turn]:
    """The turns that a selection means, in order. Raises UsageError for a time that is none."""
    turns = list(session.turns)
    missing = [first for first, _ in which.turns if not any(turn.number >= first for turn in turns) or first < 1]
    if missing or any(last < first for first, last in which.turns):
        raise UsageError(f"there are turns 1 to {len(turns)}" if turns else "the session has no turns")
    unknown = set(which.tools) - {call.name for turn in turns for call in turn.tool_calls}
    if unknown:
        used = sorted({call.name for turn in turns for call in turn.tool_calls})
        raise UsageError(f"no call of {', '.join(sorted(unknown))}; the session has calls of {', '.join(used) or 'no tool'}")
    if which.keep_last is not None:
        turns = turns[: max(0, len(turns) - which.keep_last)]
    if which.turns:
        turns = [turn for turn in turns if any(first <= turn.number <= last for first, last in which.turns)]
    if which.before is not None:
        limit = moment(which.before)
        if limit is None:
            raise UsageError(f"{which.before!r} is no time; give one like 2026-01-31T12:00:00Z")
        turns = [turn for turn in turns if turn.started is not None and turn.started < limit]
    return turns


def tool_calls_of(session: Session, which: Which) -> Iterator[ToolCall]:
    """The tool calls that a selection means, in order; of several that share an id each."""
    for turn in turns_of(session, which):
        for call in turn.tool_calls:
            if which.tools and call.name not in which.tools:
                continue
            if which.errors and not call.is_error:
                continue
            if which.larger_than is not None and len(call.result) <= which.larger_than:
                continue
            yield call


def nodes_of(session: Session, which: Which) -> set[int]:
    """The nodes of the turns that a selection means, in the session's own file."""
    last = session.graph.files[0].last if session.graph.files else 0
    return {node for turn in turns_of(session, which) for node in turn.nodes if node < last}
