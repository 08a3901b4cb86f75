"""`steno doctor`: what is installed, where things are, what is wrong and how to mend it."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import msgspec

from stenograph.cli import NOTHING_MATCHED
from stenograph.cli._settings import (
    Settings,
    is_file,
    is_folder,
    named_config,
    settings_and_problem,
    shared_options,
    what_is_wrong_with,
)
from stenograph.client_settings import settings_files
from stenograph.config import cache_folder, state_folder, usual_config_file
from stenograph.config.traces import TraceConfig, load_trace_config, trace_config_file
from stenograph.errors import ConfigError
from stenograph.traces.install import is_installed

if TYPE_CHECKING:
    from stenograph.cli._settings import ConfigProblem


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
    from stenograph.cli._text import echo_json
    from stenograph.views.text import count_of, plain, size

    found = diagnose(*settings_and_problem(ctx), named_config(ctx))
    if as_json:
        echo_json(msgspec.to_builtins(found))
    else:
        facts = found.facts
        lines = {
            "stenograph": facts["version"],
            "python": f"{facts['python']} ({facts['executable']})",
            "platform": facts["platform"],
            "config file": facts["config_file"] or f"none ({facts['usual_config_file'] or _NOWHERE})",
            "state": facts["state_folder"] or _NOWHERE,
            "cache": facts["cache_folder"] or _NOWHERE,
            "clients": ", ".join(facts["clients"]) or "none on PATH",
            "tracing": _tracing_line(facts["tracing"]),
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


def diagnose(settings: Settings, wrong: ConfigProblem | None = None, named: Path | None = None) -> Diagnosis:
    """Look at everything; never raises."""
    import platform
    import shutil

    from stenograph import __version__

    problems: list[Problem] = []
    if wrong is not None:
        mend = (
            "Mend it, as docs/config.md says; until then only `doctor` runs"
            if wrong.is_fatal
            else "Make it readable for this user; until then the defaults count"
        )
        problems.append(Problem("config", str(wrong.error), mend))
    encoding = sys.stdout.encoding or "unknown"
    if encoding.lower().replace("-", "") != "utf8":
        problems.append(Problem("encoding", f"the output is {encoding}, not UTF-8", "Set PYTHONUTF8=1 or a UTF-8 locale"))
    facts = {
        "version": __version__,
        "python": platform.python_version(),
        "executable": sys.executable,
        "platform": platform.platform(),
        "config_file": _text(settings.config_file),
        "usual_config_file": _text(usual_config_file(os.environ)),
        "state_folder": _text(state_folder(os.environ)),
        "cache_folder": _text(cache_folder(os.environ)),
        "clients": [found] if (found := shutil.which("claude")) else [],
        "terminal": os.environ.get("TERM", "no $TERM") if sys.stdout.isatty() else "none",
        "columns": shutil.get_terminal_size().columns,
        "encoding": encoding,
        "tracing": _tracing(settings, named, problems),
        "homes": [_home(home, settings, problems) for home in settings.homes],
    }
    return Diagnosis(facts, problems)


def _home(home: Path, settings: Settings, problems: list[Problem]) -> dict[str, Any]:
    from stenograph.disk import projects_folder
    from stenograph.sessions import find_projects

    listings, findings = find_projects([home])
    if (settings.explicit or settings.configured) and (wrong := what_is_wrong_with(home)):
        where = "in the config file" if settings.configured else "with --home"
        problems.append(Problem("no-home", wrong, f"Name a home that exists {where}"))
    for finding in findings:
        if finding.code in _NO_PROBLEM:
            continue
        problems.append(Problem(finding.code, f"{finding.path}: {finding.detail}", _MEND.get(finding.code, _LOOK)))
    files = [file for listing in listings for file in listing.sessions]
    return {
        "path": str(home),
        "exists": is_folder(home),
        "readable": os.access(projects_folder(home), os.R_OK | os.X_OK),
        "projects": len(listings),
        "sessions": len(files),
        "empty_sessions": sum(not file.size for file in files),
        "loose_agents": sum(len(listing.loose_agents) for listing in listings),
        "bytes": sum(file.size for file in files),
    }


def _tracing(settings: Settings, named: Path | None, problems: list[Problem]) -> dict[str, Any]:
    file = trace_config_file(os.environ, named)
    try:
        config = load_trace_config(os.environ, named)
    except ConfigError as error:
        config = TraceConfig()
        if all(problem.what != str(error) for problem in problems):  # what is wrong with the whole file is told already
            problems.append(Problem("trace-config", str(error), "Mend it, as docs/tracing.md says; until then no trace is sent"))
    try:
        folder = Path.cwd()
    except OSError:  # it is gone; then there are no settings in it either
        folder = Path(os.devnull)
    return {
        "config_file": _text(file) if file is not None and is_file(file) else None,
        "installed": [str(place) for place in settings_files(settings.homes, folder) if is_installed(place)],
        "destinations": [destination.name for destination in config.destinations],
        "is_off": config.is_off,
    }


def _tracing_line(facts: dict[str, Any]) -> str:
    hooks = f"hooks in {', '.join(facts['installed'])}" if facts["installed"] else "no hooks"
    to = f"to {', '.join(facts['destinations'])}" if facts["destinations"] else "no destination"
    return f"{hooks}, {'off (STENO_TRACE_OFF)' if facts['is_off'] else to}"


# Somebody put the link there.
_NO_PROBLEM = frozenset({"linked-file"})
_NOWHERE = "no place: $HOME is not set"
_LOOK = "Look at it; nothing else is affected"
_MEND = {
    "unreadable": "Make it readable for this user",
    "unreadable-file": "Make it readable for this user",
    "unreadable-folder": "Make it readable for this user",
    "broken-link": "Remove the link, or put back what it points to",
    "left-unfinished": "Delete it",
}


def _text(path: Path | None) -> str | None:
    return None if path is None else str(path)
