"""The registry as a schema: what one release writes, how two differ, as JSON Schema and as Markdown."""

from __future__ import annotations

import re
from typing import Any

import msgspec

from stenograph.drift.registry import ALWAYS, ENOUGH, NEVER, NOT_MET, SO_FAR, Registry
from stenograph.drift.shapes import ANY_KEY, ELEMENT
from stenograph.errors import UsageError
from stenograph.releases import release_numbers

_TOKEN = re.compile(r"\[\]|\{\}|[^.\[\]{}]+")


class SchemaField(msgspec.Struct, frozen=True):
    types: tuple[str, ...]
    #: In every object that was met, however few.
    always: bool


class ReleaseSchema(msgspec.Struct, frozen=True):
    """What a release writes: shape -> path -> field."""

    release: str
    #: The recorded release that stands for it: itself, the nearest older one, or the oldest.
    recorded: str
    shapes: dict[str, dict[str, SchemaField]]
    #: Shape -> fields of other releases that no object had.
    absent: dict[str, set[str]]


class FieldChange(msgspec.Struct, frozen=True):
    path: str
    old: tuple[str, ...]
    new: tuple[str, ...]


class ShapeDiff(msgspec.Struct, frozen=True):
    shape: str
    added: list[str]
    removed: list[str]
    changed: list[FieldChange]


class SchemaDiff(msgspec.Struct, frozen=True):
    old: str
    new: str
    added: list[str]
    removed: list[str]
    shapes: list[ShapeDiff]


def schema_of(registry: Registry, release: str) -> ReleaseSchema:
    """What a release writes. One that was not recorded uses the nearest older one, or the oldest."""
    number = _answering(registry, release)
    shapes: dict[str, dict[str, SchemaField]] = {}
    for name, shape in registry.shapes.items():
        if shape.seen[number] == NOT_MET:
            continue
        shapes[name] = {
            path: SchemaField(
                tuple(kind for kind, (first, last) in field.types.items() if first <= number <= last),
                field.seen[number] in (ALWAYS, SO_FAR),
            )
            for path, field in shape.fields.items()
            if field.seen[number] not in (NOT_MET, NEVER)
        }
    absent = {
        name: {path for path, field in registry.shapes[name].fields.items() if field.seen[number] == NEVER} for name in shapes
    }
    return ReleaseSchema(release, registry.releases[number], shapes, absent)


def diff_schemas(old: ReleaseSchema, new: ReleaseSchema) -> SchemaDiff:
    """What was added, removed and changed. Fields are compared only if both releases wrote what may have them."""
    shapes = [_diff_shape(name, old, new) for name in sorted(old.shapes.keys() & new.shapes.keys())]
    return SchemaDiff(
        old.release,
        new.release,
        sorted(new.shapes.keys() - old.shapes.keys()),
        sorted(old.shapes.keys() - new.shapes.keys()),
        [shape for shape in shapes if shape.added or shape.removed or shape.changed],
    )


def _diff_shape(name: str, old: ReleaseSchema, new: ReleaseSchema) -> ShapeDiff:
    before, after = old.shapes[name], new.shapes[name]
    # A model may leave out parameters.
    gone = set() if name.startswith("tool:") else before.keys() & new.absent[name]
    changed = [
        FieldChange(path, before[path].types, after[path].types)
        for path in sorted(before.keys() & after.keys())
        if set(after[path].types) - set(before[path].types)
    ]
    return ShapeDiff(name, _outermost(after.keys() & old.absent[name]), _outermost(gone), changed)


def _outermost(paths: set[str]) -> list[str]:
    """Without what lies inside another one."""
    return sorted(
        path
        for path in paths
        if not any(path != other and path.startswith((f"{other}.", f"{other}[", f"{other}{{")) for other in paths)
    )


def _answering(registry: Registry, release: str) -> int:
    wanted = release_numbers(release)
    recorded = registry.recorded_numbers
    if not recorded:
        raise UsageError("the registry has no recorded release")
    older = [number for number in recorded if release_numbers(registry.releases[number]) <= wanted]
    return older[-1] if older else recorded[0]


def json_schema(schema: ReleaseSchema) -> dict[str, Any]:
    """JSON Schema (2020-12) of one line of a session. Unknown members are allowed: releases add some every week."""
    records = sorted(name for name in schema.shapes if name.startswith("record:"))
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": f"A line of a Claude Code session, as release {schema.recorded} was recorded to write it",
        "anyOf": [{"$ref": f"#/$defs/{_escaped(name)}"} for name in records],
        "$defs": {name: _object_schema(name, fields) for name, fields in sorted(schema.shapes.items())},
    }


