"""A session's pages -> lines, made one by one, so that a pager can show the first while the rest is made.

Nothing from a transcript reaches a line without `harmless`; color is put on last.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime

from stenograph.views.pages.session import BranchPage, Piece, SessionHeading
from stenograph.views.pages.tapes import family_of
from stenograph.views.pages.transcript import (
    AgentPart,
    Body,
    Checklist,
    Fact,
    NotePart,
    Output,
    Part,
    Patch,
    PromptPart,
    TextPart,
    ThoughtPart,
    ToolPart,
    TurnPage,
)
from stenograph.views.terminal.options import (
    BAD,
    BOLD,
    CARE,
    CYAN,
    DIM,
    GOOD,
    GREEN,
    ITALIC,
    MARKS,
    OTHER,
    QUIET,
    RED,
    STRONG,
    YOU,
    RenderOptions,
)
from stenograph.views.terminal.sessions import last_folder
from stenograph.views.terminal.tape import tape
from stenograph.views.terminal.turns import round_word
from stenograph.views.text import (
    amount,
    count_of,
    cut,
    dollars,
    duration,
    harmless,
    local_time,
    money,
    one_line,
    short_path,
    thousands,
    when,
    width,
    wrap,
)

_LONGEST_LINE = 400
_TITLE_LINES = 6
_RULE_COLUMNS = 80


#: Of tool calls, by what became of them.
_MARK = {
    "done": ("•", ()),
    "failed": ("✗", BAD),
    "interrupted": ("■", CARE),
    "unanswered": ("■", CARE),
    "running": ("●", GOOD),
}
_STATUS = {"done": (), "failed": BAD, "interrupted": CARE, "running": GOOD}
_BOXES = {"completed": "[x]", "in_progress": "[>]"}
#: Notes that need a look even where they are folded.
_URGENT = frozenset({"retry", "interrupt", "api-error"})
_GUTTER = 2
#: What took less is not worth a figure.
_LEAST_MS = 50


def render_turn(page: TurnPage, options: RenderOptions, of: int = 0) -> Iterator[str]:
    """`of`: how many turns there are; 0 where that does not matter."""
    yield from ("", _heading(page, options, of), "")
    yield from render_parts(page.parts, options)


def _heading(page: TurnPage, options: RenderOptions, of: int) -> str:
    facts = [
        local_time(page.started)[-5:] if page.started else "",
        duration(page.duration_ms) if page.duration_ms else "",
        money(page.usd, estimated=page.usd_estimated) if page.usd else "",
        one_line(page.new_model),
        round_word(page.round),
    ]
    left, right = f"── turn {page.number}{f' of {of}' if of else ''} ", "  ".join(fact for fact in facts if fact)
    columns = options.width or _RULE_COLUMNS
    right = f" {right}  " if right else " "
    rule = "─" * max(2, columns - width(left) - width(right) - width(page.status))
    return options.paint(left + rule + right, *QUIET) + options.paint(page.status, *_STATUS.get(page.status, ()))


def render_parts(parts: Sequence[Part], options: RenderOptions) -> Iterator[str]:
    """Parts one after another, an empty line where their kind changes; hooks that simply ran as one line at the end."""
    last: type[Part] | None = None
    folded = 0
    for part in parts:
        if isinstance(part, NotePart) and part.kind == "hook" and not part.urgent and not options.hooks:
            folded += part.times
            continue
        if last is not None and (type(part) is not last or isinstance(part, PromptPart | TextPart)):
            yield ""
        last = type(part)
        yield from render_part(part, options)
    if folded:
        if last is not None and last is not NotePart:
            yield ""
        yield _aside(f"· {count_of(folded, 'hook')} ran", "--hooks", options, QUIET)


def render_part(part: Part, options: RenderOptions) -> Iterator[str]:
    match part:
        case PromptPart():
            yield from _prompt(part, options)
        case TextPart():
            yield from _said(part, options)
        case ThoughtPart():
            is_shown = options.thinking or options.full
            yield _aside(f"· thought, {amount(part.text)}", "" if is_shown else "--thinking", options, QUIET)
            yield from _unfolded(part.text, options) if is_shown else ()
        case NotePart():
            yield from _note(part, options)
        case ToolPart():
            yield from _tool(part, options)


def _note(part: NotePart, options: RenderOptions) -> Iterator[str]:
    if part.kind == "compaction":
        more = f"summary, {amount(part.text)}" if part.text else ""
        yield _aside(f"┊ {one_line(part.line)}", more if options.full or not more else f"{more}, --full", options, CARE)
    else:
        is_urgent = part.urgent or part.kind in _URGENT
        sign = "■" if part.kind == "interrupt" else "!" if is_urgent else "·"
        yield _aside(f"{sign} {one_line(part.line)}", "", options, CARE if is_urgent else QUIET)
    if options.full:
        yield from _unfolded(part.text, options)


def _aside(line: str, option: str, options: RenderOptions, role: tuple[int, ...]) -> str:
    """A line with what it leaves out on its right; in a pipe in parentheses."""
    if options.width is None:
        return options.paint(f"{line} ({option})" if option else line, *role)
    left = cut(line, options.width - (width(option) + 2 if option else 0))
    space = " " * (options.width - width(left) - width(option))
    return options.paint(left, *role) + (options.paint(f"{space}{option}", *QUIET) if option else "")


def _unfolded(text: str, options: RenderOptions) -> Iterator[str]:
    columns = None if options.width is None else options.width - _GUTTER
    for line in _lines(text) if text else ():
        yield from (options.paint(f"  {piece}".rstrip(), *QUIET, ITALIC) for piece in wrap(line, columns))


def _prompt(part: PromptPart, options: RenderOptions) -> Iterator[str]:
    mark = "»" if part.interjected else ">"
    text = harmless(part.text) if part.text.strip() else "(no text)"
    if part.images:
        text += f"\n[{count_of(part.images, 'image')}]"
    columns = None if options.width is None else options.width - 2
    for line in text.strip("\n").split("\n"):
        for piece in wrap(line, columns):
            yield options.paint(f"{mark} {piece}".rstrip(), *YOU)


def _said(part: TextPart, options: RenderOptions) -> Iterator[str]:
    columns = None if options.width is None else options.width - _GUTTER
    if part.origin == "error":
        pieces = [piece for line in _lines(part.text) for piece in wrap(line, columns)]
        yield from (options.paint(f"{'  ' if number else '✗ '}{piece}", *BAD) for number, piece in enumerate(pieces))
    elif part.origin == "client":
        yield options.paint(cut(f"· Claude Code: {one_line(part.text)}", options.width), *QUIET)
    else:
        if options.markdown:
            from stenograph.views.terminal.markdown import markdown_lines

            lines = markdown_lines(part.text, columns or _RULE_COLUMNS, color=options.color, mask=options.mask)
        else:
            lines = (piece for line in _lines(part.text) for piece in wrap(line, columns))
        yield from (f"  {line}".rstrip() for line in lines)


def _tool(part: ToolPart, options: RenderOptions) -> Iterator[str]:
    name = one_line(part.name) or "(unnamed tool)"
    lines = harmless(part.title).strip().split("\n")
    facts = [one_line(body.text) for body in part.bodies if isinstance(body, Fact)] if options.results else []
    facts += [_changed(body) for body in part.bodies if isinstance(body, Patch)]
    if part.status == "unanswered":
        facts.append("no result")
    if part.status == "interrupted":
        facts.append("interrupted")
    if options.figures:
        facts += _work(part.agent) if part.agent is not None else _took(part)
    aside = "  ".join(facts)
    sign, role = _MARK[part.status]
    mark = f"{options.paint(sign, *role)} {options.paint(name, *STRONG)}"
    room = None if options.width is None else options.width - width(name) - 3
    if options.full:
        first, *more = wrap(lines[0], None if room is None else max(10, room))
        yield _beside(f"{mark} {first}", width(first) + width(name) + 3, "" if more else aside, options)
        inside = None if options.width is None else max(10, options.width - 4)
        rest = [piece for line in (*more, *lines[1:]) for piece in wrap(line, inside)]
        yield from (f"    {piece}".rstrip() for piece in rest)
        if more and aside:
            yield options.paint(f"    {aside}", *QUIET)
    else:
        first = cut(lines[0], None if room is None else max(10, room - (width(aside) + 2 if aside else 0)))
        yield _beside(f"{mark} {first}", width(first) + width(name) + 3, aside, options)
        yield from (cut(f"    {line}", options.width) for line in lines[1:_TITLE_LINES])
    if not options.full and len(lines) > _TITLE_LINES:
        yield options.paint(f"    … {count_of(len(lines) - _TITLE_LINES, 'more line')}", DIM)
    bodies = part.bodies
    if part.agent is not None and options.agents:
        yield from render_agent(part.agent, options)
        answer = next(
            (each.text for turn in reversed(part.agent.turns) for each in reversed(turn.parts) if isinstance(each, TextPart)), ""
        )
        bodies = tuple(body for body in bodies if not (isinstance(body, Output) and body.text.strip() == answer.strip()))
    # A patch is what was asked for, not only what came back.
    yield from render_bodies([body for body in bodies if options.results or isinstance(body, Patch | Checklist)], options)


def _beside(line: str, taken: int, aside: str, options: RenderOptions) -> str:
    """What came out, on the right; in a pipe behind what was asked for. `taken`: the columns of the line."""
    if not aside:
        return line.rstrip()
    space = 2 if options.width is None else max(2, options.width - taken - width(aside))
    return line + options.paint(" " * space + aside, *QUIET)


def _took(part: ToolPart) -> list[str]:
    """How long a command, a fetch or a tool of a server ran. Files are read at once, and other waits are those for an answer."""
    is_run = family_of(part.name) in ("shell", "web", "other")
    return [duration(part.duration_ms)] if is_run and part.duration_ms and part.duration_ms >= _LEAST_MS else []


def _work(agent: AgentPart) -> list[str]:
    facts = [count_of(agent.tool_calls, "tool call") if agent.tool_calls else ""]
    facts += [
        duration(agent.duration_ms) if agent.duration_ms else "",
        money(agent.usd, estimated=agent.usd_estimated) if agent.usd else "",
    ]
    return [fact for fact in facts if fact]


def render_bodies(bodies: Iterable[Body], options: RenderOptions) -> Iterator[str]:
    for body in bodies:
        yield from (f"    {line}" if line else "" for line in _body(body, options.narrower(4)))


def _changed(patch: Patch) -> str:
    return f"+{sum(line.startswith('+') for line in patch.lines)} -{sum(line.startswith('-') for line in patch.lines)}"


def _body(body: Body, options: RenderOptions) -> Iterator[str]:
    match body:
        case Output():
            codes = BAD if body.is_error else QUIET
            yield from _some_lines(body.text, options, codes)
        case Patch():
            yield from render_patch(body.lines, options)
        case Checklist():
            for state, what in body.items:
                line = cut(f"{_BOXES.get(state, '[ ]')} {one_line(what)}", options.width)
                yield options.paint(line, *((DIM,) if state == "completed" else (BOLD,) if state == "in_progress" else ()))


def _some_lines(text: str, options: RenderOptions, codes: tuple[int, ...]) -> Iterator[str]:
    lines = _lines(text)
    longest = None if options.full else min(options.width or _LONGEST_LINE, _LONGEST_LINE)
    if options.full or len(lines) <= options.head + options.tail + 1:
        yield from (options.paint(cut(line, longest), *codes) for line in lines)
        return
    yield from (options.paint(cut(line, longest), *codes) for line in lines[: options.head])
    yield options.paint(f"… {count_of(len(lines) - options.head - options.tail, 'line')} left out (--full)", DIM, ITALIC)
    if options.tail:
        yield from (options.paint(cut(line, longest), *codes) for line in lines[-options.tail :])


def render_patch(lines: Sequence[str], options: RenderOptions) -> Iterator[str]:
    shown = lines if options.full or len(lines) <= options.patch + 1 else lines[: options.patch]
    longest = None if options.full else min(options.width or _LONGEST_LINE, _LONGEST_LINE)
    for line in shown:
        codes = {"+": (GREEN,), "-": (RED,), "@": (CYAN,)}.get(line[:1], ())
        yield options.paint(cut(harmless(line, keep_tabs=options.full).replace("\n", " "), longest), *codes)
    if len(shown) < len(lines):
        yield options.paint(f"… {count_of(len(lines) - len(shown), 'line')} left out (--full)", DIM, ITALIC)


def render_agent(part: AgentPart, options: RenderOptions) -> Iterator[str]:
    inside = options.narrower(4)
    kind = one_line(part.agent_type) or "subagent"
    edge = options.paint("  │", *OTHER)
    named = f"{kind} {one_line(part.agent_id)}{', in the background' if part.background else ''}"
    yield f"{edge} {options.paint(named, *QUIET)}"
    if part.shown_above or part.left_out:
        what = "shown above" if part.shown_above else f"nested too deeply: {count_of(part.left_out, 'subagent')} left out"
        yield f"{edge} {options.paint(what, *QUIET, ITALIC)}"
    for turn in part.turns:
        yield edge
        yield from (f"{edge} {line}".rstrip() for line in render_parts(turn.parts, inside))


def _lines(text: str) -> list[str]:
    return [line.rstrip() for line in harmless(text).strip("\n").split("\n")]


def render_session(pieces: Iterable[Piece], options: RenderOptions) -> Iterator[str]:
    parting: dict[int, list[BranchPage]] = {}
    of = 0
    for piece in pieces:
        if isinstance(piece, SessionHeading):
            for other in piece.branches:
                if other.number != piece.branch:
                    parting.setdefault(other.shared, []).append(other)
            of = piece.turns
            yield from _session_heading(piece, options)
            if piece.notes:
                yield ""
                yield from render_parts(piece.notes, options)
            if piece.whole:
                yield from _branch_lines(parting.get(0, ()), options)
        elif isinstance(piece, TurnPage):
            yield from render_turn(piece, options, of)
            if lines := list(_branch_lines(parting.get(piece.number, ()), options)):
                yield from ("", *lines)
        else:
            yield from ("", options.paint("· a subagent without a tool call in this session", *QUIET))
            yield from render_agent(piece, options)


def _cost(page: SessionHeading) -> str:
    found = money(page.usd, estimated=page.usd_estimated, unpriced=page.usd_unpriced) if page.usd != 0 else ""
    copied = f"{dollars(round(page.copied_usd * 1_000_000))} copied" if page.copied_usd else ""
    return f"{found} + {copied}" if found and copied else found or copied


def _session_heading(page: SessionHeading, options: RenderOptions) -> Iterator[str]:
    now = options.now or datetime.now(UTC)
    room = None if options.width is None else options.width - _GUTTER
    project = last_folder(short_path(page.project)) if page.project and room is not None else page.project
    place = " on ".join(one_line(each) for each in (project, page.git_branch) if each)
    status = f"{options.mark(page.status)}{page.status}" if page.status in MARKS else ""
    if page.title:
        yield f"  {options.paint(cut(one_line(page.title), room), *STRONG)}"
    facts = "  ".join(one_line(fact) for fact in (place, page.model, page.release) if fact)
    if facts or status:
        yield f"  {options.paint(cut(facts, room), *QUIET)}{f'  {status}' if status else ''}"
    started, ended = page.started, page.ended
    span = _span(started, ended, now, page.status) if room is not None else local_time(started) if started else ""
    branches = len(page.branches)
    counts = [
        span,
        count_of(page.turns, "turn"),
        count_of(page.agents, "subagent") if page.agents and page.whole else "",
        f"branch {page.branch} of {branches}" if branches > 1 else "",
    ]
    yield _figures("  ".join(count for count in counts if count), _cost(page), options)
    if page.whole and (page.tokens.sent or page.tokens.output):
        of = " of " + thousands(page.context_window).replace(".0", "") if page.context_window else ""
        context = f"{thousands(page.context)}{of} context  " if page.context else ""
        cached = f" ({round(100 * page.tokens.cache_read / page.tokens.sent)}% cached)" if page.tokens.cache_read else ""
        tokens = f"{context}{thousands(page.tokens.sent)} tokens in{cached}  {thousands(page.tokens.output)} out"
        yield _figures(tokens + (" on all branches" if branches > 1 else ""), "", options)
    if page.tape and room is not None:
        yield f"  {tape(page.tape, options)}"
    more = (page.summary, *page.pull_requests, page.slug) if page.whole else ()
    for each in (*more, page.id):
        if each:
            yield f"  {options.paint(cut(one_line(each), room), *QUIET)}"
    for other in page.continues if page.whole else ():
        yield f"  {options.paint(f'continues session {one_line(other)}', *QUIET)}"


def _figures(left: str, right: str, options: RenderOptions) -> str:
    if options.width is None:
        return options.paint(f"  {left}{f'  {right}' if right else ''}", *QUIET)
    left = cut(left, options.width - _GUTTER - (width(right) + 2 if right else 0))
    space = " " * (options.width - _GUTTER - width(left) - width(right)) if right else ""
    return f"  {options.paint(left, *QUIET)}{space}{options.paint(right, *STRONG)}"


def _span(started: datetime | None, ended: datetime | None, now: datetime, status: str) -> str:
    """`Tue 09:12 to 10:26`, `Tue 09:12 to now`."""
    if started is None:
        return ""
    if status == "running":
        return f"{_moment(started, now)} to now"
    if ended is None or local_time(ended) == local_time(started):
        return _moment(started, now)
    is_same_day = local_time(started).split(" ")[0] == local_time(ended).split(" ")[0]
    return f"{_moment(started, now)} to {local_time(ended)[-5:] if is_same_day else _moment(ended, now)}"


def _moment(moment: datetime, now: datetime) -> str:
    """As lists show it, with the time of day."""
    shown, clock = when(moment, now), local_time(moment)[-5:]
    return shown if ":" in shown or shown == "now" else f"{shown} {clock}"


def _branch_lines(branches: Iterable[BranchPage], options: RenderOptions) -> Iterator[str]:
    for other in branches:
        rest = other.turns - other.shared
        where = f"after turn {other.shared}" if other.shared else "before the first turn"
        more = f", {count_of(rest, 'turn')} of its own (--branch {other.number})" if rest else ", and ends there"
        yield options.paint(f"┬ branch {other.number} starts {where}{more}", *OTHER)
