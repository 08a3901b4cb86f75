"""Page types -> JSON Schema (2020-12), described by their docstrings and those of their fields."""

from __future__ import annotations

import ast
import importlib
import inspect
import itertools
import pkgutil
import textwrap
from collections.abc import Iterable, Iterator
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
    (schema,), definitions = schema_components([page_type], "#/$defs/{name}")
    return {"$schema": _DIALECT, **schema, "$defs": definitions}


def schema_components(page_types: Iterable[type[Page]], place: str) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """References to the schemas of some types, and all schemas that they need by name. `place` has `{name}` in it."""
    types = {found.__name__: found for found in _below(Page)}
    schemas, definitions = msgspec.json.schema_components(page_types, ref_template=place)
    for name, definition in definitions.items():
        if found := types.get(name):
            _describe(definition, found)
    return list(schemas), dict(sorted(definitions.items()))


def _describe(definition: dict[str, Any], page_type: type[Page]) -> None:
    documented = field_docs(page_type)
    definition["description"] = joined(inspect.getdoc(page_type) or "")
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
                yield name, joined(words)


def _below(base: type[Any]) -> Iterator[type[Any]]:
    for found in base.__subclasses__():
        yield found
        yield from _below(found)


def joined(words: str) -> str:
    return " ".join(words.split())
