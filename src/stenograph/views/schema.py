"""Page types -> JSON Schemas, and the page of the documentation that lists them.

In: the types in `views.pages`, their docstrings and those of their fields. Out: JSON Schema (2020-12) and Markdown.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import itertools
import pkgutil
import textwrap
from collections.abc import Iterator
from typing import Any, get_args

import msgspec

from stenograph.views import pages
from stenograph.views.pages.page import Document, Page

_DIALECT = "https://json-schema.org/draft/2020-12/schema"


def documents() -> dict[str, type[Document]]:
    """Every document there is, by its name: `sessions`."""
    for module in pkgutil.iter_modules(pages.__path__, pages.__name__ + "."):
        importlib.import_module(module.name)
    found = {document_name(each): each for each in _below(Document) if each.__module__.startswith(pages.__name__)}
    return dict(sorted(found.items()))


def document_name(document: type[Document]) -> str:
    return str(document.__struct_config__.tag).partition("/")[0]


def json_schema(page_type: type[Page]) -> dict[str, Any]:
    """The JSON Schema of a page: no member may be missing, unless it says so, and none may be added."""
    types = {found.__name__: found for found in _below(Page)}
    (schema,), definitions = msgspec.json.schema_components([page_type], ref_template="#/$defs/{name}")
    for name, definition in definitions.items():
        if found := types.get(name):
            _describe(definition, found)
    return {"$schema": _DIALECT, **schema, "$defs": dict(sorted(definitions.items()))}


def _describe(definition: dict[str, Any], page_type: type[Page]) -> None:
    documented = field_docs(page_type)
    definition["description"] = _joined(inspect.getdoc(page_type) or "")
    for name, words in documented.items():
        definition["properties"][name]["description"] = words
    tag_field = page_type.__struct_config__.tag_field
    always = [field.encode_name for field in msgspec.structs.fields(page_type) if not _can_be_absent(field)]
    definition["required"] = [*([tag_field] if tag_field else []), *always]


def _can_be_absent(field: msgspec.structs.FieldInfo) -> bool:
    return msgspec.UnsetType in get_args(field.type)


def field_docs(page_type: type[Page]) -> dict[str, str]:
    """The documentation of a type's fields, those of its base types included: the strings that follow them in the source."""
    found: dict[str, str] = {}
    for one in reversed(page_type.__mro__):
        if one is not Page and issubclass(one, Page):
            (definition,) = ast.parse(textwrap.dedent(inspect.getsource(one))).body
            assert isinstance(definition, ast.ClassDef)
            found |= dict(_documented(definition.body))
    return found


def _documented(body: list[ast.stmt]) -> Iterator[tuple[str, str]]:
    for statement, following in itertools.pairwise(body):
        match statement, following:
            case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(value=ast.Constant(value=str() as words)):
                yield name, _joined(words)


def _below(base: type[Any]) -> Iterator[type[Any]]:
    for found in base.__subclasses__():
        yield found
        yield from _below(found)


def _joined(words: str) -> str:
    return " ".join(words.split())


_HEADER = """# JSON

Generated from the page types in `src/stenograph/views/pages` by `scripts/generate_docs.py`; do not edit.

What a command prints with `--json` is one document (`steno tail`: one on each line). Its first member, `schema`, is its name and
version: `"sessions/1"`. The version rises when a member is removed, renamed or changes its meaning; members may be added without
that. Every member is always there, null where nothing is known, unless it is marked as optional. Times are ISO 8601 in UTC
(`2026-01-31T12:00:00Z`), sizes are bytes, durations milliseconds. Secrets of known formats are masked unless `--reveal` is given.

In Python: `stenograph.views.json_schema(page_type)`.

"""


def markdown() -> str:
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
    """The types that more than one document has."""
    once: dict[str, dict[str, Any]] = {}
    often: dict[str, dict[str, Any]] = {}
    for document in found.values():
        for name, definition in json_schema(document)["$defs"].items():
            (often if name in once else once)[name] = definition
    return often


def _first(document: type[Document]) -> str:
    return _joined((inspect.getdoc(document) or "").split("\n\n")[0])


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
        return " or ".join(_type(each) for each in member["anyOf"])
    if "enum" in member:
        return " or ".join(f"`{each}`" for each in member["enum"])
    kind = member.get("type")
    if kind == "array":
        if "prefixItems" in member:
            return f"list of {len(member['prefixItems'])}: {', '.join(_type(each) for each in member['prefixItems'])}"
        return f"list of {_type(member['items'])}" if member.get("items") else "list"
    if kind == "object":
        inner = member.get("additionalProperties")
        return f"object of {_type(inner)}" if isinstance(inner, dict) and inner else "object"
    if member.get("format") == "date-time":
        return "time"
    return str(kind) if kind else "any"
