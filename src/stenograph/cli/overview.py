"""`steno` without a command: what is here, and what to try next."""

from __future__ import annotations

import click

from stenograph.cli._settings import Settings


def overview(ctx: click.Context, settings: Settings, *, reveal: bool, as_json: bool) -> None:
    """Homes, projects, the newest sessions, totals. Raises SessionNotFoundError for a named home without sessions."""
    from functools import partial

    from stenograph.cli._output import echo_page, echo_unreadable, make_mask, render_options
    from stenograph.cli._progress import progress
    from stenograph.sessions import list_sessions
    from stenograph.views import mask_page, overview_page, render_overview

    with progress("reading") as report:
        listing = list_sessions(settings.homes, everything=True, active_seconds=settings.config.active_seconds, progress=report)
    page = mask_page(overview_page(listing, settings.homes), make_mask(reveal)[0])
    if not page.sessions and settings.explicit:
        from stenograph.cli.ls import no_sessions

        raise no_sessions(settings, page.findings)
    echo_page(page, partial(render_overview, demo=settings.demo), render_options(ctx), as_json=as_json)
    if not as_json or not page.sessions:
        echo_unreadable(page.findings)
