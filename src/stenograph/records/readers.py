"""Readers for what is not one fixed shape: a choice by tag, and arrays."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property, reduce
from operator import or_
from typing import Any, Generic, TypeVar

import msgspec
from msgspec import UNSET, Raw, UnsetType

from stenograph.records.json_text import REFUSALS, parse, parse_or_unset, to_text
from stenograph.records.shape import Json, Shape, ShapeReader, keep

T = TypeVar("T")
S = TypeVar("S", bound=Shape)

_items_of = msgspec.json.Decoder(list[Raw]).decode


class TaggedReader(Generic[S]):
    """Bytes of a JSON object -> the shape that its tag names, or the fallback shape."""

    def __init__(self, *shapes: type[S], otherwise: type[S]) -> None:
        self._shapes = shapes
        self._tag_field = str(shapes[0].__struct_config__.tag_field)
        self._readers = {shape.__struct_config__.tag: ShapeReader(shape) for shape in shapes}
        self._otherwise = ShapeReader(otherwise)

    @cached_property
    def _decode(self) -> Callable[[bytes | Raw], S]:
        union: Any = reduce(or_, self._shapes)
        return msgspec.json.Decoder(union).decode

    def __call__(self, text: bytes | Raw) -> S | UnsetType:
        try:
            found = self._decode(text)
        except REFUSALS:
            return self._salvage(text)
        keep(found, "_source", text)
        return found

    def _salvage(self, text: bytes | Raw) -> S | UnsetType:
        members = parse_or_unset(text)
        if not isinstance(members, dict):
            return UNSET
        tag = members.get(self._tag_field)
        reader = self._readers.get(tag) if isinstance(tag, str) else None
        return self._otherwise(text) if reader is None else reader.salvage(text)


def items_of(text: Raw) -> list[Raw] | UnsetType:
    """The items of a JSON array, undecoded; UNSET when it is not an array."""
    try:
        return _items_of(text)
    except REFUSALS:
        items = parse_or_unset(text)
        return [Raw(to_text(item)) for item in items] if isinstance(items, list) else UNSET


def array_of(reader: Callable[[Raw], T | UnsetType]) -> Callable[[Raw], tuple[T | Json, ...] | UnsetType]:
    """A reader for arrays; an item that is not of the shape stays plain JSON."""

    def read(text: Raw) -> tuple[T | Json, ...] | UnsetType:
        items = items_of(text)
        if isinstance(items, UnsetType):
            return UNSET
        return tuple(parse(item) if (found := reader(item)) is UNSET else found for item in items)

    return read


def mapping_of(reader: Callable[[Raw], T | UnsetType]) -> Callable[[Raw], dict[str, T | Json] | UnsetType]:
    """A reader for objects whose keys are data (paths, model names); a value not of the shape stays plain JSON."""

    def read(text: Raw) -> dict[str, T | Json] | UnsetType:
        members = parse_or_unset(text)
        if not isinstance(members, dict):
            return UNSET
        read_members: dict[str, T | Json] = {}
        for name, value in members.items():
            found = reader(Raw(to_text(value)))
            read_members[name] = value if found is UNSET else found
        return read_members

    return read
