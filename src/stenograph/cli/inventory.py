"""`steno inventory`: the library's `take_inventory` as the tables of seed 001."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import msgspec

from stenograph.cli import FAILED
from stenograph.cli._session import SessionReference
from stenograph.cli._settings import shared_options, state_options

if TYPE_CHECKING:
    from stenograph.analysis import Counts, FileInventory, Inventory


@click.command(short_help="Count records, releases, turns, tool calls, stop reasons and blocks.")
@click.argument("paths", nargs=-1, required=True, metavar="PATH...", type=SessionReference())
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@shared_options
@click.pass_context
def inventory(ctx: click.Context, paths: tuple[str, ...], as_json: bool) -> None:
    """Count records, releases, turns, tool calls, stop reasons and blocks.

    PATH is a session file, a folder (every .jsonl file below it), a home, or a SESSION: an id, a prefix, a title, `last`.
    Sub-agents' files, a named session's own too, are counted apart. Counts are by line. Human turns are user records with
    string content.

    --json prints {"sessions": [...], "agents": [...], "session_totals": {...}, "agent_totals": {...}, "failures": [...]}.

    \b
    Example:
      steno inventory last
      steno inventory ~/.claude/projects --json
    """
    from stenograph.analysis import take_inventory
    from stenograph.cli._progress import progress
    from stenograph.cli._text import echo_json
    from stenograph.views.text import plain

    settings = state_options(ctx)
    named = [place_of(path, settings.homes) for path in paths]
    with progress("reading") as report:
        taken = take_inventory(named, report)
    if as_json:
        echo_json(_json(taken))
    else:
        _echo_tables(taken)
    for failure in taken.failures:
        click.echo(f"steno: {plain(failure.detail)}", err=True)
    if any(failure.path in named for failure in taken.failures) or not (taken.sessions or taken.agents):
        ctx.exit(FAILED)


def place_of(path: str, homes: list[Path]) -> Path:
    """A folder as it is; anything else is what a user calls a session."""
    from stenograph.sessions import resolve, session_at

    place = Path(os.path.expanduser(path))  # noqa: PTH111 - never raises
    try:
        if place.is_dir():
            return place
        if place.is_file():
            return session_at(place).path
    except (OSError, ValueError):
        pass  # not a name that the file system takes: a title, then
    return resolve(path, homes).path


def _json(taken: Inventory) -> dict[str, Any]:
    return {
        "sessions": [_file_json(file) for file in taken.sessions],
        "agents": [_file_json(file) for file in taken.agents],
        "session_totals": _counts_json(taken.session_totals),
        "agent_totals": _counts_json(taken.agent_totals),
        "failures": [{"path": str(failure.path), "detail": failure.detail} for failure in taken.failures],
    }


def _file_json(file: FileInventory) -> dict[str, Any]:
    return {
        "path": str(file.path),
        "session_id": file.session_id,
        "size": file.size,
        "agents": file.agents,
        **_counts_json(file.counts),
        "findings": [
            {"code": finding.code, "line": finding.line, "offset": finding.offset, "length": finding.length}
            for finding in file.findings
        ],
    }


def _counts_json(counts: Counts) -> dict[str, Any]:
    return {name: getattr(counts, name) for name in counts.__struct_fields__}


_HEADER = (
    *("session", "lines", "user", "assistant", "tool calls", "human turns"),
    *("file-history", "summary", "system", "queue-op", "damaged", "agents"),
)
#: In a terminal; --json has them all.
_MOST_ROWS = 40
_NAME_COLUMNS = 30


class _Named(msgspec.Struct, frozen=True):
    """A row of every table: a file, or a total."""

    name: str
    counts: Counts
    agents: int = 0
    is_total: bool = False


def _echo_tables(taken: Inventory) -> None:
    from stenograph.cli._output import terminal_width

    columns = terminal_width()
    rows = [_Named(_name(file, short=columns is not None), file.counts, file.agents) for file in taken.sessions]
    if len(rows) > 1:
        rows.append(_Named("all sessions", taken.session_totals, len(taken.agents), is_total=True))
    if taken.agents:
        rows.append(_Named("agents' files", taken.agent_totals, is_total=True))
    _heading("Sessions", first=True)
    _echo_table([list(_HEADER), *(_row(row) for row in _few(rows, columns))], columns)
    left_out = len(taken.sessions) - _MOST_ROWS if columns is not None else 0
    if left_out > 0:
        click.echo(f"and {left_out} more sessions: --json has them all")
    _echo_releases(_few(rows, columns), columns)
    # Kinds are too many for a table with a row or a column for each of many files; --json has them all.
    together = rows if len(taken.sessions) == 1 else [row for row in rows if row.is_total]
    for title, of, member in (
        ("Record kinds", together, "kinds"),
        ("Stop reasons (assistant lines)", rows, "stop_reasons"),
        ("Content blocks", rows, "blocks"),
    ):
        _echo_distribution(title, [(row.name, getattr(row.counts, member)) for row in _few(of, columns)], columns)
    _echo_findings(taken)


def _echo_releases(rows: list[_Named], columns: int | None) -> None:
    """By row: a session mostly has one release, a home may have dozens."""
    from stenograph.views.text import cut, plain, table

    cells = [
        [row.name, ", ".join(f"{plain(release)} ({number})" for release, number in row.counts.releases.items())]
        for row in rows
        if row.counts.releases
    ]
    if cells:
        _heading("Releases (lines)")
    for line in table(cells):
        click.echo(line if columns is None else cut(line, columns))


def _few(rows: list[_Named], columns: int | None) -> list[_Named]:
    """All rows, or in a terminal the first ones, and the totals."""
    if columns is None:
        return rows
    return [row for row in rows if not row.is_total][:_MOST_ROWS] + [row for row in rows if row.is_total]


def _name(file: FileInventory, *, short: bool) -> str:
    from stenograph.family import LINES_SUFFIX, is_session_id
    from stenograph.views.terminal.sessions import short_id
    from stenograph.views.text import cut, plain

    name = file.path.name.removesuffix(LINES_SUFFIX)
    if is_session_id(name):
        return short_id(name) if short else name
    return cut(plain(file.path.name), _NAME_COLUMNS) if short else plain(file.path.name)


def _row(row: _Named) -> list[str]:
    counts, types = row.counts, row.counts.types
    history = types.get("file-history-snapshot", 0) + types.get("file-history-delta", 0)
    numbers = (
        *(counts.lines, types.get("user", 0), types.get("assistant", 0), counts.tool_calls, counts.human_turns, history),
        *(types.get("summary", 0), types.get("system", 0), types.get("queue-operation", 0), counts.damaged, row.agents),
    )
    return [row.name, *map(str, numbers)]


def _echo_distribution(title: str, named: list[tuple[str, dict[str, int]]], columns: int | None) -> None:
    """The longer side goes down: mostly files, but of a single file the kinds."""
    from stenograph.views.text import plain

    keys = sorted({key for _, counts in named for key in counts}, key=lambda key: (key == "null", key))
    if not keys:
        return
    _heading(title)
    rows = [["", *(plain(key) for key in keys)]]
    rows += [[name, *(str(counts.get(key, 0)) for key in keys)] for name, counts in named]
    if len(keys) > len(named):
        rows = [list(row) for row in zip(*rows, strict=True)]
    _echo_table(rows, columns)


def _echo_table(rows: list[list[str]], columns: int | None) -> None:
    """A name and numbers in each row; what does not fit the columns beside the names comes below, with the names again."""
    from stenograph.views.text import column_width, cut, table

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
            click.echo()
        for line in table([[row[0], *(row[index] for index in piece)] for row in rows], frozenset(range(1, len(piece) + 1))):
            click.echo(line if columns is None else cut(line, columns))


def _echo_findings(taken: Inventory) -> None:
    """How many of each code, and where the first is."""
    from stenograph.views.text import short_path, table

    numbers: dict[str, int] = {}
    first: dict[str, str] = {}
    for file in (*taken.sessions, *taken.agents):
        for finding in file.findings:
            numbers[finding.code] = numbers.get(finding.code, 0) + 1
            first.setdefault(finding.code, f"{short_path(str(finding.path))}:{finding.line}")
    if not numbers:
        return
    _heading("Findings")
    rows = [[code, str(numbers[code]), f"first: {first[code]}"] for code in sorted(numbers)]
    for line in table(rows, frozenset({1})):
        click.echo(line)


def _heading(text: str, *, first: bool = False) -> None:
    click.echo(click.style(text if first else f"\n{text}", bold=True))
