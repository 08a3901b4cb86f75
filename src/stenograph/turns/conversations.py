"""Graph -> the conversations in it: the session's own, and those of its sub-agents, in files or among its lines."""

from __future__ import annotations

from array import array
from collections.abc import Sequence

from stenograph.graph import Graph, GraphFile
from stenograph.records import ChainedRecord, Record


def split_conversations(graph: Graph) -> tuple[Sequence[int], dict[str, Sequence[int]]]:
    """The nodes of the session's own conversation, and those of each sub-agent: a file's, or those of an inline sidechain."""
    agents: dict[str, Sequence[int]] = {}
    for file in graph.files:
        if file.agent_id:  # two workflows may each have an agent of the same name: one run with both files' turns
            agents[file.agent_id] = [*agents.get(file.agent_id, ()), *range(file.first, file.last)]
    own = next((file for file in graph.files if not file.agent_id), None)
    if own is None:
        return (), agents
    inline = [node for node in graph.sidechains if own.first <= node < own.last]
    if not inline:
        return range(own.first, own.last), agents
    found: dict[str, list[int]] = {}
    roots: dict[int, int] = {}
    for node in inline:
        found.setdefault(_inline_agent(graph, node, own, roots), []).append(node)
    aside = set(inline)
    for agent_id, nodes in found.items():
        # An agent with a file of its own may have lines here as well.
        agents[agent_id] = [*nodes, *agents.get(agent_id, ())]
    return array("q", (node for node in range(own.first, own.last) if node not in aside)), agents


def _inline_agent(graph: Graph, node: int, file: GraphFile, roots: dict[int, int]) -> str:
    """The name of the inline sidechain that a node belongs to: its agent id, else the line of its root."""
    record = graph.records[node]
    if isinstance(record, ChainedRecord) and isinstance(record.agentId, str):
        return record.agentId
    way = []
    root = node
    while root not in roots:
        way.append(root)
        parent = graph.parents[root]
        if parent < file.first or not _is_sidechain(graph.records[parent]):
            roots[root] = root
            break
        root = parent
    for passed in way:
        roots[passed] = roots[root]
    return f"line-{graph.nodes[roots[root]].number}"


def _is_sidechain(record: Record) -> bool:
    return isinstance(record, ChainedRecord) and bool(record.isSidechain)
