"""`steno doctor`: what is installed, where things are, what is wrong and how to fix it."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import click

from stenograph.cli import NOTHING_MATCHED
from stenograph.cli._output import echo_page, json_option, render_options
from stenograph.cli._settings import (
    ConfigProblem,
    Settings,
    again,
    is_file,
    named_config,
    settings_and_problem,
    shared_options,
    what_is_wrong_with,
)
from stenograph.client_settings import settings_files
from stenograph.config import TraceConfig, cache_folder, load_trace_config, state_folder, trace_config_file, usual_config_file
from stenograph.errors import ConfigError, UsageError
from stenograph.traces import is_installed
from stenograph.views import (
    DoctorPage,
    Installation,
    ProblemPage,
    TerminalPage,
    TracingPage,
    doctor_page,
    problem,
    render_doctor,
    render_report,
)


@click.command(short_help="Show the setup and what is wrong with it.")
@click.option("--strict", is_flag=True, help="Exit with 1 if there is a problem.")
@click.option("--report", is_flag=True, help="Print a bug report that contains nothing from your sessions.")
@json_option
@shared_options
@click.pass_context
def doctor(ctx: click.Context, strict: bool, report: bool, as_json: bool) -> None:
    """Show the setup and what is wrong with it.

    Does not run Claude Code, and writes nothing. The report of --report contains releases, counts and codes, but no paths,
    names or text.

    \b
    Examples:
      steno doctor --strict
      steno doctor --report > report.md
    """
    settings, wrong = settings_and_problem(ctx)
    warnings = [] if settings.demo else _expiring(settings, again(ctx, "archive", "keep"))
    page = _diagnose(settings, wrong, named_config(ctx), warnings)
    echo_page(page, render_report if report else render_doctor, render_options(ctx), as_json=as_json)
    if strict and page.problems:
        ctx.exit(NOTHING_MATCHED)


def _expiring(settings: Settings, keep: str) -> list[ProblemPage]:
    """What Claude Code deletes within a week and the archive does not keep."""
    from stenograph.cli.ls import expiring_soon
    from stenograph.views import will_delete

    soon, within, late = expiring_soon(settings)
    return [problem("expiring", will_delete(soon, late, within), f"To keep them: {keep}")] if soon else []


def _diagnose(settings: Settings, wrong: ConfigProblem | None, named: Path | None, warnings: list[ProblemPage]) -> DoctorPage:
    import shutil

    from stenograph.index import store_path

    problems: list[ProblemPage] = []
    if wrong is not None:
        fix = (
            "Fix it; until then, commands that read sessions do not run. See docs/config.md"
            if wrong.is_fatal
            else "Make it readable for this user; until then the defaults apply"
        )
        problems.append(problem("config", str(wrong.error), fix))
    tracing = _tracing(settings, named, problems)
    if settings.explicit or settings.configured:
        where = "in the config file" if settings.configured else "with --home"
        told = filter(None, map(what_is_wrong_with, settings.homes))
        problems += [problem("no-home", each, f"Use a home that exists {where}") for each in told]
    installed = Installation(
        executable=sys.executable,
        client=shutil.which("claude"),
        config_file=settings.config_file,
        usual_config_file=usual_config_file(os.environ),
        state=state_folder(os.environ),
        cache=cache_folder(os.environ),
        archive=_archive(),
        index=store_path(os.environ),
    )
    terminal = TerminalPage(
        kind=os.environ.get("TERM", "no $TERM") if sys.stdout.isatty() else None,
        columns=shutil.get_terminal_size().columns,
        encoding=sys.stdout.encoding or "unknown",
    )
    return doctor_page(settings.homes, installed, tracing, terminal, problems, warnings)


def _archive() -> Path | None:
    from stenograph.archive import default_archive_folder

    try:
        return default_archive_folder(os.environ)
    except UsageError:
        return None


def _tracing(settings: Settings, named: Path | None, problems: list[ProblemPage]) -> TracingPage:
    file = trace_config_file(os.environ, named)
    try:
        config = load_trace_config(os.environ, named)
    except ConfigError as error:
        config = TraceConfig()
        if all(known.detail != str(error) for known in problems):  # what is wrong with the whole file is told already
            fix = "Fix it; until then no trace is sent. See docs/tracing.md"
            problems.append(problem("trace-config", str(error), fix))
    try:
        folder = Path.cwd()
    except OSError:  # it is gone; then there are no settings in it either
        folder = Path(os.devnull)
    return TracingPage(
        config_file=str(file) if file is not None and is_file(file) else None,
        installed=tuple(str(place) for place in settings_files(settings.homes, folder) if is_installed(place)),
        destinations=tuple(destination.name for destination in config.destinations),
        is_off=config.is_off,
    )