def _object_schema(name: str, fields: dict[str, SchemaField]) -> dict[str, Any]:
    root: dict[str, Any] = {"type": "object", "properties": {}}
    for path in sorted(fields, key=lambda path: len(_TOKEN.findall(path))):
        field = fields[path]
        *outer, last = _TOKEN.findall(path)
        node = root
        for token in outer:
            node = _inside(node, token)
        _inside(node, last)["type"] = list(field.types) if len(field.types) != 1 else field.types[0]
        if field.always and last not in (ELEMENT, ANY_KEY):
            node.setdefault("required", []).append(last)
    family, _, kind = name.partition(":")
    if family in ("record", "attachment", "progress", "block"):
        base, slash, subtype = kind.partition("/")
        root["properties"].setdefault("type", {})["const"] = base
        if slash and subtype:
            root["properties"].setdefault("subtype", {})["const"] = subtype
    return root


def _inside(node: dict[str, Any], token: str) -> dict[str, Any]:
    if token == ELEMENT:
        found: dict[str, Any] = node.setdefault("items", {})
    elif token == ANY_KEY:
        found = node.setdefault("additionalProperties", {})
    else:
        found = node.setdefault("properties", {}).setdefault(token, {})
    return found


def _escaped(name: str) -> str:
    return name.replace("~", "~0").replace("/", "~1")


def markdown(registry: Registry, release: str | None = None) -> str:
    """The schema as a page: of one release, or of all."""
    if release is not None:
        schema = schema_of(registry, release)
        return "\n".join(_release_lines(schema)) + "\n"
    return "\n".join([*_matrix_lines(registry), "", *_field_lines(registry)]) + "\n"


def _release_lines(schema: ReleaseSchema) -> list[str]:
    told = "" if schema.release == schema.recorded else f" ({schema.release} was not recorded; this is the nearest)"
    lines = [f"# What release {schema.recorded} writes{told}"]
    for name, fields in schema.shapes.items():
        lines += ["", f"## {name}", "", "| field | JSON type | always |", "| --- | --- | --- |"]
        lines += [f"| `{path}` | {', '.join(field.types)} | {'yes' if field.always else ''} |" for path, field in fields.items()]
    return lines


def _matrix_lines(registry: Registry) -> list[str]:
    recorded = [(number, registry.releases[number]) for number in registry.recorded_numbers]
    lines = [
        "## Kinds by release",
        "",
        "`x`: recorded. `o`: not in this recording, but seen in older and in newer releases. Empty: not seen. Kinds without any"
        " mark were seen only in public sessions of other releases.",
        "",
        "| kind | " + " | ".join(name for _, name in recorded) + " |",
        "| --- |" + " --- |" * len(recorded),
    ]
    for name, shape in registry.shapes.items():
        seen = [number for number, mark in enumerate(shape.seen) if mark != NOT_MET]
        marks = ["x" if shape.seen[n] != NOT_MET else "o" if seen and seen[0] < n < seen[-1] else "" for n, _ in recorded]
        lines.append(f"| `{name}` | " + " | ".join(marks) + " |")
    return lines


def _field_lines(registry: Registry) -> list[str]:
    lines = [
        "## Fields",
        "",
        "Below, *object* means every JSON object that could have the field, whether it does or not: for `content.file`, each"
        " `content`. A line can have several such objects, for example the elements of a list.",
        "",
        "- *Seen in*: the first and the last release in which the field was seen.",
        "- *Always in*: the first and the last release in which all objects had the field. Only releases with at least"
        f" {ENOUGH} such objects count. In a release between the two, some objects can lack it. Empty does not mean optional:"
        " there may have been too few objects.",
        "- *Public*: the number of objects in public sessions that had the field.",
    ]
    for name, shape in registry.shapes.items():
        evidence = f"{registry.known_in(name)}; {_evidence(shape.seen, shape.public, registry)}"
        lines += [
            "",
            f"### {name}",
            "",
            evidence,
            "",
            "| field | JSON type | seen in | always in | public |",
            "| --- | --- | --- | --- | --- |",
        ]
        for path, field in shape.fields.items():
            always = [number for number, mark in enumerate(field.seen) if mark == ALWAYS]
            told = registry.span_text(always[0], always[-1]) if always else ""
            types = ", ".join(field.types)
            lines.append(f"| `{path}` | {types} | {registry.known_in(name, path)} | {told} | {field.public or ''} |")
    return lines


def _evidence(seen: str, public: int, registry: Registry) -> str:
    recorded = sum(seen[number] != NOT_MET for number in registry.recorded_numbers)
    times = {0: "not", 1: "once"}.get(public, f"{public} times")
    return f"recorded from {recorded} of {len(registry.recorded)} releases, {times} in public sessions"
