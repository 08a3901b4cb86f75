"""What requests may ask for: the parameters of each question. Decoding checks them, and the API's document describes them."""

from __future__ import annotations

from typing import Annotated, Literal, TypeVar

import msgspec
from msgspec import Meta
from starlette.datastructures import QueryParams

from stenograph.surgery import AnyEdit
from stenograph.views import Page
from stenograph.web.errors import RequestError

Text = Annotated[str, Meta(max_length=1000)]
Words = Annotated[str, Meta(min_length=1, max_length=1000)]
#: Of turns, lines and sessions.
Number = Annotated[int, Meta(ge=1, le=1_000_000_000)]
Offset = Annotated[int, Meta(ge=0, le=1_000_000_000)]


class Parameters(Page, frozen=True):
    """What a question takes."""


class SessionsQuery(Parameters, frozen=True, kw_only=True):
    """Which sessions to list."""

    limit: Annotated[int, Meta(ge=1, le=500)] = 50
    """Maximum number of sessions."""
    offset: Offset = 0
    """Sessions to skip."""
    all: bool = False
    """Include those that lists hide: short, empty and unanswered sessions, print mode and the SDK's."""
    project: Text = ""
    """A part of the project's path."""
    since: Text | None = None
    """Only with a record since a date (2026-01-31) or an age (36h, 7d, 2w)."""
    until: Text | None = None
    """Only with a last record before a date or an age."""
    title: Text = ""
    """A part of the title, first prompt or slug."""
    tag: Text | None = None
    status: Literal["running", "done", "interrupted", "failed"] | None = None
    branch: Text | None = None
    """The last git branch."""
    sort: Literal["last", "started", "size", "turns", "title", "project"] = "last"
    """Newest, largest or A to Z first."""


class TurnsQuery(Parameters, frozen=True, kw_only=True):
    """Which turns of a session to read."""

    first: Number = 1
    """The number of the first turn."""
    limit: Annotated[int, Meta(ge=1, le=200)] = 50
    """Maximum number of turns."""
    branch: Number | None = None
    """The number of the branch; the current one unless given."""
    agents: bool = True
    """Include what subagents did."""
    results: bool = True
    """Include the results of tools, in `turns`."""


class RecordsQuery(Parameters, frozen=True, kw_only=True):
    """Which lines of a session to list."""

    first: Number = 1
    """The number of the first line."""
    limit: Annotated[int, Meta(ge=1, le=1000)] = 200
    """Maximum number of lines."""
    agent: Text | None = None
    """The id of a subagent, to read its file instead."""


class RecordQuery(Parameters, frozen=True, kw_only=True):
    """In which file a line is."""

    agent: Text | None = None
    """The id of a subagent, to read its file instead."""


class StepsQuery(Parameters, frozen=True, kw_only=True):
    """Which steps of a session to list."""

    offset: Offset = 0
    """Steps to skip."""
    limit: Annotated[int, Meta(ge=1, le=1000)] = 200
    """Maximum number of steps."""
    branch: Number | None = None
    """Only the steps of this branch."""


class FilesQuery(Parameters, frozen=True, kw_only=True):
    """Which files of a session to list."""

    changed: bool = False
    """Leave out files that were only read."""
    branch: Number | None = None
    """Only what this branch did."""


class MessagesQuery(Parameters, frozen=True, kw_only=True):
    """By which release a session would be resumed."""

    release: Annotated[str, Meta(min_length=1, max_length=30)] | None = None
    """The client's release; the newest known one unless given."""
    offset: Offset = 0
    """Messages to skip."""
    limit: Annotated[int, Meta(ge=1, le=500)] = 100
    """Maximum number of messages."""


class ReleaseQuery(Parameters, frozen=True, kw_only=True):
    """By which release a session would be resumed."""

    release: Annotated[str, Meta(min_length=1, max_length=30)] | None = None
    """The client's release; the newest known one unless given."""


