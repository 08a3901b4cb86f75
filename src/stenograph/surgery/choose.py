"""A selection -> the turns, tool calls and subagents that it means, on the branch that a client resumes."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from stenograph.errors import UsageError, in_quotes
from stenograph.records import moment
from stenograph.sessions import SHORTEST_PREFIX
from stenograph.surgery.edits import Selector
from stenograph.turns import AgentRun, Session, ToolCall, Turn


def turns_of(session: Session, which: Selector) -> list[Turn]:
    """The selected turns, in order. Raises UsageError for an invalid time, and for missing turns, tools, calls and agents."""
    turns = list(session.turns)
    _refuse_missing_turns(turns, which)
    _refuse_missing_tools(turns, which)
    _refuse_missing_calls(turns, which)
    _refuse_missing_agents(session, which)
    if which.keep_last is not None:
        turns = turns[: max(0, len(turns) - which.keep_last)]
    if which.turns:
        turns = [turn for turn in turns if any(first <= turn.number <= last for first, last in which.turns)]
    if which.before is not None:
        limit = moment(which.before)
        if limit is None:
            raise UsageError(f"invalid time {in_quotes(which.before)}; use 2026-01-31T12:00:00Z")
        turns = [turn for turn in turns if turn.started is not None and turn.started < limit]
    return turns


def _refuse_missing_turns(turns: list[Turn], which: Selector) -> None:
    for first, last in which.turns:
        if not turns:
            raise UsageError("the session has no turns")
        if last < first:
            raise UsageError(f"turns {first}-{last} are reversed; use {last}-{first}")
        if first < 1 or all(turn.number < first for turn in turns):
            raise UsageError(f"no turn {first}; this session has {len(turns)} {'turn' if len(turns) == 1 else 'turns'}")


def _refuse_missing_tools(turns: list[Turn], which: Selector) -> None:
    used = {call.name for turn in turns for call in turn.tool_calls}
    for name in which.tools:
        if name not in used:
            near = next((known for known in sorted(used) if known.casefold() == name.casefold()), None)
            meant = f"did you mean {in_quotes(near)}?" if near else f"this session used {', '.join(sorted(used)) or 'no tools'}"
            raise UsageError(f"no calls of {in_quotes(name)}; {meant}")


def _refuse_missing_calls(turns: list[Turn], which: Selector) -> None:
    made = {call.id for turn in turns for call in turn.tool_calls} if which.calls else set()
    for identity in which.calls:
        if identity not in made:
            raise UsageError(f"no tool call {in_quotes(identity)} on the current branch")


def _refuse_missing_agents(session: Session, which: Selector) -> None:
    for name in which.agents:
        if any(_is_named(run, name) for run in session.agents):
            continue
        if len(name) < SHORTEST_PREFIX and any(run.agent_id.startswith(name) for run in session.agents):
            raise UsageError(f"subagent id prefix {in_quotes(name)} is too short; use at least {SHORTEST_PREFIX} characters")
        there = sorted({name for run in session.agents for name in (run.agent_type, run.agent_id) if name})
        raise UsageError(f"no subagent {in_quotes(name)}; this session has {', '.join(there) or 'none'}")


def tool_calls_of(session: Session, which: Selector) -> Iterator[ToolCall]:
    """The selected tool calls, in order; of several that share an id each."""
    for turn in turns_of(session, which):
        for call in turn.tool_calls:
            if which.tools and call.name not in which.tools:
                continue
            if which.calls and call.id not in which.calls:
                continue
            if which.errors and not call.is_error:
                continue
            if which.larger_than is not None and len(call.result) <= which.larger_than:
                continue
            if which.agents and not (call.agent and _is_one_of(call.agent, which.agents)):
                continue
            yield call


def agent_runs_of(session: Session, which: Selector) -> list[AgentRun]:
    """The subagents that the selected tool calls started. Where nothing but agents is selected, or nothing at all, also those
    that other agents started or that no call is known of.
    """
    if which == Selector(agents=which.agents):
        turns_of(session, which)  # raises for an agent that is not there
        return [run for run in session.agents if not which.agents or _is_one_of(run, which.agents)]
    return [call.agent for call in tool_calls_of(session, which) if call.agent]


def _is_one_of(run: AgentRun, names: tuple[str, ...]) -> bool:
    return any(_is_named(run, name) for name in names)


def _is_named(run: AgentRun, name: str) -> bool:
    return name in (run.agent_type, run.agent_id) or (len(name) >= SHORTEST_PREFIX and run.agent_id.startswith(name))


def nodes_of(session: Session, which: Selector) -> set[int]:
    """The nodes of the selected turns, in the session's own file."""
    return {node for turn in turns_of(session, which) for node in turn.nodes if node < session.graph.files[0].last}


def nodes_with_aside(session: Session, turns: Collection[Turn]) -> set[int]:
    """The nodes of turns, with what an earlier edit detached in them."""
    openings = {turn.node for turn in turns}
    aside = [turn for turn in session.all_turns if turn.parted_from in openings]
    return {node for turn in (*turns, *aside) for node in turn.nodes}
