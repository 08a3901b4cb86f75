"""The files of a session as a table, and their differences."""

from __future__ import annotations

from collections.abc import Iterator

from stenograph.analysis import REASONS
from stenograph.views.pages.files import FilePage, FilesPage
from stenograph.views.terminal.options import BOLD, YELLOW, RenderOptions
from stenograph.views.terminal.transcript import render_patch
from stenograph.views.text import column_width, cut, cut_start, plain, short_path, table
from stenograph.views.tools import path_from

_LEAST_PATH_COLUMNS = 16


def render_files(page: FilesPage, options: RenderOptions, *, with_diff: bool = False) -> Iterator[str]:
    rows = []
    doubtful: dict[str, list[str]] = {}
    for file in page.files:
        path = short_path(path_from(page.project or "", file.path) or file.path)
        for doubt in file.doubts:
            doubtful.setdefault(doubt, []).append(path)
        rows.append([*_facts(file), path + (" *" if file.doubts else "")])
    if options.width is not None:
        room = options.width - sum(column_width(row[column] for row in rows) + 2 for column in range(3))
        rows = [[*row[:3], cut_start(row[3], max(_LEAST_PATH_COLUMNS, room))] for row in rows]
    for line in table(rows, frozenset({1})):
        yield cut(line, options.width)
    for reason, words in REASONS.items():
        if paths := doubtful.get(reason):
            yield options.paint(f"* {words}: {', '.join(paths)}", YELLOW)
    for file in page.files if with_diff else ():
        if file.diff:
            yield ""
            yield from (options.paint(plain(line), BOLD) for line in file.diff[:2])
            yield from render_patch(file.diff[2:], options)


def _facts(file: FilePage) -> tuple[str, str, str]:
    net = "" if not file.changed else f"+{file.added} -{file.removed}" if file.known else "?"
    what = "created" if file.created else "changed" if file.changed else "read"
    counts = [f"{number} {word}" for number, word in ((file.reads, "read"), (file.edits + file.writes, "changed")) if number]
    return what, net, ", ".join(counts)
