"""What is here, as lines: homes, projects, the newest sessions, and what to try next."""

from __future__ import annotations

import os
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

from stenograph.disk import projects_folder
from stenograph.sessions import LAST
from stenograph.views.pages.overview import OverviewPage
from stenograph.views.terminal.options import BOLD, RenderOptions
from stenograph.views.terminal.sessions import session_lines
from stenograph.views.text import age, count_of, short_path, size, table

_PROJECTS = 5


def render_overview(page: OverviewPage, options: RenderOptions, *, demo: bool = False) -> Iterator[str]:
    """With `demo` the home is marked as the demo's."""
    if not page.sessions:
        yield from _nothing(page)
        return
    yield options.paint("Homes" if len(page.homes) > 1 else "Home", BOLD)
    for home in page.homes:
        yield f"  {short_path(home.path)}{'' if home.exists else '  (not there)'}{'  (demo)' if demo else ''}"
    yield f"  {count_of(page.sessions, 'session')}, {count_of(len(page.projects), 'project')}, {size(page.size)}"
    yield options.paint("Projects", BOLD)
    now = options.now or datetime.now(UTC)
    rows = [
        [short_path(row.project), count_of(row.sessions, "session"), age(row.modified, now)] for row in page.projects[:_PROJECTS]
    ]
    yield from (f"  {line}" for line in table(rows, frozenset({1})))
    if len(page.projects) > _PROJECTS:
        yield f"  and {len(page.projects) - _PROJECTS} more"
    if page.newest:
        yield options.paint("Newest sessions", BOLD)
        yield from session_lines(page.newest, options)
    if page.hidden:
        are = "is" if page.hidden == 1 else "are"
        yield f"  ({count_of(page.hidden, 'session')} {are} hidden: short, empty or without an answer)"
    yield options.paint("Try", BOLD)
    command = options.command
    tries = [(command("ls"), "all sessions, newest first") if page.newest else (command("ls", "--all"), "the hidden ones too")]
    if page.has_last:
        tries += [(command("inventory", LAST), "what the newest one holds")]
        tries += [(command("check", LAST), "whether it is sound, and what clients would lose of it")]
    tries += [(command("doctor"), "where things are, and what is wrong")]
    yield from (f"  {line}" for line in table(tries))  # commands quote what is not harmless


def _nothing(page: OverviewPage) -> Iterator[str]:
    yield "No sessions yet. Looked in:"
    for home in page.homes:
        yield f"  {short_path(os.fspath(projects_folder(Path(home.path))))}"
    yield "`steno --demo` shows the demo sessions; `--home DIR` looks somewhere else."
