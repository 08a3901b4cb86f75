"""The group `steno`: its commands by name, each module imported only when its command runs.

`steno --help` needs names and one-line helps only, so they stand here; a test compares them with the commands' own.
"""

from __future__ import annotations

import importlib
from typing import Any

import click

from stenograph import __version__
from stenograph.cli._settings import shared_options, state_options

#: Name -> where its command is, and the first line of its help.
COMMANDS = {
    "ls": ("stenograph.cli.ls:ls", "List sessions, newest first."),
    "search": ("stenograph.cli.search:search", "Search everything that was said and done."),
    "show": ("stenograph.cli.show:show", "Read a session in the terminal."),
    "turns": ("stenograph.cli.turns:turns", "List the turns of a session."),
    "messages": ("stenograph.cli.messages:messages", "Show what a client would send when it resumes a session."),
    "files": ("stenograph.cli.files:files", "Show which files a session read and changed."),
    "diff": ("stenograph.cli.diff:diff", "Compare two sessions, or two branches of one."),
    "tail": ("stenograph.cli.tail:tail", "Follow a live session."),
    "resume": ("stenograph.cli.resume:resume", "Start the client where a session ran, to go on with it."),
    "inventory": ("stenograph.cli.inventory:inventory", "Count records, releases, turns, tool calls, stop reasons and blocks."),
    "check": ("stenograph.cli.check:check", "Check files for drift, damage and what clients would lose of them."),
    "schema": ("stenograph.cli.schema:schema", "Show what releases write, as recorded from them."),
    "clone": ("stenograph.cli.clone:clone", "Copy a session, whole or up to a message, as a new one."),
    "rename": ("stenograph.cli.labels:rename", "Give a session a title."),
    "tag": ("stenograph.cli.labels:tag", "Give a session a tag, or take it away."),
    "edit": (
        "stenograph.cli.edit:edit",
        "Take turns, tool calls, results, images or thinking out of a session, or condense it.",
    ),
    "rm": ("stenograph.cli.rm:rm", "Remove a session, to the archive."),
    "undo": ("stenograph.cli.undo:undo", "Take back an edit of a session, byte for byte."),
    "agent": ("stenograph.cli.agent:agent", "Let a model work in this folder, and write the session as the client does."),
    "trace": ("stenograph.cli.trace:trace", "Send sessions to Langfuse, Phoenix, MLflow or any OTLP receiver."),
    "doctor": ("stenograph.cli.doctor:doctor", "Show what is installed, where things are, and what is wrong."),
    "completion": ("stenograph.cli.completion:completion", "Print the script that makes a shell complete commands and sessions."),
}


class LazyGroup(click.Group):
    #: What the program was called by, once it runs: `steno`, or `python -m stenograph`.
    program = "steno"

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: Any
    ) -> click.Context:
        self.program = info_name or self.program
        return super().make_context(info_name, args, parent, **extra)

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:  # noqa: ARG002
        if name not in COMMANDS:
            return None
        module, _, attribute = COMMANDS[name][0].partition(":")
        command = getattr(importlib.import_module(module), attribute)
        assert isinstance(command, click.Command)
        return command

    def resolve_command(self, ctx: click.Context, args: list[str]) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0]
        if name in COMMANDS or name.startswith("-") or ctx.resilient_parsing:
            return super().resolve_command(ctx, args)
        import difflib

        near = [*difflib.get_close_matches(name, COMMANDS, n=2)]
        near += [known for known in COMMANDS if name and known.startswith(name) and known not in near]
        meant = f"; did you mean {' or '.join(near)}?" if near else ""
        raise click.UsageError(f"there is no command {name!r}{meant}", ctx)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        with formatter.section("Commands"):
            formatter.write_dl([(name, summary) for name, (_, summary) in COMMANDS.items()])


@click.group(
    cls=LazyGroup,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(__version__, message="steno %(version)s")
@shared_options
@click.option("--reveal", is_flag=True, help="Show secrets that are masked otherwise; before a command it is the command's.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON; before a command it is the command's.")
@click.pass_context
def steno(ctx: click.Context, reveal: bool, as_json: bool) -> None:
    """Read, check, search, edit, trace and continue Claude Code sessions.

    Without a command: what is here, the newest sessions, and what to try next.

    SESSION is an id, a unique prefix of one, a title, a path, or `last`.

    \b
    Example:
      steno
      steno --demo ls
    """
    if ctx.invoked_subcommand is None:
        from stenograph.cli.ls import overview

        overview(ctx, state_options(ctx), reveal=reveal, as_json=as_json)
    elif as_json or reveal:
        given = {"as_json": as_json, "reveal": reveal}
        ctx.default_map = {ctx.invoked_subcommand: {name: True for name, is_given in given.items() if is_given}}
