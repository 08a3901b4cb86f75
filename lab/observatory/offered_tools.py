"""The tools that a release offers a model, as its own requests describe them.

In: a release's program. Out: `tools.json`: by tool, the path of each parameter and its JSON types; a `?` marks parameters that a
call may leave out. Names and types only: the descriptions are the vendor's.
"""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path

from lab.observatory.print_scenarios import MORE_TOOLS
from lab.observatory.studio import ALLOW_ALL, Studio
from lab.terminal import NotSeenError
from stenograph.drift.shapes import ANY_KEY, ELEMENT, FREE_KEYS, FREE_TOOL_PREFIXES, MAP_KEYS, TYPE_NAMES, field_path
from stenograph.testing.scripted_api import Json

FILE_NAME = "tools.json"
OPTIONAL = "?"
_ANY_TYPE = frozenset(TYPE_NAMES.values())
#: A schema may refer to itself.
_DEEPEST = 6

#: By tool: path -> JSON types.
Tools = dict[str, dict[str, str]]


def record_tools(program: Path, release: str, folder: Path, scratch: Path, more_names: Iterable[str]) -> Tools:
    """Ask a release for its tools and write what it says to its recordings.

    Some tools are offered only in the terminal, some only by name: `more_names`.
    """
    place = Path(tempfile.mkdtemp(prefix="tools-", dir=scratch))
    try:
        with Studio(program, release, place) as studio:
            studio.run("Hello.", ALLOW_ALL, environment=MORE_TOOLS)
            studio.run("Hello.", ALLOW_ALL, "--tools", ",".join(more_names), environment=MORE_TOOLS)
            with studio.step("terminal"), studio.terminal(ALLOW_ALL, environment=MORE_TOOLS) as terminal:
                terminal.wait_until_ready()
                before = len(studio.stage.requests)
                terminal.submit("Hello.")
                terminal.wait_until(lambda: any(map(_offers, studio.stage.requests[before:])) or None, "a request with tools")
            found = describe_tools(tool for body in studio.stage.requests for tool in body.get("tools") or ())
    except NotSeenError:
        found = {}
    finally:
        shutil.rmtree(place, ignore_errors=True)
    if found:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / FILE_NAME).write_text(to_text(found), encoding="utf-8")
    return found


def _offers(body: Json) -> bool:
    return any("input_schema" in tool for tool in body.get("tools") or ())


def describe_tools(offered: Iterable[Json]) -> Tools:
    """The parameters of some tools. What one request says of a tool is added to what another says."""
    types: dict[str, dict[str, set[str]]] = {}
    optional: dict[str, set[str]] = {}
    for tool in offered:
        name, schema = tool.get("name"), tool.get("input_schema")
        if not isinstance(name, str) or not isinstance(schema, dict) or name.startswith(FREE_TOOL_PREFIXES):
            continue
        met: dict[str, set[str]] = {}
        for path, kinds, is_optional in _parameters(schema, schema, "", _DEEPEST):
            met.setdefault(path, set()).update(kinds)
            if is_optional:
                optional.setdefault(name, set()).add(path)
        known = types.setdefault(name, met)
        if known is not met:
            optional.setdefault(name, set()).update(known.keys() ^ met.keys())
            for path, kinds in met.items():
                known.setdefault(path, set()).update(kinds)
    return {
        name: {path + OPTIONAL * (path in optional.get(name, ())): "|".join(sorted(found)) for path, found in sorted(met.items())}
        for name, met in sorted(types.items())
    }


def _parameters(schema: Json, root: Json, path: str, depth: int) -> Iterator[tuple[str, set[str], bool]]:
    """Each parameter with its types, and whether it may be left out."""
    for each in _alternatives(schema, root):
        required = each.get("required") or ()
        for name, inner in (each.get("properties") or {}).items():
            at = field_path(path, name)
            yield at, _types(inner, root), name not in required
            if depth and name not in FREE_KEYS:
                yield from _inside(inner, root, name, at, depth - 1)


def _inside(schema: Json, root: Json, name: str, path: str, depth: int) -> Iterator[tuple[str, set[str], bool]]:
    for each in _alternatives(schema, root):
        element = each.get("additionalProperties") if name in MAP_KEYS else each.get("items")
        if isinstance(element, dict) and element:
            at = field_path(path, ANY_KEY if name in MAP_KEYS else ELEMENT)
            yield at, _types(element, root), False
            yield from _parameters(element, root, at, depth)
            if depth:
                yield from _inside(element, root, "", at, depth - 1)
        elif name not in MAP_KEYS:
            yield from _parameters(each, root, path, depth)


def _alternatives(schema: Json, root: Json) -> list[Json]:
    if isinstance(name := schema.get("$ref"), str):
        found = root
        for part in name.removeprefix("#").split("/")[1:]:
            found = found.get(part, {})
        return [found]
    for key in ("anyOf", "oneOf", "allOf"):
        if schema.get(key):
            return [inner for each in schema[key] for inner in _alternatives(each, root)]
    return [schema]


def _types(schema: Json, root: Json) -> set[str]:
    found: set[str] = set()
    for each in _alternatives(schema, root):
        kind = each.get("type")
        if kind is None and ("const" in each or "enum" in each):
            found |= {TYPE_NAMES[type(value)] for value in each.get("enum", [each.get("const")])}
        elif kind is None:
            found |= {"object"} if "properties" in each else _ANY_TYPE
        else:
            found |= {"number" if one == "integer" else one for one in ([kind] if isinstance(kind, str) else kind)}
    return found


def to_text(tools: Tools) -> str:
    return json.dumps(tools, indent=1, sort_keys=True) + "\n"
