"""A plan for a person and as JSON: what each edit does, what clients would send, lose and cost, and, where asked for, what goes.

In: a plan, and what became of it. Out: lines of text, or JSON values; prints nothing. What was said is in the preview only, and
masked.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import click

from stenograph.cli._output import terminal_width
from stenograph.surgery import Compress, TruncateResults
from stenograph.views.text import count_of, cut, plain, short_path, size, table

if TYPE_CHECKING:
    from stenograph.archive import Entry
    from stenograph.messages import Counts
    from stenograph.surgery import Done, Plan, Preview

_PROMPT_COLUMNS = 100
#: Of an amount of money.
_MOST_PLACES = 6
#: Counts that need a word before or behind.
_NOUNS = {"thinking": ("block of thinking", "blocks of thinking")}


def plan_json(plan: Plan, entry: Entry | None) -> dict[str, Any]:
    """A plan under the keys that `edit --json` promises."""
    import msgspec

    return {
        "path": str(plan.path),
        "id": plan.session_id,
        "edits": [
            {**msgspec.to_builtins(done.edit), "counts": done.counts, **({"note": done.note} if done.note else {})}
            for done in plan.done
        ],
        "lines": [plan.lines_before, plan.lines_after],
        "size": [plan.size_before, plan.size_after],
        "changed": plan.changed,
        "aside": plan.aside,
        "removed": plan.removed,
        "releases": [
            {"release": each.release, "refused": each.refused or None, "messages": [len(each.before), len(each.after)]}
            for each in plan.outcomes
        ],
        "losses": [
            {"release": each.release, "lost": [msgspec.to_builtins(side.total) for side in (each.before, each.after)]}
            for each in plan.losses
        ],
        "taken_away": [{"path": str(path), "size": state.size} for path, state in plan.taken_away.items()],
        "tokens": [plan.outlook.tokens_before, plan.outlook.tokens_after],
        "tokens_to_cache": plan.outlook.tokens_to_cache,
        "saved_a_turn_usd": float(plan.outlook.saved_a_turn),
        "cache_cost_usd": float(plan.outlook.cache_cost),
        "model": plan.outlook.model,
        "problems": plan.problems,
        "notes": plan.notes,
        "entry": entry.number if entry else None,
    }


def preview_json(found: Preview, mask: Callable[[str], str]) -> dict[str, Any]:
    return {
        "turns": [{"turn": turn.number, "prompt": mask(turn.prompt), "condensed": turn.is_condensed} for turn in found.turns],
        "calls": [{"turn": call.turn, "tool": call.tool, "characters": [call.before, call.after]} for call in found.calls],
        "blocks": [{"turn": blocks.turn, "what": blocks.what, "count": blocks.count} for blocks in found.blocks],
        "digest": None if found.digest is None else mask(found.digest),
    }


def plan_lines(plan: Plan) -> Iterator[str]:
    """What the plan does, in numbers, in lines that fit the terminal."""
    for done in plan.done:
        first, *more = _fitting(f"{done.edit.summary}  {_what_is_done(done)}")
        yield click.style(done.edit.summary, bold=True) + first.removeprefix(done.edit.summary)
        yield from more
    if plan.is_empty:
        yield from _loss_lines(plan)
        yield "the session stays as it is"
        return
    yield from _comparison(plan)
    yield from _loss_lines(plan)
    for line in _remarks(plan):
        yield from _fitting(line)
    if plan.taken_away:
        yield f"takes away {count_of(len(plan.taken_away), 'file')}, {size(_size_taken(plan))}:"
        yield from (f"{size(state.size):>8}  {short_path(str(path))}" for path, state in plan.taken_away.items())
    for note in plan.notes:
        yield from _fitting(f"note: {plain(note)}")


def _fitting(line: str) -> list[str]:
    """A line in as many as the terminal needs."""
    from stenograph.views.text import wrap

    return wrap(line, terminal_width())


def _remarks(plan: Plan) -> Iterator[str]:
    yield f"{count_of(plan.changed, 'line')} changed, {plan.aside} set aside in the file, {plan.removed} taken out of it"
    yield _bill(plan)
    if plan.aside:
        yield "what is set aside stays in the file, where no client sends it from: --prune takes it out too"
    if plan.uncounted:
        yield "tools that count tokens by the file's lines will no longer count those that were taken out"
    if plan.size_after > plan.size_before:
        is_condensed = plan.aside and any(isinstance(done.edit, Compress) and done.counts for done in plan.done)
        why = "what the digest stands for stays in it" if is_condensed else "what is put in is longer than what is taken out"
        yield f"the file gets larger by {size(plan.size_after - plan.size_before)}: {why}"


def preview_lines(found: Preview, mask: Callable[[str], str]) -> Iterator[str]:
    """What goes and what comes, piece by piece."""
    from stenograph.views.text import harmless, one_line

    columns = terminal_width() or _PROMPT_COLUMNS
    for is_condensed, heading in ((False, "turns that are dropped"), (True, "turns that the digest stands for")):
        rows = [[f"  {turn.number}", one_line(mask(turn.prompt))] for turn in found.turns if turn.is_condensed is is_condensed]
        yield from _listed(heading, [cut(line, columns) for line in table(rows, frozenset({0}))])
    calls = [
        [
            f"  turn {call.turn}",
            plain(call.tool),
            _characters(call.before),
            "gone" if call.after is None else f"cut to {call.after:,}",
        ]
        for call in found.calls
    ]
    yield from _listed("tool calls, by the characters of their results", table(calls, frozenset({2})))
    blocks = [[f"  turn {blocks.turn}", _counted(blocks.what, blocks.count)] for blocks in found.blocks]
    yield from _listed("other things that go", table(blocks))
    if found.digest is not None:
        yield from _listed("the digest", harmless(mask(found.digest)).split("\n"))


def _listed(heading: str, lines: list[str]) -> Iterator[str]:
    if lines:
        yield click.style(heading, bold=True)
        yield from lines


def _characters(count: int) -> str:
    return count_of(count, "character")


def _what_is_done(done: Done) -> str:
    known = done.counts
    if isinstance(done.edit, Compress) and known:
        counts = f"{count_of(known['turns'], 'turn')}, for which a digest of {_characters(known['characters'])} stands"
    elif isinstance(done.edit, TruncateResults) and known:
        counts = f"{count_of(known['results'], 'result')} shorter by {_characters(known['characters'])}"
    else:
        counts = ", ".join(_counted(what, count) for what, count in done.counts.items() if count)
    return "; ".join([counts or "nothing to do", *([done.note] if done.note else [])])


def _counted(what: str, count: int) -> str:
    singular, plural = _NOUNS.get(what, (what.removesuffix("s"), what))
    return count_of(count, singular, plural)


def _comparison(plan: Plan) -> list[str]:
    outlook = plan.outlook
    taken = _size_taken(plan)
    rows = [
        ["", "before", "after"],
        ["lines", f"{plan.lines_before:,}", f"{plan.lines_after:,}"],
        ["size", size(plan.size_before), size(plan.size_after)],
        *([["size with the files that go", size(plan.size_before + taken), size(plan.size_after)]] if taken else []),
        ["tokens sent, estimated", f"{outlook.tokens_before:,}", f"{outlook.tokens_after:,}"],
        *([f"messages sent by {each.release}", str(len(each.before)), str(len(each.after))] for each in plan.outcomes),
    ]
    return table(rows, frozenset({1, 2}))


def _loss_lines(plan: Plan) -> Iterator[str]:
    """What each release loses of what was said, and why where that stays so."""
    rows = [[f"lost by {each.release}", _lost(each.before.total), _lost(each.after.total)] for each in plan.losses]
    yield from table([["", "before", "after"], *rows]) if rows else ()
    as_many = {each.release for each in plan.outcomes if each.before != each.after and len(each.before) == len(each.after)}
    if fuller := [each.release for each in plan.losses if each.release in as_many and each.before.total != each.after.total]:
        yield from _fitting(f"{' and '.join(fuller)} will send more in as many messages: lines of one response share a message")
    for each in plan.losses:
        for loss in each.after.losses:
            yield from _fitting(f"{each.release} loses {_lost(loss.counts)} all the same, by rule {loss.rule}")


def _lost(counts: Counts) -> str:
    parts = [
        count_of(counts.messages, "line") if counts.messages else "",
        count_of(counts.tool_calls, "tool call") if counts.tool_calls else "",
        _counted("thinking", counts.thinking) if counts.thinking else "",
    ]
    return ", ".join(part for part in parts if part) or "nothing"


def _bill(plan: Plan) -> str:
    from stenograph.surgery.verify import of_newest

    outlook = plan.outlook
    if all(each.before == each.after for each in plan.outcomes):
        return "what clients send stays the same"
    newest = of_newest(plan.outcomes)
    if newest.before == newest.after:
        return f"what {newest.release} sends stays the same, and so does what it costs"
    if outlook.tokens_after > outlook.tokens_before:
        return "the conversation gets longer: what is put in is more than what is taken out"
    listed = "" if outlook.is_listed else " (the price table does not know the model)"
    once = f"filling the prompt cache anew costs {_money(outlook.cache_cost)} once"
    less = f"{_money(outlook.saved_a_turn)} less" if outlook.saved_a_turn else "as much as before"
    return f"each later turn costs {less}; {once}{listed}"


def _money(usd: Decimal) -> str:
    """An amount with two digits that say something: `about $1.25`, `about $0.0031`."""
    if not usd:
        return "nothing"
    places = 2 if usd >= Decimal("0.01") else min(_MOST_PLACES, 1 - usd.adjusted())
    return f"about ${usd:.{places}f}" if usd >= Decimal(10) ** -places else f"less than ${Decimal(10) ** -places:f}"


def _size_taken(plan: Plan) -> int:
    return sum(state.size for state in plan.taken_away.values())
