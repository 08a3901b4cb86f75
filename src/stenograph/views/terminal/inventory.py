"""What session files hold, as tables."""

from __future__ import annotations

import os
from collections.abc import Iterator

from msgspec import Struct

from stenograph.family import LINES_SUFFIX, is_session_id
from stenograph.views.pages.inventory import CountsPage, FileCounts, InventoryPage
from stenograph.views.terminal.options import BOLD, RenderOptions
from stenograph.views.text import column_width, cut, plain, short_id, short_path, table

_HEADER = (
    *("session", "lines", "user", "assistant", "tool calls", "human turns"),
    *("file-history", "summary", "system", "queue-op", "damaged", "agents"),
)
#: In a terminal; --json has them all.
_MOST_ROWS = 40
_NAME_COLUMNS = 30


class _Named(Struct, frozen=True):
    """A row of every table: a file, or a total."""

    name: str
    counts: CountsPage
    agents: int = 0
    is_total: bool = False


def render_inventory(page: InventoryPage, options: RenderOptions) -> Iterator[str]:
    columns = options.width
    rows = [_Named(_name(file, short=columns is not None), file.counts, file.agents) for file in page.sessions]
    if len(rows) > 1:
        rows.append(_Named("all sessions", page.session_totals, len(page.agents), is_total=True))
    if page.agents:
        rows.append(_Named("agents' files", page.agent_totals, is_total=True))
    yield options.paint("Sessions", BOLD)
    yield from _table([list(_HEADER), *(_row(row) for row in _few(rows, columns))], columns)
    left_out = len(page.sessions) - _MOST_ROWS if columns is not None else 0
    if left_out > 0:
        yield f"and {left_out} more sessions: --json has them all"
    yield from _releases(_few(rows, columns), options)
    # Kinds are too many for a table with a row or a column for each of many files; --json has them all.
    together = rows if len(page.sessions) == 1 else [row for row in rows if row.is_total]
    for title, of, member in (
        ("Record kinds", together, "kinds"),
        ("Stop reasons (assistant lines)", rows, "stop_reasons"),
        ("Content blocks", rows, "blocks"),
    ):
        yield from _distribution(title, [(row.name, getattr(row.counts, member)) for row in _few(of, columns)], options)
    yield from _findings(page, options)


def _releases(rows: list[_Named], options: RenderOptions) -> Iterator[str]:
    """By row: a session mostly has one release, a home may have dozens."""
    cells = [
        [row.name, ", ".join(f"{plain(release)} ({number})" for release, number in row.counts.releases.items())]
        for row in rows
        if row.counts.releases
    ]
    if cells:
        yield from _heading("Releases (lines)", options)
    for line in table(cells):
        yield cut(line, options.width)


def _few(rows: list[_Named], columns: int | None) -> list[_Named]:
    if columns is None:
        return rows
    return [row for row in rows if not row.is_total][:_MOST_ROWS] + [row for row in rows if row.is_total]


def _name(file: FileCounts, *, short: bool) -> str:
    name = os.path.basename(file.path)  # noqa: PTH119 - text in, text out
    stem = name.removesuffix(LINES_SUFFIX)
    if is_session_id(stem):
        return short_id(stem) if short else stem
    return cut(plain(name), _NAME_COLUMNS) if short else plain(name)


def _row(row: _Named) -> list[str]:
    counts, types = row.counts, row.counts.types
    history = types.get("file-history-snapshot", 0) + types.get("file-history-delta", 0)
    numbers = (
        *(counts.lines, types.get("user", 0), types.get("assistant", 0), counts.tool_calls, counts.human_turns, history),
        *(types.get("summary", 0), types.get("system", 0), types.get("queue-operation", 0), counts.damaged, row.agents),
    )
    return [row.name, *map(str, numbers)]


def _distribution(title: str, named: list[tuple[str, dict[str, int]]], options: RenderOptions) -> Iterator[str]:
    """The longer side goes down: mostly files, but of a single file the kinds."""
    keys = sorted({key for _, counts in named for key in counts}, key=lambda key: (key == "null", key))
    if not keys:
        return
    yield from _heading(title, options)
    rows = [["", *(plain(key) for key in keys)]]
    rows += [[name, *(str(counts.get(key, 0)) for key in keys)] for name, counts in named]
    if len(keys) > len(named):
        rows = [list(row) for row in zip(*rows, strict=True)]
    yield from _table(rows, options.width)


def _table(rows: list[list[str]], columns: int | None) -> Iterator[str]:
    """A name and numbers in each row; what does not fit the columns beside the names comes below, with the names again."""
    widths = [column_width(row[index] for row in rows) + 2 for index in range(len(rows[0]))]
    pieces: list[list[int]] = [[]]
    used = widths[0]
    for index in range(1, len(widths)):
        if columns is not None and pieces[-1] and used + widths[index] - 2 > columns:
            pieces.append([])
            used = widths[0]
        pieces[-1].append(index)
        used += widths[index]
    for number, piece in enumerate(pieces):
        if number:
            yield ""
        for line in table([[row[0], *(row[index] for index in piece)] for row in rows], frozenset(range(1, len(piece) + 1))):
            yield cut(line, columns)


def _findings(page: InventoryPage, options: RenderOptions) -> Iterator[str]:
    numbers: dict[str, int] = {}
    first: dict[str, str] = {}
    for file in (*page.sessions, *page.agents):
        for finding in file.findings:
            numbers[finding.code] = numbers.get(finding.code, 0) + 1
            first.setdefault(finding.code, f"{short_path(str(finding.path))}:{finding.line}")
    if not numbers:
        return
    yield from _heading("Findings", options)
    rows = [[code, str(numbers[code]), f"first: {first[code]}"] for code in sorted(numbers)]
    yield from table(rows, frozenset({1}))


def _heading(text: str, options: RenderOptions) -> Iterator[str]:
    yield from ("", options.paint(text, BOLD))
