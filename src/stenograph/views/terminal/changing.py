"""Clones, removals, titles, tags and edits that were done -> lines."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime

from stenograph.errors import in_quotes
from stenograph.views.pages.changing import ClonePage, LostUndoPage, PurgePage, RemovalsPage, RenamePage, TagPage
from stenograph.views.pages.undo import EditsPage, EntryPage, OriginalsPage, RecoveryPage, UndoPage
from stenograph.views.terminal.options import BOLD, COMMAND, QUIET, STRONG, RenderOptions
from stenograph.views.terminal.sessions import NO_TITLE
from stenograph.views.text import age, count_of, cut, local_time, plain, short_id, short_path, size, table, when, width, wrap


def render_clone(page: ClonePage, options: RenderOptions) -> Iterator[str]:  # noqa: ARG001
    amount = f"{count_of(len(page.files), 'file')}, {size(page.size)}, {count_of(page.ids, 'new id')}"
    if page.applied:
        yield f"{page.id}: {amount}"
        yield short_path(page.path)
    else:
        yield from (f"{size(file.size):>8}  {file.kind:<12}  {short_path(file.path)}" for file in page.files)
        yield f"Would write {amount}"
    yield from (f"Left out: {what} ({count:,})" for what, count in page.left_out.items())
    yield from (f"Note: {plain(note)}" for note in page.notes)
    if page.applied:
        yield f"Resume: {page.resume}"
        yield f"Undo: {page.undo}"
    elif page.refusal:
        yield f"Nothing was written: {page.refusal}"


def render_removals(page: RemovalsPage, options: RenderOptions) -> Iterator[str]:
    now = options.now or datetime.now(UTC)
    for removal in page.removals:
        amount = f"{count_of(len(removal.files), 'file')}, {size(removal.size)}"
        if removal.entry is not None:
            yield f"Moved {plain(removal.id)} to the archive: {amount} in {short_path(page.archive)}"
            yield f"Undo: {removal.undo}"
            yield from (_lost_title(each) for each in removal.titled)
            continue
        if len(page.removals) == 1:
            yield from (f"{size(file.size):>8}  {short_path(file.path)}" for file in removal.files)
        would = "was not removed" if page.applied else "would be removed"
        kept = f", to be kept in {short_path(page.archive)}" if len(page.removals) == 1 and not page.applied else ""
        yield f"{plain(removal.id)} {would}: {amount}{kept}"
        last = f"{age(removal.last_record, now)}  " if removal.last_record else ""
        yield f"  {last}{plain(removal.title or NO_TITLE)}"
        if removal.in_use and not page.applied:
            yield f"Nothing was changed, and --apply would be refused now: {plain(removal.refusal or '')}"
        elif removal.refusal:
            yield f"Nothing was changed: {plain(removal.refusal)}"
        yield from (_lost_title(each) for each in removal.titled)
    if len(page.removals) > 1:
        done = [removal for removal in page.removals if (removal.entry is not None) is page.applied]
        yield f"{count_of(len(done), 'session')}, {size(sum(each.size for each in done))}"
    if page.apply and not options.asks:
        yield f"Apply: {page.apply}"


def _lost_title(session: str) -> str:
    return f"Note: {short_id(session)} loses its title, which is a summary in this file."


def render_purge(page: PurgePage, options: RenderOptions) -> Iterator[str]:
    yield from (f"{size(file.size):>8}  {short_path(file.path)}" for file in page.files)
    rows = [
        ("files", f"{len(page.files):,}", size(sum(file.size for file in page.files))),
        ("originals in the archive", f"{page.originals:,}", size(page.originals_size)),
        ("kept files in the archive", f"{page.kept:,}", size(page.kept_size)),
        ("edits in its journal", f"{len(page.edits):,}", ""),
        ("events to be sent", f"{page.trace_events:,}", ""),
        ("entries about tracing", f"{page.trace_entries:,}", ""),
        *([("the search index, rebuilt when needed", "1", "")] if page.index else []),
    ]
    yield options.paint(f"{plain(page.id)} {'was' if page.applied else 'would be'} deleted for good:", BOLD)
    yield from table([list(row) for row in rows if row[1] != "0"], frozenset({1, 2}))
    for sent in page.sent:
        yield f"Left this machine: {count_of(len(sent.turns), 'turn')} sent to {plain(sent.destination)}. Delete them there."
    if not page.sent_known:
        yield "Unknown whether turns were sent to a trace receiver: no copy of the session can be read."
    elif not page.sent:
        yield "No turn of it was sent to a trace receiver."
    for clone in page.clones:
        yield f"Not deleted: {clone}, a clone with copies of its turns. To delete it too: {options.command('purge', clone)}"
    for clone in page.archived_clones:
        yield f"Not deleted: {clone}, a removed clone in the archive. To delete it too: {options.command('purge', clone)}"
    yield from (_lost_title(each) for each in page.titled)
    if page.shared_originals:
        yield f"Not deleted: {count_of(page.shared_originals, 'original')} that edits of other sessions need."
    if page.refusal is not None:
        yield f"Nothing was deleted: {plain(page.refusal)}"
    elif not page.applied:
        yield f"This cannot be undone.{'' if options.asks else f' Apply: {page.apply}'}"


def render_rename(page: RenamePage, options: RenderOptions) -> Iterator[str]:  # noqa: ARG001
    if page.undo is None:
        yield f"{plain(page.id)} had no custom title; nothing was written"
        return
    name = plain(page.id)
    yield f"Cleared the title of {name}" if page.title is None else f"Renamed {name} to {in_quotes(page.title)}"
    if page.shown_before:
        yield f"It was shown as: {plain(page.shown_before)}"
    yield f"Undo: {page.undo}"
    yield from _lost_undo(page.lost_undo)


def render_tag(page: TagPage, options: RenderOptions) -> Iterator[str]:  # noqa: ARG001
    if page.undo is None:
        yield f"{plain(page.id)} had no tag; nothing was written"
        return
    name = plain(page.id)
    yield f"Tagged {name} as {in_quotes(page.tag)}" if page.tag else f"Cleared the tag of {name}"
    yield f"Undo: {page.undo}"
    yield from _lost_undo(page.lost_undo)


def _lost_undo(lost: LostUndoPage | None) -> Iterator[str]:
    if lost is None:
        return
    if lost.made_session:
        yield f"Edit {lost.entry}, which created it, can no longer be undone. Remove it: {lost.instead}"
    else:
        yield f"Edit {lost.entry} can no longer be undone in place. Originals: {lost.instead}"


def render_undo(page: UndoPage, options: RenderOptions) -> Iterator[str]:
    yield from map(_recovery, page.recovered)
    if page.undoes is None:
        return
    would = f"Undo edit {page.undoes} of {short_id(page.session_id or '')}: {plain(page.summary or '')}"
    yield from () if page.entry is not None else wrap(would, options.width)
    yield from (f"{_ACTIONS[file.action][page.entry is None]:>9}  {short_path(file.path)}" for file in page.files)
    if page.entry is not None:
        yield f"Undid edit {page.undoes} of {short_id(page.session_id or '')}"
        yield f"Redo: {page.undo}"
    elif page.apply and not options.asks:
        yield f"Apply: {page.apply}"


#: As done, and as planned.
_ACTIONS = {"restored": ("restored", "restore"), "returned": ("returned", "bring back"), "deleted": ("deleted", "delete")}


def render_originals(page: OriginalsPage, options: RenderOptions) -> Iterator[str]:  # noqa: ARG001
    yield from map(short_path, page.files)


def render_edits(page: EditsPage, options: RenderOptions) -> Iterator[str]:
    """One edit a line; in a terminal the newest first, with marks for those that cannot be undone in place."""
    columns = options.width
    if columns is None or not page.entries:
        yield from table([_entry_row(entry) for entry in page.entries], right=frozenset({0}))
        return
    can = sum(_can_be_undone(entry) for entry in page.entries)
    total = f"{count_of(len(page.entries), 'edit')}, {can:,} can be undone; originals in {short_path(page.archive)}"
    yield from (f"  {options.paint(line, *STRONG)}" for line in wrap(total, columns - _GUTTER))
    yield ""
    yield from _entry_lines(page.entries[::-1], options, columns)
    for entry in page.entries[::-1]:
        if entry.changed and entry.undone_by is None:
            yield ""
            told = f"edit {entry.entry}: its files have changed since, so it cannot be undone in place."
            first, *more = wrap(told, columns - _GUTTER)
            yield options.mark("care") + first
            yield from (f"  {line}" for line in more)
            originals = f"{options.command('undo', '--entry', str(entry.entry), '--to')} DIR"
            yield f"  try: {options.paint(originals, *COMMAND)}"
    if can:
        last = max(entry.entry for entry in page.entries if _can_be_undone(entry))
        yield ""
        yield f"  undo the last  {options.paint(options.command('undo'), *COMMAND)}"
        yield f"  undo by number {options.paint(options.command('undo', '--entry', str(last)), *COMMAND)}"


_GUTTER = 2
#: Below this an edit takes two lines.
_NARROW = 72
_TITLE_COLUMNS = 20
#: For what was done.
_SUMMARY_COLUMNS = 24


def _can_be_undone(entry: EntryPage) -> bool:
    return entry.state == "done" and entry.undone_by is None and entry.undoes is None and not entry.changed


def _entry_lines(entries: Sequence[EntryPage], options: RenderOptions, columns: int) -> Iterator[str]:
    now = options.now or datetime.now(UTC)
    room = columns - _GUTTER
    rows = [
        [str(each.entry), when(each.time, now), short_id(each.session_id), _short_title(each), _state(each)] for each in entries
    ]
    rows = [["edit", "when", "session", "", "state"], *rows]
    if columns < _NARROW or not any(row[3] for row in rows):
        rows = [[*row[:3], row[4]] for row in rows]
    # With a mark as the last column, the column before it is still padded.
    starts = [line[:-1] for line in table([[*row, "|"] for row in rows], right=frozenset({0}))]
    is_narrow = room - width(starts[0]) < _SUMMARY_COLUMNS
    yield f"  {options.paint(starts[0].rstrip() if is_narrow else starts[0] + 'what', *QUIET)}"
    for start, entry in zip(starts[1:], entries, strict=True):
        mark = options.mark("care" if entry.changed and entry.undone_by is None else "")
        done = f"{plain(entry.summary)}, {_sizes(entry)}"
        if is_narrow:
            first, *more = wrap(start.rstrip(), room)
            yield mark + first
            for line in (*more, *filter(None, [plain(entry.title or "")]), *_unbroken(done, room - 6)):
                yield f"        {cut(line, room - 6)}".rstrip()
        else:
            first, *more = _unbroken(done, room - width(start))
            yield mark + start + first
            yield from (f"  {' ' * width(start)}{line}" for line in more)


def _unbroken(text: str, columns: int) -> list[str]:
    """Wrapped, sizes whole."""
    return [line.replace("\u00a0", " ") for line in wrap(text, columns)]


def _sizes(entry: EntryPage) -> str:
    before, after = (sum(getattr(file.size, name) for file in entry.files) for name in ("before", "after"))
    return f"{size(before)} → {size(after)}".replace(" ", "\u00a0")


def _short_title(entry: EntryPage) -> str:
    return cut(plain(entry.title or ""), _TITLE_COLUMNS)


def _state(entry: EntryPage) -> str:
    return f"undone by {entry.undone_by}" if entry.undone_by else "changed" if entry.changed else entry.state


def _entry_row(entry: EntryPage) -> list[str]:
    return [
        str(entry.entry),
        local_time(entry.time),
        short_id(entry.session_id),
        f"undone by {entry.undone_by}" if entry.undone_by else entry.state,
        size(sum(file.size.before for file in entry.files)) + " → " + size(sum(file.size.after for file in entry.files)),
        count_of(len(entry.files), "file"),
        plain(entry.summary),
        plain(entry.title or ""),
    ]


def _recovery(recovery: RecoveryPage) -> str:
    outcome = {
        "done": "it has been completed",
        "rolled back": "it has been rolled back",
        "left": f"its files have changed since and were not touched; to get the originals: --entry {recovery.entry} --to DIR",
        "begun": f"it cannot be completed or rolled back now: {recovery.problem}",
    }
    return plain(f"Edit {recovery.entry} of {short_id(recovery.session_id)} was interrupted: {outcome[recovery.state]}")
