"""`agent-<id>.meta.json`: what a client notes about an agent beside its lines, from 2.1 on."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from stenograph.disk import Finding, read_whole
from stenograph.errors import DiskError
from stenograph.family.files import AgentFile
from stenograph.records import parse_or_unset


class AgentMeta(msgspec.Struct, frozen=True):
    """Empty where the file does not say, or says something that is not a string."""

    agent_type: str = ""
    description: str = ""
    tool_use_id: str = ""
    #: The agent whose tool call that was; empty: the session's own.
    parent_agent_id: str = ""


def read_metas(agents: Iterable[AgentFile]) -> tuple[dict[str, AgentMeta], list[Finding]]:
    """The metadata of those agents that have a meta file, by agent id; empty for a damaged one."""
    metas: dict[str, AgentMeta] = {}
    findings: list[Finding] = []
    for agent in agents:
        if agent.meta is None:
            continue
        metas[agent.agent_id] = AgentMeta()
        try:
            members = parse_or_unset(read_whole(agent.meta))
        except DiskError as error:
            findings.append(Finding("unreadable-file", agent.meta, detail=str(error)))
            continue
        if isinstance(members, dict):
            metas[agent.agent_id] = _meta(members)
        else:
            findings.append(Finding("damaged-meta", agent.meta, detail="the call that started the subagent is found otherwise"))
    return metas, findings


def _meta(members: dict[str, Any]) -> AgentMeta:
    texts = {name: value for name, value in members.items() if isinstance(value, str)}
    return AgentMeta(
        agent_type=texts.get("agentType", ""),
        description=texts.get("description", ""),
        tool_use_id=texts.get("toolUseId", ""),
        parent_agent_id=texts.get("parentAgentId", ""),
    )
