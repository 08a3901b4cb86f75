"""The kinds of sub-agents."""

from __future__ import annotations

from msgspec import Struct

READING_TOOLS = ("Read", "Glob", "Grep", "WebFetch", "WebSearch", "TodoWrite", "TaskOutput", "BashOutput")


class AgentType(Struct, frozen=True):
    name: str
    #: For the model that may start it.
    description: str
    #: Only `READING_TOOLS`; others have all of their parents' tools.
    reads_only: bool = False


DEFAULT_TYPE = "general-purpose"
TYPES = {
    one.name: one
    for one in (
        AgentType(DEFAULT_TYPE, "any task of several steps; has all tools"),
        AgentType("Explore", "finding things out; reads and searches, changes nothing", reads_only=True),
        AgentType("Plan", "working out how to do something; reads and searches, changes nothing", reads_only=True),
    )
}
