"""The argument SESSION: its shell completion, and sessions as JSON and as rows."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import click
from click.shell_completion import CompletionItem

from stenograph.cli._text import iso, plain
from stenograph.sessions import SessionInfo

_OFFERED = 50


# Generic only for the type checker: click 8.1 is not.
if TYPE_CHECKING:
    _StringType = click.ParamType[str]
else:
    _StringType = click.ParamType


class SessionReference(_StringType):
    name = "session"

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:  # noqa: ARG002
        """Ids of the newest sessions with their titles as help, and titles where the typed text begins one."""
        from stenograph.cli._settings import state_options
        from stenograph.errors import StenographError
        from stenograph.sessions import find_sessions, titles_of

        try:
            files = [file for file in find_sessions(state_options(ctx).homes) if file.size and file.named_by_uuid]
        except StenographError:
            return []  # a shell asks while the line is being typed: no place for errors
        wanted = incomplete.casefold()
        by_id = [file for file in files if file.session_id.startswith(wanted)][:_OFFERED]
        titles = dict(titles_of(by_id))
        items = [CompletionItem(file.session_id, help=plain(titles.get(file, ""))[:60]) for file in by_id]
        if not by_id or not incomplete:
            named = titles_of(files[:_OFFERED])
            items += [CompletionItem(plain(title)) for _, title in named if incomplete and title.casefold().startswith(wanted)]
        if "last".startswith(incomplete):
            items.append(CompletionItem("last", help="the session that changed last"))
        return items


def session_argument(command: Any) -> Any:
    return click.argument("session", type=SessionReference())(command)


def session_json(info: SessionInfo) -> dict[str, Any]:
    """A session under the keys that `ls --json` promises."""
    return {
        "id": info.id,
        "path": os.fspath(info.path),
        "project": info.cwd,
        "folder": info.path.parent.name,
        "title": info.title,
        "first_prompt": info.first_prompt,
        "custom_title": info.custom_title,
        "tag": info.tag,
        "status": info.status.value,
        "created": iso(info.created),
        "modified": iso(info.modified),
        "size": info.size,
        "release": info.release,
        "branch": info.branch,
        "entrypoint": info.entrypoint,
        "steps": info.steps,
        "steps_exact": info.steps_exact,
        "hidden": info.hidden,
    }
