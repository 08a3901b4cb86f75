"""`agents/*.md` in the client's home and in the project -> kinds of subagents. The project's win over the user's."""

from __future__ import annotations

from stenograph.agent.customs.files import CustomFile, CustomFiles
from stenograph.agent.tools.agent import AgentType


def own_agents(files: CustomFiles) -> dict[str, AgentType]:
    """By name, in the order of names. A file without a name or a description is none (2.1.325)."""
    kinds = map(_read, files.of_kind("agents", "**/*.md"))
    found = {kind.name: kind for kind in kinds if kind is not None}
    return dict(sorted(found.items(), key=lambda item: item[0].lower()))


def _read(file: CustomFile) -> AgentType | None:
    from stenograph.agent.customs.frontmatter import read_document

    document = read_document(file.path)
    if document is None or not document.text("name") or not document.text("description"):
        return None
    tools = document.names("tools")
    return AgentType(
        name=document.text("name"),
        description=document.text("description").replace("\\n", "\n"),
        tools=None if tools is None or "*" in tools else tuple(tools),
        without=tuple(document.names("disallowedTools") or ()),
        model="" if document.text("model") == "inherit" else document.text("model"),
        prompt=document.body.strip(),
    )
