"""`steno completion`: click's completion script for a shell."""

from __future__ import annotations

import click

from stenograph.cli._output import echo_page, json_option, render_options
from stenograph.cli._settings import shared_options

SHELLS = ("bash", "zsh", "fish")


@click.command(short_help="Print a shell completion script.")
@click.argument("shell", type=click.Choice(SHELLS))
@json_option
@shared_options
@click.pass_context
def completion(ctx: click.Context, shell: str, as_json: bool) -> None:
    """Print a shell completion script.

    Put the output where your shell reads it. TAB then completes commands, options, paths and session ids; the start of a title
    completes to the session's id. Respects --home and --demo.

    \b
    Examples:
      steno completion bash >> ~/.bashrc
      steno completion zsh >> ~/.zshrc
      steno completion fish > ~/.config/fish/completions/steno.fish
    """
    from stenograph.views import CompletionPage

    page = CompletionPage(shell, completion_script(shell))
    echo_page(page, lambda page, _: [page.script], render_options(ctx), as_json=as_json)


def completion_script(shell: str) -> str:
    from click.shell_completion import get_completion_class

    from stenograph.cli import COMPLETE_VARIABLE
    from stenograph.cli._group import steno

    kind = get_completion_class(shell)
    assert kind is not None
    return kind(steno, {}, "steno", COMPLETE_VARIABLE).source()
