"""`steno web`: the viewer, served on this machine until Ctrl-C."""

from __future__ import annotations

import contextlib
import os
import sys
import threading
from typing import TYPE_CHECKING

import click

from stenograph.cli._output import echo_json, json_option
from stenograph.cli._settings import again, refuse_demo, shared_options, state_options
from stenograph.errors import StenographError

if TYPE_CHECKING:
    from stenograph.web import Access, LaunchPage

_REUSED = "the link that opened the browser was used twice, so it was revoked; open the printed link instead"


@click.command(short_help="Open the viewer in a browser.")
@click.option("--port", type=click.IntRange(min=0, max=65535), default=0, metavar="N", help="Port to use. [default: a free one]")
@click.option("--open/--no-open", "opens", default=True, help="Open the viewer in a browser. [default: yes]")
@click.option("--allow-edits", is_flag=True, help="Allow trimming sessions and undoing edits in the viewer.")
@json_option
@shared_options
@click.pass_context
def web(ctx: click.Context, port: int, opens: bool, allow_edits: bool, as_json: bool) -> None:
    """Open the viewer in a browser.

    Serves your sessions on this machine until Ctrl-C. The printed link contains a token; without it nothing is shown. Nothing
    is sent anywhere else, secrets are masked, and sessions are only changed with --allow-edits. --json prints the link and the
    token once the server is ready, and does not open a browser.

    \b
    Examples:
      steno web
      steno web --demo --no-open
    """
    from stenograph.cli._extras import require_extra

    require_extra("web", "the viewer", "starlette", "uvicorn", "jinja2", "markdown_it", "pygments", "nh3")
    settings = state_options(ctx)
    if allow_edits and settings.demo:
        refuse_demo(settings)

    from stenograph.archive import default_archive_folder
    from stenograph.config import is_debugging, state_folder
    from stenograph.index import store_path
    from stenograph.views import ViewerPage
    from stenograph.web import LaunchPage, Viewer, serve

    folder = state_folder(os.environ)
    page = LaunchPage(folder / "viewer") if folder and opens and not as_json else None

    def started(access: Access) -> None:
        if as_json:
            api = f"http://127.0.0.1:{access.port}/api/v1"
            echo_json(ViewerPage(link=access.link(), api=api, token=access.token, allow_edits=allow_edits))
        else:
            click.echo(f"Viewer: {access.link()}")
            click.echo("Press Ctrl-C to stop.", err=True)
        sys.stdout.flush()
        if page:
            _open_browser(access, page)

    viewer = Viewer(
        homes=settings.homes,
        config=settings.config,
        archive=default_archive_folder(os.environ),
        index=None if settings.demo else store_path(os.environ),
        allow_edits=allow_edits,
        debug=is_debugging(os.environ),
        program=again(ctx),
    )
    with contextlib.suppress(KeyboardInterrupt):  # how serving ends
        serve(viewer, port=port, started=started, stopped=page.remove if page else lambda: None)


def _open_browser(access: Access, page: LaunchPage) -> None:
    from stenograph.cli._messages import echo_warning

    access.on_ticket = page.remove
    access.on_reused_ticket = lambda: echo_warning(_REUSED)
    try:
        address = page.write(access.link(once=True))
    except StenographError as error:
        echo_warning(f"cannot open the browser: {error}")
        return
    # Some of the programs that open a browser wait until it has shown the page, or until it ends.
    threading.Thread(target=_open_tab, args=(address,), daemon=True, name="steno-browser").start()


def _open_tab(address: str) -> None:
    import webbrowser

    with contextlib.suppress(webbrowser.Error, OSError):  # the link is printed
        webbrowser.open_new_tab(address)
