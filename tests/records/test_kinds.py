"""Every class that describes a part of the format is used to read it, and can be imported."""

from __future__ import annotations

import importlib
import json
import pkgutil
from typing import TypeVar

import pytest
from msgspec import Raw

import stenograph.records
from stenograph.records import (
    TYPES,
    Attachment,
    AttachmentRecord,
    Block,
    Progress,
    ProgressRecord,
    Record,
    Shape,
    SystemRecord,
    ToolResult,
    decode,
)
from stenograph.records.blocks import read_block
from stenograph.records.system import SUBTYPES
from stenograph.records.tool_results import read_tool_result

S = TypeVar("S", bound=Shape)

for module in pkgutil.iter_modules(stenograph.records.__path__):
    importlib.import_module(f"stenograph.records.{module.name}")


def below(base: type[S]) -> list[type[S]]:
    found: list[type[S]] = []
    for shape in base.__subclasses__():
        found += [shape, *below(shape)]
    return found


def tag_of(shape: type[Shape]) -> str | None:
    tag = shape.__struct_config__.tag
    return tag if isinstance(tag, str) else None


def tagged(base: type[Shape]) -> list[type[Shape]]:
    return [shape for shape in below(base) if tag_of(shape) is not None]


def test_every_record_with_a_tag_is_in_the_table_of_kinds() -> None:
    """List it in `SIDECARS` (records/sidecars.py) or `_KINDS` (records/line.py), a system record in `SUBTYPES`."""
    subtypes = below(SystemRecord)
    left_out = [kind for kind in tagged(Record) if kind not in subtypes and TYPES.get(tag_of(kind) or "") is not kind]
    assert left_out == []
    assert len(tagged(Record)) - len(subtypes) == len(TYPES)
    assert set(subtypes) == set(SUBTYPES.values())


@pytest.mark.parametrize("shape", tagged(Attachment), ids=tag_of)
def test_every_attachment_with_a_tag_is_read_as_such(shape: type[Shape]) -> None:
    record = decode(json.dumps({"type": "attachment", "attachment": {"type": tag_of(shape)}}).encode())
    assert isinstance(record, AttachmentRecord)
    assert type(record.attachment) is shape


@pytest.mark.parametrize("shape", tagged(Progress), ids=tag_of)
def test_every_progress_with_a_tag_is_read_as_such(shape: type[Shape]) -> None:
    record = decode(json.dumps({"type": "progress", "data": {"type": tag_of(shape)}}).encode())
    assert isinstance(record, ProgressRecord)
    assert type(record.data) is shape


@pytest.mark.parametrize("shape", tagged(Block), ids=tag_of)
def test_every_block_with_a_tag_is_read_as_such(shape: type[Shape]) -> None:
    assert type(read_block(json.dumps({"type": tag_of(shape)}).encode())) is shape


@pytest.mark.parametrize("shape", [each for each in below(ToolResult) if each.known_by], ids=lambda shape: shape.__name__)
def test_every_structured_result_is_known_by_its_own_members(shape: type[ToolResult]) -> None:
    """A shape before it in `_SHAPES` must not be content with fewer of them."""
    assert type(read_tool_result(Raw(json.dumps(dict.fromkeys(shape.known_by)).encode()))) is shape


def test_every_shape_is_exported() -> None:
    assert {shape.__name__ for shape in below(Shape)} - set(stenograph.records.__all__) == set()
