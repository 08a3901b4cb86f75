"""A family's graph -> a `Session`: branches of turns, and agent runs linked to the tool calls that started them."""

from __future__ import annotations

from collections.abc import Sequence

from stenograph.family import AgentMeta, Family
from stenograph.graph import Graph, choose_leaf
from stenograph.inputs import is_warm_up
from stenograph.records import (
    AGENT_TOOLS,
    AgentProgress,
    AgentResult,
    ProgressRecord,
    Record,
    TeammateResult,
    UserRecord,
    may_be_agent_progress,
)
from stenograph.turns.assemble import assemble_turns, split_conversations, turn_of_leaf
from stenograph.turns.context import Context, read_context
from stenograph.turns.model import AgentRun, Branch, Session, Turn


def build_session(
    graph: Graph, session_id: str, family: Family | None = None, metas: dict[str, AgentMeta] | None = None
) -> Session:
    """The session of a graph; `metas` are the agents' `.meta.json` by agent id."""
    context = read_context(graph, family.tool_results if family else ())
    main, agents = split_conversations(graph)
    leaf = choose_leaf(graph)
    turns = assemble_turns(context, main, leaf)
    runs = link_agents(context, agents, metas or {})
    in_order = tuple(turns[node] for node in sorted(turns))
    for turn in (*in_order, *(turn for run in runs for turn in run.turns)):
        _ = turn.calls  # every reader wants them; made here they are made at once
    return Session(session_id, graph, context, in_order, _branches(graph, turns, leaf), tuple(runs), family)


def link_agents(context: Context, agents: dict[str, Sequence[int]], metas: dict[str, AgentMeta]) -> list[AgentRun]:
    """The subagents' runs, each linked to the tool call that started it."""
    if not agents:
        return []
    evidence = _evidence(context, metas)
    prompts = _prompts_of_uses(context)
    claimed = {use for use, _ in evidence.values()}
    paths = {file.agent_id: file.path for file in context.graph.files if file.agent_id}
    runs: list[AgentRun] = []
    for agent_id, nodes in agents.items():
        by_node = assemble_turns(context, nodes)
        turns = tuple(by_node[node] for node in sorted(by_node))
        prompt = turns[0].prompt if turns else ""
        tool_use_id, how = evidence.get(agent_id, ("", ""))
        if not tool_use_id:
            # The first unclaimed use with this prompt: two agents may get the same words.
            tool_use_id = next((use for use in prompts.get(prompt, ()) if use not in claimed), "")
            how = "prompt" if tool_use_id else ""
            claimed.add(tool_use_id)
        meta = metas.get(agent_id) or AgentMeta()
        asked = (context.uses[tool_use_id][1].input or {}) if tool_use_id in context.uses else {}
        result = _agent_result(context, tool_use_id)
        runs.append(
            AgentRun(
                agent_id=agent_id,
                turns=turns,
                path=paths.get(agent_id),
                agent_type=meta.agent_type or _text(asked.get("subagent_type")),
                description=meta.description or _text(asked.get("description")),
                tool_use_id=tool_use_id,
                evidence=how,
                background=bool(result is not None and result.isAsync),
                is_warmup=is_warm_up(prompt) and not tool_use_id,
                asked=_text(asked.get("prompt")),
            )
        )
    for run in runs:
        if run.tool_use_id:
            context.agents.setdefault(run.tool_use_id, run)
    return runs


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _evidence(context: Context, metas: dict[str, AgentMeta]) -> dict[str, tuple[str, str]]:
    """For each agent the tool use that started it, by the strongest evidence."""
    found: dict[str, tuple[str, str]] = {}
    for agent_id, meta in metas.items():
        if meta.tool_use_id:
            found[agent_id] = (meta.tool_use_id, "meta")
    for tool_use_id, (_, use_block) in context.uses.items():
        if use_block.name in AGENT_TOOLS:
            for node, _ in context.results.get(tool_use_id, ()):
                if agent_id := _agent_named(context.graph.records[node]):
                    found.setdefault(agent_id, (tool_use_id, "result"))
    if any(file.agent_id and file.agent_id not in found for file in context.graph.files):
        # Last, because progress may be a third of the lines: agents that never came back left nothing else.
        for record in context.graph.records:
            if isinstance(record, ProgressRecord) and may_be_agent_progress(record):
                data, use = record.data, record.parentToolUseID
                if isinstance(data, AgentProgress) and isinstance(data.agentId, str) and isinstance(use, str):
                    found.setdefault(data.agentId, (use, "progress"))
    return found


def _agent_named(record: Record) -> str:
    result = record.toolUseResult if isinstance(record, UserRecord) else None
    if isinstance(result, AgentResult):
        return result.agentId or ""
    return (result.agent_id or "") if isinstance(result, TeammateResult) else ""


def _agent_result(context: Context, tool_use_id: str) -> AgentResult | None:
    for node, _ in context.results.get(tool_use_id, []):
        record = context.graph.records[node]
        if isinstance(record, UserRecord) and isinstance(record.toolUseResult, AgentResult):
            return record.toolUseResult
    return None


def _prompts_of_uses(context: Context) -> dict[str, list[str]]:
    """Prompts given to agent tools -> the ids of those uses."""
    prompts: dict[str, list[str]] = {}
    for tool_use_id, (_, use) in context.uses.items():
        if use.name in AGENT_TOOLS:
            prompt = (use.input or {}).get("prompt")
            if isinstance(prompt, str):
                prompts.setdefault(prompt.strip(), []).append(tool_use_id)
    return prompts


def _branches(graph: Graph, turns: dict[int, Turn], leaf: int) -> tuple[Branch, ...]:
    followed = {turn.previous for turn in turns.values()}
    ends = [node for node in sorted(turns) if node not in followed]
    if not ends:
        return ()
    end = turn_of_leaf(graph, turns, leaf)
    # A leaf inside a branch (an explicit last-prompt) ends the current branch there.
    current = Branch(ends[-1] if end is None else end, True, 0, turns)
    on_current = {turn.node for turn in current.turns}
    current = Branch(current.end, True, len(on_current), turns)
    return (current, *(Branch(end, False, _shared(turns, end, on_current), turns) for end in ends if end != current.end))


def _shared(turns: dict[int, Turn], node: int, on_current: set[int]) -> int:
    """The number of the last turn shared with the current branch."""
    while node in turns and node not in on_current:
        node = turns[node].previous
    return turns[node].number if node in turns else 0
