"""Where the client's own shape ends: maps, whose keys are data, and values that users, models and other programs put together.

Names of keys are enough: each means one thing wherever clients write it. Found by looking at every path of the recordings and of
the public corpus. Of maps the values are described, not the keys; free values are neither described nor judged.
"""

from __future__ import annotations

#: Stands for every value of a map.
ANY_KEY = "{}"
#: Stands for every element of an array.
ELEMENT = "[]"

#: Objects whose keys are data: paths of files, names of models, questions, headers of a response.
MAP_KEYS = frozenset({"trackedFileBackups", "modelUsage", "answers", "annotations", "headers"})

#: JSON Schemas, outputs in a user's own schema, what other programs send, and results of tools outside of their own record.
FREE_KEYS = frozenset({"input_schema", "schema", "structured_output", "structuredContent", "mcpMeta", "_meta"})

#: A result is an object, an error a string, a server's answer an array: no type of theirs is news.
FREE_TYPED_FIELD = "toolUseResult"

#: Tools of servers that users attach: their names and inputs are the user's.
FREE_TOOL_PREFIX = "mcp__"

#: Of what an endpoint answers, the part that every Anthropic-compatible one sends.
SERVED_BY_ALL = frozenset(
    {
        "type",
        "role",
        "id",
        "model",
        "content",
        "usage",
        "input_tokens",
        "output_tokens",
        "text",
        "thinking",
        "name",
        "input",
        "tool_use_id",
    }
)


def is_up_to_the_endpoint(shape: str, path: str, name: str) -> bool:
    """Whether a field stands in what an endpoint answered, so that it is there by the endpoint's choice."""
    if name in SERVED_BY_ALL:
        return False
    parts = path.split(".")
    if shape.startswith("block:") or "usage" in parts:
        return True
    return "message" in parts and (shape == "record:assistant" or shape.startswith("progress:"))


def field_path(path: str, name: str) -> str:
    """`message` and `role` as `message.role`, `names` and `[]` as `names[]`."""
    if name in (ELEMENT, ANY_KEY):
        return path + name
    return f"{path}.{name}" if path else name
