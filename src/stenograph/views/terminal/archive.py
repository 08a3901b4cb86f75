"""What is kept, what is deleted soon, and how keeping is installed -> lines."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime

from stenograph.views.pages.archive import (
    ArchiveInstallPage,
    ArchivePage,
    ExpiringPage,
    ExpiringRow,
    KeepPage,
    RetentionPage,
)
from stenograph.views.pages.restore import RestorePage
from stenograph.views.terminal.options import BOLD, COMMAND, DIM, GREEN, RED, RenderOptions
from stenograph.views.text import (
    count_of,
    cut,
    cut_start,
    local_time,
    plain,
    short_id,
    short_path,
    size,
    table,
    when,
    will_delete,
    wrap,
)


def render_archive(page: ArchivePage, options: RenderOptions) -> Iterator[str]:
    kept = page.kept
    if kept.sessions:
        only_here = f", {kept.only_here:,} of them only here" if kept.only_here else ""
        verdict = f"{count_of(kept.sessions, 'session')} kept{only_here}"
    else:
        verdict = "No sessions are kept"
    yield f"  {options.paint(verdict, BOLD)}"
    yield ""
    rows = []
    if kept.sessions:
        share = f" ({kept.stored / kept.size:.0%})" if kept.size else ""
        last = f", last {local_time(kept.last)}" if kept.last else ""
        rows.append(["kept", f"{count_of(kept.files, 'file')}, {size(kept.size)} in {size(kept.stored)}{share}{last}"])
    edited = page.edited
    if edited.edits:
        rows.append(
            ["edited", f"{count_of(edited.edits, 'edit')}, {count_of(edited.originals, 'original')} in {size(edited.stored)}"]
        )
    rows.append(
        [
            "automatic",
            "yes, whenever the index is updated" if page.automatic else "no; to turn it on, set archive.keep in the config file",
        ]
    )
    places = ", ".join(short_path(place) for place in page.installed)
    rows.append(["installed", places or f"no; to keep sessions in the background: {options.command('archive', 'install')}"])
    rows += [["retention", _retention(each)] for each in page.retention]
    rows.append(["directory", short_path(page.directory)])
    room = None if options.width is None else max(options.width - _LABEL - 4, _LEAST)
    for label, text in rows:
        first, *more = wrap(plain(text), room)
        yield f"  {options.paint(label.ljust(_LABEL), DIM)}  {first}"
        yield from (f"  {' ' * _LABEL}  {line}" for line in more)
    if page.expiring:
        deletes = will_delete(page.expiring, page.overdue, page.expiring_days)
        yield ""
        first, *more = wrap(deletes, None if options.width is None else options.width - 2)
        yield options.mark("care") + first
        yield from (f"  {line}" for line in more)
        yield f"  try: {options.paint(options.command('archive', 'keep'), *COMMAND)}"


def _retention(retention: RetentionPage) -> str:
    home = short_path(retention.home)
    if retention.days is None:
        return f"{home}: Claude Code deletes no sessions"
    why = "cleanupPeriodDays" if retention.configured else "default"
    return f"{home}: Claude Code deletes sessions after {count_of(retention.days, 'day')} ({why})"


_LABEL = 9
_LEAST = 20
_ID_COLUMNS = 13
_PROJECT_COLUMNS = 32
_WIDE = 100


def render_expiring(page: ExpiringPage, options: RenderOptions) -> Iterator[str]:
    until = local_time(page.until)
    if not page.sessions:
        yield f"  Claude Code will delete no session before {until}"
        return
    total = len(page.sessions)
    kept = "all kept" if not page.not_kept else "none kept" if page.not_kept == total else f"{total - page.not_kept:,} kept"
    room = None if options.width is None else options.width - 2
    for line in wrap(f"Claude Code will delete {count_of(total, 'session')} by {until}, {kept}", room):
        yield f"  {options.paint(line, BOLD)}"
    yield ""
    rows = [_expiring_row(row, options) for row in page.sessions]
    lines = table([[*rows[0]], *(list(row.values()) for row in rows)], right=frozenset({3}))
    for number, line in enumerate(lines):
        shown = cut(line, room)
        yield f"  {options.paint(shown, DIM) if number == 0 else shown}"
    if page.keep:
        yield ""
        yield f"  try: {options.paint(page.keep, *COMMAND)}"


def _expiring_row(row: ExpiringRow, options: RenderOptions) -> dict[str, str]:
    columns = options.width
    now = options.now or datetime.now(UTC)
    shown = {
        "session": plain(row.id) if columns is None else cut(short_id(row.id), _ID_COLUMNS),
        "due": local_time(row.deleted) if columns is None else "now" if row.deleted <= now else when(row.deleted, now),
        "kept": "yes" if row.kept else "no",
        "size": size(row.size),
        "project": short_path(row.project) if columns is None else cut_start(short_path(row.project), _PROJECT_COLUMNS),
        "title": plain(row.title or ""),
    }
    if columns is not None and columns < _WIDE:
        del shown["project"]
    return shown


def render_keep(page: KeepPage, options: RenderOptions) -> Iterator[str]:  # noqa: ARG001
    if page.kept:
        yield f"Kept {count_of(page.kept, 'session')}: {count_of(page.files, 'file')}, {size(page.read)} read"
    else:
        yield f"Nothing to keep: {count_of(page.unchanged, 'session')} unchanged"
    if page.pending:
        yield f"{count_of(page.pending, 'session')} left for the next time"
    yield f"All kept sessions take {size(page.stored)} in {short_path(page.directory)}"


def render_archive_install(page: ArchiveInstallPage, options: RenderOptions) -> Iterator[str]:
    """The plan, or what was done."""
    what = "hook" if page.way == "hook" else "timer"
    if not page.changed:
        yield f"The {what} is already installed" if page.action == "install" else f"The {what} is not installed"
    elif page.applied:
        yield f"{'Installed' if page.action == 'install' else 'Removed'} the {what}"
        if page.undo:
            yield f"Undo: {page.undo}"
    else:
        for file in page.files:
            if page.way == "timer":
                yield short_path(file.path)
            for line in file.diff:
                color = {"+": GREEN, "-": RED}.get(line[:1])
                yield options.paint(plain(line), *([color] if color else []))


def render_restore(page: RestorePage, options: RenderOptions) -> Iterator[str]:
    """The plan, or what was done."""
    if page.to:
        yield from (short_path(path) for path in page.to)
        yield f"Wrote {count_of(len(page.to), 'file')} of {short_id(page.id)}"
        return
    if not page.changed:
        yield f"Nothing to restore: all files of {short_id(page.id)} are in place"
        yield f"Resume: {page.resume}"
        return
    missing = [file for file in page.files if file.action == "restore"]
    if page.applied:
        yield f"Restored {page.id}: {count_of(len(missing), 'file')}, {size(page.size)}"
        yield f"Resume: {page.resume}"
        yield f"Undo: {page.undo}"
        return
    yield options.paint(f"Restore {short_id(page.id)}: {count_of(len(missing), 'file')}, {size(page.size)}", BOLD)
    if page.title:
        yield cut(f"  {plain(page.title)}", options.width)
    colors = {"restore": GREEN, "conflict": RED, "unchanged": DIM}
    for file in page.files:
        yield f"  {options.paint(file.action.ljust(9), colors[file.action])}  {size(file.size):>8}  {short_path(file.path)}"
    if any(file.renewed for file in page.files):
        yield "  Restored files get the current time. With their own, Claude Code would delete them again within a week."
