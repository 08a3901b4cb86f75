"""What is installed and what is wrong -> lines."""

from __future__ import annotations

from collections.abc import Iterator

from stenograph.views.pages.doctor import DoctorPage, HomeHealthPage, TracingPage
from stenograph.views.terminal.options import BOLD, GREEN, RED, YELLOW, RenderOptions
from stenograph.views.text import count_of, plain, size

_NOWHERE = "none: HOME is not set"


def render_doctor(page: DoctorPage, options: RenderOptions) -> Iterator[str]:
    terminal = page.terminal
    lines = {
        "stenograph": page.version,
        "python": f"{page.python} ({page.executable})",
        "platform": page.platform,
        "config file": page.config_file or f"none ({page.usual_config_file or _NOWHERE})",
        "state": page.state_directory or _NOWHERE,
        "cache": page.cache_directory or _NOWHERE,
        "archive": page.archive_directory or _NOWHERE,
        "clients": ", ".join(page.clients) or "none on PATH",
        "tracing": _tracing(page.tracing),
        "terminal": f"{terminal.kind or 'none'}, {terminal.encoding}, {terminal.columns} columns",
        **{f"home {home.path}": _home(home) for home in page.homes},
    }
    columns = max(map(len, lines))
    for name, value in lines.items():
        yield f"{options.paint(plain(name).ljust(columns), BOLD)}  {plain(value)}"
    for problem in page.problems:
        where = f"{problem.path}: " if problem.path else ""
        yield f"{options.paint('problem', RED)}  {plain(where + problem.detail)}. {plain(problem.fix)}"
    for warning in page.warnings:
        yield f"{options.paint('warning', BOLD, YELLOW)}  {plain(warning.detail)}. {plain(warning.fix)}"
    if not page.problems:
        yield options.paint("no problems found", GREEN)


def _home(home: HomeHealthPage) -> str:
    counts = f"{count_of(home.sessions, 'session')}, {count_of(home.projects, 'project')}"
    more = f"{count_of(home.loose_agents, 'separate subagent file')}, {size(home.size)}"
    return f"{counts}, {more}" if home.exists else "does not exist"


def _tracing(tracing: TracingPage) -> str:
    hooks = f"hooks in {', '.join(tracing.installed)}" if tracing.installed else "no hooks"
    to = f"to {', '.join(tracing.destinations)}" if tracing.destinations else "no destination"
    return f"{hooks}, {'disabled (STENO_TRACE_OFF is set)' if tracing.is_off else to}"
