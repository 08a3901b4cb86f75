"""How transcripts are to look: options that `show`, `tail`, `files` and `diff` share."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

from stenograph.redact import Masker

if TYPE_CHECKING:
    from stenograph.views import Look

F = TypeVar("F", bound=Callable[..., Any])


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


def make_look(ctx: click.Context, columns: int | None = None, **wishes: Any) -> Look:
    """Colour, width and Markdown as this output can show them."""
    from stenograph.cli._text import terminal_width
    from stenograph.views import Look

    terminal = sys.stdout.isatty()
    color = terminal if ctx.color is None else ctx.color
    return Look(width=columns or terminal_width(), color=color, markdown=terminal or color, **wishes)


def hooks_option(command: F) -> F:
    return click.option("--hooks", is_flag=True, help="Show every hook that ran; else those that failed or held something up.")(
        command
    )


def tell_masked(masker: Masker | None) -> None:
    """On stderr, how many different secrets were masked."""
    from stenograph.views.text import count_of

    if masker is not None and masker.different:
        click.echo(f"steno: {count_of(masker.different, 'secret')} masked (--reveal shows them)", err=True)


def make_mask(reveal: bool) -> tuple[Callable[[str], str], Masker | None]:
    """The function that masks texts, and the masker that counts them; with `reveal` texts stay as they are."""
    if reveal:
        from stenograph.views.masking import as_is

        return as_is, None
    masker = Masker()
    return masker.mask, masker
