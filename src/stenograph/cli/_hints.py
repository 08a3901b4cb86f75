"""What somebody meant who gave a command an option that it does not have.

In: click's complaint about a command line, and options that other commands have. Out: a complaint that says what to give.
Knows nothing of what commands do.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping
from typing import Any

import click

_TURNS = re.compile(r"[\d,-]+")


class HintingCommand(click.Command):
    """A command with words about options that it is likely to be given but has not: `hints` is option -> what to do."""

    def __init__(self, *arguments: Any, hints: Mapping[str, str], **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.hints = hints

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        given = list(args)
        try:
            return super().parse_args(ctx, args)
        except click.NoSuchOption as error:
            if error.option_name not in self.hints:
                raise
            raise click.UsageError(f"No such option {error.option_name!r}; {self.hints[error.option_name]}", ctx) from None
        except click.UsageError as error:
            # A value behind a flag is taken for another SESSION.
            behind = {flag: value for flag, value in itertools.pairwise(given) if _TURNS.fullmatch(value)}
            if type(error) is not click.UsageError or "--drop-turns" not in behind:
                raise
            raise click.UsageError(
                f"--drop-turns takes no value; give --drop-turns --turns {behind['--drop-turns']}", ctx
            ) from None
