"""An edit -> lines: what goes, what the edits do in numbers, what clients would send and lose, and what can be done now."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from decimal import Decimal

from stenograph.errors import in_quotes
from stenograph.views.pages.edit import ChangedCallPage, EditPage, EditStepPage, PreviewPage
from stenograph.views.pages.messages import SaidPage
from stenograph.views.terminal.options import BAD, BOLD, GOOD, GREEN, PROSE, QUIET, STRONG, RenderOptions
from stenograph.views.text import (
    MOST_PLACES,
    count_of,
    cut,
    cut_start,
    fine_money,
    harmless,
    one_line,
    plain,
    short_path,
    size,
    table,
    width,
    wrap,
)

_PROMPT_COLUMNS = 100
#: Counts that need a word before or behind.
_NOUNS = {"thinking": ("thinking block", "thinking blocks")}


def render_edit(page: EditPage, options: RenderOptions) -> Iterator[str]:
    """A plan, or what was done. In a terminal: what it does and saves, figures now and after, and the proof."""
    if page.preview is not None:
        yield from _preview(page.preview, options)
    if options.width is not None and page.changes_file:
        yield from _plan(page, options, min(options.width, PROSE))
        if page.applied:
            yield from render_edit_result(page, options)
        elif not page.problems and not options.asks:
            yield f"  nothing was written: {'the session is in use' if page.in_use else page.refusal or 'use --apply'}"
        return
    yield from _steps(page, options)
    yield from _changes(page, options) if page.changes_file else _unchanged(page, options)
    if page.applied:
        yield from render_edit_result(page, options)
    elif page.changes_file and not page.problems and not options.asks:
        yield f"nothing was written: {'the session is in use' if page.in_use else page.refusal or 'use --apply'}"


_FACTS = 36
_TITLE_COLUMNS = 48
#: Of tool calls that go.
_MOST_DROPS = 8


def _plan(page: EditPage, options: RenderOptions, columns: int) -> Iterator[str]:
    room = columns - 2
    title = in_quotes(cut(one_line(page.title), _TITLE_COLUMNS)) if page.title else ""
    for number, step in enumerate(page.edits):
        done = _sentence(step, page)
        where = f" {'in' if ':' in done else 'of'} {title}" if title and not number else ""
        line = f"{done}{where}{f'; {step.note}' if step.note else ''}"
        yield from (f"  {options.paint(each, *STRONG)}" for each in wrap(line, room))
    if bill := _savings(page):
        yield from (f"  {options.paint(line, *GOOD)}" for line in wrap(bill, room))
    yield ""
    yield from _figures(page, options, room)
    yield from _drops(page, options, room)
    yield ""
    yield from _proof(page, options, room)
    if page.deleted_files:
        yield ""
        yield f"  {options.paint('Deletes', *STRONG)}  {count_of(len(page.deleted_files), 'file')}, {size(_size_deleted(page))}"
        for file in page.deleted_files:
            yield f"{options.paint('-', *BAD)} {size(file.size):>8}  {cut_start(short_path(file.path), max(12, room - 10))}"
    remarks = [line for line in _remarks(page) if not line.endswith(("deleted", "messages"))][1:]
    prose = ["The original is archived first. Undo restores it byte for byte.", *map(_as_sentence, remarks)]
    yield ""
    for line in prose:
        yield from (f"  {options.paint(each, *QUIET)}" for each in wrap(line, room))
    for note in page.notes:
        first, *more = wrap(plain(note), room)
        yield options.mark("care") + first
        yield from (f"  {line}" for line in more)


def _as_sentence(clause: str) -> str:
    return f"{_capital(clause)}."


def _capital(clause: str) -> str:
    return clause[:1].upper() + clause[1:]


def _savings(page: EditPage) -> str:
    before, after = page.tokens.before, page.tokens.after
    if after >= before or page.newest not in {sent.release for sent in page.releases if sent.changed}:
        return ""
    saved = f" and ~{fine_money(page.saved_usd_per_call)} per later call" if page.saved_usd_per_call else ""
    return f"Saves {before - after:,} tokens ({round(100 * (before - after) / max(1, before))}%){saved}"


def _figures(page: EditPage, options: RenderOptions, room: int) -> Iterator[str]:
    sent = next((each for each in page.releases if each.release == page.newest), None)
    measured = "now: measured in the last call" if page.tokens_measured else "estimated"
    rows = [
        *([["messages sent", str(sent.messages.before), str(sent.messages.after), f"by {sent.release}"]] if sent else []),
        ["tokens sent", f"{'' if page.tokens_measured else '~'}{page.tokens.before:,}", f"~{page.tokens.after:,}", measured],
        *([_call_cost(page)] if page.priced and page.usd_per_call else []),
        ["cost of the edit, once", "", _once(page), _model(page)],
        ["lines", f"{page.lines.before:,}", f"{page.lines.after:,}", f"{count_of(page.changed, 'line')} changed"],
        ["file", size(page.size.before), size(page.size.after), f"{page.detached} detached, {page.deleted} deleted"],
    ]
    facts = [row[:3] for row in rows]
    heading, *lines = table([["", "now", "after"], *facts], frozenset({1, 2}))
    yield f"  {options.paint(heading, *QUIET)}"
    for line, row in zip(lines, rows, strict=True):
        note = f"   {row[3]}" if width(line) + 3 + width(row[3]) <= room else ""
        yield f"  {line}{options.paint(note, *QUIET)}"


def _call_cost(page: EditPage) -> list[str]:
    after = max(0.0, page.usd_per_call - page.saved_usd_per_call)
    return ["cost per later call", fine_money(page.usd_per_call), f"~{fine_money(after)}", plain(page.model or "")]


def _once(page: EditPage) -> str:
    return f"~{fine_money(page.usd_once)}" if page.usd_once else "$0.00"


def _drops(page: EditPage, options: RenderOptions, room: int) -> Iterator[str]:
    """What goes, without a word of what was said."""
    calls = [
        [f"turn {call.turn}", plain(call.tool), _characters(call)] for call in page.calls if call.before or call.after is None
    ]
    rows = [*([_turn_numbers(page.turns)] if page.turns else []), *table(calls[:_MOST_DROPS], frozenset())]
    if not rows or page.preview is not None:
        return
    yield ""
    about = "each in full: --preview"
    heading = "Drops" if page.turns or any(call.after is None for call in page.calls) else "Shortens"
    space = " " * max(2, room - width(heading) - width(about))
    yield f"  {options.paint(heading, *STRONG)}{space}{options.paint(about, *QUIET)}"
    yield from (f"{options.paint('-', *BAD)} {cut(row, room)}" for row in rows)
    if len(calls) > _MOST_DROPS:
        yield f"  {options.paint(f'and {len(calls) - _MOST_DROPS:,} more', *QUIET)}"


def _characters(call: ChangedCallPage) -> str:
    before = count_of(call.before, "character")
    return before if call.after is None else f"{before}, cut to {call.after:,}"


def _turn_numbers(numbers: Sequence[int]) -> str:
    """`turn 5`, `turns 1-4, 7`."""
    runs: list[list[int]] = []
    for number in sorted(numbers):
        if runs and number == runs[-1][-1] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    named = ", ".join(str(run[0]) if len(run) == 1 else f"{run[0]}-{run[-1]}" for run in runs)
    return f"turn{'' if len(numbers) == 1 else 's'} {named}"


def _sentence(step: EditStepPage, page: EditPage) -> str:
    """`Drop 2 tool calls from turn 5`; of other edits what they are and do."""
    counts, met = step.counts, tuple(dict.fromkeys(call.turn for call in page.calls))
    is_alone = len(page.edits) == 1
    if step.edit == "drop-turns" and is_alone and page.turns:
        return f"Drop {_turn_numbers(page.turns)}"
    if step.edit == "drop-tool-calls" and is_alone and counts.get("tool calls") and met:
        return f"Drop {count_of(counts['tool calls'], 'tool call')} from {_turn_numbers(met)}"
    if step.edit == "truncate-results" and is_alone and counts and met:
        results, characters = count_of(counts["results"], "result"), count_of(counts["characters"], "character")
        return f"Shorten {results} by {characters} in {_turn_numbers(met)}"
    return f"{_capital(step.summary)}: {_what_is_done(step, with_note=False)}"


def _model(page: EditPage) -> str:
    if not page.cache_cost_usd:
        return "the prompt cache stays valid"
    if page.cache_expired:
        return "the prompt cache has expired"
    return f"rebuilds the prompt cache{'' if page.priced else ', model not in the price table'}"


def _proof(page: EditPage, options: RenderOptions, room: int) -> Iterator[str]:
    """What each release would send: the plan itself, or the plan is refused."""
    heading = f"Proof{' ' * (_FACTS - 13)}"
    about = "what each release would send on resume"
    yield f"  {options.paint(heading, *STRONG)}{options.paint(about, *QUIET) if width(heading + about) <= room else ''}".rstrip()
    losses = {each.release: each for each in page.losses}
    named = {sent.release for sent in page.releases if any(sent.release in problem for problem in page.problems)}
    for sent in reversed(page.releases):
        is_refused = bool(page.problems) and (sent.release in named or not named)
        lost = losses.get(sent.release)
        words = "not this plan" if is_refused else "exactly this plan" if sent.changed else "the same as now"
        tail = ""
        if lost is not None and (after := _lost(lost.after)) != "nothing":
            tail = f"; {after} lost, as before" if lost.after == lost.before else f"; {after} lost, {_lost(lost.before)} before"
        elif lost is not None and _lost(lost.before) != "nothing":
            tail = f"; loses nothing now, {_lost(lost.before)} before"
        first, *more = wrap(words + tail, max(20, room - (_FACTS - 8)))
        painted = options.paint(first[: len(words)], *(BAD if is_refused else GOOD)) + first[len(words) :]
        yield f"{options.mark('failed' if is_refused else 'passed')}{sent.release:<{_FACTS - 8}}{painted}"
        yield from (f"  {' ' * (_FACTS - 8)}{line}" for line in more)


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
        yield "detached lines stay in the file but are never sent; --prune deletes them"
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


def _what_is_done(step: EditStepPage, *, with_note: bool = True) -> str:
    known = step.counts
    if step.edit == "compress" and known:
        digest = count_of(known["characters"], "character")
        counts = f"{count_of(known['turns'], 'turn')} replaced by a digest of {digest}"
    elif step.edit == "truncate-results" and known:
        counts = f"{count_of(known['results'], 'result')} shorter by {count_of(known['characters'], 'character')}"
    else:
        counts = ", ".join(_counted(what, count) for what, count in known.items() if count)
    return "; ".join([counts or "nothing to do", *([step.note] if step.note and with_note else [])])


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
    if page.cache_cost_usd and page.cache_expired:
        rebuilt = "the prompt cache has expired, so rebuilding it costs nothing extra"
    once = rebuilt if page.cache_cost_usd else "the prompt cache stays valid"
    saved = f"saves {_money(page.saved_usd_per_call)} per later call" if page.saved_usd_per_call else "later calls cost the same"
    return f"{saved}; {once}{listed}"


def _money(amount: float) -> str:
    """An amount with two digits that say something: `about $1.25`, `about $0.0031`."""
    usd = Decimal(str(amount))
    if not usd:
        return "nothing"
    places = 2 if usd >= Decimal("0.01") else min(MOST_PLACES, 1 - usd.adjusted())
    return f"about ${usd:.{places}f}" if usd >= Decimal(10) ** -places else f"less than ${Decimal(10) ** -places:f}"


def _size_deleted(page: EditPage) -> int:
    return sum(file.size for file in page.deleted_files)