class SearchQuery(Parameters, frozen=True, kw_only=True):
    """What to search for, and where."""

    q: Words
    """Words, phrases in quotes, prefixes with `*`, and `AND`, `OR`, `NOT` and parentheses."""
    kinds: Text = ""
    """Kinds of text, with commas between: `prompts`, `answers`, `thinking`, `inputs`, `outputs`, `titles`, `notes`."""
    project: Text | None = None
    """A part of the project's path."""
    branch: Text | None = None
    release: Text | None = None
    tool: Text | None = None
    """Only calls of this tool and their results."""
    file: Text | None = None
    """Only calls on files with this in their path."""
    errors: bool = False
    """Only tool calls that failed."""
    since: Text | None = None
    """Only lines since a date (2026-01-31) or an age (36h, 7d, 2w)."""
    until: Text | None = None
    limit: Annotated[int, Meta(ge=1, le=100)] = 10
    """Maximum number of sessions."""
    lines: Annotated[int, Meta(ge=1, le=50)] = 3
    """Maximum number of lines of each."""
    facets: bool = False
    """Count the lines that match by kind of text, project and tool."""
    newest: bool = False
    """Newest sessions first, instead of those that match best."""


class CheckQuery(Parameters, frozen=True, kw_only=True):
    """Which files to check."""

    since: Text | None = None
    """Only files changed since a date (2026-01-31) or an age (36h, 7d, 2w)."""


class ScopeQuery(Parameters, frozen=True, kw_only=True):
    """Which calls of models to count."""

    since: Text | None = None
    """Only calls since a date (2026-01-31) or an age (36h, 7d, 2w)."""
    until: Text | None = None
    """Only calls before a date or an age."""


class UsageQuery(ScopeQuery, frozen=True, kw_only=True):
    """Which calls of models to count, and by what."""

    by: Literal["day", "week", "month", "model", "project", "session", "agent", "tool", "branch", "block"] = "day"
    """What to group by. A block is five hours."""


class NoQuery(Parameters, frozen=True):
    """Nothing."""


class RevealBody(Parameters, frozen=True):
    """Which secret to show."""

    placeholder: Annotated[str, Meta(max_length=200)]
    """As it is shown: `[github-token:3f9a1c52b07e]`."""


class EditBody(Parameters, frozen=True, kw_only=True):
    """What to do with a session."""

    edits: Annotated[tuple[AnyEdit, ...], Meta(min_length=1, max_length=20)]
    """In the order in which they are done."""
    prune: bool = False
    """Also delete dropped lines from the file."""
    apply: bool = False
    """Write it. Otherwise only the plan is made."""
    state: str | None = None
    """The `state` of the plan that was shown: if the session has changed since, nothing is written."""


class UndoBody(Parameters, frozen=True, kw_only=True):
    """Which edit to undo."""

    entry: Number | None = None
    """Its number in the journal; the last edit of the session unless given."""


P = TypeVar("P", bound=Parameters)


def read_query(query: QueryParams, kind: type[P]) -> P:
    """The parameters of a request. Raises RequestError."""
    given: dict[str, str] = {}
    for name, value in query.multi_items():
        if name in given:
            raise RequestError(400, "invalid-parameter", "a parameter is given twice")
        given[name] = value
    try:
        found = msgspec.convert(given, kind, strict=False)
        if any(getattr(found, name) is None for name in given):  # "null" is not a number
            raise ValueError
        return found
    except (msgspec.ValidationError, ValueError, OverflowError) as error:
        raise RequestError(400, "invalid-parameter", _described(error)) from error


def read_body(body: bytes, kind: type[P]) -> P:
    """The JSON of a request. Raises RequestError."""
    try:
        return msgspec.json.decode(body or b"{}", type=kind)
    except (msgspec.DecodeError, ValueError, RecursionError) as error:
        raise RequestError(400, "invalid-body", _described(error)) from error


def _described(error: Exception) -> str:
    """What is wrong, without what was given."""
    words = str(error).encode("ascii", "replace").decode()
    return words if isinstance(error, msgspec.ValidationError) and len(words) < 300 else "the request cannot be read"
