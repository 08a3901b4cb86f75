"""From a page to stdout: options that commands share, how lines are wanted here, and one way to print a page."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, TypeVar

import click

from stenograph.redact import Mask, Masker, as_is

if TYPE_CHECKING:
    from stenograph.views import Document, FindingPage, RenderOptions

    DocumentType = TypeVar("DocumentType", bound=Document)

F = TypeVar("F", bound=Callable[..., Any])


def json_option(command: F) -> F:
    return click.option("--json", "as_json", is_flag=True, help="Print JSON (schema: docs/json.md).")(command)


def reveal_option(command: F) -> F:
    return click.option("--reveal", is_flag=True, help="Show secrets (keys, tokens, passwords) that are masked otherwise.")(
        command
    )


def pager_option(command: F) -> F:
    return click.option(
        "--pager/--no-pager", default=True, help="Use $PAGER, else less, for what is longer than the screen. [default: yes]"
    )(command)


def width_option(command: F) -> F:
    return click.option(
        "--width",
        type=click.IntRange(min=20),
        metavar="COLUMNS",
        help="Wrap at so many columns; else the terminal's, in a pipe none.",
    )(command)


def hooks_option(command: F) -> F:
    return click.option("--hooks", is_flag=True, help="Show every hook that ran; else those that failed or held something up.")(
        command
    )


def terminal_width() -> int | None:
    """Columns of the terminal that shows stdout; None where it is no terminal."""
    if not sys.stdout.isatty():
        return None
    import shutil

    return shutil.get_terminal_size().columns


def render_options(ctx: click.Context, columns: int | None = None, **wishes: Any) -> RenderOptions:
    """Color, width and Markdown as this output can show them."""
    from functools import partial

    from stenograph.cli._settings import again
    from stenograph.views import RenderOptions

    terminal = sys.stdout.isatty()
    color = terminal if ctx.color is None else ctx.color
    return RenderOptions(
        width=columns or terminal_width(), color=color, markdown=terminal or color, command=partial(again, ctx), **wishes
    )


def make_mask(reveal: bool) -> tuple[Mask, Masker | None]:
    """The function that masks texts, and the masker that counts them; with `reveal` texts stay as they are."""
    if reveal:
        return as_is, None
    masker = Masker()
    return masker.mask, masker


def tell_masked(masker: Masker | None) -> None:
    """On stderr, how many different secrets were masked."""
    from stenograph.views import count_of

    if masker is not None and masker.different:
        click.echo(f"steno: {count_of(masker.different, 'secret')} masked (--reveal shows them)", err=True)


def echo_page(
    page: DocumentType,
    render: Callable[[DocumentType, RenderOptions], Iterable[str]],
    options: RenderOptions,
    *,
    as_json: bool,
    pager: bool = False,
) -> None:
    """A page as JSON, or as the lines that a renderer makes of it."""
    if as_json:
        echo_json(page)
    else:
        from stenograph.cli._pager import echo_lines

        echo_lines(render(page, options), pager=pager)


def echo_json(page: Document | dict[str, Any]) -> None:
    """A page as one JSON document; indented only on a terminal, for Python indents ten times as slowly and `jq` takes either."""
    from stenograph.views import encode_page, page_text

    if _writes_utf8_lines():
        click.echo(encode_page(page))
        return
    indent = 2 if sys.stdout.isatty() else None
    click.echo(page_text(page, indent=indent, encoding=sys.stdout.encoding or "utf-8"))


def echo_long_json(page: Document, items: Iterable[Any]) -> None:
    """The same for a page whose last member is an empty list: its items are written while they are made."""
    from msgspec.structs import replace

    from stenograph.views import encode_long

    if not _writes_utf8_lines():
        echo_json(replace(page, **{page.__struct_fields__[-1]: tuple(items)}))
        return
    for piece in encode_long(page, items):
        click.echo(piece, nl=False)
    click.echo()


def _writes_utf8_lines() -> bool:
    return not sys.stdout.isatty() and (sys.stdout.encoding or "").lower() == "utf-8"


def echo_unreadable(findings: Iterable[FindingPage]) -> None:
    """What could not be read, one line each, on stderr; what is merely unusual is left to `steno doctor`."""
    from stenograph.views import plain

    for finding in findings:
        if finding.code.startswith("unreadable"):
            click.echo(f"steno: {plain(finding.detail)}", err=True)
