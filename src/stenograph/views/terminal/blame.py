"""The lines of a file with the turns that wrote them, or one line with its story."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime

from stenograph.views.pages.blame import BlamedLinePage, BlamePage, EarlierLinePage, WriterPage
from stenograph.views.terminal.options import BOLD, COMMAND, DIM, PROSE, YOU, RenderOptions
from stenograph.views.text import (
    count_of,
    cut,
    harmless,
    local_time,
    one_line,
    pad,
    plain,
    short_id,
    short_model,
    short_path,
    table,
    when,
    wrap,
)

_INDENT = "  "
#: From this width on, prompts are shown beside the lines.
_WIDE = 100
_LABEL = {"wide": 34, "narrow": 18}
_ORIGINS = {"before": "before any session", "outside": "by hand or a command", "unknown": "unknown"}
_MOST_PROMPT_LINES = 12


def render_blame(page: BlamePage, options: RenderOptions, *, one: bool = False) -> Iterator[str]:
    if one:
        yield from _one_line(page, options)
    elif options.width is None:
        yield from table([_row(page, line) for line in page.lines], frozenset({3}))
    else:
        yield from _drawn(page, options, options.width)


def _row(page: BlamePage, line: BlamedLinePage) -> list[str]:
    """In a pipe, every line says who wrote it."""
    writer = None if line.writer is None else page.writers[line.writer]
    if writer is None:
        return [_ORIGINS[line.origin], "", "", str(line.number), _code(line.text)]
    return [
        writer.session,
        f"turn {writer.turn}" if writer.turn else "subagent",
        local_time(writer.time) if writer.time else "",
        str(line.number),
        _code(line.text),
    ]


def _code(line: str) -> str:
    """A line of a file as it is indented."""
    return harmless(line).replace("\n", " ").rstrip()


def _drawn(page: BlamePage, options: RenderOptions, columns: int) -> Iterator[str]:
    room = columns - len(_INDENT)
    yield from (options.paint(f"{_INDENT}{line}", BOLD) for line in wrap(_total(page), room))
    if not page.on_disk:
        yield from (
            _INDENT + line for line in wrap("There is no such file here; these are the lines that the last session left.", room)
        )
    yield ""
    label_columns = _LABEL["wide" if columns >= _WIDE else "narrow"]
    number_columns = len(str(page.total))
    above: int | str | None = None
    for line in page.lines:
        who = line.origin if line.writer is None else line.writer
        label = "" if who == above else _label(page, line, label_columns)
        above = who
        codes = YOU if line.writer is not None else (DIM,)
        left = options.paint(pad(label, label_columns), *codes)
        number = options.paint(f"{line.number:>{number_columns}} │", DIM)
        text = cut(_code(line.text), columns - len(_INDENT) - label_columns - number_columns - 4)
        yield f"{_INDENT}{left} {number} {text}".rstrip()
    yield ""
    yield from _sessions(page, options, columns)
    yield from _commands(page, options)


def _total(page: BlamePage) -> str:
    sessions = len({writer.session for writer in page.writers if writer.lines})
    written = page.origins.get("turn", 0)
    parts = [f"{written} written in {count_of(sessions, 'session')}"] if written else ["none written in a session"]
    parts += [f"{count} {_ORIGINS[origin]}" for origin in _ORIGINS if (count := page.origins.get(origin, 0))]
    return f"{count_of(page.total, 'line')} of {short_path(page.file)}: {', '.join(parts)}"


def _label(page: BlamePage, line: BlamedLinePage, columns: int) -> str:
    if line.writer is None:
        return cut(_ORIGINS[line.origin], columns)
    writer = page.writers[line.writer]
    who = _who(writer)
    prompt = one_line(writer.prompt)
    return cut(f"{who}  > {prompt}" if prompt and columns > _LABEL["narrow"] else who, columns)


def _who(writer: WriterPage) -> str:
    return f"{short_id(writer.session)} turn {writer.turn}" if writer.turn else f"{short_id(writer.session)} subagent"


def _sessions(page: BlamePage, options: RenderOptions, columns: int) -> Iterator[str]:
    lines: dict[str, int] = {}
    newest: dict[str, WriterPage] = {}
    for writer in page.writers:
        if writer.lines:
            lines[writer.session] = lines.get(writer.session, 0) + writer.lines
            newest[writer.session] = writer
    rows = [
        [short_id(name), _moment(writer.time, options), count_of(lines[name], "line"), plain(writer.title or "(no prompt)")]
        for name, writer in newest.items()
    ]
    yield from (cut(_INDENT + line, columns) for line in table(rows, frozenset({2})))


def _moment(moment: datetime | None, options: RenderOptions) -> str:
    return "" if moment is None else when(moment, options.now or datetime.now(UTC))


def _commands(page: BlamePage, options: RenderOptions) -> Iterator[str]:
    last = next((line for line in reversed(page.lines) if line.writer is not None), None)
    if last is None:
        return
    yield ""
    yield f"{_INDENT}one line  {options.paint(options.command('blame', f'{page.file}:{last.number}'), *COMMAND)}"
    yield from _show_command(page, last, options)


def _show_command(page: BlamePage, line: BlamedLinePage, options: RenderOptions) -> Iterator[str]:
    writer = None if line.writer is None else page.writers[line.writer]
    if writer is not None:
        turn = ("--turn", str(writer.turn)) if writer.turn else ()
        yield f"{_INDENT}open      {options.paint(options.command('show', short_id(writer.session), *turn), *COMMAND)}"


def _one_line(page: BlamePage, options: RenderOptions) -> Iterator[str]:
    (line,) = page.lines
    yield _quoted(line.number, line.text, options)
    yield ""
    if line.writer is None:
        yield f"{_INDENT}{_ORIGINS[line.origin]}"
    else:
        yield from _story(page.writers[line.writer], options)
    for earlier in page.earlier:
        yield ""
        yield from _earlier(page, line, earlier, options)
    if line.writer is not None:
        yield ""
        yield from _show_command(page, line, options)


def _quoted(number: int, text: str, options: RenderOptions) -> str:
    shown = f"{_INDENT}{options.paint(f'{number} │', DIM)} {_code(text)}"
    return shown if options.color else cut(shown, options.width)


def _story(writer: WriterPage, options: RenderOptions) -> Iterator[str]:
    facts = [_who(writer), _moment(writer.time, options) if options.width else "", short_model(writer.model or "")]
    if options.width is None and writer.time:
        facts[1] = local_time(writer.time)
    yield _INDENT + options.paint(", ".join(filter(None, facts)), BOLD)
    if writer.title:
        yield from (_INDENT + each for each in wrap(plain(writer.title), _prose(options)))
    shown = [each for part in writer.prompt.splitlines() for each in wrap(plain(part), _prose(options))]
    for place, each in enumerate(shown[:_MOST_PROMPT_LINES]):
        yield (options.paint("> ", *YOU) if place == 0 else _INDENT) + each
    if len(shown) > _MOST_PROMPT_LINES:
        yield f"{_INDENT}… {count_of(len(shown) - _MOST_PROMPT_LINES, 'more line')}"


def _prose(options: RenderOptions) -> int | None:
    return None if options.width is None else min(options.width, PROSE) - len(_INDENT)


def _earlier(page: BlamePage, line: BlamedLinePage, earlier: EarlierLinePage, options: RenderOptions) -> Iterator[str]:
    who = _ORIGINS[earlier.origin] if earlier.writer is None else _who(page.writers[earlier.writer])
    yield f"{_INDENT}earlier, {who}"
    yield _quoted(line.number, earlier.text, options)
