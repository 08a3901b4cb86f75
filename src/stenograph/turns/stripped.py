"""Records without what they say: their place in the tree, their time, and who said them.

In: records, one after the other. Out: a sequence of them that keeps some hundred bytes a line; a record is made anew whenever it
is asked for.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, overload

from msgspec import UNSET, Raw

from stenograph.inputs import Input, InputKind
from stenograph.records import (
    AssistantRecord,
    ChainedRecord,
    CompactBoundaryRecord,
    Located,
    Record,
    UserRecord,
    to_text,
)

# What of a message says whether anything was said in it, and by whom.
_SAID = Raw(to_text({"content": ""}))
_RESULT = Raw(to_text({"content": [{"type": "tool_result"}]}))


class StrippedRecords(Sequence[Record]):
    def __init__(self) -> None:
        #: How to make each record; a record that is kept as it is.
        self._shapes: list[Callable[..., Record] | Record] = []
        self._uuids: list[object] = []
        self._parents: list[object] = []
        self._timestamps: list[object] = []
        #: What is kept of each message.
        self._messages: list[object] = []
        self._known_shapes: dict[Any, Callable[..., Record]] = {}
        #: Where a uuid was written: a child's name of its parent is the same text. Only while lines come.
        self._texts: dict[str, str] = {}
        #: Of the last response: what names it, and what is kept of it.
        self._last: tuple[object, object] = (None, UNSET)

    def append(self, record: Record, understood: Input | None) -> None:
        if not isinstance(record, ChainedRecord) or isinstance(record, CompactBoundaryRecord):
            self._shapes.append(record)
            at = record.timestamp if isinstance(record, ChainedRecord) else None
            self._keep(None, None, at, None)
            return
        uuid, parent = record.uuid, record.parentUuid
        if isinstance(uuid, str):
            self._texts[uuid] = uuid
        members: dict[str, object] = {"isSidechain": record.isSidechain, "agentId": record.agentId}
        message: object = UNSET
        if isinstance(record, UserRecord):
            members["permissionMode"] = record.permissionMode
            if isinstance(record.content, str | tuple):
                message = _RESULT if understood and understood.kind is InputKind.TOOL_RESULT else _SAID
        elif isinstance(record, AssistantRecord):
            members["isApiErrorMessage"] = record.isApiErrorMessage
            message = self._message(record)
        self._shapes.append(self._shape(type(record), members))
        self._keep(uuid, self._texts.get(parent, parent) if isinstance(parent, str) else parent, record.timestamp, message)

    def end(self) -> None:
        """No more lines come."""
        self._texts.clear()

    def timestamp(self, index: int) -> object:
        return self._timestamps[index]

    def __len__(self) -> int:
        return len(self._shapes)

    @overload
    def __getitem__(self, index: int) -> Record: ...
    @overload
    def __getitem__(self, index: slice) -> list[Record]: ...
    def __getitem__(self, index: int | slice) -> Record | list[Record]:
        if isinstance(index, slice):
            return [self[each] for each in range(*index.indices(len(self)))]
        shape = self._shapes[index]
        if isinstance(shape, Record):
            return shape
        place = {"uuid": self._uuids[index], "parentUuid": self._parents[index], "timestamp": self._timestamps[index]}
        message = self._messages[index]
        return shape(**place) if message is UNSET else shape(**place, message_raw=message)

    def __iter__(self) -> Iterator[Record]:
        return map(self.__getitem__, range(len(self)))

    def _keep(self, uuid: object, parent: object, timestamp: object, message: object) -> None:
        self._uuids.append(uuid)
        self._parents.append(parent)
        self._timestamps.append(timestamp)
        self._messages.append(message)

    def _shape(self, kind: type[Record], members: dict[str, object]) -> Callable[..., Record]:
        key = (kind, *members.values())
        try:
            if (known := self._known_shapes.get(key)) is None:
                known = self._known_shapes[key] = partial(kind, **members)
        except TypeError:  # a file may hold anything in the place of a name
            return partial(kind, **members)
        return known

    def _message(self, record: AssistantRecord) -> object:
        """Lines of one response mostly follow each other, and share what is kept of it."""
        message = record.message
        is_said = isinstance(record.content, str | tuple)
        said: dict[str, object] = {"content": ""} if is_said else {}
        if message:
            said |= {"id": message.id or None, "model": message.model or None}
        if said != self._last[0]:
            self._last = (said, Raw(to_text(said)) if said else UNSET)
        return self._last[1]


class StrippedLines(Sequence[Located]):
    """The records with the places of their lines."""

    def __init__(self) -> None:
        self.records = StrippedRecords()
        self.numbers = array("q")
        self.offsets = array("q")
        self.lengths = array("q")

    def append(self, located: Located, understood: Input | None) -> None:
        self.records.append(located.record, understood)
        self.numbers.append(located.number)
        self.offsets.append(located.offset)
        self.lengths.append(located.length)

    def __len__(self) -> int:
        return len(self.offsets)

    @overload
    def __getitem__(self, index: int) -> Located: ...
    @overload
    def __getitem__(self, index: slice) -> list[Located]: ...
    def __getitem__(self, index: int | slice) -> Located | list[Located]:
        if isinstance(index, slice):
            return [self[each] for each in range(*index.indices(len(self)))]
        return Located(self.records[index], self.numbers[index], self.offsets[index], self.lengths[index])
