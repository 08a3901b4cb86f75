"""Subagents of old releases -> their types, from the tool calls that started them. Kept in the store: a session is read once."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from pathlib import Path

from stenograph.analysis.usage import UNKNOWN_TYPE
from stenograph.errors import StenographError, UnwritableError
from stenograph.index import IndexStore, call_key, keep_agent_types, untyped_calls
from stenograph.records import AGENT_TOOLS, AgentProgress, ProgressRecord, may_be_agent_progress
from stenograph.sessions import load_file
from stenograph.turns import AgentRun, Session, runs_below

#: Of one that a client started beforehand, without a tool call.
WARM_UP = "(warm-up)"


def name_agents(store: IndexStore, homes: Sequence[Path]) -> None:
    """Find the types of subagents whose own lines do not have them."""
    types: dict[int, str] = {}
    for path, calls in untyped_calls(store, homes).items():
        try:
            session = load_file(store.place_of(path))
        except StenographError:
            continue  # it is gone, or can't be read
        all_known = _are_all_known(session)
        by_agent = {run.agent_id: _type(run, all_known) for run in runs_below(session.agents)}
        by_call = dict(_by_call(session, all_known))
        for call in calls:
            types[call.id] = by_agent.get(call.agent or "") or by_call.get(call.key) or UNKNOWN_TYPE
    if types:
        with contextlib.suppress(UnwritableError):  # then they are found again next time
            keep_agent_types(store, types)


def _by_call(session: Session, all_known: bool) -> Iterator[tuple[int, str]]:
    for record in session.graph.records:
        if isinstance(record, ProgressRecord) and may_be_agent_progress(record) and isinstance(record.data, AgentProgress):
            name, found = _response(record.data), _asked(session, record.parentToolUseID)
            if name and found:
                yield call_key(name), found
    for run in runs_below(session.agents):
        if found := _type(run, all_known):
            yield from ((call_key(call.message_id), found) for turn in run.turns for call in turn.calls if call.message_id)


def _type(run: AgentRun, all_known: bool) -> str:
    # 2.0.42 to 2.0.55 do not write the prompt of a subagent, so only that no tool call started it says that it is a warm-up.
    is_warmup = run.is_warmup or (all_known and not run.tool_use_id and not run.prompt)
    return run.agent_type or (WARM_UP if is_warmup else "")


def _are_all_known(session: Session) -> bool:
    """Whether the subagent of each tool call that started one is known."""
    runs = [turn for run in runs_below(session.agents) for turn in run.turns]
    calls = [tool for turn in (*session.all_turns, *runs) for tool in turn.tool_calls]
    # A client writes so of a call that it did not make.
    return all(tool.agent or tool.result.startswith("<tool_use_error>") for tool in calls if tool.name in AGENT_TOOLS)


def _response(progress: AgentProgress) -> str:
    """The id of the response that a line of progress repeats; empty for other lines."""
    message = (progress.message or {}).get("message")
    found = message.get("id") if isinstance(message, dict) else None
    return found if isinstance(found, str) else ""


def _asked(session: Session, tool_use_id: object) -> str:
    use = session.context.uses.get(tool_use_id) if isinstance(tool_use_id, str) else None
    found = (use[1].input or {}).get("subagent_type") if use else None
    return found if isinstance(found, str) else ""
