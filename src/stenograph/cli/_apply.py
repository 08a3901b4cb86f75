"""Plans that are shown first: `--apply`, `--dry-run`, and the question between them."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, TypeVar

import click

from stenograph.errors import UsageError

F = TypeVar("F", bound=Callable[..., Any])


def apply_options(command: F) -> F:
    command = click.option("--dry-run", is_flag=True, help="Show the plan and never ask.")(command)
    return click.option("--apply", "is_applied", is_flag=True, help="Apply the plan without asking.")(command)


def may_apply(*, is_applied: bool, dry_run: bool, as_json: bool, apply: str | None) -> bool:
    """Whether a plan that was shown is to be carried out; asks in a terminal. `apply` is the command that does it.

    Raises UsageError.
    """
    if is_applied and dry_run:
        raise UsageError("--apply conflicts with --dry-run")
    if is_applied:
        return True
    if dry_run or as_json:
        return False
    if sys.stdin and sys.stdin.isatty() and sys.stdout.isatty():
        if click.confirm("Apply?", default=False):
            return True
        click.echo("Nothing was written")
    elif apply:
        click.echo(f"Apply: {apply}")
    return False
