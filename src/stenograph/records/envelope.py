"""What records have in common: `Record`, and the envelope of those that hang in the conversation."""

from __future__ import annotations

from datetime import datetime

from msgspec import UNSET, UnsetType, field

from stenograph.records.shape import Json, Opt, Shape
from stenograph.records.times import moment


class Record(Shape):
    """One line of a session."""

    @property
    def type(self) -> Opt[str]:
        """The `type` member of the line; UNSET in flat lines, which have none."""
        tag = type(self).__struct_config__.tag
        return tag if isinstance(tag, str) else UNSET

    @property
    def kind(self) -> str:
        """The type, with a subtype where there is one: `user`, `system/compact_boundary`, `attachment/file`."""
        name = self.type
        return name if isinstance(name, str) else "unknown"

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.kind}>"


class SessionRecord(Record):
    """A record that names its session and stands outside the conversation's tree."""

    sessionId: Opt[str] = UNSET
    # The version of this package that wrote the line: `markers.OWN_FIELD`.
    stenograph: Opt[str] = UNSET


class ChainedRecord(SessionRecord):
    """A record with a place in the tree: its own uuid and its parent's."""

    # In the clients' own order, as far as it goes: a member is looked for from the one before it on.
    uuid: Opt[str] = UNSET
    # Null at a root. Absent: a line of another tool, or a damaged one.
    parentUuid: Opt[str] = UNSET
    isSidechain: Opt[bool] = UNSET
    agentId: Opt[str] = UNSET
    # ISO 8601, UTC. Not in order: the file's order is the order.
    timestamp: Opt[str] = UNSET
    userType: Opt[str] = UNSET
    entrypoint: Opt[str] = UNSET
    cwd: Opt[str] = UNSET
    # The client's release. Not all records carry one.
    version: Opt[str] = UNSET
    gitBranch: Opt[str] = UNSET
    slug: Opt[str] = UNSET
    # Not sessionId: the ancestor's id after a resume or a fork (from 2.1.199 on).
    session_id: Opt[str] = UNSET
    teamName: Opt[str] = UNSET
    # Inserted by the client.
    isMeta: Opt[bool] = UNSET
    # In a copy: the session and the line that it was copied from.
    forkedFrom: Opt[dict[str, Json]] = UNSET


class UnknownRecord(ChainedRecord):
    """A record of a kind not described here. With a uuid it still is a node of the tree."""

    type_: Opt[str] = field(default=UNSET, name="type")

    @property
    def type(self) -> Opt[str]:
        return self.type_


class DamagedRecord(Record):
    """A line that holds no JSON object. Its bytes are kept as they are."""

    # `blank`, `not-json`, `several-values`, `not-an-object` or `too-deep`.
    reason: str = "not-json"

    @property
    def extra(self) -> dict[str, Json]:
        """Nothing: there are no members."""
        return {}

    @property
    def type(self) -> UnsetType:
        return UNSET

    @property
    def kind(self) -> str:
        return "damaged"


def time_of(record: Record) -> datetime | None:
    """When a record was written; None if it has no valid timestamp, or none that counts."""
    return moment(record.timestamp) if isinstance(record, ChainedRecord) else None
