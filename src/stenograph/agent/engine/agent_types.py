"""The kinds of sub-agents there are: what each is for, and whether it may change anything."""

from __future__ import annotations

from msgspec import Struct

#: The tools of those that change nothing.
READING_TOOLS = ("Read", "Glob", "Grep", "WebFetch", "WebSearch", "TodoWrite", "TaskOutput", "BashOutput")


class AgentType(Struct, frozen=True):
    name: str
    #: For the model that may start it.
    description: str
    #: It has `READING_TOOLS` alone; the others have all that their parents have.
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
