"""The inputs of tools: a type -> a plain JSON Schema, and a model's arguments -> what the schema asks for, or problems.

Plain: every property has a `type`, and nothing is `null` or a reference, because the templates of some endpoints read only that.
Models write numbers, booleans, lists and objects as strings now and then: what has only one meaning is taken in that meaning.
Problems are reported in the words of 2.1.325.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from math import isfinite
from pathlib import Path
from typing import Any, TypeAlias

import msgspec
from msgspec import Struct

Json: TypeAlias = dict[str, Any]


@functools.cache
def schema_of(kind: type[Struct]) -> Json:
    return _generated().get(name_of(kind)) or made_schema(kind)


@functools.cache
def _generated() -> dict[str, Json]:
    """The schemas of our own tools, by class. Making them takes a twentieth of the time to the first request."""
    data = Path(__file__).with_name("schemas.json").read_bytes()
    return msgspec.json.decode(data, type=dict[str, Json])


def name_of(kind: type[Struct]) -> str:
    return f"{kind.__module__}.{kind.__qualname__}"


def made_schema(kind: type[Struct]) -> Json:
    _, components = msgspec.json.schema_components([kind])
    schema: Json = _plain(components[kind.__name__], components)
    return {**schema, "additionalProperties": False}


def _plain(schema: Any, components: Json) -> Any:
    if isinstance(schema, list):
        return [_plain(one, components) for one in schema]
    if not isinstance(schema, dict):
        return schema
    if "$ref" in schema:
        return _plain(components[schema["$ref"].rpartition("/")[2]], components)
    members = {name: value for name, value in schema.items() if name not in ("title", "anyOf")}
    for one in schema.get("anyOf", ()):
        if one != {"type": "null"}:
            members |= one
    if members.get("default", ...) is None:
        del members["default"]
    if "enum" in members:
        members = {"type": "string", **members}
    # A property may have the name of a schema's member.
    named = {name: _plain(one, components) for name, one in members.get("properties", {}).items()}
    return {name: named if name == "properties" else _plain(value, components) for name, value in members.items()}


def _type_of(schema: Any) -> str | None:
    """The one type that a schema asks for. Those of MCP servers may ask for several, or be `true`."""
    kind = schema.get("type") if isinstance(schema, dict) else None
    return kind if isinstance(kind, str) else None


def _part(schema: Any, name: str) -> Any:
    """A member that is an object; empty for anything else."""
    found = schema.get(name) if isinstance(schema, dict) else None
    return found if isinstance(found, dict) else {}


def forgiven(value: Any, schema: Json) -> Any:
    """What a value certainly means; the value itself if that is not certain."""
    kind = _type_of(schema)
    if isinstance(value, str) and kind != "string":
        value = _from_text(value, kind)
    if kind == "integer" and isinstance(value, float) and value.is_integer():
        return int(value)
    if kind == "array" and isinstance(value, list):
        return [forgiven(one, _part(schema, "items")) for one in value]
    if kind == "object" and isinstance(value, dict):
        return _members(value, schema)
    return value


def _members(value: Json, schema: Json) -> Json:
    """`null` for what is optional means that it is left out."""
    known, required = _part(schema, "properties"), schema.get("required", ())
    asked = required if isinstance(required, list) else ()
    return {
        name: forgiven(one, _part(known, name))
        for name, one in value.items()
        if one is not None or name in asked or _type_of(known.get(name)) not in _TYPES
    }


def _from_text(text: str, kind: Any) -> Any:
    match kind:
        case "integer" | "number":
            try:
                number = int(text) if text.strip().lstrip("-").isdecimal() else float(text)
            except ValueError:
                return text
            return number if isfinite(number) else text
        case "boolean":
            return {"true": True, "false": False}.get(text.strip().lower(), text)
        case "array" | "object":
            try:
                found = msgspec.json.decode(text)
            except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
                return text
            return found if isinstance(found, list if kind == "array" else dict) else text
    return text


def problems(value: Any, schema: Json, path: str = "") -> Iterator[str]:
    """Paths are those of 2.1.325: todos[0].status."""
    kind = schema.get("type")
    if not _fits(value, kind):
        expected = ("int" if isinstance(value, float) else "number") if kind == "integer" else kind
        yield f"The parameter `{path}` type is expected as `{expected}` but provided as `{_kind_of(value)}`"
    elif kind == "object":
        for name, one in schema.get("properties", {}).items():
            at = f"{path}.{name}" if path else name
            if name in value:
                yield from problems(value[name], one, at)
            elif name in schema.get("required", ()):
                yield f"The required parameter `{at}` is missing"
    elif kind == "array":
        for place, one in enumerate(value):
            yield from problems(one, schema.get("items", {}), f"{path}[{place}]")


def unexpected(value: Json, schema: Json) -> list[str]:
    """Parameters that a tool does not have. They are ignored, because models invent some, unless there are problems too."""
    return [f"An unexpected parameter `{name}` was provided" for name in value if name not in schema["properties"]]


_TYPES: dict[Any, tuple[type, ...]] = {
    "string": (str,), "boolean": (bool,), "integer": (int,), "number": (int, float), "array": (list,), "object": (dict,)
}  # fmt: skip


def _fits(value: Any, kind: Any) -> bool:
    if kind not in _TYPES:
        return True
    return isinstance(value, _TYPES[kind]) and (kind == "boolean" or not isinstance(value, bool))


def _kind_of(value: Any) -> str:
    if value is None:
        return "null"
    return next(name for name in ("boolean", "string", "number", "array", "object") if isinstance(value, _TYPES[name]))
