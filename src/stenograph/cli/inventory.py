"""`steno inventory`: the library's `take_inventory` as the tables of seed 001."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from stenograph.cli import FAILED
from stenograph.cli._session import SessionReference
from stenograph.cli._settings import shared_options, state_options

if TYPE_CHECKING:
    from stenograph.sessions import Counts, FileInventory, Inventory


@click.command(short_help="Count records, releases, turns, tool calls, stop reasons and blocks.")
@click.argument("paths", nargs=-1, required=True, metavar="PATH...", type=SessionReference())
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@shared_options
@click.pass_context
def inventory(ctx: click.Context, paths: tuple[str, ...], as_json: bool) -> None:
    """Count records, releases, turns, tool calls, stop reasons and blocks.

    PATH is a session file, a folder (every .jsonl file below it), a home, or a SESSION: an id, a prefix, a title, `last`.
    Sub-agents' files are counted apart. Counts are by line. Human turns are user records with string content.

    --json prints {"sessions": [...], "agents": [...], "session_totals": {...}, "agent_totals": {...}, "failures": [...]}.

    \b
    Example:
      steno inventory last
      steno inventory ~/.claude/projects --json
    """
    from stenograph.cli._progress import progress
    from stenograph.cli._text import echo_json, plain
    from stenograph.sessions import take_inventory

    settings = state_options(ctx)
    named = [_place(path, settings.homes) for path in paths]
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


def _place(path: str, homes: list[Path]) -> Path:
    """A folder as it is; anything else is what a user calls a session."""
    from stenograph.sessions import resolve, session_at

    place = Path(path).expanduser()
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
    *("session", "lines", "releases", "user", "assistant", "tool calls", "human turns"),
    *("file-history", "summary", "system", "queue-op", "damaged", "agents"),
)


def _echo_tables(taken: Inventory) -> None:
    from stenograph.cli._text import plain, table
    from stenograph.disk import is_session_id

    files = [(_name(file), file.counts, file.agents) for file in taken.sessions]
    if len(files) > 1:
        files.append(("all sessions", taken.session_totals, len(taken.agents)))
    if taken.agents:
        files.append(("agents' files", taken.agent_totals, 0))
    named = [(name[:8] if is_session_id(name) else name, counts) for name, counts, _ in files]
    totals = (taken.session_totals, taken.agent_totals)
    rows = [_HEADER, *(_row(name, counts, agents) for name, counts, agents in files)]
    _heading("Sessions")
    for line in table([[plain(cell) for cell in row] for row in rows], frozenset({1, *range(3, len(_HEADER))})):
        click.echo(line)
    # Kinds are too many for a table with a row or a column for each of many files; --json has them all.
    together = named if len(taken.sessions) == 1 else [entry for entry in named if any(entry[1] is total for total in totals)]
    _echo_distribution("Record kinds", [(name, counts.kinds) for name, counts in together])
    _echo_distribution("Stop reasons (assistant lines)", [(name, counts.stop_reasons) for name, counts in named])
    _echo_distribution("Content blocks", [(name, counts.blocks) for name, counts in named])
    findings: dict[str, int] = {}
    for file in (*taken.sessions, *taken.agents):
        for finding in file.findings:
            findings[finding.code] = findings.get(finding.code, 0) + 1
    if findings:
        _heading("Findings")
        for code, number in sorted(findings.items()):
            click.echo(f"{code}  {number}")


def _name(file: FileInventory) -> str:
    return file.session_id if file.session_id == file.path.stem else file.path.name


def _row(name: str, counts: Counts, agents: int) -> list[str]:
    releases = ", ".join(f"{release} ({number})" for release, number in counts.releases.items())
    types = counts.types
    history = types.get("file-history-snapshot", 0) + types.get("file-history-delta", 0)
    numbers = (
        *(types.get("user", 0), types.get("assistant", 0), counts.tool_calls, counts.human_turns, history),
        *(types.get("summary", 0), types.get("system", 0), types.get("queue-operation", 0), counts.damaged, agents),
    )
    return [name, str(counts.lines), releases or "-", *map(str, numbers)]


def _echo_distribution(title: str, named: list[tuple[str, dict[str, int]]]) -> None:
    """The longer side goes down: mostly files, but of a single file the kinds."""
    from stenograph.cli._text import plain, table

    keys = sorted({key for _, counts in named for key in counts}, key=lambda key: (key == "null", key))
    if not keys:
        return
    _heading(title)
    rows = [["", *(plain(key) for key in keys)]]
    rows += [[plain(name), *(str(counts.get(key, 0)) for key in keys)] for name, counts in named]
    if len(keys) > len(named):
        rows = [list(row) for row in zip(*rows, strict=True)]
    for line in table(rows, frozenset(range(1, len(rows[0])))):
        click.echo(line)


def _heading(text: str) -> None:
    click.echo(click.style(f"\n{text}" if text != "Sessions" else text, bold=True))
