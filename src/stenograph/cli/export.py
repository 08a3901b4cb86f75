"""`steno export`: a session as a file to share, or as steps that other programs read."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from stenograph.cli._arguments import named_session, session_argument
from stenograph.cli._output import echo_page, json_option, make_mask, render_options, reveal_option, tell_masked
from stenograph.cli._settings import GivenPath, shared_options
from stenograph.errors import UsageError, in_quotes

if TYPE_CHECKING:
    from stenograph.family import SessionFile
    from stenograph.redact import Mask

_FORMATS = ("html", "md", "json", "messages", "steps", "zip")
_BY_EXTENSION = {".html": "html", ".htm": "html", ".md": "md", ".json": "json", ".zip": "zip"}
_SECONDS = 0.5


@click.command(short_help="Export a session as HTML, Markdown, JSON, JSON Lines or a zip.")
@session_argument
@click.option(
    "--format",
    "form",
    type=click.Choice(_FORMATS),
    help="What to write. [default: by the extension of --output: .html, .md, .json or .zip; otherwise md]",
)
@click.option(
    "-o",
    "--output",
    type=GivenPath(path_type=Path),
    metavar="PATH",
    help="File to write, or directory for steps. Required for steps and zip.",
)
@click.option("--force", is_flag=True, help="Replace an existing file.")
@click.option("--follow", is_flag=True, help="With steps: append new steps until Ctrl-C.")
@reveal_option
@json_option
@shared_options
@click.pass_context
def export(
    ctx: click.Context,
    session: str,
    form: str | None,
    output: Path | None,
    force: bool,
    follow: bool,
    reveal: bool,
    as_json: bool,
) -> None:
    """Export a session as HTML, Markdown, JSON, JSON Lines or a zip.

    `html` is a single file with styles and no scripts, `md` is Markdown, `json` is what `steno show --json` prints, and
    `messages` is what Claude Code would send on resume. Without --output, these are printed.

    `zip` contains the session's own files, with subagents and spilled results (outputs too long for
    the session's file), to copy to another machine.

    `steps` writes JSON Lines, for other programs: steps.jsonl has one object per line of the conversation, and metadata.json
    describes the session. Run the command again to append what is new, or use --follow.

    Secrets are masked in every format.

    \b
    Examples:
      steno export last --output session.html
      steno export last --format steps --output steps --follow
    """
    from stenograph.views import export_text, render_exported

    form = form or _BY_EXTENSION.get(output.suffix.lower() if output else "", "md")
    if follow and form != "steps":
        raise UsageError(f"--follow needs --format steps, not {form}")
    if as_json and output is None:
        raise UsageError("--json requires --output")
    file = named_session(ctx, session, is_shown=output is None)
    mask, masker = make_mask(reveal)
    if form == "steps":
        if output is None:
            raise UsageError("--format steps requires --output DIR")
        _export_steps(ctx, file, output, mask, follow=follow, as_json=as_json)
        return
    if form == "zip" and output is None:
        raise UsageError("--format zip requires --output FILE")
    styles = _styles() if form == "html" else ""
    from stenograph.cli._index import copies_of
    from stenograph.sessions import load

    pieces = export_text(load(file.path), file, form, mask, styles, copies_of(ctx, file.path))
    if output is None:
        for piece in pieces:
            click.echo(piece, nl=False)
        return
    if os.path.lexists(output) and not force:
        raise UsageError(f"{in_quotes(str(output))} exists; use --force to replace it")
    from stenograph.disk import write_user_file
    from stenograph.views import ExportPage, FileSizePage

    data = b"".join(pieces)
    write_user_file(output, data)
    page = ExportPage(file.session_id, str(file.path), form, (FileSizePage(str(output), len(data)),), None, None)
    echo_page(page, render_exported, render_options(ctx), as_json=as_json)
    tell_masked(masker)


def _export_steps(ctx: click.Context, file: SessionFile, folder: Path, mask: Mask, *, follow: bool, as_json: bool) -> None:
    import time

    from stenograph.views import StepsExport, render_exported

    exporting = StepsExport(file, folder, mask)
    echo_page(exporting.start(), render_exported, render_options(ctx), as_json=as_json)
    try:
        while follow and not exporting.is_over:
            sys.stdout.flush()
            time.sleep(_SECONDS)
            page = exporting.poll()
            if page is not None and page.added:
                echo_page(page, render_exported, render_options(ctx), as_json=as_json)
    except KeyboardInterrupt:
        return  # how following ends


def _styles() -> str:
    """The viewer's own, put into the file. Raises UsageError."""
    from importlib.resources import files

    from stenograph.cli._extras import require_extra

    require_extra("web", "HTML export", "jinja2", "markdown_it", "pygments", "nh3")
    static = files("stenograph.web") / "static"
    return "\n".join((static / name).read_text(encoding="utf-8") for name in ("icons.css", "style.css"))
