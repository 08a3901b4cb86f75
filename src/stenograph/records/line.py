"""One line <-> one record, without loss.

An unknown kind is an `UnknownRecord`, a line without a JSON object a `DamagedRecord`. `encode` gives the same bytes back.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from operator import or_
from typing import Any

import msgspec

from stenograph.errors import DamagedLineError, FieldError, UnknownKindError
from stenograph.records.attachments import AttachmentRecord
from stenograph.records.conversation import AssistantRecord, FlatAssistantRecord, FlatUserRecord, UserRecord
from stenograph.records.envelope import DamagedRecord, Record, UnknownRecord
from stenograph.records.json_text import BYTE_ORDER_MARK, REFUSALS, begins_with_a_value, parse
from stenograph.records.progress import ProgressRecord
from stenograph.records.shape import ShapeReader, json_of, keep, rebuild
from stenograph.records.sidecars import SIDECARS
from stenograph.records.splicing import Path, splice
from stenograph.records.system import SUBTYPES, SystemRecord

_KINDS: tuple[type[Record], ...] = (UserRecord, AssistantRecord, SystemRecord, AttachmentRecord, ProgressRecord, *SIDECARS)
TYPES: dict[str, type[Record]] = {str(kind.__struct_config__.tag): kind for kind in _KINDS}

_READERS: dict[str, ShapeReader[Any]] = {name: ShapeReader(kind) for name, kind in TYPES.items()}
_SUBTYPE_READERS = {name: ShapeReader(kind) for name, kind in SUBTYPES.items()}
_FLAT_READERS: dict[str, ShapeReader[Any]] = {
    "user": ShapeReader(FlatUserRecord),
    "assistant": ShapeReader(FlatAssistantRecord),
}
_read_unknown = ShapeReader(UnknownRecord)
# A decoder of all kinds takes longer to make than a few lines to decode kind by kind, and many commands read no more.
_FEW = 64


class _Kind(msgspec.Struct):
    type: str


class _Decoding:
    """The decoder of lines: by kind for the first few of them, then one for all kinds."""

    def __init__(self) -> None:
        self.decode: Callable[[bytes | memoryview], Record] = self._decode_by_kind
        self._kind_of = msgspec.json.Decoder(_Kind).decode
        self._left = _FEW

    def _decode_by_kind(self, line: bytes | memoryview) -> Record:
        self._left -= 1
        if self._left <= 0:
            self.decode = msgspec.json.Decoder(reduce(or_, TYPES.values())).decode
            return self.decode(line)
        reader = _READERS.get(self._kind_of(line).type)
        if reader is None:
            raise msgspec.ValidationError("not a known kind")
        record: Record = reader.decode(line)
        return record


_decoding = _Decoding()


def decode(line: bytes | memoryview, *, strict: bool = False) -> Record:
    """Decode a line to a record. Any bytes can be decoded.

    With `strict`, raises DamagedLineError for a line that is not a JSON object, and UnknownKindError for an unknown kind.
    """
    try:
        record = _decoding.decode(line)
    except REFUSALS:
        record = _decode_odd(bytes(line))
        if strict:
            _refuse_odd(record)
        return record
    if type(record) is SystemRecord and isinstance(record.subtype, str) and record.subtype in _SUBTYPE_READERS:
        record = _SUBTYPE_READERS[record.subtype](line) or record
    keep(record, "_source", line)
    return record


def encode(record: Record) -> bytes:
    """Encode a record to the bytes of a line: those it was decoded from, or new ones for a record built by hand."""
    return json_of(record)


def change(record: Record, path: str | Path, value: Any) -> Record:
    """The record with one member set, added or, with `REMOVE`, removed; every other byte of its line stays.

    A path is a name, or names and indexes from the outside in: `("message", "content", 0, "text")`.
    """
    if isinstance(record, DamagedRecord):
        raise FieldError("a damaged line has no members to change")
    names = (path,) if isinstance(path, str) else path
    try:
        return decode(splice(encode(record), names, rebuild(value)))
    except (TypeError, ValueError) as error:
        raise FieldError("the new value is not valid JSON", field=".".join(map(str, names))) from error


def _decode_odd(line: bytes) -> Record:
    text = line.removeprefix(BYTE_ORDER_MARK)
    try:
        members = parse(text)
    except RecursionError:
        return DamagedRecord(reason="too-deep", _source=line)
    except ValueError:
        return DamagedRecord(reason=_what_is_wrong(text), _source=line)
    if not isinstance(members, dict):
        return DamagedRecord(reason="not-an-object", _source=line)
    return _reader_for(members)(line) or DamagedRecord(_source=line)


def _reader_for(members: dict[str, Any]) -> ShapeReader[Any]:
    kind = members.get("type")
    if kind == "system" and (reader := _SUBTYPE_READERS.get(_text(members.get("subtype")))):
        return reader
    if isinstance(kind, str):
        return _READERS.get(kind, _read_unknown)
    if kind is None:
        message = members.get("message")
        role = message.get("role") if isinstance(message, dict) else members.get("role")
        return _FLAT_READERS.get(_text(role), _read_unknown)
    return _read_unknown


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _what_is_wrong(text: bytes) -> str:
    if not text.strip():
        return "blank"
    return "several-values" if begins_with_a_value(text) else "not-json"


def _refuse_odd(record: Record) -> None:
    if isinstance(record, DamagedRecord):
        raise DamagedLineError(f"the line holds no JSON object ({record.reason})")
    if isinstance(record, UnknownRecord):
        raise UnknownKindError("the line is of a kind that is not described", field="type")
