"""`agents/*.md` in the client's home and in the project -> kinds of subagents. The project's win over the user's."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from stenograph.agent.customs.frontmatter import read_document
from stenograph.agent.tools.agent import AgentType
from stenograph.client_settings import ALL_SOURCES


def own_agents(home: Path, project: Path, sources: frozenset[str] = ALL_SOURCES) -> dict[str, AgentType]:
    """By name, in the order of names. A file without a name or a description is none (2.1.325)."""
    found: dict[str, AgentType] = {}
    folders = {"user": home / "agents", "project": project / ".claude" / "agents"}
    for folder in (folder for source, folder in folders.items() if source in sources):
        found |= {kind.name: kind for kind in _agents_in(folder)}
    return dict(sorted(found.items(), key=lambda item: item[0].lower()))


def _agents_in(folder: Path) -> Iterable[AgentType]:
    for path in sorted(folder.rglob("*.md")) if folder.is_dir() else ():
        document = read_document(path)
        if document is None or not document.text("name") or not document.text("description"):
            continue
        tools = document.names("tools")
        yield AgentType(
            name=document.text("name"),
            description=document.text("description").replace("\\n", "\n"),
            tools=None if tools is None or "*" in tools else tuple(tools),
            without=tuple(document.names("disallowedTools") or ()),
            model="" if document.text("model") == "inherit" else document.text("model"),
            prompt=document.body.strip(),
        )
