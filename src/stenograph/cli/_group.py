"""The group `steno`: its commands by name, each module imported only when its command runs.

`steno --help` needs names and one-line helps only, so they are here; a test compares them with the commands' own.
What else a new command needs: docs/data-flow.md, "A command".
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from typing import Any

import click

from stenograph import __version__
from stenograph.cli._settings import shared_options, state_options

#: Name -> where its command is, and the first line of its help.
COMMANDS = {
    "ls": ("stenograph.cli.ls:ls", "List sessions, newest first."),
    "search": ("stenograph.cli.search:search", "Search everything that was said and done."),
    "show": ("stenograph.cli.show:show", "Read a session."),
    "turns": ("stenograph.cli.turns:turns", "List the turns of a session."),
    "messages": ("stenograph.cli.messages:messages", "Show what Claude Code would send on resume."),
    "files": ("stenograph.cli.files:files", "List the files a session read and changed."),
    "history": ("stenograph.cli.history:history", "List the sessions that read or changed a file."),
    "blame": ("stenograph.cli.blame:blame", "Show which turn wrote each line of a file."),
    "usage": ("stenograph.cli.usage:usage", "Show tokens and cost by day, model, project and more."),
    "stats": ("stenograph.cli.stats:stats", "Show activity, errors, waits and what filled the context."),
    "waste": ("stenograph.cli.stats:waste", "Find avoidable cost."),
    "diff": ("stenograph.cli.diff:diff", "Compare two sessions, or two branches of one session."),
    "tail": ("stenograph.cli.tail:tail", "Follow a running session."),
    "export": ("stenograph.cli.export:export", "Export a session as HTML, Markdown, JSON, JSON Lines or a zip."),
    "web": ("stenograph.cli.web:web", "Open the viewer in a browser."),
    "resume": ("stenograph.cli.resume:resume", "Resume a session in Claude Code."),
    "inventory": ("stenograph.cli.inventory:inventory", "Count records, releases, turns, tool calls and stop reasons."),
    "check": ("stenograph.cli.check:check", "Check sessions for damage, drift and losses on resume."),
    "schema": ("stenograph.cli.schema:schema", "Show the session format of each release."),
    "clone": ("stenograph.cli.clone:clone", "Copy a session, whole or up to a turn."),
    "rename": ("stenograph.cli.labels:rename", "Set or clear a session's title."),
    "tag": ("stenograph.cli.labels:tag", "Set or clear a session's tag."),
    "edit": (
        "stenograph.cli.edit:edit",
        "Trim or compress a session.",
    ),
    "archive": ("stenograph.cli.archive:archive", "Keep sessions that Claude Code would delete."),
    "restore": ("stenograph.cli.restore:restore", "Bring back a session from the archive."),
    "rm": ("stenograph.cli.rm:rm", "Move sessions to the archive."),
    "purge": ("stenograph.cli.purge:purge", "Delete a session for good."),
    "undo": ("stenograph.cli.undo:undo", "Undo an edit, byte for byte."),
    "agent": ("stenograph.cli.agent:agent", "Run an agent in this directory."),
    "trace": ("stenograph.cli.trace:trace", "Send turns to Langfuse, Phoenix, MLflow or any OTLP receiver."),
    "demo": ("stenograph.cli.demo:demo", "Copy the demo sessions, to try edits on them."),
    "doctor": ("stenograph.cli.doctor:doctor", "Show the setup and what is wrong with it."),
    "completion": ("stenograph.cli.completion:completion", "Print a shell completion script."),
}


#: How `steno --help` groups them.
PURPOSES = {
    "Read": ("ls", "show", "turns", "files", "diff", "tail", "export", "web"),
    "Find": ("search", "history", "blame"),
    "Measure": ("usage", "stats", "waste", "inventory"),
    "Continue": ("resume", "agent"),
    "Change": ("rename", "tag", "clone", "edit", "rm", "undo", "purge"),
    "Keep": ("archive", "restore"),
    "Inspect": ("check", "messages", "schema", "trace", "doctor"),
    "Set up": ("demo", "completion"),
}


class LazyGroup(click.Group):
    #: What the program was called by, once it runs: `steno`, or `python -m stenograph`.
    program = "steno"
    #: How whoever runs a command within this process calls one, by its words; None in a shell.
    named: Callable[[Sequence[str]], str] | None = None

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: Any
    ) -> click.Context:
        self.program = info_name or self.program
        return super().make_context(info_name, args, parent, **extra)

    def invoke(self, ctx: click.Context) -> Any:
        try:
            result = super().invoke(ctx)
        except click.exceptions.Exit:
            _report_matches(ctx)
            raise
        _report_matches(ctx)
        return result

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

        from stenograph.errors import in_quotes

        near = [*difflib.get_close_matches(name, COMMANDS, n=2)]
        near += [known for known in COMMANDS if name and known.startswith(name) and known not in near]
        meant = f"; did you mean {' or '.join(map(in_quotes, near))}?" if near else ""
        raise click.UsageError(f"unknown command {in_quotes(name)}{meant}", ctx)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        grouped = {name for names in PURPOSES.values() for name in names}
        others = tuple(name for name in COMMANDS if name not in grouped)
        longest = max(map(len, COMMANDS))
        for purpose, names in {**PURPOSES, "Other": others}.items():
            rows = [(name.ljust(longest), COMMANDS[name][1].removesuffix(".")) for name in names if name in COMMANDS]
            if rows:
                with formatter.section(purpose):
                    formatter.write_dl(rows)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        self.format_commands(ctx, formatter)
        click.Command.format_options(self, ctx, formatter)


def _report_matches(ctx: click.Context) -> None:
    if ctx.meta.get("stenograph.cli.matched"):
        from stenograph.cli._arguments import report_matches

        report_matches(ctx)


@click.group(
    cls=LazyGroup,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(__version__, message="steno %(version)s")
@shared_options
@click.option("--reveal", is_flag=True, help="Show secrets instead of masking them.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.pass_context
def steno(ctx: click.Context, reveal: bool, as_json: bool) -> None:
    """Search, read, check, compare, trim, trace and resume Claude Code sessions.

    Without a command, shows the newest sessions and what to try next.

    SESSION is an id or a unique prefix, a title, a path, or `last`. `last` is the newest session of this directory, or of any
    directory if this one has none; `last~1` is the one before. Part of a title is enough, except for commands that change or copy
    the session. Without SESSION, commands that read, export, edit, clone or resume one
    session let you choose from a list.

    \b
    Examples:
      steno
      steno --demo ls
    """
    if ctx.invoked_subcommand is None:
        from stenograph.cli.ls import overview

        overview(ctx, state_options(ctx), reveal=reveal, as_json=as_json)
    elif as_json or reveal:
        given = {"as_json": as_json, "reveal": reveal}
        ctx.default_map = {ctx.invoked_subcommand: {name: True for name, is_given in given.items() if is_given}}
