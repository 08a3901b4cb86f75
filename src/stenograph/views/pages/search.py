"""What a search found: sessions, best first, with the lines that match."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from stenograph.redact import Mask, as_is
from stenograph.views.masking import mask_page
from stenograph.views.pages.page import Document, Page
from stenograph.views.text import harmless, one_line

if TYPE_CHECKING:
    from stenograph.index import Facets, Found, Hit, HitLine, Sought, SyncReport

#: How a snippet is cut out of a long text: characters before the first match, and in all.
_BEFORE = 50
_LENGTH = 180


class HitLinePage(Page, frozen=True):
    """A line that matches."""

    file: str
    """The session's own file, or a subagent's."""
    line: int
    """Counted from 1."""
    turn: int | None
    """The turn of the session; null if it is not known."""
    agent: str | None
    """The id of the subagent whose line it is."""
    kind: str
    """`prompt`, `answer`, `thinking`, `input` or `output` of a tool, `title`, or `note` for what the client added."""
    tool: str | None
    """Of a tool's input or output: its name; null if it is not known."""
    time: datetime | None
    snippet: str
    """The text around the first match, on one line; empty if the file has changed since it was indexed."""
    matches: tuple[tuple[int, int], ...]
    """Where the matches begin and end in the snippet, in characters."""
    before: tuple[str, ...]
    """With `--context`: the lines of the text before the snippet."""
    after: tuple[str, ...]
    """With `--context`: the lines after it."""


class HitPage(Page, frozen=True):
    """A session that matches."""

    id: str
    path: str
    title: str | None
    project: str | None
    branch: str | None
    release: str | None
    turns: int
    """Of all branches."""
    modified: datetime
    lines: tuple[HitLinePage, ...]
    """The lines that match best."""
    matching_lines: int
    """How many lines match in all."""
    copies: tuple[str, ...]
    """Ids of other sessions with the same conversation: forks, clones and continuations."""
    archived: bool
    """Only the archive still has it."""


class FacetsPage(Page, frozen=True):
    """How many lines match if the search is narrowed to a kind, a project or a tool. Those without a match are left out."""

    kinds: dict[str, int]
    """By kind of line, as in `kind` of HitLinePage."""
    projects: dict[str, int]
    tools: dict[str, int]
    """The tools with the most calls in the sessions that match."""


class SearchPage(Document, frozen=True, tag="search/1"):
    """`steno search`: the sessions that match, best first."""

    query: str
    total: int
    """Sessions that match, those beyond the limit included."""
    matching_lines: int
    """Lines that match in all of them."""
    partial: bool
    """No session holds all words; those that hold most of them are listed."""
    missing: tuple[str, ...]
    """The words that no session holds, if `partial`."""
    stale: bool
    """The index was not brought up to date within the time allowed, so newer lines may be missing."""
    hits: tuple[HitPage, ...]
    facets: FacetsPage | None = None
    """Null unless asked for."""


def search_page(
    text: str,
    sought: Sought,
    found: Found,
    report: SyncReport,
    mask: Mask = as_is,
    *,
    context: int = 0,
    facets: Facets | None = None,
) -> SearchPage:
    """Texts are masked whole, and cut afterwards. `context`: so many lines of the text on both sides of a match."""
    page = SearchPage(
        query=text,
        total=found.total,
        matching_lines=found.lines,
        partial=found.is_partial,
        missing=found.missing,
        stale=report.pending > 0,
        hits=tuple(_hit_page(hit, sought, mask, context) for hit in found.hits),
        facets=None if facets is None else _facets_page(facets),
    )
    return mask_page(page, mask)


def _facets_page(facets: Facets) -> FacetsPage:
    kinds = {kind.name.lower(): lines for kind, lines in facets.kinds.items()}
    return FacetsPage(kinds, facets.projects, facets.tools)


def _hit_page(hit: Hit, sought: Sought, mask: Mask, context: int) -> HitPage:
    return HitPage(
        id=hit.session,
        path=str(hit.path),
        title=hit.title,
        project=hit.project,
        branch=hit.branch,
        release=hit.release,
        turns=hit.turns,
        modified=datetime.fromtimestamp(hit.ended, UTC),
        lines=tuple(line_page(line, sought, mask, context) for line in hit.lines),
        matching_lines=hit.matches,
        copies=hit.copies,
        archived=hit.archived,
    )


def _masked_text(line: HitLine, mask: Mask) -> str:
    text = line.text
    for name, value in sorted(line.named, key=lambda each: -len(each[1])) if mask is not as_is else ():
        text = text.replace(value, mask(value, name))
    return mask(text)


def line_page(line: HitLine, sought: Sought, mask: Mask, context: int = 0) -> HitLinePage:
    from stenograph.index import highlight

    text, before, after = _masked_text(line, mask), [], []
    found = highlight(text, sought)
    if context and found:
        lines = text.split("\n")
        at = text.count("\n", 0, found[0][0])
        before, after = lines[max(0, at - context) : at], lines[at + 1 : at + 1 + context]
        text = lines[at]
        found = highlight(text, sought)
    begin = max(0, found[0][0] - _BEFORE) if found else 0
    if begin and (space := text.find(" ", begin, found[0][0])) >= 0:
        begin = space + 1
    snippet = one_line(text[begin : begin + _LENGTH])
    if begin:
        snippet = f"…{snippet}"
    if begin + _LENGTH < len(text):
        snippet += "…"
    return HitLinePage(
        file=str(line.file),
        line=line.line,
        turn=line.turn,
        agent=line.agent,
        kind=line.kind.name.lower(),
        tool=line.tool,
        time=None if line.time is None else datetime.fromtimestamp(line.time, UTC),
        snippet=snippet,
        matches=highlight(snippet, sought),
        before=tuple(map(_cut_line, before)),
        after=tuple(map(_cut_line, after)),
    )


def _cut_line(line: str) -> str:
    line = harmless(line).rstrip()
    return line if len(line) <= _LENGTH else f"{line[:_LENGTH]}…"
