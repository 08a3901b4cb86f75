"""Which turn of which session wrote each line of a file."""

from __future__ import annotations

from collections import Counter
from datetime import datetime
from typing import TYPE_CHECKING

from stenograph.redact import Mask, as_is
from stenograph.views.masking import mask_page
from stenograph.views.pages.page import Document, Page

if TYPE_CHECKING:
    from stenograph.analysis import Blame, LineWriter


class WriterPage(Page, frozen=True):
    """A turn that wrote lines of the file."""

    session: str
    path: str
    """The session's file."""
    title: str | None
    turn: int | None
    """Null for a subagent that no turn is known to have started."""
    time: datetime | None
    model: str | None
    prompt: str
    lines: int
    """How many lines of the file are this turn's."""


class BlamedLinePage(Page, frozen=True):
    """A line of the file."""

    number: int
    """Counted from 1."""
    text: str
    origin: str
    """`turn`; `before`: it was there before any session changed the file; `outside`: no tool that edits files wrote it, so it was
    written by hand or by a command; `unknown`."""
    writer: int | None
    """The place of its turn in `writers`, counted from 0; null if no turn wrote it."""


class EarlierLinePage(Page, frozen=True):
    """An earlier version of a line."""

    text: str
    origin: str
    """As for lines."""
    writer: int | None


class BlamePage(Document, frozen=True, tag="blame/1"):
    """`steno blame`: which turn of which session wrote each line of a file."""

    file: str
    on_disk: bool
    """False if the file is gone: the lines are those that the last session left."""
    stale: bool
    """The index was not brought up to date within the time allowed, so newer changes may be missing."""
    total: int
    """How many lines the file has."""
    origins: dict[str, int]
    """Number of lines of each origin."""
    writers: tuple[WriterPage, ...]
    """Oldest first."""
    lines: tuple[BlamedLinePage, ...]
    """All, or the one that was asked about."""
    earlier: tuple[EarlierLinePage, ...]
    """For one line: its earlier versions, newest first."""


_ORIGINS = {0: "before", -1: "outside", -2: "unknown"}
_MOST_EARLIER = 20


def blame_page(blame: Blame, *, on_disk: bool, stale: bool, line: int | None = None, mask: Mask = as_is) -> BlamePage:
    last = blame.versions[-1]
    texts = _masked_lines(last.lines, mask)
    counts = Counter(last.authors)
    wanted = range(1, len(texts) + 1) if line is None else (line,)
    earlier = [] if line is None else list(blame.earlier(line))[:_MOST_EARLIER]
    page = BlamePage(
        file=blame.path,
        on_disk=on_disk,
        stale=stale,
        total=len(texts),
        origins=dict(Counter(_origin(author) for author in last.authors)),
        writers=tuple(_writer_page(writer, counts[number]) for number, writer in enumerate(blame.writers, 1)),
        lines=tuple(
            BlamedLinePage(number, texts[number - 1], _origin(author), author - 1 if author > 0 else None)
            for number in wanted
            for author in (last.authors[number - 1],)
        ),
        earlier=tuple(EarlierLinePage(text, _origin(author), author - 1 if author > 0 else None) for text, author in earlier),
    )
    return mask_page(page, mask)


def _origin(author: int) -> str:
    return _ORIGINS.get(author, "turn")


def _masked_lines(lines: tuple[str, ...], mask: Mask) -> list[str]:
    """A secret of several lines is masked on one: then each of them is hidden, so that every line keeps its number."""
    from stenograph.analysis import matching_lines

    masked = mask("\n".join(lines)).splitlines()
    if len(masked) == len(lines):
        return masked
    made = ["[secret]"] * len(lines)
    for one, other, size in matching_lines(lines, masked):
        made[one : one + size] = masked[other : other + size]
    return made


def _writer_page(writer: LineWriter, lines: int) -> WriterPage:
    return WriterPage(
        session=writer.session.id,
        path=str(writer.session.path or ""),
        title=writer.session.title,
        turn=writer.turn.number if writer.turn else None,
        time=writer.time,
        model=writer.model,
        prompt=writer.turn.prompt if writer.turn else "",
        lines=lines,
    )
