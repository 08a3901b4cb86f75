"""`Shape`, the base of everything that is typed: described fields as attributes, all the rest in `extra`.

A value keeps its bytes. An absent field is `UNSET`, which is false; a field of another type than described is `UNSET` too and is
in `extra`. Large parts (`message`, `toolUseResult`, blocks) are decoded when first asked for: `<name>_raw` holds them undecoded.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from functools import cache, cached_property
from typing import Any, Generic, TypeAlias, TypeVar, overload

import msgspec
from msgspec import UNSET, Raw, UnsetType, field

from stenograph.records.json_text import REFUSALS, parse, parse_or_unset, to_text

T = TypeVar("T")
Owner = TypeVar("Owner")
S = TypeVar("S", bound="Shape")

# A described field: its value, null, or not there.
Opt: TypeAlias = T | UnsetType | None
# Decoded only when asked for. Raw keeps a view of the line, not a copy.
Later: TypeAlias = Raw | UnsetType
# The same for content: saves a pass over every message.
Parts: TypeAlias = str | list[Raw] | UnsetType | None
Json: TypeAlias = Any

keep = msgspec.structs.force_setattr
_decode_members = msgspec.json.Decoder(dict[str, Raw]).decode


# In a mapping, because a type checker that sees `frozen` wants it repeated on each of the 150 subclasses.
_OPTIONS: dict[str, Any] = {"frozen": True, "dict": True}


class once(Generic[Owner, T]):  # noqa: N801 - used like property
    """An attribute made when first asked for; functools.cached_property takes a lock in 3.11 that costs more than decoding."""

    def __init__(self, make: Callable[[Owner], T]) -> None:
        self._make = make
        self._name = make.__name__
        self.__doc__ = make.__doc__

    @overload
    def __get__(self, instance: None, owner: type[Owner]) -> once[Owner, T]: ...
    @overload
    def __get__(self, instance: Owner, owner: type[Owner]) -> T: ...
    def __get__(self, instance: Owner | None, owner: type[Owner]) -> once[Owner, T] | T:
        if instance is None:
            return self
        made = instance.__dict__[self._name] = self._make(instance)
        return made


class Shape(msgspec.Struct, **_OPTIONS):
    """A JSON object of a known shape."""

    # None when the value was built by hand. The leading space keeps the name apart from every real key.
    _source: Any = field(default=None, name=" source")

    @property
    def extra(self) -> dict[str, Json]:
        """Every member that is not described, or not of the described type."""
        found: dict[str, Json] | None = self.__dict__.get("extra")
        if found is None:
            found = self.__dict__["extra"] = self._undescribed()
        return found

    def _undescribed(self) -> dict[str, Json]:
        if self._source is None:
            return {}
        described = attributes_of(type(self))
        tag_field = type(self).__struct_config__.tag_field
        return {
            name: parse(value)
            for name, value in members_of(self._source).items()
            if name != tag_field and (name not in described or getattr(self, described[name]) is UNSET)
        }

    def __repr__(self) -> str:
        # Transcript content must not reach a log by way of a repr.
        return f"<{type(self).__name__}>"


@cache
def attributes_of(shape: type[Shape]) -> dict[str, str]:
    """A member's name in the file -> the attribute that holds it decoded."""
    return {f.encode_name: f.name.removesuffix("_raw") for f in msgspec.structs.fields(shape) if f.name != "_source"}


def later(name: str) -> Any:
    """A field that stays undecoded until its property is asked for."""
    return field(default=UNSET, name=name)


def members_of(source: bytes | memoryview | Raw) -> dict[str, Raw]:
    try:
        return _decode_members(source)
    except REFUSALS:
        return {name: Raw(to_text(value)) for name, value in parse(source).items()}


class ShapeReader(Generic[S]):
    """Bytes of a JSON object -> one shape; where the fast way refuses, field by field."""

    def __init__(self, shape: type[S]) -> None:
        self.shape = shape

    @cached_property
    def decode(self) -> Callable[[bytes | memoryview | Raw], S]:
        # Built on first use: 150 at import would cost more than most commands need.
        return msgspec.json.Decoder(self.shape).decode

    def __call__(self, text: bytes | memoryview | Raw) -> S | UnsetType:
        """UNSET when the text is not a JSON object at all."""
        try:
            found = self.decode(text)
        except REFUSALS:
            return self.salvage(text)
        keep(found, "_source", text)
        return found

    def salvage(self, text: bytes | memoryview | Raw) -> S | UnsetType:
        """One field at a time: those that don't fit are left to `extra`."""
        members = parse_or_unset(text)
        if not isinstance(members, dict):
            return UNSET
        fitting: dict[str, Any] = {}
        for described in msgspec.structs.fields(self.shape):
            if described.name == "_source" or described.encode_name not in members:
                continue
            value = members[described.encode_name]
            if described.type is Later:
                fitting[described.name] = Raw(to_text(value))
            elif described.type is Parts:
                if isinstance(value, list):
                    fitting[described.name] = [Raw(to_text(item)) for item in value]
                elif value is None or isinstance(value, str):
                    fitting[described.name] = value
            else:
                with contextlib.suppress(
                    msgspec.ValidationError, UnicodeEncodeError
                ):  # the latter: a lone surrogate, looked at closely
                    fitting[described.name] = msgspec.convert(value, described.type)
        return self.shape(**fitting, _source=text)


def read_later(raw: Later, reader: Callable[[Raw], T | UnsetType]) -> Opt[T]:
    """UNSET when it is absent or not of the shape described."""
    if raw is UNSET:
        return UNSET
    found = reader(raw)
    # Null is checked last: hardly any part is.
    return None if found is UNSET and bytes(raw) == b"null" else found


def rebuild(value: Any) -> Json:
    """Plain JSON from the typed fields and `extra` alone, not from the kept bytes."""
    if isinstance(value, Shape):
        built: dict[str, Json] = {}
        config = type(value).__struct_config__
        if config.tag_field is not None:
            built[config.tag_field] = config.tag
        for name, attribute in attributes_of(type(value)).items():
            part = getattr(value, attribute)
            if part is not UNSET:
                built[name] = rebuild(part)
        built.update(value.extra)
        return built
    if isinstance(value, list | tuple):
        return [rebuild(item) for item in value]
    if isinstance(value, dict):
        return {name: rebuild(item) for name, item in value.items()}
    return value


def json_of(value: Shape) -> bytes:
    """The object's own bytes, or new ones for a value built by hand."""
    return to_text(rebuild(value)) if value._source is None else bytes(value._source)


def mentions(value: Shape, text: bytes) -> bool:
    """Whether some bytes occur in the object's own: a cheap look before decoding, never an answer by itself."""
    return value._source is None or text in bytes(value._source)
