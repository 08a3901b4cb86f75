"""Pages -> text for a terminal, or plain text where there is none.

In: pages and how they are wanted. Out: lines, one after another, so that a pager can show the first ones while the rest is made.
Nothing from a transcript reaches a line without `harmless`; colour is put on last.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from msgspec import Struct

from stenograph.views.masking import Mask, as_is
from stenograph.views.pages import (
    AgentPart,
    Body,
    BranchPage,
    Checklist,
    Fact,
    NotePart,
    Output,
    Part,
    Patch,
    PromptPart,
    SessionPage,
    TextPart,
    ThoughtPart,
    ToolPart,
    TurnPage,
)
from stenograph.views.text import amount, count_of, cut, duration, harmless, local_time, one_line, thousands, width, wrap

_LONGEST_LINE = 400
_RULE_COLUMNS = 80


class Look(Struct, frozen=True):
    """How pages are wanted."""

    #: Columns; None: lines stay as long as they are.
    width: int | None = None
    color: bool = False
    #: Render Markdown; else it stands as it was written.
    markdown: bool = False
    thinking: bool = False
    #: What tools gave back.
    results: bool = True
    #: What sub-agents did.
    agents: bool = False
    #: Hooks one by one; else their number, and those that went wrong or held something up.
    hooks: bool = False
    #: Everything to its end: outputs, patches, summaries.
    full: bool = False
    #: How many lines of an output are shown: from its beginning, and from its end.
    head: int = 8
    tail: int = 4
    #: How many lines of a patch are shown.
    patch: int = 60
    #: What masks a line that was made from several pieces; the pieces come masked.
    mask: Mask = as_is

    def paint(self, text: str, *codes: int) -> str:
        return f"\x1b[{';'.join(map(str, codes))}m{text}\x1b[0m" if self.color and codes and text else text

    def masking(self, mask: Mask) -> Look:
        from msgspec.structs import replace

        return replace(self, mask=mask)

    def narrower(self, columns: int) -> Look:
        from msgspec.structs import replace

        return replace(self, width=None if self.width is None else max(20, self.width - columns))


_BOLD, _DIM, _ITALIC, _RED, _GREEN, _YELLOW, _BLUE, _CYAN = 1, 2, 3, 31, 32, 33, 34, 36
_STATUS = {"complete": (_GREEN,), "failed": (_RED,), "interrupted": (_YELLOW,), "open": (_BLUE,)}
_MARK = {"ok": (_GREEN,), "error": (_RED,), "open": (_BLUE,), "running": (_BLUE,)}
_BOXES = {"completed": "[x]", "in_progress": "[>]"}


def render_heading(page: SessionPage, look: Look) -> Iterator[str]:
    """The lines above the turns."""
    title = one_line(page.title) or page.id
    yield look.paint(cut(title, look.width), _BOLD)
    facts = [page.id if page.title else "", page.project, page.release]
    yield look.paint(cut(" · ".join(one_line(fact) for fact in facts if fact), look.width), _DIM)
    tokens = f"{thousands(page.input_tokens)} tokens in, {thousands(page.output_tokens)} out"
    tokens += " on all branches" if page.others else ""
    counts = [
        local_time(page.started) if page.started else "",
        count_of(page.turns, "turn"),
        count_of(page.agents, "sub-agent") if page.agents else "",
        tokens if page.input_tokens or page.output_tokens else "",
        f"branch {page.branch} of {len(page.others) + 1}" if page.others else "",
    ]
    yield look.paint(cut(" · ".join(count for count in counts if count), look.width), _DIM)
    for other in page.continues:
        yield look.paint(f"goes on from session {one_line(other)}", _DIM)


def render_branches(branches: Iterable[BranchPage], look: Look) -> Iterator[str]:
    """A line for each other branch that parts from the one that is shown."""
    for other in branches:
        rest = other.turns - other.after
        where = f"after turn {other.after}" if other.after else "before the first turn"
        more = f", {count_of(rest, 'turn')} of its own (--branch {other.number})" if rest else ", and ends there"
        yield look.paint(f"branch {other.number} parts {where}{more}", _YELLOW)


def render_turn(page: TurnPage, look: Look) -> Iterator[str]:
    """One turn: its heading and its parts."""
    yield from ("", _heading(page, look), "")
    yield from render_parts(page.parts, look)


def _heading(page: TurnPage, look: Look) -> str:
    facts = [
        local_time(page.started)[-5:] if page.started else "",
        duration(page.duration_ms) if page.duration_ms else "",
        f"{thousands(page.output_tokens)} out" if page.output_tokens else "",
        one_line(page.new_model),
        page.status,
    ]
    left, right = f"── turn {page.number} ", " " + " · ".join(fact for fact in facts if fact)
    columns = look.width or _RULE_COLUMNS
    rule = "─" * max(2, columns - width(left) - width(right))
    return look.paint(left + rule, _DIM) + look.paint(right, *_STATUS.get(page.status, ()))


def render_parts(parts: Sequence[Part], look: Look) -> Iterator[str]:
    """Parts one after another, an empty line where their kind changes; hooks that simply ran as one line at the end."""
    last: type[Part] | None = None
    folded = 0
    for part in parts:
        if isinstance(part, NotePart) and part.kind == "hook" and not part.urgent and not look.hooks:
            folded += part.times
            continue
        if last is not None and (type(part) is not last or isinstance(part, PromptPart | TextPart)):
            yield ""
        last = type(part)
        yield from render_part(part, look)
    if folded:
        if last is not None and last is not NotePart:
            yield ""
        yield look.paint(cut(f"· {count_of(folded, 'hook')} ran (--hooks)", look.width), _DIM)


def render_part(part: Part, look: Look) -> Iterator[str]:
    match part:
        case PromptPart():
            yield from _prompt(part, look)
        case TextPart():
            yield from _said(part, look)
        case ThoughtPart():
            yield from _folded(f"thought, {amount(part.text)}", part.text, look, shown=look.thinking or look.full)
        case NotePart():
            mark = f"── {one_line(part.line)} ──" if part.kind == "compaction" else f"· {one_line(part.line)}"
            if part.text and part.kind == "compaction":
                mark += f" summary, {amount(part.text)}"
            yield from _folded(mark, part.text, look, shown=look.full, marked=False)
        case ToolPart():
            yield from _tool(part, look)


def _prompt(part: PromptPart, look: Look) -> Iterator[str]:
    mark = "»" if part.interjected else ">"
    text = harmless(part.text) if part.text.strip() else "(no text)"
    if part.images:
        text += f"\n[{count_of(part.images, 'image')}]"
    columns = None if look.width is None else look.width - 2
    for line in text.strip("\n").split("\n"):
        for piece in wrap(line, columns):
            yield look.paint(f"{mark} {piece}".rstrip(), _BOLD, _CYAN)


def _said(part: TextPart, look: Look) -> Iterator[str]:
    if part.origin == "error":
        yield from (look.paint(piece, _RED) for line in _lines(part.text) for piece in wrap(line, look.width))
    elif part.origin == "client":
        yield look.paint(cut(f"· the client said: {one_line(part.text)}", look.width), _DIM)
    elif look.markdown:
        from stenograph.views.markdown import render_markdown

        yield from render_markdown(part.text, look.width or _RULE_COLUMNS, color=look.color, mask=look.mask)
    else:
        yield from (piece for line in _lines(part.text) for piece in wrap(line, look.width))


def _folded(line: str, text: str, look: Look, *, shown: bool, marked: bool = True) -> Iterator[str]:
    yield look.paint(cut(f"· {line}" if marked else harmless(line), look.width), _DIM)
    if shown and text:
        columns = None if look.width is None else look.width - 2
        for each in _lines(text):
            yield from (look.paint(f"  {piece}".rstrip(), _DIM, _ITALIC) for piece in wrap(each, columns))


def _tool(part: ToolPart, look: Look) -> Iterator[str]:
    name = one_line(part.name) or "(a tool without a name)"
    lines = harmless(part.title).strip().split("\n")
    facts = [one_line(body.text) for body in part.bodies if isinstance(body, Fact)] if look.results else []
    facts += [_changed(body) for body in part.bodies if isinstance(body, Patch)]
    if part.status == "open":
        facts.append("no result")
    aside = f"  ({', '.join(facts)})" if facts else ""
    room = None if look.width is None else look.width - width(name) - 3
    first = cut(lines[0], None if room is None else max(10, room - width(aside)))
    yield f"{look.paint('●', *_MARK[part.status])} {look.paint(name, _BOLD)} {first}{look.paint(aside, _DIM)}".rstrip()
    rest = lines[1:] if look.full else lines[1:6]
    yield from (cut(f"    {line}", look.width) for line in rest)
    if len(lines) - 1 > len(rest):
        yield look.paint(f"    … {count_of(len(lines) - 1 - len(rest), 'more line')}", _DIM)
    bodies = part.bodies
    if part.agent is not None and look.agents:
        yield from render_agent(part.agent, look)
        answer = next(
            (each.text for turn in reversed(part.agent.turns) for each in reversed(turn.parts) if isinstance(each, TextPart)), ""
        )
        bodies = tuple(body for body in bodies if not (isinstance(body, Output) and body.text.strip() == answer.strip()))
    # A patch is what was asked for, not only what came back.
    yield from render_bodies([body for body in bodies if look.results or isinstance(body, Patch | Checklist)], look)


def render_bodies(bodies: Iterable[Body], look: Look) -> Iterator[str]:
    """What came out of a tool, indented."""
    for body in bodies:
        yield from (f"  {line}" if line else "" for line in _body(body, look.narrower(2)))


def _changed(patch: Patch) -> str:
    return f"+{sum(line.startswith('+') for line in patch.lines)} -{sum(line.startswith('-') for line in patch.lines)}"


def _body(body: Body, look: Look) -> Iterator[str]:
    match body:
        case Output():
            codes = (_RED,) if body.is_error else (_DIM,)
            yield from _some_lines(body.text, look, codes)
        case Patch():
            yield from render_patch(body.lines, look)
        case Checklist():
            for state, what in body.items:
                line = cut(f"{_BOXES.get(state, '[ ]')} {one_line(what)}", look.width)
                yield look.paint(line, *((_DIM,) if state == "completed" else (_BOLD,) if state == "in_progress" else ()))


def _some_lines(text: str, look: Look, codes: tuple[int, ...]) -> Iterator[str]:
    """An output's beginning and end, and how much was left out between."""
    lines = _lines(text)
    longest = None if look.full else min(look.width or _LONGEST_LINE, _LONGEST_LINE)
    if look.full or len(lines) <= look.head + look.tail + 1:
        yield from (look.paint(cut(line, longest), *codes) for line in lines)
        return
    yield from (look.paint(cut(line, longest), *codes) for line in lines[: look.head])
    yield look.paint(f"… {count_of(len(lines) - look.head - look.tail, 'line')} left out (--full)", _DIM, _ITALIC)
    if look.tail:
        yield from (look.paint(cut(line, longest), *codes) for line in lines[-look.tail :])


