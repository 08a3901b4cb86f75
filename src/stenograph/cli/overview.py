"""`steno` without a command: what is here, and what to try next."""

from __future__ import annotations

from datetime import UTC
from pathlib import Path
from typing import TYPE_CHECKING

import click

from stenograph.cli._settings import Settings, again, is_folder
from stenograph.cli._text import age, count_of, echo_json, iso, short_path, size

if TYPE_CHECKING:
    from stenograph.sessions import SessionInfo

_NEWEST = 6
_PROJECTS = 5


def overview(ctx: click.Context, settings: Settings, *, reveal: bool, as_json: bool) -> None:
    """Homes, projects, the newest sessions, totals. Raises SessionNotFoundError for a named home without sessions."""
    from stenograph.cli._listing import echo_findings
    from stenograph.cli._look import make_mask
    from stenograph.cli._progress import progress
    from stenograph.cli._session import masked_info, session_json
    from stenograph.sessions import list_sessions

    with progress("reading") as report:
        listing = list_sessions(settings.homes, everything=True, active_seconds=settings.config.active_seconds, progress=report)
    if not listing.sessions:
        if settings.explicit:
            from stenograph.cli.ls import no_sessions

            raise no_sessions(settings, listing.findings)
        echo_findings(listing.findings)
    shown = [info for info in listing.sessions if info.hidden is None]
    mask, _ = make_mask(reveal)
    newest = [masked_info(info, mask) for info in shown[:_NEWEST]]
    projects = {mask(name): found for name, found in _by_project(listing.sessions).items()}
    if as_json:
        echo_json(
            {
                "homes": [{"path": str(home), "exists": is_folder(home)} for home in settings.homes],
                "projects": [
                    {"project": name, "sessions": len(found), "newest": iso(found[0].modified)}
                    for name, found in projects.items()
                ],
                "newest": [session_json(info) for info in newest],
                "sessions": len(listing.sessions),
                "hidden": len(listing.sessions) - len(shown),
                "size": sum(info.size for info in listing.sessions),
            }
        )
        return
    if not listing.sessions:
        _echo_nothing(settings.homes)
        return
    from datetime import datetime

    from stenograph.cli._listing import session_lines
    from stenograph.cli._text import table
    from stenograph.sessions.resolve import LAST

    now = datetime.now(UTC)
    _heading("Homes" if len(settings.homes) > 1 else "Home")
    for home in settings.homes:
        click.echo(f"  {short_path(str(home))}{'' if is_folder(home) else '  (not there)'}{'  (demo)' if settings.demo else ''}")
    total = sum(info.size for info in listing.sessions)
    click.echo(f"  {count_of(len(listing.sessions), 'session')}, {count_of(len(projects), 'project')}, {size(total)}")
    _heading("Projects")
    rows = [
        [short_path(name), count_of(len(found), "session"), age(found[0].modified, now)]
        for name, found in list(projects.items())[:_PROJECTS]
    ]
    for line in table(rows, frozenset({1})):
        click.echo(f"  {line}")
    if len(projects) > _PROJECTS:
        click.echo(f"  and {len(projects) - _PROJECTS} more")
    if shown:
        _heading("Newest sessions")
        for line in session_lines(newest):
            click.echo(line)
    if hidden := len(listing.sessions) - len(shown):
        click.echo(
            f"  ({count_of(hidden, 'session')} {'is' if hidden == 1 else 'are'} hidden: short, empty or without an answer)"
        )
    _heading("Try")
    tries = [(again(ctx, "ls"), "all sessions, newest first") if shown else (again(ctx, "ls", "--all"), "the hidden ones too")]
    if _has_last(listing.sessions):
        tries += [(again(ctx, "inventory", LAST), "what the newest one holds")]
        tries += [(again(ctx, "check", LAST), "whether it is sound, and what clients would lose of it")]
    tries += [(again(ctx, "doctor"), "where things are, and what is wrong")]
    for line in table(tries):  # `again` quotes what is not harmless
        click.echo(f"  {line}")
    echo_findings(listing.findings)


def _has_last(sessions: list[SessionInfo]) -> bool:
    """Whether `last` means one of them: not an empty file, nor what is no session to clients."""
    return any(info.hidden not in ("empty", "name", "sidechain") for info in sessions)


def _by_project(sessions: list[SessionInfo]) -> dict[str, list[SessionInfo]]:
    """Sessions by project folder, each under the working folder that its newest lines name, else the folder's name."""
    folders: dict[Path, list[SessionInfo]] = {}
    for info in sessions:
        folders.setdefault(info.path.parent, []).append(info)
    projects: dict[str, list[SessionInfo]] = {}
    for folder, found in folders.items():
        name = next((info.cwd for info in found if info.cwd), folder.name)
        projects.setdefault(name, []).extend(found)
    return projects


def _heading(text: str) -> None:
    click.echo(click.style(text, bold=True))


def _echo_nothing(homes: list[Path]) -> None:
    from stenograph.disk import projects_folder

    click.echo("No sessions yet. Looked in:")
    for home in homes:
        click.echo(f"  {short_path(str(projects_folder(home)))}")
    click.echo("`steno --demo` shows the demo sessions; `--home DIR` looks somewhere else.")
