"""Turns -> pages, one turn at a time, each thing where it happened. Secrets are left for `mask_page`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import NamedTuple

from stenograph.inputs import InputKind, classify_local
from stenograph.records import (
    Attachment,
    AttachmentRecord,
    ChainedRecord,
    LocalCommandRecord,
    Record,
    StopHookSummaryRecord,
    TextBlock,
    ThinkingBlock,
    ToolUseBlock,
)
from stenograph.turns import AgentRun, ApiCall, Compaction, Context, Event, Session, ToolCall, Turn, runs_below
from stenograph.views.pages.costs import agent_price, turn_price
from stenograph.views.pages.page import tokens_page, utc
from stenograph.views.pages.transcript import (
    AgentPart,
    NotePart,
    Part,
    PromptPart,
    TextPart,
    ThoughtPart,
    ToolPart,
    TurnPage,
)
from stenograph.views.text import count_of, harmless
from stenograph.views.tools import ToolFacts, tool_part

#: Subagents start subagents; a file may claim any depth.
DEEPEST = 12
# What claims to be more was not counted (JavaScript counts no further).
_GREATEST = 2**53


def turn_page(turn: Turn, *, agents: bool = True, whole: bool = False, depth: int = 0, seen: set[str] | None = None) -> TurnPage:
    """One turn; with `agents` also what its subagents did, with `whole` spilled outputs read from their files.

    Runs whose ids are in `seen` are only named, and those that are told here are added to it.
    """
    price = turn_price(turn)
    return TurnPage(
        number=turn.number,
        kind=turn.kind.value,
        status=turn.status.value,
        started=utc(turn.started),
        duration_ms=turn.duration_ms,
        models=tuple(dict.fromkeys(call.model for call in turn.calls if call.model and not call.is_synthetic)),
        tokens=tokens_page(turn.tokens),
        usd=price.usd,
        usd_estimated=price.is_estimated,
        parts=tuple(_parts(turn, _Wish(agents, whole, depth, set() if seen is None else seen))),
        new_model=next((event.what for event in reversed(turn.events) if event.kind == "model"), ""),
    )


def turn_pages(turns: Iterable[Turn]) -> list[TurnPage]:
    seen: set[str] = set()
    return [turn_page(turn, seen=seen) for turn in turns]


def aside_parts(session: Session) -> tuple[NotePart, ...]:
    inside = {node for turn in session.all_turns for node in turn.nodes}
    outside = [node for node in range(session.graph.files[0].last) if node not in inside] if session.graph.files else []
    placed = [*note_parts(session.context, session.events), *local_output_parts(session.context, outside)]
    placed.sort(key=lambda part: part[0])
    return tuple(note for _, note in placed)


class _Wish(NamedTuple):
    agents: bool
    whole: bool
    depth: int
    seen: set[str]


def _parts(turn: Turn, wish: _Wish) -> Iterator[Part]:
    opening = turn.opening
    if turn.kind is InputKind.NOTIFICATION:
        yield notification_note(opening.text)
    else:
        yield PromptPart(opening.text, opening.images)
    placed: list[tuple[int, Part]] = []
    for call in turn.calls:
        placed += _call_parts(call, wish)
    placed += [(each.node, PromptPart(each.text, interjected=True)) for each in turn.interjections]
    placed += [(each.node, compaction_note(each)) for each in turn.compactions]
    placed += note_parts(turn.context, turn.events)
    placed += local_output_parts(turn.context, turn.nodes)
    placed.sort(key=lambda part: part[0])
    yield from (part for _, part in placed)


def _call_parts(call: ApiCall, wish: _Wish) -> Iterator[tuple[int, Part]]:
    tools = iter(call.tool_calls)
    origin = "error" if call.is_api_error else "client" if call.is_synthetic else ""
    for node, record in zip(call.nodes, call.records, strict=True):
        content = record.content
        blocks = (TextBlock(text=content),) if isinstance(content, str) else content if isinstance(content, tuple) else ()
        for block in blocks:
            if isinstance(block, ToolUseBlock):
                yield node, _tool_part(next(tools), wish)
            elif isinstance(block, TextBlock) and isinstance(block.text, str) and block.text.strip():
                yield node, TextPart(block.text, origin)
            elif isinstance(block, ThinkingBlock) and isinstance(block.thinking, str) and block.thinking.strip():
                yield node, ThoughtPart(block.thinking)


def _tool_part(call: ToolCall, wish: _Wish) -> ToolPart:
    record = call.context.graph.records[call.use_node]
    cwd = record.cwd if isinstance(record, ChainedRecord) and isinstance(record.cwd, str) else ""
    result, structured = call.result, call.structured
    if wish.whole and call.spilled:
        result, structured = call.read_output(), None
    facts = ToolFacts(call.name, call.input, cwd, call.answered, result, call.is_error, structured)
    run = call.agent if wish.agents else None
    part = agent_part(run, whole=wish.whole, depth=wish.depth + 1, seen=wish.seen) if run else None
    return tool_part(call.id, facts, part, call.duration_ms)


def agent_part(run: AgentRun, *, whole: bool = False, depth: int = 0, seen: set[str] | None = None) -> AgentPart:
    seen = set() if seen is None else seen
    above = run.agent_id in seen
    left_out = 0 if above or depth <= DEEPEST else leave_out(run, seen)
    seen.add(run.agent_id)
    price = agent_price(run)
    return AgentPart(
        agent_id=run.agent_id,
        agent_type=run.agent_type,
        description=run.description,
        background=run.background,
        tool_calls=sum(len(call.tool_calls) for turn in run.turns for call in turn.calls),
        duration_ms=run_duration(run),
        usd=price.usd,
        usd_estimated=price.is_estimated,
        turns=() if above or left_out else tuple(turn_page(turn, whole=whole, depth=depth, seen=seen) for turn in run.turns),
        shown_above=above,
        left_out=left_out,
    )


def run_duration(run: AgentRun) -> int | None:
    """From the first line of a subagent to the last, in milliseconds."""
    starts = [turn.started for turn in run.turns if turn.started]
    ends = [turn.ended for turn in run.turns if turn.ended]
    return max(0, round((max(ends) - min(starts)).total_seconds() * 1000)) if starts and ends else None


def leave_out(run: AgentRun, seen: set[str]) -> int:
    """How many runs are not shown where this one is not: itself and those below it that were not shown yet."""
    return sum(1 for _ in runs_below([run], seen))


def compaction_note(compaction: Compaction) -> NotePart:
    sizes = [f"{size:,}" for size in (compaction.tokens_before, compaction.tokens_after) if size and size <= _GREATEST]
    facts = [compaction.trigger, f"{' to '.join(sizes)} tokens" if sizes else ""]
    in_short = ", ".join(fact for fact in facts if fact)
    return NotePart("compaction", f"compacted ({in_short})" if in_short else "compacted", compaction.summary)


def notification_summary(text: str) -> str:
    _, tag, rest = text.partition("<summary>")
    return rest.partition("</summary>")[0].strip() if tag else ""


def notification_note(text: str) -> NotePart:
    summary = notification_summary(text)
    return NotePart("notification", f"a background task reported{': ' + summary if summary else ''}", text)


_LINES = {
    "interrupt": "interrupted by the user",
    "api-error": "",  # its text stands among the answers
    "turn-duration": "",  # in the turn's heading
    "hook": "hook {}",
    "permission-mode": "permission mode: {}",
    "model": "",  # in the turn's heading too
    "away-summary": "while you were away: {}",
    "local-command": "{}",
}


def note_parts(context: Context, events: tuple[Event, ...]) -> Iterator[tuple[int, NotePart]]:
    def what_happened(event: Event) -> tuple[str, str, str]:
        if event.kind == "hook":
            record = context.graph.records[event.node]
            return event.kind, event.what or _hook_name(record), hook_fate(record)
        return event.kind, "" if event.kind == "retry" else event.what, ""

    for (kind, what, fate), group in groupby(events, key=what_happened):
        same = list(group)
        times = f" ({len(same)} times)" if len(same) > 1 else ""
        if kind == "retry":
            line = f"the API failed: {count_of(len(same), 'retry', 'retries')}"
            yield same[0].node, NotePart(kind, line, times=len(same))
        elif line := event_line(kind, what):
            line = f"{line} {fate}" if fate else line
            yield same[0].node, NotePart(kind, line + times, times=len(same), urgent=bool(fate))


def _hook_name(record: Record) -> str:
    """The name in an attachment of a kind that nobody described yet; else that it was one."""
    attachment = record.attachment if isinstance(record, AttachmentRecord) else None
    name = attachment.extra.get("hookName") if isinstance(attachment, Attachment) else None
    return name if isinstance(name, str) and name else "without a name"


def hook_fate(record: Record) -> str:
    """What went wrong with a hook, or what it held up; empty for one that simply ran."""
    if isinstance(record, StopHookSummaryRecord):
        return "blocked the model" if record.preventedContinuation else "failed" if record.hookErrors else ""
    kind = record.kind.rpartition("/")[2]
    if "non_blocking" in kind:
        return "failed"
    if "block" in kind or "stopped" in kind or "prevented" in kind:
        return "blocked the model"
    return "was cancelled" if "cancel" in kind else "failed" if "error" in kind else ""


def local_output_parts(context: Context, nodes: Iterable[int]) -> Iterator[tuple[int, NotePart]]:
    for node in nodes:
        understood = context.inputs.get(node)
        record = context.graph.records[node]
        if understood is not None and understood.kind is InputKind.LOCAL_OUTPUT:
            note = local_output_note(understood.text)
        elif isinstance(record, LocalCommandRecord) and (local := classify_local(record)).kind is InputKind.LOCAL_OUTPUT:
            note = local_output_note(local.text)
        else:
            continue
        if note is not None:
            yield node, note


def local_output_note(text: str) -> NotePart | None:
    """What a local command printed: its first line, and all of it folded; None for nothing."""
    lines = [line for line in harmless(_without_tags(text)).split("\n") if line.strip()]
    if not lines:
        return None
    more = f" ({count_of(len(lines) - 1, 'more line')})" if len(lines) > 1 else ""
    return NotePart("local-output", lines[0].strip() + more, "\n".join(lines) if more else "")


def event_line(kind: str, what: str) -> str:
    """One event in a line; empty for what is said elsewhere."""
    line = _LINES.get(kind, kind + ": {}" if what else kind)
    return line.format(what).strip() if what or "{}" not in line else ""


def _without_tags(text: str) -> str:
    for tag in ("local-command-stdout", "local-command-stderr", "bash-stdout", "bash-stderr"):
        text = text.replace(f"<{tag}>", "").replace(f"</{tag}>", "")
    return text.strip()
