"""What a search found, session by session, and how to open or resume the best of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime

from stenograph.errors import in_quotes
from stenograph.views.pages.search import HitLinePage, HitPage, SearchPage
from stenograph.views.terminal.options import BOLD, BRIGHT_BLUE, COMMAND, DIM, RenderOptions
from stenograph.views.text import count_of, cut, local_time, pad, plain, short_id, short_path, when, width, wrap

_SHORT_ID = 8
_UNDERLINE = 4
_INDENT = "  "
_LEAST_TITLE = 24
#: What stands before a text of each kind. A tool's input begins with its name.
WHO = {"prompt": "> ", "answer": "", "thinking": "· ", "input": ""}


def render_search(page: SearchPage, options: RenderOptions) -> Iterator[str]:
    if not page.hits:
        return
    more = f", the best {len(page.hits)} shown" if len(page.hits) < page.total else ""
    yield options.paint(
        f"{_INDENT}{count_of(page.matching_lines, 'match', 'matches')} in {count_of(page.total, 'session')}{more}", BOLD
    )
    if page.partial:
        yield f"{_INDENT}{partly_found(page)}"
    for hit in page.hits:
        yield ""
        yield from _heading(hit, options).split("\n")
        for line in hit.lines:
            yield from _line(line, options)
        if hit.matching_lines > len(hit.lines):
            yield options.paint(f"{_INDENT}and {hit.matching_lines - len(hit.lines)} more", DIM)
    best = page.hits[0]
    turn = next((line.turn for line in best.lines if line.turn), None)
    yield ""
    name = short_id(best.id)
    command = options.command("show", name, *(("--turn", str(turn)) if turn else ()))
    yield f"{_INDENT}open    {options.paint(command, *COMMAND)}"
    back = "restore" if best.archived else "resume"
    yield f"{_INDENT}{back.ljust(6)}  {options.paint(options.command(back, name), *COMMAND)}"
    if page.total > 1:
        room = None if options.width is None else options.width - len(_INDENT) - 8
        first, *rest = wrap("--in prompts  --project NAME  --since 30d  --tool Bash", room)
        yield f"{_INDENT}narrow  {first}"
        yield from (f"{_INDENT}        {line}" for line in rest)


def partly_found(page: SearchPage) -> str:
    """What sessions that match in part do not have."""
    if page.missing:
        return f"No session has {' or '.join(in_quotes(word) for word in page.missing)}. These have other words of the query."
    return "No session has all of these words. These have at least half of them."


def _heading(hit: HitPage, options: RenderOptions) -> str:
    name, project = hit.id, short_path(hit.project or "")
    if options.width is not None:
        name, project = name[:_SHORT_ID], plain(hit.project or "").replace("\\", "/").rstrip("/").rpartition("/")[2]
    facts = f"{project}  {count_of(hit.turns, 'turn')}  {_moment(hit, options)}"
    if hit.archived:
        facts += "  archived"
    if hit.copies:
        facts += f"  and {count_of(len(hit.copies), 'copy', 'copies')}"
    title = plain(hit.title or "(no prompt)")
    room = None if options.width is None else options.width - len(_INDENT) - len(name) - width(facts) - 4
    if room is not None and room < _LEAST_TITLE:
        title = cut(title, (options.width or 0) - len(_INDENT) - len(name) - 2)
        return f"{_INDENT}{options.paint(name, BRIGHT_BLUE)}  {options.paint(title, BOLD)}\n{_INDENT}{options.paint(facts, DIM)}"
    title = pad(cut(title, room), room) if room is not None else title
    return f"{_INDENT}{options.paint(name, BRIGHT_BLUE)}  {options.paint(title, BOLD)}  {options.paint(facts, DIM)}"


def _moment(hit: HitPage, options: RenderOptions) -> str:
    return local_time(hit.modified) if options.width is None else when(hit.modified, options.now or datetime.now(UTC))


def _line(line: HitLinePage, options: RenderOptions) -> Iterator[str]:
    """Where the line is, whose words they are, and the words, all below each other."""
    place = f"turn {line.turn}  " if line.turn else f"line {line.line}  "
    if options.width is None:
        place += f"{short_path(line.file)}:{line.line}  "
    room = None if options.width is None else options.width - len(_INDENT) - len(place)
    for text in line.before:
        yield f"{_INDENT}{' ' * len(place)}{options.paint(cut(text, room), DIM)}".rstrip()
    who = f"{'subagent ' if line.agent else ''}{WHO.get(line.kind, line.kind + ': ')}"
    matches = [(begin + len(who), end + len(who)) for begin, end in line.matches]
    text = who + line.snippet
    if not options.color:  # brackets take columns, paint takes none
        text, matches = painted(text, matches, options), []
    at = 0
    for number, piece in enumerate(wrap(text, room)):
        at = text.index(piece, at)
        shown = painted(piece, [(begin - at, end - at) for begin, end in matches], options)
        yield f"{_INDENT}{' ' * len(place) if number else place}{shown}"
    for text in line.after:
        yield f"{_INDENT}{' ' * len(place)}{options.paint(cut(text, room), DIM)}".rstrip()


def painted(piece: str, matches: Iterable[tuple[int, int]], options: RenderOptions) -> str:
    """A piece of a snippet with its matches underlined, or in brackets where there is no color."""
    pieces, last = [], 0
    for begin, end in matches:
        begin, end = max(begin, last), min(end, len(piece))
        if begin < end:
            word = piece[begin:end]
            pieces += [piece[last:begin], options.paint(word, BOLD, _UNDERLINE) if options.color else f"[{word}]"]
            last = end
    return "".join([*pieces, piece[last:]])
