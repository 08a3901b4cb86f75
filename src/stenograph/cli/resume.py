"""`steno resume`: the library's `plan_resume`, carried out."""

from __future__ import annotations

import os

import click

from stenograph.cli._session import session_argument
from stenograph.cli._settings import shared_options, state_options
from stenograph.errors import UsageError


@click.command(short_help="Start the client where a session ran, to go on with it.")
@session_argument
@click.argument("arguments", metavar="[-- CLIENT ARGUMENTS]", nargs=-1, type=click.UNPROCESSED)
@click.option("--print", "only_print", is_flag=True, help="Print the command, start nothing.")
@click.option("--json", "as_json", is_flag=True, help="Print the plan as JSON, start nothing.")
@shared_options
@click.pass_context
def resume(ctx: click.Context, session: str, arguments: tuple[str, ...], only_print: bool, as_json: bool) -> None:
    """Start the client where a session ran, to go on with it.

    A client finds a session only from the folder it ran in: this goes there and starts `claude --resume`. Where that folder
    is not on this machine it says so and prints the command. Session files are not touched.

    --json prints {"command", "folder", "cwd", "environment", "problem", "shell"}.

    \b
    Example:
      steno resume last -- --model opus
    """
    import shutil

    from stenograph.cli._text import echo_json
    from stenograph.sessions import resolve
    from stenograph.sessions.resuming import command_line, plan_resume
    from stenograph.views.text import plain, quoted

    file = resolve(session, state_options(ctx).homes)
    plan = plan_resume(file.path, arguments)
    line = command_line(plan, quoted)
    if as_json:
        echo_json(
            {
                "command": list(plan.command),
                "folder": str(plan.folder) if plan.folder else None,
                "cwd": plan.cwd,
                "environment": plan.environment,
                "problem": plan.problem or None,
                "shell": line,
            }
        )
        return
    if only_print:
        click.echo(line)
        if plan.problem:
            click.echo(f"steno: {plain(plan.problem)}", err=True)
        return
    if plan.problem or plan.folder is None:
        raise UsageError(f"{plan.problem}; where it is: {line}")
    program = shutil.which(plan.command[0])
    if program is None:
        raise UsageError(f"`{plan.command[0]}` is not on PATH; where it is: {line}")
    os.chdir(plan.folder)
    os.environ.update(plan.environment)
    os.execv(program, list(plan.command))
