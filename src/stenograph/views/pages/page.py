"""What all pages share: their base types, and the values that mean the same in every one of them.

A string after a field is its documentation: it goes into the JSON Schema and docs/json.md (`views.schema`).
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from typing import TYPE_CHECKING, TypeAlias

from msgspec import Struct

if TYPE_CHECKING:
    from stenograph.disk import Finding
    from stenograph.turns import Tokens

#: Words of a command -> the line that a user can paste: this program, with the homes and config file of this run.
CommandLine: TypeAlias = Callable[..., str]


class Page(Struct, frozen=True, forbid_unknown_fields=True):
    """A piece of an answer. Texts are whole and as they were written; `mask_page` masks secrets."""


class Document(Page, frozen=True, tag_field="schema"):
    """A whole answer. Its tag is its name and version, `sessions/1`, and the first member of its JSON.

    The version rises when a member is removed, renamed or changes its meaning, not when one is added.
    """


class FileSizePage(Page, frozen=True):
    """A file and how large it is."""

    path: str
    size: int


class BeforeAfterPage(Page, frozen=True):
    """A number before and after a change."""

    before: int
    after: int


class FindingPage(Page, frozen=True):
    """Something wrong or unusual in a file."""

    code: str
    """What it is, in kebab-case: `torn-tail`."""
    path: str | None
    line: int | None
    """Counted from 1; null for the file as a whole."""
    detail: str
    """One sentence; never text of a session."""


class TokensPage(Page, frozen=True):
    """Token counts, each API call counted once."""

    input: int
    """Neither read from the prompt cache nor written to it."""
    output: int
    cache_read: int
    cache_write_5m: int
    """Cached for five minutes. Tokens of releases that do not say for how long are counted here."""
    cache_write_1h: int
    """Cached for an hour."""

    @property
    def sent(self) -> int:
        """Everything sent to the model, cached or not."""
        return self.input + self.cache_read + self.cache_write_5m + self.cache_write_1h


def finding_pages(findings: Iterable[Finding]) -> tuple[FindingPage, ...]:
    return tuple(
        FindingPage(found.code, None if found.path is None else str(found.path), found.line or None, found.detail)
        for found in findings
    )


def tokens_page(tokens: Tokens) -> TokensPage:
    return TokensPage(tokens.input, tokens.output, tokens.cache_read, tokens.cache_write_5m, tokens.cache_write_1h)


def utc(moment: datetime | None) -> datetime | None:
    """The time in UTC, as every page has it; as it is for the first and last day there is, which have no other zone."""
    if moment is None:
        return None
    with contextlib.suppress(ValueError, OverflowError):
        return moment.astimezone(UTC)
    return moment
