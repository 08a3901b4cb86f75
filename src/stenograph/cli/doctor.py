"""`steno doctor`: what is installed, where things are, what is wrong and how to mend it."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import msgspec

from stenograph.cli import NOTHING_MATCHED
from stenograph.cli._settings import shared_options, state_options

if TYPE_CHECKING:
    from stenograph.cli._settings import Settings


class Problem(msgspec.Struct, frozen=True):
    code: str
    #: What is wrong.
    what: str
    #: How to mend it.
    mend: str


class Diagnosis(msgspec.Struct, frozen=True):
    """All that `steno doctor` says."""

    facts: dict[str, Any]
    problems: list[Problem]


@click.command(short_help="Show what is installed, where things are, and what is wrong.")
@click.option("--strict", is_flag=True, help="Exit with 1 where a problem is found.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@shared_options
@click.pass_context
def doctor(ctx: click.Context, strict: bool, as_json: bool) -> None:
    """Show what is installed, where things are, and what is wrong.

    Runs no client and writes nothing.

    --json prints {"facts": {...}, "problems": [{"code", "what", "mend"}]}.

    \b
    Example:
      steno doctor --strict
    """
    from stenograph.cli._text import count_of, echo_json, plain, size

    found = diagnose(state_options(ctx))
    if as_json:
        echo_json(msgspec.to_builtins(found))
    else:
        facts = found.facts
        lines = {
            "stenograph": facts["version"],
            "python": f"{facts['python']} ({facts['executable']})",
            "platform": facts["platform"],
            "sqlite": f"{facts['sqlite'] or 'missing'}{', FTS5' if facts['fts5'] else ', no FTS5'}",
            "config file": facts["config_file"] or f"none ({facts['usual_config_file']})",
            "state": facts["state_folder"],
            "cache": facts["cache_folder"],
            "clients": ", ".join(facts["clients"]) or "none on PATH",
            "terminal": f"{facts['terminal']}, {facts['encoding']}, {facts['columns']} columns",
        }
        for home in facts["homes"]:
            counts = f"{count_of(home['sessions'], 'session')}, {count_of(home['projects'], 'project')}"
            more = f"{count_of(home['loose_agents'], 'agent file')} beside them, {size(home['bytes'])}"
            lines[f"home {home['path']}"] = f"{counts}, {more}" if home["exists"] else "not there"
        columns = max(map(len, lines))
        for name, value in lines.items():
            click.echo(f"{click.style(plain(name).ljust(columns), bold=True)}  {plain(str(value))}")
        for problem in found.problems:
            click.echo(f"{click.style('problem', fg='red')}  {plain(problem.what)}. {plain(problem.mend)}")
        if not found.problems:
            click.echo(click.style("no problems found", fg="green"))
    if strict and found.problems:
        ctx.exit(NOTHING_MATCHED)


def diagnose(settings: Settings) -> Diagnosis:
    """Look at everything; never raises."""
    import platform
    import shutil

    from stenograph import __version__
    from stenograph.cli._settings import usual_config_file

    problems: list[Problem] = []
    sqlite, fts5 = _sqlite()
    if not fts5:
        problems.append(Problem("no-fts5", "this Python's SQLite has no full-text search", "Use a Python built with FTS5"))
    encoding = sys.stdout.encoding or "unknown"
    if encoding.lower().replace("-", "") != "utf8":
        problems.append(Problem("encoding", f"the output is {encoding}, not UTF-8", "Set PYTHONUTF8=1 or a UTF-8 locale"))
    facts = {
        "version": __version__,
        "python": platform.python_version(),
        "executable": sys.executable,
        "platform": platform.platform(),
        "sqlite": sqlite,
        "fts5": fts5,
        "config_file": None if settings.config_file is None else str(settings.config_file),
        "usual_config_file": str(usual_config_file()),
        "state_folder": str(_folder("XDG_STATE_HOME", ".local/state")),
        "cache_folder": str(_folder("XDG_CACHE_HOME", ".cache")),
        "clients": [found] if (found := shutil.which("claude")) else [],
        "terminal": os.environ.get("TERM", "no $TERM") if sys.stdout.isatty() else "none",
        "columns": shutil.get_terminal_size().columns,
        "encoding": encoding,
        "homes": [_home(home, settings, problems) for home in settings.homes],
    }
    return Diagnosis(facts, problems)


def _home(home: Path, settings: Settings, problems: list[Problem]) -> dict[str, Any]:
    from stenograph.disk import projects_folder
    from stenograph.sessions import find_projects

    listings, findings = find_projects([home])
    if settings.explicit and not home.is_dir():
        problems.append(Problem("no-home", f"there is no folder {home}", "Name a home that exists"))
    for finding in findings:
        problems.append(Problem(finding.code, f"{finding.path}: {finding.detail}", _MEND.get(finding.code, _LOOK)))
    files = [file for listing in listings for file in listing.sessions]
    return {
        "path": str(home),
        "exists": home.is_dir(),
        "readable": os.access(projects_folder(home), os.R_OK | os.X_OK),
        "projects": len(listings),
        "sessions": len(files),
        "empty_sessions": sum(not file.size for file in files),
        "loose_agents": sum(len(listing.loose_agents) for listing in listings),
        "bytes": sum(file.size for file in files),
    }


_LOOK = "Look at it; nothing else is affected"
_MEND = {
    "unreadable": "Make it readable for this user",
    "unreadable-file": "Make it readable for this user",
    "unreadable-folder": "Make it readable for this user",
    "broken-link": "Remove the link, or put back what it points to",
    "left-unfinished": "Delete it",
    "linked-file": "Nothing needs to be done, if the link is meant",
}


def _sqlite() -> tuple[str | None, bool]:
    try:
        import sqlite3
    except ImportError:
        return None, False
    connection = sqlite3.connect(":memory:")
    try:
        connection.execute("create virtual table t using fts5(x)")
    except sqlite3.Error:
        return sqlite3.sqlite_version, False
    finally:
        connection.close()
    return sqlite3.sqlite_version, True


def _folder(variable: str, below_home: str) -> Path:
    base = os.environ.get(variable)
    return (Path(base) if base else Path.home() / below_home) / "stenograph"
