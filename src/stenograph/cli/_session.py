"""The argument SESSION: its shell completion, and which turns of it are meant."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click
from click.shell_completion import CompletionItem

from stenograph.errors import UsageError
from stenograph.family import SessionFile
from stenograph.sessions import LAST
from stenograph.views import plain

if TYPE_CHECKING:
    from stenograph.turns import Branch, Session, Turn

_OFFERED = 50
_HELP_COLUMNS = 60


# Generic only for the type checker: click 8.1 is not.
if TYPE_CHECKING:
    _StringType = click.ParamType[str]
else:
    _StringType = click.ParamType


class SessionReference(_StringType):
    name = "session"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        if not value:
            self.fail("it is empty; give an id, a prefix, a title, a path, or `last`", param, ctx)
        return value

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:  # noqa: ARG002
        """Ids of the newest sessions with their titles as help; else those whose title the typed text begins; else paths."""
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
            items.append(CompletionItem(LAST, help="the session that changed last"))
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
    from stenograph.redact import mask

    return CompletionItem(session_id, help=plain(mask(title)[0])[:_HELP_COLUMNS].replace(",", " ") or None)


def session_argument(command: Any) -> Any:
    return click.argument("session", type=SessionReference())(command)


def choose_branch(session: Session, number: int | None) -> Branch:
    """The branch with a number, from 1; the current one where none is given. Raises UsageError."""
    from stenograph.turns import NO_BRANCH

    if number is None or (number == 1 and not session.branches):
        return next((branch for branch in session.branches if branch.is_current), NO_BRANCH)
    if number > len(session.branches):
        raise UsageError(f"there is no branch {number}; the session has {len(session.branches)}")
    return session.branches[number - 1]


def parse_turns(text: str | None) -> Callable[[Turn], bool]:
    """`3`, `3-5`, `3-` or `-5` as a test for turns. Raises UsageError."""
    if text is None:
        return lambda _: True
    first, dash, last = text.partition("-")
    if not (first or last) or not all(part.strip().isdecimal() for part in (first, last) if part):
        raise UsageError(f"--turn takes a number or a range like 3-5, not {text!r}")
    low = int(first) if first else 1
    high = int(last) if last else None if dash else low
    if high is not None and high < low:
        raise UsageError(f"--turn {text} is backwards: a range goes from the lower number to the higher, like {high}-{low}")
    return lambda turn: low <= turn.number and (high is None or turn.number <= high)
