"""A session's pages -> lines, made one by one, so that a pager can show the first while the rest is made.

Nothing from a transcript reaches a line without `harmless`; color is put on last.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from stenograph.views.pages.session import BranchPage, Piece, SessionHeading
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
from stenograph.views.terminal.options import BOLD, BRIGHT_BLUE, CYAN, DIM, GREEN, ITALIC, RED, YELLOW, RenderOptions
from stenograph.views.terminal.turns import round_word
from stenograph.views.text import amount, count_of, cut, duration, harmless, local_time, one_line, thousands, width, wrap

_LONGEST_LINE = 400
_TITLE_LINES = 6
_RULE_COLUMNS = 80


_STATUS = {"done": (GREEN,), "failed": (RED,), "interrupted": (YELLOW,), "running": (BRIGHT_BLUE,)}
_MARK = {"done": (GREEN,), "failed": (RED,), "unanswered": (BRIGHT_BLUE,), "running": (BRIGHT_BLUE,)}
_BOXES = {"completed": "[x]", "in_progress": "[>]"}


def render_turn(page: TurnPage, options: RenderOptions) -> Iterator[str]:
    yield from ("", _heading(page, options), "")
    yield from render_parts(page.parts, options)


def _heading(page: TurnPage, options: RenderOptions) -> str:
    facts = [
        local_time(page.started)[-5:] if page.started else "",
        duration(page.duration_ms) if page.duration_ms else "",
        f"{thousands(page.tokens.output)} out" if page.tokens.output else "",
        one_line(page.new_model),
        round_word(page.round),
        page.status,
    ]
    left, right = f"── turn {page.number} ", " " + " · ".join(fact for fact in facts if fact)
    columns = options.width or _RULE_COLUMNS
    rule = "─" * max(2, columns - width(left) - width(right))
    return options.paint(left + rule, DIM) + options.paint(right, *_STATUS.get(page.status, ()))


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
        yield options.paint(cut(f"· {count_of(folded, 'hook')} ran (--hooks)", options.width), DIM)


def render_part(part: Part, options: RenderOptions) -> Iterator[str]:
    match part:
        case PromptPart():
            yield from _prompt(part, options)
        case TextPart():
            yield from _said(part, options)
        case ThoughtPart():
            yield from _folded(f"thought, {amount(part.text)}", part.text, options, shown=options.thinking or options.full)
        case NotePart():
            mark = f"── {one_line(part.line)} ──" if part.kind == "compaction" else f"· {one_line(part.line)}"
            if part.text and part.kind == "compaction":
                mark += f" summary, {amount(part.text)}"
            yield from _folded(mark, part.text, options, shown=options.full, marked=False)
        case ToolPart():
            yield from _tool(part, options)


def _prompt(part: PromptPart, options: RenderOptions) -> Iterator[str]:
    mark = "»" if part.interjected else ">"
    text = harmless(part.text) if part.text.strip() else "(no text)"
    if part.images:
        text += f"\n[{count_of(part.images, 'image')}]"
    columns = None if options.width is None else options.width - 2
    for line in text.strip("\n").split("\n"):
        for piece in wrap(line, columns):
            yield options.paint(f"{mark} {piece}".rstrip(), BOLD, CYAN)


def _said(part: TextPart, options: RenderOptions) -> Iterator[str]:
    if part.origin == "error":
        yield from (options.paint(piece, RED) for line in _lines(part.text) for piece in wrap(line, options.width))
    elif part.origin == "client":
        yield options.paint(cut(f"· Claude Code: {one_line(part.text)}", options.width), DIM)
    elif options.markdown:
        from stenograph.views.terminal.markdown import render_markdown

        yield from render_markdown(part.text, options.width or _RULE_COLUMNS, color=options.color, mask=options.mask)
    else:
        yield from (piece for line in _lines(part.text) for piece in wrap(line, options.width))


def _folded(line: str, text: str, options: RenderOptions, *, shown: bool, marked: bool = True) -> Iterator[str]:
    yield options.paint(cut(f"· {line}" if marked else harmless(line), options.width), DIM)
    if shown and text:
        columns = None if options.width is None else options.width - 2
        for each in _lines(text):
            yield from (options.paint(f"  {piece}".rstrip(), DIM, ITALIC) for piece in wrap(each, columns))


def _tool(part: ToolPart, options: RenderOptions) -> Iterator[str]:
    name = one_line(part.name) or "(unnamed tool)"
    lines = harmless(part.title).strip().split("\n")
    facts = [one_line(body.text) for body in part.bodies if isinstance(body, Fact)] if options.results else []
    facts += [_changed(body) for body in part.bodies if isinstance(body, Patch)]
    if part.status == "unanswered":
        facts.append("no result")
    aside = f"  ({', '.join(facts)})" if facts else ""
    room = None if options.width is None else options.width - width(name) - 3
    mark = f"{options.paint('●', *_MARK[part.status])} {options.paint(name, BOLD)}"
    if options.full:
        first, *more = wrap(lines[0], None if room is None else max(10, room))
        yield f"{mark} {first}{options.paint('' if more else aside, DIM)}".rstrip()
        inside = None if options.width is None else max(10, options.width - 4)
        rest = [piece for line in (*more, *lines[1:]) for piece in wrap(line, inside)]
        yield from (f"    {piece}".rstrip() for piece in rest)
        if more and aside:
            yield options.paint(f"   {aside}", DIM)
    else:
        first = cut(lines[0], None if room is None else max(10, room - width(aside)))
        yield f"{mark} {first}{options.paint(aside, DIM)}".rstrip()
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


def render_bodies(bodies: Iterable[Body], options: RenderOptions) -> Iterator[str]:
    for body in bodies:
        yield from (f"  {line}" if line else "" for line in _body(body, options.narrower(2)))


def _changed(patch: Patch) -> str:
    return f"+{sum(line.startswith('+') for line in patch.lines)} -{sum(line.startswith('-') for line in patch.lines)}"


def _body(body: Body, options: RenderOptions) -> Iterator[str]:
    match body:
        case Output():
            codes = (RED,) if body.is_error else (DIM,)
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
    yield options.paint(f"  ┌ {kind} {one_line(part.agent_id)}{', in the background' if part.background else ''}", DIM)
    edge = options.paint("  │", DIM)
    if part.shown_above or part.left_out:
        what = "shown above" if part.shown_above else f"too deep: {count_of(part.left_out, 'subagent')} left out"
        yield f"{edge} {options.paint(what, DIM, ITALIC)}"
    for number, turn in enumerate(part.turns):
        if number:
            yield edge
        yield from (f"{edge} {line}".rstrip() for line in render_parts(turn.parts, inside))
    yield options.paint("  └", DIM)


def _lines(text: str) -> list[str]:
    return [line.rstrip() for line in harmless(text).strip("\n").split("\n")]


def render_session(pieces: Iterable[Piece], options: RenderOptions) -> Iterator[str]:
    parting: dict[int, list[BranchPage]] = {}
    for piece in pieces:
        if isinstance(piece, SessionHeading):
            for other in piece.branches:
                if other.number != piece.branch:
                    parting.setdefault(other.shared, []).append(other)
            yield from _session_heading(piece, options)
            if piece.notes:
                yield ""
                yield from render_parts(piece.notes, options)
            if piece.whole:
                yield from _branch_lines(parting.get(0, ()), options)
        elif isinstance(piece, TurnPage):
            yield from render_turn(piece, options)
            if lines := list(_branch_lines(parting.get(piece.number, ()), options)):
                yield from ("", *lines)
        else:
            yield from ("", options.paint("· a subagent without a tool call in this session", DIM))
            yield from render_agent(piece, options)


def _session_heading(page: SessionHeading, options: RenderOptions) -> Iterator[str]:
    title = one_line(page.title or "") or page.id
    yield options.paint(cut(title, options.width), BOLD)
    for facts in (
        [page.id if page.title else "", page.project],
        [page.release, page.model, page.git_branch and f"branch {page.git_branch}", page.slug],
    ):
        if line := " · ".join(one_line(fact) for fact in facts if fact):
            yield options.paint(cut(line, options.width), DIM)
    if page.whole:
        more = (page.summary, *page.pull_requests)
        yield from (options.paint(cut(one_line(each), options.width), DIM) for each in more if each)
    branches = len(page.branches)
    cached = f" ({thousands(page.tokens.cache_read)} from cache)" if page.tokens.cache_read else ""
    tokens = f"{thousands(page.tokens.sent)} tokens in{cached}, {thousands(page.tokens.output)} out"
    tokens += " on all branches" if branches > 1 else ""
    counts = [
        local_time(page.started) if page.started else "",
        count_of(page.turns, "turn"),
        count_of(page.agents, "subagent") if page.agents and page.whole else "",
        tokens if page.whole and (page.tokens.sent or page.tokens.output) else "",
        f"branch {page.branch} of {branches}" if branches > 1 else "",
    ]
    yield options.paint(cut(" · ".join(count for count in counts if count), options.width), DIM)
    for other in page.continues if page.whole else ():
        yield options.paint(f"continues session {one_line(other)}", DIM)


def _branch_lines(branches: Iterable[BranchPage], options: RenderOptions) -> Iterator[str]:
    for other in branches:
        rest = other.turns - other.shared
        where = f"after turn {other.shared}" if other.shared else "before the first turn"
        more = f", {count_of(rest, 'turn')} of its own (--branch {other.number})" if rest else ", and ends there"
        yield options.paint(f"branch {other.number} starts {where}{more}", YELLOW)
