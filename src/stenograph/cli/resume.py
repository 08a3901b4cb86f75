"""`steno resume`: the library's `plan_resume`, carried out."""

from __future__ import annotations

import os

import click

from stenograph.cli._arguments import named_session, session_argument
from stenograph.cli._messages import echo_warning
from stenograph.cli._output import echo_page, json_option, render_options
from stenograph.cli._settings import shared_options
from stenograph.errors import UsageError


@click.command(short_help="Resume a session in Claude Code.")
@session_argument
@click.argument("arguments", metavar="[-- CLIENT ARGUMENTS]", nargs=-1, type=click.UNPROCESSED)
@click.option("--print", "only_print", is_flag=True, help="Print the command instead of running it.")
@json_option
@shared_options
@click.pass_context
def resume(ctx: click.Context, session: str, arguments: tuple[str, ...], only_print: bool, as_json: bool) -> None:
    """Resume a session in Claude Code.

    Claude Code finds a session only from the directory the session ran in, so steno starts `claude --resume` there. If that
    directory does not exist on this machine, steno says so and prints the command. Session files are not changed.

    \b
    Example:
      steno resume last -- --model opus
    """
    import shutil

    from stenograph.sessions import plan_resume
    from stenograph.views import render_resume, resume_page

    file = named_session(ctx, session)
    page = resume_page(file.session_id, str(file.path), plan_resume(file.path, arguments))
    if as_json or only_print:
        echo_page(page, render_resume, render_options(ctx), as_json=as_json)
        if page.problem and not as_json:
            echo_warning(page.problem)
        return
    if page.problem or page.directory is None:
        raise UsageError(page.problem or "", why="run this on the machine that has it", hint=page.shell)
    program = shutil.which(page.command[0])
    if program is None:
        raise UsageError(f"`{page.command[0]}` is not on PATH", why="run this where Claude Code is installed", hint=page.shell)
    os.chdir(page.directory)
    os.environ.update(page.environment)
    os.execv(program, list(page.command))
