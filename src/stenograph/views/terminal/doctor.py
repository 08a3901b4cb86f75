"""What is installed and what is wrong -> lines."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from stenograph.views.pages.doctor import DemoCopyPage, DoctorPage, HomeHealthPage, TracingPage
from stenograph.views.terminal.options import COMMAND, PROSE, QUIET, STRONG, RenderOptions
from stenograph.views.text import count_of, plain, short_path, size, wrap

_NOWHERE = "none: HOME is not set"


def render_doctor(page: DoctorPage, options: RenderOptions) -> Iterator[str]:
    """Problems first, each with its fix; then where everything is."""
    found = [count_of(len(page.problems), "problem")] if page.problems else ["No problems"]
    found += [count_of(len(page.warnings), "warning")] if page.warnings else []
    yield f"  {options.paint(', '.join(found), *STRONG)}"
    for mark, each in (*(("failed", each) for each in page.problems), *(("care", each) for each in page.warnings)):
        yield ""
        where = f"{short_path(each.path)}: " if each.path else ""
        first, *more = wrap(plain(where + each.detail), _columns(options))
        yield options.mark(mark) + first
        yield from (f"  {line}" for line in (*more, *wrap(plain(each.fix), _columns(options))))
    yield ""
    terminal = page.terminal
    rows: list[tuple[str, str, str]] = [
        ("", "steno", f"{page.version}, Python {page.python} ({short_path(page.executable)})"),
        ("", "platform", page.platform),
        ("", "clients", ", ".join(map(short_path, page.clients)) or "none on PATH"),
        *((_home_mark(home, page), "sessions", _home(home)) for home in page.homes),
        ("passed" if page.index_size else "", "index", _index(page)),
        (
            "" if any(each.code == "archive" for each in page.problems) or not page.archive_directory else "passed",
            "archive",
            short_path(page.archive_directory) if page.archive_directory else _NOWHERE,
        ),
        ("", "state", short_path(page.state_directory) if page.state_directory else _NOWHERE),
        ("", "cache", short_path(page.cache_directory) if page.cache_directory else _NOWHERE),
        ("", "config", short_path(page.config_file) if page.config_file else f"none ({_usual(page)})"),
        ("", "tracing", _tracing(page.tracing)),
        ("", "terminal", f"{terminal.kind or 'none'}, {terminal.encoding}, {terminal.columns} columns"),
    ]
    columns = max(len(name) for _, name, _ in rows)
    room = _columns(options)
    for mark, name, value in rows:
        first, *more = wrap(plain(value), None if room is None else max(20, room - columns - 2))
        yield f"{options.mark(mark)}{options.paint(name.ljust(columns), *QUIET)}  {first}"
        yield from (f"  {' ' * columns}  {line}" for line in more)
    yield ""
    yield f"  {options.paint('damage and drift in sessions:', *QUIET)} {options.command('check')}"


def _columns(options: RenderOptions) -> int | None:
    return None if options.width is None else min(options.width, PROSE) - 2


def _index(page: DoctorPage) -> str:
    if page.index_file is None:
        return _NOWHERE
    return f"{short_path(page.index_file)}  {size(page.index_size)}" if page.index_size else "none; the first search builds it"


def _usual(page: DoctorPage) -> str:
    return short_path(page.usual_config_file) if page.usual_config_file else _NOWHERE


def render_report(page: DoctorPage, options: RenderOptions) -> Iterator[str]:  # noqa: ARG001
    """A bug report in Markdown: releases, counts and codes. No path, name or word of a session or of the config file."""
    yield "## Setup"
    yield ""
    facts = {
        "stenograph": page.version,
        "Python": page.python,
        "platform": page.platform,
        "terminal": f"{'yes' if page.terminal.kind else 'no'}, {page.terminal.encoding}, {page.terminal.columns} columns",
        "clients on PATH": str(len(page.clients)),
        "config file": "yes" if page.config_file else "no",
        "trace destinations": f"{len(page.tracing.destinations)}, hooks in {count_of(len(page.tracing.installed), 'file')}",
    }
    yield from (f"- {name}: {value}" for name, value in facts.items())
    for number, home in enumerate(page.homes, 1):
        yield f"- home {number}: {_counts(home)}"
    yield ""
    yield "## Problems"
    yield ""
    codes = Counter(each.code for each in (*page.problems, *page.warnings))
    yield from (f"- {code}: {count}" for code, count in sorted(codes.items())) if codes else ("- none",)
    yield from (
        "",
        "## What I did",
        "",
        "<!-- the command -->",
        "",
        "## What happened",
        "",
        "<!-- the output, if it is not private -->",
    )


def render_demo_copy(page: DemoCopyPage, options: RenderOptions) -> Iterator[str]:
    yield f"Copied {count_of(page.sessions, 'session')} to {short_path(page.home)}"
    yield f"List them: {options.paint(page.list, *COMMAND)}"


def _home_mark(home: HomeHealthPage, page: DoctorPage) -> str:
    """A home that is not there, or has no sessions yet, is marked only if it is one of the problems above."""
    if home.exists and home.readable:
        return "passed"
    return "care" if any(home.path in f"{each.path} {each.detail}" for each in page.problems) else ""


def _home(home: HomeHealthPage) -> str:
    return f"{short_path(home.path)}  {_counts(home)}"


def _counts(home: HomeHealthPage) -> str:
    if not home.exists:
        return "does not exist"
    agents = f", {count_of(home.loose_agents, 'separate subagent file')}" if home.loose_agents else ""
    return f"{count_of(home.sessions, 'session')}, {count_of(home.projects, 'project')}{agents}, {size(home.size)}"


def _tracing(tracing: TracingPage) -> str:
    hooks = f"hooks in {', '.join(tracing.installed)}" if tracing.installed else "no hooks"
    to = f"destination {', '.join(tracing.destinations)}" if tracing.destinations else "no destination"
    return f"{hooks}, {'disabled (STENO_TRACE_OFF is set)' if tracing.is_off else to}"
