"""An edit -> lines: what goes, what the edits do in numbers, what clients would send and lose, and what can be done now."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal

from stenograph.views.pages.edit import EditPage, EditStepPage, PreviewPage
from stenograph.views.pages.messages import SaidPage
from stenograph.views.terminal.options import BOLD, GREEN, RenderOptions
from stenograph.views.text import count_of, cut, harmless, one_line, plain, short_path, size, table, wrap

_PROMPT_COLUMNS = 100
#: Of an amount of money.
_MOST_PLACES = 6
#: Counts that need a word before or behind.
_NOUNS = {"thinking": ("thinking block", "thinking blocks")}


def render_edit(page: EditPage, options: RenderOptions) -> Iterator[str]:
    if page.preview is not None:
        yield from _preview(page.preview, options)
    yield from _steps(page, options)
    yield from _changes(page, options) if page.changes_file else _unchanged(page, options)
    if page.applied:
        yield from render_edit_result(page, options)
    elif page.changes_file and not page.problems and not options.asks:
        yield f"nothing was written: {'the session is in use' if page.in_use else page.refusal or 'use --apply'}"


def render_edit_result(page: EditPage, options: RenderOptions) -> Iterator[str]:
    """What was done, once a plan that was shown is carried out."""
    yield options.paint(f"done: edit {page.entry}", GREEN)
    yield f"Undo: {page.undo}"


def _steps(page: EditPage, options: RenderOptions) -> Iterator[str]:
    for step in page.edits:
        first, *more = wrap(f"{step.summary}  {_what_is_done(step)}", options.width)
        yield options.paint(step.summary, BOLD) + first.removeprefix(step.summary)
        yield from more


def _unchanged(page: EditPage, options: RenderOptions) -> Iterator[str]:
    yield from _losses(page, options)
    yield "no changes"


def _changes(page: EditPage, options: RenderOptions) -> Iterator[str]:
    yield from _comparison(page)
    yield from _losses(page, options)
    for line in _remarks(page):
        yield from wrap(line, options.width)
    if page.deleted_files:
        yield f"deletes {count_of(len(page.deleted_files), 'file')} ({size(_size_deleted(page))}):"
        yield from (f"{size(file.size):>8}  {short_path(file.path)}" for file in page.deleted_files)
    for note in page.notes:
        yield from wrap(f"note: {plain(note)}", options.width)


def _remarks(page: EditPage) -> Iterator[str]:
    yield f"{count_of(page.changed, 'line')} changed, {page.detached} detached, {page.deleted} deleted"
    yield _bill(page)
    if page.detached:
        yield "detached lines stay in the file, but no client sends them; --prune deletes them"
    if page.uncounted:
        yield "token counters will report less: they no longer see the deleted lines"
    if page.size.after > page.size.before:
        is_compressed = page.detached and any(step.edit == "compress" and step.counts for step in page.edits)
        why = "the compressed turns stay in it" if is_compressed else "the replacement is longer"
        yield f"the file grows by {size(page.size.after - page.size.before)}, because {why}"


def _preview(preview: PreviewPage, options: RenderOptions) -> Iterator[str]:
    columns = options.width or _PROMPT_COLUMNS
    for compressed, heading in ((False, "dropped turns"), (True, "compressed turns")):
        rows = [[f"  {turn.turn}", one_line(turn.prompt)] for turn in preview.turns if turn.compressed is compressed]
        yield from _listed(heading, [cut(line, columns) for line in table(rows, frozenset({0}))], options)
    calls = [
        [
            f"  turn {call.turn}",
            plain(call.tool),
            count_of(call.before, "character"),
            "gone" if call.after is None else f"cut to {call.after:,}",
        ]
        for call in preview.calls
    ]
    yield from _listed("tool calls, by characters of their results", table(calls, frozenset({2})), options)
    blocks = [[f"  turn {blocks.turn}", _counted(blocks.kind, blocks.count)] for blocks in preview.blocks]
    yield from _listed("also dropped", table(blocks), options)
    if preview.digest is not None:
        yield from _listed("the digest", harmless(preview.digest).split("\n"), options)


def _listed(heading: str, lines: list[str], options: RenderOptions) -> Iterator[str]:
    if lines:
        yield options.paint(heading, BOLD)
        yield from lines


def _what_is_done(step: EditStepPage) -> str:
    known = step.counts
    if step.edit == "compress" and known:
        digest = count_of(known["characters"], "character")
        counts = f"{count_of(known['turns'], 'turn')} replaced by a digest of {digest}"
    elif step.edit == "truncate-results" and known:
        counts = f"{count_of(known['results'], 'result')} shorter by {count_of(known['characters'], 'character')}"
    else:
        counts = ", ".join(_counted(what, count) for what, count in known.items() if count)
    return "; ".join([counts or "nothing to do", *([step.note] if step.note else [])])


def _counted(what: str, count: int) -> str:
    singular, plural = _NOUNS.get(what, (what.removesuffix("s"), what))
    return count_of(count, singular, plural)


def _comparison(page: EditPage) -> list[str]:
    gone = _size_deleted(page)
    rows = [
        ["", "before", "after"],
        ["lines", f"{page.lines.before:,}", f"{page.lines.after:,}"],
        ["size", size(page.size.before), size(page.size.after)],
        *([["size with deleted files", size(page.size.before + gone), size(page.size.after)]] if gone else []),
        ["tokens in context", f"{'' if page.tokens_measured else '~'}{page.tokens.before:,}", f"~{page.tokens.after:,}"],
        *([f"messages sent by {sent.release}", str(sent.messages.before), str(sent.messages.after)] for sent in page.releases),
    ]
    return table(rows, frozenset({1, 2}))


def _losses(page: EditPage, options: RenderOptions) -> Iterator[str]:
    """What each release loses of what was said, and why where that stays so."""
    rows = [[f"lost by {each.release}", _lost(each.before), _lost(each.after)] for each in page.losses]
    yield from table([["", "before", "after"], *rows]) if rows else ()
    as_many = {sent.release for sent in page.releases if sent.changed and sent.messages.before == sent.messages.after}
    if fuller := [each.release for each in page.losses if each.release in as_many and each.before != each.after]:
        told = f"{' and '.join(fuller)} will send more content in the same number of messages"
        yield from wrap(told, options.width)
    for each in page.losses:
        for loss in each.remaining:
            yield from wrap(f"{each.release} still loses {_lost(loss.lost)} (rule {loss.rule})", options.width)


def _lost(counts: SaidPage) -> str:
    parts = [
        count_of(counts.messages, "line") if counts.messages else "",
        count_of(counts.tool_calls, "tool call") if counts.tool_calls else "",
        _counted("thinking", counts.thinking) if counts.thinking else "",
    ]
    return ", ".join(part for part in parts if part) or "nothing"


def _bill(page: EditPage) -> str:
    changed = {sent.release for sent in page.releases if sent.changed}
    if not changed:
        return "clients send the same messages"
    if page.newest not in changed:
        return f"{page.newest} sends the same messages at the same cost"
    if page.tokens.after > page.tokens.before:
        return "the conversation grows, because the replacement is longer"
    listed = "" if page.priced else " (model not in the price table)"
    rebuilt = f"rebuilding the prompt cache costs {_money(page.cache_cost_usd)} once"
    once = rebuilt if page.cache_cost_usd else "the prompt cache stays valid"
    saved = f"saves {_money(page.saved_usd_per_turn)} per later turn" if page.saved_usd_per_turn else "later turns cost the same"
    return f"{saved}; {once}{listed}"


def _money(amount: float) -> str:
    """An amount with two digits that say something: `about $1.25`, `about $0.0031`."""
    usd = Decimal(str(amount))
    if not usd:
        return "nothing"
    places = 2 if usd >= Decimal("0.01") else min(_MOST_PLACES, 1 - usd.adjusted())
    return f"about ${usd:.{places}f}" if usd >= Decimal(10) ** -places else f"less than ${Decimal(10) ** -places:f}"


def _size_deleted(page: EditPage) -> int:
    return sum(file.size for file in page.deleted_files)
