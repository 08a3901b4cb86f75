"""What users type: sessions, turns, dates and ages, and options that a command does not have."""

from __future__ import annotations

import contextlib
import itertools
import os
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import click

from stenograph.cli import STOPPED
from stenograph.cli._messages import echo_note
from stenograph.errors import (
    AmbiguousSessionError,
    ArchivedSessionError,
    DiskError,
    SessionNotFoundError,
    UsageError,
    in_quotes,
)
from stenograph.family import SessionFile
from stenograph.sessions import LAST, age_before, choose_branch, date_of
from stenograph.sessions import date_or_age as moment_of
from stenograph.views import cut, plain

__all__ = [
    "HintingCommand",
    "SessionReference",
    "age_before",
    "any_project_option",
    "choose_branch",
    "date_of",
    "moment_of",
    "named_session",
    "parse_turns",
    "report_matches",
    "run_command",
    "session_argument",
    "session_to_change",
    "session_to_follow",
]


class HintingCommand(click.Command):
    """A command with words about options that it is likely to be given but has not: `hints` is option -> what to do."""

    def __init__(self, *arguments: Any, hints: Mapping[str, str], **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.hints = hints

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        try:
            return super().parse_args(ctx, args)
        except click.NoSuchOption as error:
            if error.option_name not in self.hints:
                raise
            hint = self.hints[error.option_name]
            raise click.UsageError(f"no such option {in_quotes(error.option_name)}; {hint}", ctx) from None


class Numbered(Protocol):
    """A turn, as far as its number tells."""

    @property
    def number(self) -> int: ...


_OFFERED = 50
_NAMED = 5
_TITLE_COLUMNS = 40
_ID_COLUMNS = 13
_MATCHED = "stenograph.cli.matched"
_ANY_PROJECT = "stenograph.cli.any_project"
_HELP_COLUMNS = 60


# Generic only for the type checker: click 8.1 is not.
if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    _StringType = click.ParamType[str]
else:
    _StringType = click.ParamType


class SessionReference(_StringType):
    name = "session"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        if not value:
            self.fail("it is empty; use an id, prefix, title, path or `last`", param, ctx)
        return value

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:  # noqa: ARG002
        """Ids of the newest sessions with their titles as help; else those whose title the typed text begins; else paths."""
        from click.shell_completion import CompletionItem

        from stenograph.cli._settings import state_options
        from stenograph.errors import StenographError
        from stenograph.sessions import find_sessions, titles_of

        paths = [CompletionItem(incomplete, type="file")]
        if os.sep in incomplete or incomplete.startswith((".", "~")):
            return paths
        try:
            files = [file for file in find_sessions(state_options(ctx).homes) if file.size and file.named_by_uuid]
        except StenographError:
            return []  # a shell asks while the line is being typed: no place for errors
        wanted = incomplete.casefold()
        by_id = [file for file in files if file.session_id.startswith(wanted)][:_OFFERED]
        titles = dict(titles_of(by_id))
        items = [_offer(file.session_id, titles.get(file, "")) for file in by_id]
        if LAST.startswith(incomplete):
            items.append(CompletionItem(LAST, help="the newest session"))
        if items:
            return items
        named = [(file, title) for file, title in titles_of(files[:_OFFERED]) if title.casefold().startswith(wanted)]
        return _by_title(named) or paths


def _by_title(named: list[tuple[SessionFile, str]]) -> list[CompletionItem]:
    """Sessions whose title was begun: their ids, which need no quotes and take the place of what was typed.

    Never the titles: whoever wrote a transcript would write what a shell inserts. fish, which offers only what begins as
    typed, shows nothing.
    """
    ids = [file.session_id for file, _ in named]
    # A shell puts what all offers have in common in the place of the typed text: of several ids that must be nothing.
    if len(ids) > 1 and len({identity[0] for identity in ids}) == 1:
        return []
    return [_offer(file.session_id, title) for file, title in named]


def _offer(session_id: str, title: str) -> CompletionItem:
    from click.shell_completion import CompletionItem

    from stenograph.redact import mask

    return CompletionItem(session_id, help=cut(plain(mask(title)[0]), _HELP_COLUMNS).replace(",", " ") or None)


def session_argument(command: Any) -> Any:
    """SESSION, chosen in a terminal unless it is named."""
    argument = click.argument("session", metavar="[SESSION]", type=SessionReference(), required=False, callback=_named_or_picked)
    return any_project_option(argument(command))


def session_to_change(command: Any) -> Any:
    """SESSION for commands that write: it has to be named, and not by a fragment of its title."""
    return any_project_option(click.argument("session", type=SessionReference())(command))


def session_to_follow(command: Any) -> Any:
    """SESSION for commands that wait for more of it: `last` unless named."""
    return any_project_option(click.argument("session", metavar="[SESSION]", type=SessionReference(), default=LAST)(command))


def _named_or_picked(ctx: click.Context, _: click.Parameter, value: str | None) -> str | None:
    """SESSION, or the path of the one that was chosen. Raises UsageError where nobody can choose."""
    if value is not None or ctx.resilient_parsing:
        return value
    from stenograph.cli._picker import can_pick, pick_session, run_choice
    from stenograph.cli._settings import again

    verb = ctx.info_name or "show"
    if not can_pick(ctx):
        raise UsageError("no session given", hint=again(ctx, verb, LAST))
    chosen = pick_session(ctx, verb)
    if chosen is None:
        ctx.exit(STOPPED)
    if chosen.verb == verb:
        return chosen.path
    run_choice(ctx, chosen)
    raise click.exceptions.Exit(0)


def run_command(ctx: click.Context, name: str, *arguments: str) -> None:
    """Run another command of ours with the options of this run."""
    root = ctx.find_root()
    group = root.command
    assert isinstance(group, click.Group)
    command = group.get_command(root, name)
    assert command is not None
    with command.make_context(name, list(arguments), parent=root) as inner:
        command.invoke(inner)


def any_project_option(command: Any) -> Any:
    return click.option(
        "--any-project",
        is_flag=True,
        expose_value=False,
        callback=_keep_any_project,
        help="Let `last` mean the newest session of any project, not only of this directory.",
    )(command)


def _keep_any_project(ctx: click.Context, _: click.Parameter, value: bool) -> bool:
    ctx.meta[_ANY_PROJECT] = value
    return value


def named_session(
    ctx: click.Context, reference: str, *, writes: bool = False, is_shown: bool = False, reads: bool = False
) -> SessionFile:
    """The session that is meant; which one is noted at the end where that was not plain, unless the output says it.

    With `reads`, a copy of a session that only the archive has. Raises as `resolve` does.
    """
    from stenograph.cli._catalog import catalog_of
    from stenograph.cli._settings import again

    try:
        found = catalog_of(ctx).find(reference, exact=writes, any_project=ctx.meta.get(_ANY_PROJECT, False), archived=reads)
    except AmbiguousSessionError as error:
        error.what += "; nothing was written" if writes else ""
        raise
    except ArchivedSessionError as error:
        error.hint = again(ctx, "restore", error.reference)
        raise
    if found.archived is not None:
        echo_note(
            f"session {_short(found.file)} is only in the archive; its own file is gone",
            hint=again(ctx, "restore", found.file.session_id),
        )
    elif not is_shown and (found.how not in ("id", "path", "last") or (writes and found.how != "path")):
        ctx.meta.setdefault(_MATCHED, []).append(found.file)
    return found.file


def report_matches(ctx: click.Context) -> None:
    """On stderr, the sessions that were found by a prefix or a title, or written to."""
    from stenograph.sessions import titles_of

    files = ctx.meta.pop(_MATCHED, [])
    titles = dict(titles_of([file for file in files if file.path.exists()])) if files else {}
    for file in files:
        echo_note(f"session {_short(file)}{_quoted_title(titles.get(file))}")


def ambiguous_choices(error: AmbiguousSessionError) -> tuple[list[str], str]:
    """What an ambiguous reference may mean, newest first: ids, titles, projects and times; and the command with the first one.

    Copies of one session are told apart by their paths; then there is no such command.
    """
    from datetime import UTC, datetime

    from stenograph.redact import mask
    from stenograph.sessions import ListTitles, last_record, newest_record_first, session_at, short_ids
    from stenograph.views import quoted, short_path, table, when

    files = []
    for path in error.matches:
        with contextlib.suppress(SessionNotFoundError, DiskError):  # gone meanwhile, or not readable
            files.append(session_at(Path(path)))
    if not files:
        return [short_path(path) for path in error.matches], ""
    same = len({file.session_id for file in files}) == 1
    shown = list(itertools.islice(newest_record_first(files), _NAMED))
    titles, now = ListTitles(), datetime.now(UTC)
    by_prefix = all(file.session_id.startswith(error.reference.casefold()) for file in files)
    short = short_ids(file.session_id for file in files) if by_prefix else {}
    rows = []
    for file, seen in shown:
        name = short_path(str(file.path)) if same else short.get(file.session_id) or _short(file)
        where = short_path(seen.cwd or file.path.parent.name).replace("\\", "/").rpartition("/")[2]
        rows.append([name, cut(plain(mask(titles.of(seen) or "")[0]), _TITLE_COLUMNS), where, when(last_record(seen), now)])
    lines = table(rows, frozenset({3}))
    if len(files) > len(shown):
        lines.append(f"and {len(files) - len(shown)} more")
    if same or error.reference not in sys.argv[1:]:
        return lines, ""
    words = [rows[0][0] if word == error.reference else word for word in sys.argv[1:]]
    return lines, f"steno {' '.join(map(quoted, words))}"


def _short(file: SessionFile) -> str:
    return file.session_id[:_ID_COLUMNS] if file.named_by_uuid else plain(file.session_id)


def _quoted_title(title: str | None) -> str:
    from stenograph.redact import mask

    return f'  "{cut(plain(mask(title)[0]), _TITLE_COLUMNS)}"' if title else ""


def parse_turns(text: str | None, count: int) -> Callable[[Numbered], bool]:
    """`3`, `3-5`, `3-`, or `-1` for the last of `count`, as a test for turns. Raises UsageError."""
    if text is None:
        return lambda _: True
    if text.startswith("-") and text[1:].isdecimal():
        number = count + 1 - int(text[1:])
        return lambda turn: turn.number == number
    first, dash, last = text.partition("-")
    if not first or not all(part.strip().isdecimal() for part in (first, last) if part):
        raise UsageError(f"invalid --turn {in_quotes(text)}; use a number, -1 for the last turn, or a range such as 3-5")
    low = int(first)
    high = int(last) if last else None if dash else low
    if high is not None and high < low:
        raise UsageError(f"--turn {text} is reversed; use {high}-{low}")
    return lambda turn: low <= turn.number and (high is None or turn.number <= high)
