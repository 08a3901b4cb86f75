"""The files of a session as a table, and their differences."""

from __future__ import annotations

from collections.abc import Iterator

from stenograph.analysis import REASONS
from stenograph.views.pages.files import FilePage, FilesPage
from stenograph.views.terminal.options import BOLD, DIM, YELLOW, RenderOptions
from stenograph.views.terminal.transcript import render_patch
from stenograph.views.text import column_width, count_of, cut, cut_start, plain, short_path, table
from stenograph.views.tools import path_from

_LEAST_PATH_COLUMNS = 16
_HEADER = ("what", "lines", "tool calls", "path")
#: One for each of `REASONS`.
_SIGNS = "*†‡§¶"


def render_files(page: FilesPage, options: RenderOptions, *, with_diff: bool = False) -> Iterator[str]:
    marks = _marks(page)
    rows = [list(_HEADER)] if page.files else []
    for file in page.files:
        path = short_path(path_from(page.project or "", file.path) or file.path)
        doubts = "".join(marks[doubt] for doubt in file.doubts)
        rows.append([*_facts(file), f"{path} {doubts}".rstrip()])
    if options.width is not None:
        room = options.width - sum(column_width(row[column] for row in rows) + 2 for column in range(3))
        rows = [[*row[:3], cut_start(row[3], max(_LEAST_PATH_COLUMNS, room))] for row in rows]
    for number, line in enumerate(table(rows, frozenset({1}))):
        yield options.paint(cut(line, options.width), *(() if number else (DIM,)))
    if page.files:
        yield options.paint(_total(page), BOLD)
    for doubt, mark in marks.items():
        files = sum(doubt in file.doubts for file in page.files)
        yield options.paint(f"{mark} {REASONS[doubt]} ({count_of(files, 'file')})", YELLOW)
    for file in page.files if with_diff else ():
        if file.diff:
            yield ""
            yield from (options.paint(plain(line), BOLD) for line in file.diff[:2])
            yield from render_patch(file.diff[2:], options)


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
