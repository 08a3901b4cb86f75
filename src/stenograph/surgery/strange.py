"""Content that no edit can be made of, refused before anything is planned.

In: the records of a session's own file. Out: nothing, or an UnreadableError that names the line, never what it says. Edits tell
blocks apart by their types and ids; a damaged file, or one by another hand, may hold anything in their place.
"""

from __future__ import annotations

from stenograph.errors import UnreadableError
from stenograph.graph import Graph
from stenograph.records import AssistantRecord, Block, ToolResultBlock, UserRecord

_NAMES = ("type", "id", "tool_use_id")


def refuse_strange(graph: Graph) -> None:
    """Raises UnreadableError for a block that is no object, or whose type or id is an object or a list."""
    main = graph.files[0]
    for node in range(main.first, main.last):
        record = graph.records[node]
        if isinstance(record, UserRecord | AssistantRecord) and _is_strange(record.content):
            what = f"line {graph.nodes[node].number} of {main.path} holds content that no client writes"
            raise UnreadableError(f"{what}, so the session can't be edited; `steno check` tells where it is odd", path=main.path)


def _is_strange(content: object) -> bool:
    return isinstance(content, tuple) and any(_is_strange_block(block) for block in content)


def _is_strange_block(block: object) -> bool:
    if not isinstance(block, Block) or any(isinstance(block.extra.get(name), dict | list) for name in _NAMES):
        return True
    return isinstance(block, ToolResultBlock) and _is_strange(block.content)
