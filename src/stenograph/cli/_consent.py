"""Whether a plan may be carried out: `--apply` says so, a terminal is asked, everything else only sees the plan."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, TypeVar

import click
import msgspec

from stenograph.errors import UsageError

F = TypeVar("F", bound=Callable[..., Any])
#: More sessions than this are confirmed by typing their number.
_MOST_AT_A_KEY = 10


class Consent(msgspec.Struct, frozen=True):
    #: `--apply`: acts without asking.
    is_given: bool
    #: The plan is shown on a terminal, where the question can follow it.
    may_ask: bool
    #: Nothing at all may be written.
    is_dry_run: bool

    def ask(self, sessions: int = 1) -> bool:
        """Ask, where that is possible. `sessions`: how many the plan changes."""
        if not self.may_ask:
            return False
        click.echo()
        if sessions > _MOST_AT_A_KEY:
            answer = click.prompt(f"Apply to {sessions:,} sessions? Type their number", default="", show_default=False)
            agreed = answer.strip().replace(",", "") == str(sessions)
        else:
            agreed = click.confirm("Apply?", prompt_suffix=" ")
        if not agreed:
            click.echo("Nothing was written.")
        return agreed


def consent_options(command: F) -> F:
    """`--apply` and `--dry-run`, for `consent`."""
    command = click.option("--dry-run", is_flag=True, help="Show the plan and never ask.")(command)
    return click.option("--apply", "applying", is_flag=True, help="Apply the plan without asking.")(command)


def consent(*, applying: bool, dry_run: bool, as_json: bool) -> Consent:
    """Raises UsageError."""
    if applying and dry_run:
        raise UsageError("--apply conflicts with --dry-run")
    is_terminal = all(stream is not None and stream.isatty() for stream in (sys.stdin, sys.stdout))
    return Consent(applying, is_terminal and not (applying or dry_run or as_json), dry_run)


def may_apply(*, applying: bool, dry_run: bool, as_json: bool, apply: str | None) -> bool:
    """Whether a plan that was shown is to be carried out; where it can't be asked about, `apply` is shown. Raises UsageError."""
    allowed = consent(applying=applying, dry_run=dry_run, as_json=as_json)
    if allowed.is_given or allowed.ask():
        return True
    if apply and not (allowed.may_ask or dry_run or as_json):
        click.echo(f"Apply: {apply}")
    return False
