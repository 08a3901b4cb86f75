"""`steno files`: the library's `changed_files` as a table, and the net differences."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import click

from stenograph.cli import NOTHING_MATCHED
from stenograph.cli._output import make_mask, pager_option, render_options, reveal_option
from stenograph.cli._session import choose_branch, session_argument
from stenograph.cli._settings import shared_options, state_options

if TYPE_CHECKING:
    from stenograph.analysis.changes import FileChange
    from stenograph.views import RenderOptions


_LEAST_PATH_COLUMNS = 16


@click.command(short_help="Show which files a session read and changed.")
@session_argument
@click.option("--diff", "with_diff", is_flag=True, help="Show the net difference of each changed file.")
@click.option("--changed", "only_changed", is_flag=True, help="Leave out files that were only read.")
@click.option("--branch", type=click.IntRange(min=1), metavar="N", help="Only what this branch did; else all branches.")
@pager_option
@reveal_option
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@shared_options
@click.pass_context
def files(
    ctx: click.Context,
    session: str,
    with_diff: bool,
    only_changed: bool,
    branch: int | None,
    pager: bool,
    reveal: bool,
    as_json: bool,
) -> None:
    """Show which files a session read and changed.

    The net difference goes from the first content that is known to the last, sub-agents' edits included. The files themselves are
    not opened: it is what the session saw. Where something may be missing (a shell command that names the file) it is said.
    Paths are those from the session's working folder; in JSON they are whole.

    --json prints {"id", "path", "files": [{"path", "reads", "edits", "writes", "created", "known", "added", "removed", "doubts",
    "turns", "diff"}]}.

    \b
    Example:
      steno files last --diff
    """
    from stenograph.analysis.changes import changed_files
    from stenograph.cli._pager import echo_lines
    from stenograph.sessions import resolve
    from stenograph.sessions.load import load_file

    file = resolve(session, state_options(ctx).homes)
    loaded = load_file(file.path)
    found = changed_files(loaded, None if branch is None else choose_branch(loaded, branch).turns)
    if only_changed:
        found = tuple(each for each in found if each.changed)
    mask, _ = make_mask(reveal)
    if as_json:
        from stenograph.cli._text import echo_json
        from stenograph.redact import mask_json

        echo_json(mask_json({"id": loaded.id, "path": str(file.path), "files": [_data(each, mask) for each in found]}, mask))
    else:
        from stenograph.views.pages.turn_parts import last_of

        options = render_options(ctx, full=True)
        echo_lines(_lines(found, last_of(loaded, "cwd"), options, mask, with_diff=with_diff), pager=pager)
    if not found:
        click.echo("steno: no file was read or changed", err=True)
        ctx.exit(NOTHING_MATCHED)


def masked_diff(change: FileChange, mask: Callable[[str], str]) -> list[str]:
    """The difference of the masked contents: of a secret that changed only its number is seen to change."""
    if not change.changed or change.before is None or change.after is None:
        return []
    return change.diff(mask(change.before), mask(change.after))


def _data(change: FileChange, mask: Callable[[str], str]) -> dict[str, Any]:
    diff = masked_diff(change, mask)
    added, removed = _count(diff)
    known = change.is_known if change.changed else None
    return {
        "path": change.path,
        "reads": change.reads,
        "edits": change.edits,
        "writes": change.writes,
        "created": change.created,
        "known": known,
        "added": added if known else None,
        "removed": removed if known else None,
        "doubts": list(change.doubts),
        "turns": list(change.turns),
        "diff": diff if known else None,
    }


def _count(diff: Sequence[str]) -> tuple[int, int]:
    return sum(line.startswith("+") for line in diff[2:]), sum(line.startswith("-") for line in diff[2:])


def _lines(
    found: Sequence[FileChange], folder: str, options: RenderOptions, mask: Callable[[str], str], *, with_diff: bool
) -> Iterator[str]:
    from stenograph.analysis.changes import REASONS
    from stenograph.views.terminal.transcript import render_patch
    from stenograph.views.text import column_width, cut, cut_start, short_path, table
    from stenograph.views.tools.facts import path_from

    rows, diffs = [], []
    doubtful: dict[str, list[str]] = {}
    for change in found:
        diff = masked_diff(change, mask)
        diffs.append(diff)
        added, removed = _count(diff)
        net = "" if not change.changed else f"+{added} -{removed}" if change.is_known else "?"
        what = "created" if change.created else "changed" if change.changed else "read"
        counts = [
            f"{number} {word}" for number, word in ((change.reads, "read"), (change.edits + change.writes, "changed")) if number
        ]
        path = short_path(mask(path_from(folder, change.path) or change.path))
        for doubt in change.doubts:
            doubtful.setdefault(doubt, []).append(path)
        rows.append([what, net, ", ".join(counts), path + (" *" if change.doubts else "")])
    if options.width is not None:
        room = options.width - sum(column_width(row[column] for row in rows) + 2 for column in range(3))
        rows = [[*row[:3], cut_start(row[3], max(_LEAST_PATH_COLUMNS, room))] for row in rows]
    for line in table(rows, frozenset({1})):
        yield cut(line, options.width)
    for reason, words in REASONS.items():
        if paths := doubtful.get(reason):
            yield options.paint(f"* {words}: {', '.join(paths)}", 33)
    if with_diff:
        for diff in diffs:
            if diff:
                yield ""
                yield from (options.paint(line, 1) for line in map(_named, map(mask, diff[:2])))
                yield from render_patch(diff[2:], options)


def _named(line: str) -> str:
    from stenograph.views.text import plain

    return plain(line)
