"""What a search found, session by session, and how to open or resume the best of them."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime

from stenograph.views.pages.search import HitLinePage, HitPage, SearchPage
from stenograph.views.terminal.options import BOLD, CYAN, DIM, RenderOptions
from stenograph.views.text import age, count_of, cut, plain, short_path, width, wrap

_SHORT_ID = 8
_UNDERLINE = 4
_INDENT = "  "


def render_search(page: SearchPage, options: RenderOptions) -> Iterator[str]:
    if not page.hits:
        return
    matches = sum(hit.matching_lines for hit in page.hits)
    more = f", the best {len(page.hits)} shown" if len(page.hits) < page.total else ""
    yield options.paint(f"{_INDENT}{count_of(matches, 'match', 'matches')} in {count_of(page.total, 'session')}{more}", BOLD)
    if page.partial:
        yield f"{_INDENT}No session has all of these words; these have most of them."
    for hit in page.hits:
        yield ""
        yield _heading(hit, options)
        for line in hit.lines:
            yield from _line(line, options)
        if hit.matching_lines > len(hit.lines):
            yield options.paint(f"{_INDENT}{_INDENT}and {hit.matching_lines - len(hit.lines)} more", DIM)
    best = page.hits[0]
    turn = next((line.turn for line in best.lines if line.turn), None)
    yield ""
    yield f"{_INDENT}open    {options.command('show', best.id[:_SHORT_ID], *(('--turn', str(turn)) if turn else ()))}"
    yield f"{_INDENT}resume  {options.command('resume', best.id[:_SHORT_ID])}"


def _heading(hit: HitPage, options: RenderOptions) -> str:
    name = hit.id if options.width is None else hit.id[:_SHORT_ID]
    now = options.now or datetime.now(UTC)
    facts = f"{short_path(plain(hit.project or ''))}  {age(hit.modified, now)}"
    title = plain(hit.title or "(no prompt)")
    if options.width is not None:
        title = cut(title, max(20, options.width - len(name) - width(facts) - 6))
    copies = f"  (also in {count_of(len(hit.copies), 'other session')})" if hit.copies else ""
    return f"{_INDENT}{options.paint(name, CYAN)}  {options.paint(title, BOLD)}  {options.paint(facts + copies, DIM)}"


def _line(line: HitLinePage, options: RenderOptions) -> Iterator[str]:
    place = f"turn {line.turn}" if line.turn else "line " + str(line.line)
    who = f"{place}, {'subagent ' if line.agent else ''}{line.kind}: "
    snippet = _marked(line, options)
    room = None if options.width is None else options.width - 2 * len(_INDENT)
    for number, piece in enumerate(wrap(who + snippet, room) if not options.color else _wrapped(who, line, options, room)):
        yield f"{_INDENT}{_INDENT if number else ''}{piece}"


def _marked(line: HitLinePage, options: RenderOptions) -> str:
    """The snippet with its matches painted, or in brackets where there is no color."""
    pieces, at = [], 0
    for begin, end in line.matches:
        word = line.snippet[begin:end]
        pieces += [line.snippet[at:begin], options.paint(word, BOLD, _UNDERLINE) if options.color else f"[{word}]"]
        at = end
    return "".join([*pieces, line.snippet[at:]])


def _wrapped(who: str, line: HitLinePage, options: RenderOptions, room: int | None) -> Iterator[str]:
    """Lines of a painted snippet: broken before it is painted, because paint takes no columns."""
    at = -len(who)
    for piece in wrap(who + line.snippet, room):
        found = [(max(begin - at, 0), min(end - at, len(piece))) for begin, end in line.matches]
        painted, last = [], 0
        for begin, end in found:
            if begin < end and begin >= last:
                painted += [piece[last:begin], options.paint(piece[begin:end], BOLD, _UNDERLINE)]
                last = end
        yield "".join([*painted, piece[last:]])
        at += len(piece) + 1
