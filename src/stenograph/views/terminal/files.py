"""The files of a session as a table, and their differences."""

from __future__ import annotations

from collections.abc import Iterator

from stenograph.analysis import REASONS
from stenograph.views.pages.files import FilePage, FilesPage
from stenograph.views.terminal.options import BOLD, DIM, QUIET, STRONG, YELLOW, RenderOptions
from stenograph.views.terminal.transcript import render_patch
from stenograph.views.text import column_width, count_of, cut, cut_start, plain, short_path, table, wrap
from stenograph.views.tools import path_from

_LEAST_PATH_COLUMNS = 16
_HEADER = ("what", "lines", "tool calls", "path")
#: One for each of `REASONS`.
_SIGNS = "*†‡§¶"


def render_files(page: FilesPage, options: RenderOptions, *, with_diff: bool = False) -> Iterator[str]:
    """In a terminal the total comes first, and doubtful files have a mark; in a pipe the table is whole."""
    if options.width is not None:
        yield from _drawn(page, options, min(options.width, _WIDEST))
        yield from _differences(page, options) if with_diff else ()
        return
    marks = _marks(page)
    rows = [list(_HEADER)] if page.files else []
    for file in page.files:
        path = short_path(path_from(page.project or "", file.path) or file.path)
        doubts = "".join(marks[doubt] for doubt in file.doubts)
        rows.append([*_facts(file), f"{path} {doubts}".rstrip()])
    for number, line in enumerate(table(rows, frozenset({1}))):
        yield options.paint(line, *(() if number else (DIM,)))
    if page.files:
        yield options.paint(_total(page), BOLD)
    for doubt, mark in marks.items():
        files = sum(doubt in file.doubts for file in page.files)
        yield options.paint(f"{mark} {REASONS[doubt]} ({count_of(files, 'file')})", YELLOW)
    yield from _differences(page, options) if with_diff else ()


def _differences(page: FilesPage, options: RenderOptions) -> Iterator[str]:
    for file in page.files:
        if file.diff:
            yield ""
            yield from (options.paint(plain(line), BOLD) for line in file.diff[:2])
            yield from render_patch(file.diff[2:], options)


_WIDEST = 140


def _drawn(page: FilesPage, options: RenderOptions, columns: int) -> Iterator[str]:
    if not page.files:
        return
    changed = [file for file in page.files if file.changed]
    read = [file for file in page.files if not file.changed]
    known = [file for file in changed if file.known]
    net = f", +{sum(file.added or 0 for file in known)} -{sum(file.removed or 0 for file in known)}" if known else ""
    only = f"; {len(read)} only read" if read else ""
    total = f"{count_of(len(changed), 'file')} changed{net}{only}"
    yield f"  {options.paint(total, *STRONG)}"
    yield ""
    rows = [["file", "net", "edits", "reads", "turns", ""]]
    for file in (*changed, *read):
        path = short_path(path_from(page.project or "", file.path) or file.path)
        lines = "" if not file.changed else f"+{file.added} -{file.removed}" if file.known else "?"
        turns = ", ".join(map(str, file.turns[:_MOST_TURNS])) + (" …" if len(file.turns) > _MOST_TURNS else "")
        word = "incomplete" if file.doubts else "new" if file.created else ""
        rows.append([path, lines, str(file.edits + file.writes), str(file.reads), turns, word])
    room = columns - 2 - sum(column_width(row[column] for row in rows) + 2 for column in range(1, 6))
    rows = [[cut_start(row[0], max(_LEAST_PATH_COLUMNS, room)), *row[1:]] for row in rows]
    heading, *lines_ = [cut(line, columns - 2) for line in table(rows, frozenset({1, 2, 3}))]
    yield f"  {options.paint(heading, *QUIET)}"
    for line, file in zip(lines_, (*changed, *read), strict=True):
        yield options.mark("care" if file.doubts else "") + line
    if any(file.doubts for file in page.files):
        yield ""
    for doubt in REASONS:
        files = [file for file in page.files if doubt in file.doubts]
        if files:
            first_file = short_path(path_from(page.project or "", files[0].path) or files[0].path)
            others = f" and {count_of(len(files) - 1, 'other file')}" if len(files) > 1 else ""
            first, *more = wrap(f"{first_file}{others}: {REASONS[doubt]}", columns - 2)
            yield options.mark("care") + first
            yield from (f"  {each}" for each in more)


#: Of a file, in a terminal.
_MOST_TURNS = 6


def _marks(page: FilesPage) -> dict[str, str]:
    """A footnote sign for each doubt that there is about a file."""
    met = [doubt for doubt in REASONS if any(doubt in file.doubts for file in page.files)]
    return dict(zip(met, _SIGNS, strict=False))


def _total(page: FilesPage) -> str:
    changed = [file for file in page.files if file.changed]
    known = [file for file in changed if file.known]
    lines = f", +{sum(file.added or 0 for file in known)} -{sum(file.removed or 0 for file in known)}" if known else ""
    unknown = f" ({count_of(len(changed) - len(known), 'file')} not known)" if len(known) < len(changed) else ""
    return f"{count_of(len(page.files), 'file')}, {len(changed)} changed{lines}{unknown}"


def _facts(file: FilePage) -> tuple[str, str, str]:
    net = "" if not file.changed else f"+{file.added} -{file.removed}" if file.known else "?"
    what = "created" if file.created else "changed" if file.changed else "read"
    counts = [f"{number} {word}" for number, word in ((file.reads, "read"), (file.edits + file.writes, "changed")) if number]
    return what, net, ", ".join(counts)
