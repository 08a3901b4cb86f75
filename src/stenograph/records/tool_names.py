"""Tools by what they do to files, under every name that releases gave them."""

from __future__ import annotations

#: They change the file that their input names.
CHANGING_TOOLS = frozenset({"Edit", "MultiEdit", "Write", "NotebookEdit"})
#: They start a subagent. `Agent` from 2.1.63 on.
AGENT_TOOLS = frozenset({"Task", "Agent"})
