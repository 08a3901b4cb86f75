"""What happened in sessions, and what was avoidable, for a terminal."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from stenograph.errors import UsageError, in_quotes
from stenograph.views.pages.stats import StatsPage, TurnLinkPage, WasteFindingPage, WastePage
from stenograph.views.terminal.options import BOLD, BRIGHT_BLUE, CYAN, DIM, RenderOptions
from stenograph.views.terminal.usage import bar
from stenograph.views.text import (
    count_of,
    cut,
    cut_start,
    dollars,
    duration,
    pad,
    percent,
    plain,
    short_path,
    table,
    thousands,
    time_taken,
    width,
    wrap,
)

_INDENT = "  "
_ID = 8
_TOOLS = 8
_BAR = 16
_LEAST_FOR_BARS = 72
_LEAST_NAME = 8
PART_NAMES = {
    "system": "System and tools",
    "memory": "Memory files",
    "files": "Files read",
    "output": "Tool output",
    "conversation": "Conversation",
    "thinking": "Thinking",
    "unknown": "Unknown",
}


def render_stats(page: StatsPage, options: RenderOptions) -> Iterator[str]:
    summary = (
        f"{count_of(page.sessions, 'session')}, {count_of(page.turns, 'turn')}, {count_of(page.calls, 'call')},"
        f" {count_of(page.tool_calls, 'tool call')}, {_total(page)}{_unpriced(page)}"
    )
    yield from (options.paint(_INDENT + line, BOLD) for line in wrap(summary, _room(options)))
    if not page.calls:
        return
    yield ""
    yield from _context(page, options)
    yield ""
    yield from _tools(page, options)
    yield ""
    yield from _columns(
        [
            ["Time", "Cache"],
            [("waiting for the model", duration(page.waiting_for_model_ms)), ("read from cache", f"{page.cache_read_share:.0%}")],
            [("running tools", duration(page.running_tools_ms)), ("rebuilt", _times(page.rebuilds))],
            [
                ("waiting for you", duration(page.waiting_for_you_ms)),
                ("cost of rebuilding", _spent(page.rebuild_cost_micro_usd, 0, _unpriced_in(page.rebuilds))),
            ],
        ],
        options,
    )
    yield ""
    statuses = [(status.status, f"{len(status.turns):,}") for status in page.statuses]
    rewound = _spent(page.rewound_cost_micro_usd, page.rewound_estimated_micro_usd, _unpriced_in(page.rewound))
    agents = _spent(page.agent_cost_micro_usd, page.agent_estimated_micro_usd, page.agent_unpriced_calls)
    lost = [
        ("rewound turns", f"{len(page.rewound):,}  {rewound}"),
        ("retried requests", f"{len(page.retries):,}"),
        ("interrupts", f"{len(page.interrupts):,}"),
        ("compactions", f"{len(page.compactions):,}  {thousands(page.dropped_tokens)} tokens dropped"),
        ("calls of subagents", f"{page.agent_calls:,}  {agents}"),
    ]
    rows: list[Sequence[object]] = [["Turns", "Also"]]
    for place in range(max(len(statuses), len(lost))):
        rows.append([statuses[place] if place < len(statuses) else ("", ""), lost[place] if place < len(lost) else ("", "")])
    yield from _columns(rows, options)
    yield ""
    notes = (
        "includes sessions that `steno ls` hides",
        "the turns behind a figure: --list rebuilt, --list failed:Bash, …",
    )
    yield from (options.paint(f"{_INDENT}{line}", DIM) for note in notes for line in wrap(note, _room(options)))


def _total(page: StatsPage | WastePage) -> str:
    """As `steno usage` shows it."""
    return _spent(page.cost_micro_usd, page.estimated_micro_usd, page.unpriced_calls)


def _unpriced(page: StatsPage | WastePage) -> str:
    """Calls that are not in a total; nothing where the total says so."""
    calls = page.unpriced_calls if page.cost_micro_usd else 0
    return f", unpriced {count_of(calls, 'call')}" if calls else ""


def _unpriced_in(links: Iterable[TurnLinkPage]) -> int:
    return sum(link.unpriced_calls for link in links)


def _spent(micro_usd: int, estimated: int, unpriced_calls: int) -> str:
    if not micro_usd and unpriced_calls:
        return "unpriced"
    return f"{'~' if estimated else ''}{dollars(micro_usd)}"


def _cost_of(link: TurnLinkPage) -> str:
    if link.cost_micro_usd is None and not link.unpriced_calls:
        return ""
    return _spent(link.cost_micro_usd or 0, link.estimated_micro_usd, link.unpriced_calls)


def _context(page: StatsPage, options: RenderOptions) -> Iterator[str]:
    mean = f"mean of {count_of(page.context_calls, 'call')}, {thousands(page.context_tokens)} tokens"
    heading, about = "What filled the context", f"{mean}, largest {thousands(page.largest_context)}"
    if options.width is not None and len(_INDENT) + width(heading) + 2 + width(about) > options.width:
        yield options.paint(f"{_INDENT}{heading}", BOLD)
        yield options.paint(f"{_INDENT}{about}", DIM)
    else:
        yield options.paint(f"{_INDENT}{heading}", BOLD) + options.paint(f"  {about}", DIM)
    largest = max((part.mean_tokens for part in page.context), default=0)
    names = max(map(len, PART_NAMES.values()))
    for part in page.context:
        if part.mean_tokens or part.part not in ("memory", "thinking", "unknown"):
            drawn = options.paint(bar(part.mean_tokens, largest), CYAN) if options.width is not None else ""
            line = f"{pad(PART_NAMES[part.part], names)}  {thousands(part.mean_tokens):>6}  {part.share:>4.0%}  {drawn}"
            yield f"{_INDENT}{line}".rstrip()


def _tools(page: StatsPage, options: RenderOptions) -> Iterator[str]:
    shown = page.tools[:_TOOLS] if options.width is not None else page.tools
    rest = page.tools[len(shown) :]
    rows = [["Tools", "calls", "failed", "", "slowest"]]
    longest = max((width(time_taken(tool.slowest.ms)) for tool in shown if tool.slowest), default=0)
    for tool in shown:
        share = tool.failed / tool.calls if tool.calls else 0.0
        waited = time_taken(tool.slowest.ms) if tool.slowest else ""
        slowest = f"{waited:>{longest}}  {_where(tool.slowest, options)}" if tool.slowest and waited else ""
        drawn = bar(round(share * 1000), 1000, _BAR) if (options.width or 0) >= _LEAST_FOR_BARS else ""
        rows.append([plain(tool.name), f"{tool.calls:,}", percent(share), drawn, slowest])
    if rest:
        calls, failed = sum(tool.calls for tool in rest), sum(tool.failed for tool in rest)
        rows.append([count_of(len(rest), "other"), f"{calls:,}", percent(failed / calls if calls else 0), "", ""])
    widths = [max(width(row[column]) for row in rows) for column in range(5)]
    for place, row in enumerate(rows):
        cells = [pad(cell, widths[column], right=column in (1, 2)) for column, cell in enumerate(row)]
        if place:
            cells[3] = options.paint(cells[3], CYAN) if row[3] else cells[3]
        line = cut(f"{_INDENT}{'  '.join(cells).rstrip()}", None if options.color else options.width)
        yield line if place else options.paint(line, BOLD)


def _columns(rows: Sequence[Sequence[object]], options: RenderOptions) -> Iterator[str]:
    """Two lists of names and figures beside each other; below each other where there is no room."""
    heads, *pairs = rows
    halves: list[list[tuple[str, str]]] = [[], []]
    for row in pairs:
        for half, pair in zip(halves, row, strict=True):
            assert isinstance(pair, tuple)
            half.append(pair)
    blocks = []
    for head, half in zip(heads, halves, strict=True):
        names, figures = max(width(name) for name, _ in half), max(width(figure) for _, figure in half)
        blocks.append([str(head), *(f"{pad(name, names)}  {pad(figure, figures, right=True)}".rstrip() for name, figure in half)])
    if options.width is not None and options.width >= 76:
        left = max(map(width, blocks[0])) + 5
        for place, (one, other) in enumerate(zip(*blocks, strict=True)):
            line = f"{_INDENT}{pad(one, left)}{other}".rstrip()
            yield line if place else options.paint(line, BOLD)
        return
    for number, block in enumerate(blocks):
        if number:
            yield ""
        for place, line in enumerate(block):
            if line.strip():
                yield f"{_INDENT}{line}" if place else options.paint(f"{_INDENT}{line}", BOLD)


def _room(options: RenderOptions) -> int | None:
    return None if options.width is None else options.width - len(_INDENT)


def _times(links: Sequence[object]) -> str:
    return count_of(len(links), "time")


def _where(link: TurnLinkPage, options: RenderOptions) -> str:
    name = link.session if options.width is None else link.session[:_ID]
    branch = f"#{link.branch}" if link.branch else ""
    return f"{plain(name)}{branch} turn {link.turn}" if link.turn else plain(name)


def list_turns(page: StatsPage, name: str, options: RenderOptions) -> Iterator[str]:
    """The turns behind a figure, one line each. Raises UsageError."""
    kind, _, tool = name.partition(":")
    lists: dict[str, Iterable[TurnLinkPage]] = {
        "rebuilt": page.rebuilds,
        "rewound": page.rewound,
        "retries": page.retries,
        "errors": page.api_errors,
        "interrupts": page.interrupts,
        "compactions": page.compactions,
        "waits": page.waits,
    }
    for status in page.statuses:
        lists.setdefault(status.status, status.turns)
    lists["failed-turns"] = lists.pop("failed", ())
    lists["failed"] = [link for each in page.tools if not tool or each.name == tool for link in each.failed_in]
    if kind not in lists or (tool and kind != "failed"):
        raise UsageError(f"invalid --list {in_quotes(name)}; use {', '.join([*lists, 'failed:TOOL'])}")
    rows = [
        [
            _where(link, options),
            plain(short_path(link.what)) if link.what else "",
            time_taken(link.ms),
            f"{thousands(link.tokens)} tokens" if link.tokens else "",
            _cost_of(link),
        ]
        for link in lists[kind]
    ]
    yield from _listed(rows, frozenset({2, 3, 4}), 1, options)


def _listed(rows: list[list[str]], right: frozenset[int], flexible: int, options: RenderOptions) -> Iterator[str]:
    """Rows in columns, the first of which is a turn. Where there is no room, the `flexible` column is cut."""
    kept = [column for column in range(len(rows[0]) if rows else 0) if any(row[column] for row in rows)]
    widths = {column: max(width(row[column]) for row in rows) for column in kept}
    if options.width is not None and flexible in widths:
        excess = sum(widths.values()) + 2 * len(kept) - options.width
        for row in rows if excess > 0 else ():
            row[flexible] = cut_start(row[flexible], max(_LEAST_NAME, widths[flexible] - excess))
    aligned = frozenset(place for place, column in enumerate(kept) if column in right)
    for line in table([[row[column] for column in kept] for row in rows], aligned):
        yield f"{_INDENT}{options.paint(line[: widths[0]], BRIGHT_BLUE)}{line[widths[0] :]}"


def render_waste(page: WastePage, options: RenderOptions, scope: Sequence[str] = ()) -> Iterator[str]:
    if not page.findings:
        yield options.paint(f"{_INDENT}Nothing avoidable found in {count_of(page.sessions, 'session')}", BOLD)
        return
    share = page.avoidable_micro_usd / page.cost_micro_usd if page.cost_micro_usd else 0.0
    summary = (
        f"~{dollars(page.avoidable_micro_usd)} of {_total(page)} was avoidable ({share:.0%}),"
        f" {count_of(len(page.findings), 'finding')}{_unpriced(page)}"
    )
    yield from (options.paint(_INDENT + line, BOLD) for line in wrap(summary, _room(options)))
    spending = "spending is partly estimated" if page.estimated_micro_usd else "spending is measured"
    yield options.paint(f"{_INDENT}{spending}, savings are estimated", DIM)
    amounts = max(len(dollars(finding.cost_micro_usd)) for finding in page.findings) + 1
    for finding in page.findings:
        yield ""
        heading, lines, command = waste_advice(finding, options)
        amount = pad(f"~{dollars(finding.cost_micro_usd)}", amounts, right=True)
        room = None if options.width is None else options.width - amounts - 4
        space = " " * (amounts + 4)
        first, *more = wrap(heading, room)
        yield f"{_INDENT}{options.paint(amount, BOLD)}  {options.paint(first, BOLD)}"
        yield from (space + options.paint(line, BOLD) for line in more)
        for line in lines:
            yield from (space + each for each in wrap(line, room))
        if command:
            yield f"{space}try: {options.paint(command, BRIGHT_BLUE)}"
    yield ""
    yield options.paint(f"{_INDENT}the turns behind finding 1: {options.command('waste', '1', *scope)}", DIM)


def list_waste(page: WastePage, number: int, options: RenderOptions) -> Iterator[str]:
    """The turns behind a finding. Raises UsageError."""
    if not 1 <= number <= len(page.findings):
        are = "is" if len(page.findings) == 1 else "are"
        raise UsageError(f"no finding {number}; there {are} {count_of(len(page.findings), 'finding')}")
    rows = [
        # What was avoidable is an estimate; a cost of nothing is that of a model without a price.
        [
            _where(link, options),
            f"~{dollars(link.cost_micro_usd)}" if link.cost_micro_usd else "",
            plain(short_path(link.what or "")),
        ]
        for link in page.findings[number - 1].turns
    ]
    yield from _listed(rows, frozenset({1}), 2, options)


def waste_advice(finding: WasteFindingPage, options: RenderOptions) -> tuple[str, list[str], str]:
    """What it is, more about it and the way to avoid it, and a command."""
    first = finding.turns[0] if finding.turns else None
    session = first.session[:_ID] if first else "last"
    what = plain(short_path(finding.what or ""))
    match finding.kind:
        case "cache-rebuilt-after-a-break":
            return (
                f"Prompt cache rebuilt after a break, {_times(finding.turns)}",
                [
                    f"{thousands(finding.tokens)} tokens were cached again. Longest break: {duration(finding.seconds * 1000)}.",
                    "Compress before a break, so that less is rebuilt.",
                ],
                options.command("edit", session, "--compress", "--keep-last", "5"),
            )
        case "cache-rebuilt-for-another-model":
            return (
                f"Prompt cache rebuilt for another model, {_times(finding.turns)}",
                [
                    f"{thousands(finding.tokens)} tokens were cached again, because each model has a cache of its own.",
                    "A habit, not a setting: switch models between tasks, or let a subagent use the other model.",
                ],
                "",
            )
        case "result-stayed-in-the-context":
            turn = first.turn if first else 0
            return (
                f"One result stayed in the context for {count_of(finding.calls, 'call')}",
                [
                    f"{_short(what, options)}, {thousands(finding.tokens)} tokens, in turn {turn} of {session}.",
                    *([] if finding.sent else ["Clients no longer send it. A habit, not a setting: ask for parts of output."]),
                ],
                options.command("edit", session, "--truncate-results", "2000", *(("--turns", str(turn)) if turn else ()))
                if finding.sent
                else "",
            )
        case "other-results-stayed-in-the-context":
            return (
                f"{count_of(finding.times, 'other result')} stayed in the context",
                [
                    f"{thousands(finding.tokens)} tokens. Each cost less than the results that are findings of their own.",
                    "A habit, not a setting: ask for parts of output.",
                ],
                options.command("edit", session, "--truncate-results", "2000") if finding.sent else "",
            )
        case "mcp-server-never-called":
            return (
                "Tools of an MCP server that was never called",
                [f"{what}: {finding.times:,} tools, {thousands(finding.tokens)} tokens in each of {finding.calls:,} calls."],
                f"claude mcp remove {what}",
            )
        case "files-read-again":
            return (
                f"Files read again without a change in between, {_times(finding.turns)}",
                [
                    f"{cut(what, 200)}; {thousands(finding.tokens)} tokens.",
                    "A habit, not a setting: ask for lines instead of files.",
                ],
                "",
            )
        case "subagents-repeated-work":
            return (
                f"Subagents started again with the same prompt, {_times(finding.turns)}",
                [
                    *([f"First: {cut(what, 100)}."] if what else []),
                    "A habit, not a setting: ask for the first one's answer instead.",
                ],
                "",
            )
        case _:
            return (
                f"Turns discarded by a rewind, {_times(finding.turns)}",
                ["A habit, not a setting: interrupt early, or plan first (shift-tab)."],
                options.command("show", session, *_turn_of(first)),
            )


def _turn_of(link: TurnLinkPage | None) -> tuple[str, ...]:
    """The options of `steno show` that show a turn."""
    if link is None or not link.turn:
        return ()
    return ("--turn", str(link.turn), *(("--branch", str(link.branch)) if link.branch else ()))


def _short(what: str, options: RenderOptions) -> str:
    """A tool and what it was used on, the end of a path and the beginning of everything else."""
    tool, _, target = what.partition(": ")
    room = 200 if options.width is None else max(20, options.width - 40)
    return f"{tool}: {cut_start(target, room) if target.startswith(('/', '~')) else cut(target, room)}" if target else tool
