"""docs/json.md, from the types of pages."""

from __future__ import annotations

import inspect
from typing import Any

from stenograph.views.pages.page import Document
from stenograph.views.schema import documents, joined, json_schema

_HEADER = """# JSON

Generated from the page types in `src/stenograph/views/pages` by `scripts/generate_docs.py`; do not edit.

With `--json`, a command prints one document; `steno tail` prints one per line. (`steno agent --json` prints Claude Code's result
object instead.) The first member, `schema`, has its name and version, such as `"sessions/1"`. The version changes when a member
is removed or renamed, or gets another meaning. Members can be added at any time. Every member is always present, and null if
unknown, unless it is marked as optional. Times are ISO 8601 in UTC
(`2026-01-31T12:00:00Z`), sizes are in bytes, durations in milliseconds. Secrets are masked unless `--reveal` is given.

In Python: `stenograph.views.json_schema(page_type)`.

"""


def json_page() -> str:
    """The documents, each with a table of every type in it that is not described elsewhere on the page."""
    found = documents()
    shared = _shared(found)
    contents = "".join(
        f"- [`{document.__struct_config__.tag}`](#{name}): {_first(document)}\n" for name, document in found.items()
    )
    parts = [_HEADER + contents]
    for name, document in found.items():
        definitions = json_schema(document)["$defs"]
        parts.append(
            f"## {name}\n\n{definitions[document.__name__]['description']} Schema: [schemas/{name}.json](schemas/{name}.json).\n"
        )
        parts.append(_table(definitions[document.__name__]))
        parts += [_section(each, definitions[each]) for each in definitions if each not in shared and each != document.__name__]
    parts.append("## Shared types\n")
    parts += [_section(each, definition) for each, definition in sorted(shared.items())]
    return "\n".join(parts)


def _shared(found: dict[str, type[Document]]) -> dict[str, dict[str, Any]]:
    once: dict[str, dict[str, Any]] = {}
    often: dict[str, dict[str, Any]] = {}
    for document in found.values():
        for name, definition in json_schema(document)["$defs"].items():
            (often if name in once else once)[name] = definition
    return often


def _first(document: type[Document]) -> str:
    return joined((inspect.getdoc(document) or "").split("\n\n")[0])


def _section(name: str, definition: dict[str, Any]) -> str:
    return f"### {name}\n\n{definition['description']}\n\n{_table(definition)}"


def _table(definition: dict[str, Any]) -> str:
    rows = ["| member | type | |", "| --- | --- | --- |"]
    for name, member in definition["properties"].items():
        words = member.get("description", "")
        if name not in definition["required"]:
            words = f"Optional. {words}".strip()
        rows.append(f"| `{name}` | {_type(member)} | {words} |".replace("  |", " |"))
    return "\n".join(rows) + "\n"


def _type(member: dict[str, Any]) -> str:
    if "$ref" in member:
        name = member["$ref"].rpartition("/")[2]
        return f"[{name}](#{name.lower()})"
    if "anyOf" in member:
        types = [_type(each) for each in member["anyOf"]]
        return (", or " if any(" (" in each for each in types) else " or ").join(types)
    if "enum" in member:
        return " or ".join(f"`{each}`" for each in member["enum"])
    kind = member.get("type")
    if kind == "array":
        if "prefixItems" in member:
            return f"list of {len(member['prefixItems'])} ({', '.join(_type(each) for each in member['prefixItems'])})"
        return f"list of {_type(member['items'])}" if member.get("items") else "list"
    if kind == "object":
        inner = member.get("additionalProperties")
        return f"object of {_type(inner)}" if isinstance(inner, dict) and inner else "object"
    if member.get("format") == "date-time":
        return "time"
    return str(kind) if kind else "any"
