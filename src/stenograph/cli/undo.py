"""`steno undo`: the library's `Archive.undo`, `Archive.entries` and `Archive.restore`."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from stenograph.cli import NOTHING_MATCHED
from stenograph.cli._hints import HintingCommand
from stenograph.cli._session import SessionReference
from stenograph.cli._settings import GivenPath, Settings, again, refuse_demo, shared_options, state_options
from stenograph.errors import SessionNotFoundError, UsageError

if TYPE_CHECKING:
    from stenograph.archive import Archive, Entry, Recovery


_HEADER = ("edit", "time", "session", "state", "size", "files", "what")
_RIGHT = frozenset({0})
#: For what was done; with fewer it gets lines of its own.
_TITLE_COLUMNS = 24

_HINTS = {
    "--apply": "an undo is done at once; --list lists the edits and undoes nothing",
    "--dry-run": "--list lists the edits and undoes nothing",
}


@click.command(cls=HintingCommand, hints=_HINTS, short_help="Take back an edit of a session, byte for byte.")
@click.argument("session", type=SessionReference(), required=False)
@click.option("--list", "is_list", is_flag=True, help="List the edits, oldest first, and undo nothing.")
@click.option("--entry", "number", type=click.IntRange(min=1), metavar="N", help="The edit with this number; else the last one.")
@click.option("--to", type=GivenPath(path_type=Path), metavar="DIR", help="Write the originals there and undo nothing.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@shared_options
@click.pass_context
def undo(ctx: click.Context, session: str | None, is_list: bool, number: int | None, to: Path | None, as_json: bool) -> None:
    """Take back an edit of a session, byte for byte.

    The last edit of the session, or of any session; again, the one before. An undo is an edit too: undo it by its number.
    Refused where a file was changed since the edit. An edit that was stopped midway is settled first, and then nothing else
    is undone.

    --json prints {"entry", "undoes", "session", "files": [{"path", "what", "size"}], "recovered": [{"entry", "session",
    "state", "problem"}]}; with --list {"archive", "entries": [{"entry", "time", "session", "reason", "command", "state",
    "undoes", "undone_by", "home", "files": [{"path", "before", "after", "before_size", "after_size"}]}]}; with --to {"entry",
    "files": [path]}.

    \b
    Example:
      steno undo --list
      steno undo last
    """
    from stenograph.archive import Archive, default_archive_folder
    from stenograph.cli._text import echo_json
    from stenograph.views.text import short_path

    settings = state_options(ctx)
    refuse_demo(settings)
    archive = Archive(default_archive_folder(os.environ))
    entries = _wanted(archive, settings, session)
    if is_list:
        if to is not None:
            raise UsageError("--list lists edits and --to writes originals; give one of them")
        entries = [entry for entry in entries if number in (None, entry.number)]
        _list(archive, entries, as_json)
        if not entries:
            ctx.exit(NOTHING_MATCHED)
        return
    if number is not None and all(entry.number != number for entry in entries):
        raise UsageError(f"there is no edit {number}{' of this session' if session else ''}; `steno undo --list` lists them")
    if to is not None:
        if number is None:
            raise UsageError("--to takes the number of an edit: --entry N")
        places = archive.restore(number, to)
        if as_json:
            echo_json({"entry": number, "files": [str(place) for place in places]})
        else:
            for place in places:
                click.echo(short_path(str(place)))
        return
    recovered = archive.recover()
    if number is None and not recovered:
        number = next((entry.number for entry in reversed(entries) if entry.is_standing), None)
        if number is None:
            click.echo("steno: there is no edit to undo", err=True)
            ctx.exit(NOTHING_MATCHED)
    done = archive.undo(number, active_seconds=settings.config.active_seconds) if number is not None else None
    if as_json:
        echo_json(_done_json(done, recovered))
        return
    for settled in recovered:
        click.echo(_settled(settled))
    if done is not None:
        for what, path, _ in _what_was_done(done):
            click.echo(f"{what:>9}  {short_path(str(path))}")
        click.echo(f"Edit {number} of {_name(done)} was undone")
        click.echo(f"To take that back: {again(ctx, 'undo', '--entry', str(done.number))}")


def _wanted(archive: Archive, settings: Settings, session: str | None) -> list[Entry]:
    """The edits of a session, which may be gone, or of all sessions of the homes that were named. Raises SessionNotFoundError."""
    entries = archive.entries()
    if settings.explicit:
        homes = {os.path.realpath(home) for home in settings.homes}
        entries = [entry for entry in entries if entry.home is None or os.path.realpath(entry.home) in homes]
    if session is None:
        return entries
    from stenograph.sessions import resolve
    from stenograph.sessions.resolve import SHORTEST_PREFIX

    wanted = session.casefold()
    known = {entry.session_id for entry in entries}
    found = {name for name in known if name.casefold() == wanted} or {
        name for name in known if len(wanted) >= SHORTEST_PREFIX and name.casefold().startswith(wanted)
    }
    if len(found) != 1:
        try:
            found = {resolve(session, settings.homes).session_id}
        except SessionNotFoundError:
            if not found:
                raise
            raise UsageError(f"{len(found)} sessions with edits match {session!r}; give the whole id") from None
    return [entry for entry in entries if entry.session_id in found]


def _list(archive: Archive, entries: list[Entry], as_json: bool) -> None:
    from stenograph.cli._text import echo_json, iso
    from stenograph.views.text import count_of

    if as_json:
        listed = [
            {
                "entry": entry.number,
                "time": iso(entry.time),
                "session": entry.session_id,
                "reason": entry.reason,
                "command": entry.command,
                "state": entry.state.value,
                "undoes": entry.undoes,
                "undone_by": entry.undone_by,
                "home": None if entry.home is None else str(entry.home),
                "files": [
                    {
                        "path": str(file.path),
                        "before": file.before,
                        "after": file.after,
                        "before_size": file.before_size,
                        "after_size": file.after_size,
                    }
                    for file in entry.files
                ],
            }
            for entry in entries
        ]
        echo_json({"archive": str(archive.folder), "entries": listed})
    else:
        for line in _listed(entries):
            click.echo(line)
    if damaged := archive.findings():
        click.echo(f"steno: {count_of(len(damaged), 'line')} of the journal can't be read", err=True)


def _listed(entries: list[Entry]) -> list[str]:
    """One edit a line, in a terminal under a header. Where that is too narrow, the count of files is left out, then what was done
    gets lines of its own, and then the size goes there too."""
    from stenograph.cli._output import terminal_width
    from stenograph.views.text import count_of, local_time, plain, size, table, width

    rows = [
        [
            str(entry.number),
            local_time(entry.time),
            _name(entry),
            f"undone by {entry.undone_by}" if entry.undone_by else entry.state.value,
            size(sum(file.before_size for file in entry.files)) + " → " + size(sum(file.after_size for file in entry.files)),
            count_of(len(entry.files), "file"),
            plain(_title(entry)),
        ]
        for entry in entries
    ]
    columns = terminal_width()
    if columns is None or not rows:
        return table(rows, right=_RIGHT)
    rows = [list(_HEADER), *rows]
    wanted = min(_TITLE_COLUMNS, max(width(row[-1]) for row in rows))
    for kept in (rows, [[*row[:-2], row[-1]] for row in rows]):
        # A mark in the place of the last column keeps the one before it padded.
        starts = [line[:-1] for line in table([[*row[:-1], "|"] for row in kept], right=_RIGHT)]
        if columns - width(starts[0]) >= wanted:
            lines = [_hanging(start, row[-1], columns) for start, row in zip(starts, rows, strict=True)]
            break
    else:
        indent = " " * (width(_HEADER[0]) + 2)
        below = [row[-1] for row in rows]
        if max(width(start.rstrip()) for start in starts) > columns:  # the size, which must not be broken, goes below too
            starts = [line[:-1] for line in table([[*row[:4], "|"] for row in rows], right=_RIGHT)]
            below = [f"{row[4]}  {row[-1]}" for row in rows]
        lines = [_hanging("", start.rstrip(), columns, indent) for start in starts]
        lines = [[*line, *_hanging(indent, text, columns)] for line, text in zip(lines, below, strict=True)]
    return [*(click.style(line, dim=True) for line in lines[0]), *(line for each in lines[1:] for line in each)]


def _hanging(start: str, text: str, columns: int, indent: str | None = None) -> list[str]:
    """A text behind a start, in lines of so many columns; what does not fit goes on below, under the text or so far in."""
    from stenograph.views.text import width, wrap

    first, *more = wrap(text, columns - width(start))
    indent = " " * width(start) if indent is None else indent
    return [start + first, *(indent + line for line in wrap(" ".join(more), columns - width(indent)) if more)]


def _title(entry: Entry) -> str:
    """What an edit was, in a word or two: never the edit itself, which may quote a transcript."""
    from stenograph.redact import mask

    command = entry.command if isinstance(entry.command, dict) else {}
    name = command.get("command")
    words = [name if isinstance(name, str) else "edit"]
    edits = command.get("edits")
    named = [edit.get("edit") for edit in edits if isinstance(edit, dict)] if isinstance(edits, list) else []
    if kinds := [kind for kind in named if isinstance(kind, str)]:
        words.append(", ".join(kinds))
    if entry.undoes is not None:
        words.append(f"of {entry.undoes}")
    if entry.reason:
        words.append(f"({mask(entry.reason)[0]})")
    return " ".join(words)


def _name(entry: Entry) -> str:
    from stenograph.views.terminal.sessions import short_id

    return short_id(entry.session_id)


def _what_was_done(entry: Entry) -> list[tuple[str, Path, int]]:
    return [
        ("deleted" if file.after is None else "restored" if file.before is not None else "returned", file.path, file.after_size)
        for file in entry.files
    ]


def _settled(recovery: Recovery) -> str:
    from stenograph.archive import State
    from stenograph.views.text import plain

    told = {
        State.DONE: "it is finished now",
        State.ROLLED_BACK: "its files are as they were before it",
        State.LEFT: "its files were changed since, so they are left as they are; "
        f"--entry {recovery.entry.number} --to DIR writes the originals elsewhere",
        State.BEGUN: f"it can't be settled now: {recovery.problem}",
    }
    return plain(f"Edit {recovery.entry.number} of {_name(recovery.entry)} was stopped midway: {told[recovery.state]}")


def _done_json(done: Entry | None, recovered: list[Recovery]) -> dict[str, Any]:
    return {
        "entry": done.number if done else None,
        "undoes": done.undoes if done else None,
        "session": done.session_id if done else None,
        "files": [{"path": str(path), "what": what, "size": size} for what, path, size in (_what_was_done(done) if done else [])],
        "recovered": [
            {
                "entry": settled.entry.number,
                "session": settled.entry.session_id,
                "state": settled.state.value,
                "problem": settled.problem,
            }
            for settled in recovered
        ],
    }