def render_patch(lines: Sequence[str], look: Look) -> Iterator[str]:
    """The lines of a patch in its colours."""
    shown = lines if look.full or len(lines) <= look.patch + 1 else lines[: look.patch]
    longest = None if look.full else min(look.width or _LONGEST_LINE, _LONGEST_LINE)
    for line in shown:
        codes = {"+": (_GREEN,), "-": (_RED,), "@": (_CYAN,)}.get(line[:1], ())
        yield look.paint(cut(harmless(line).replace("\n", " "), longest), *codes)
    if len(shown) < len(lines):
        yield look.paint(f"… {count_of(len(lines) - len(shown), 'line')} left out (--full)", _DIM, _ITALIC)


def render_agent(part: AgentPart, look: Look) -> Iterator[str]:
    """A sub-agent's work, indented."""
    inside = look.narrower(4)
    kind = one_line(part.agent_type) or "sub-agent"
    yield look.paint(f"  ┌ {kind} {one_line(part.agent_id)}{', in the background' if part.background else ''}", _DIM)
    edge = look.paint("  │", _DIM)
    if part.shown_above or part.left_out:
        what = "shown above" if part.shown_above else f"too deep: {count_of(part.left_out, 'sub-agent')} left out"
        yield f"{edge} {look.paint(what, _DIM, _ITALIC)}"
    for number, turn in enumerate(part.turns):
        if number:
            yield edge
        yield from (f"{edge} {line}".rstrip() for line in render_parts(turn.parts, inside))
    yield look.paint("  └", _DIM)


def _lines(text: str) -> list[str]:
    return [line.rstrip() for line in harmless(text).strip("\n").split("\n")]
