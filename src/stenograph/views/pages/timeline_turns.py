"""Session -> timeline: what each turn holds is enumerated first, which is cheap, and made into steps only where it is shown.

A session of any size is drawn in chunks: parts of the timeline with about the same number of elements, which may begin and end in
the middle of a turn.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterator, Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from msgspec.structs import replace

from stenograph.analysis import PARTS, context_of, session_spent, shape_of
from stenograph.inputs import InputKind, Status
from stenograph.records import (
    RedactedThinkingBlock,
    TextBlock,
    ThinkingBlock,
    ToolUseBlock,
    UserRecord,
)
from stenograph.turns import (
    AgentRun,
    ApiCall,
    Branch,
    Compaction,
    Interjection,
    Session,
    Tokens,
    ToolCall,
    Turn,
    moment_of,
)
from stenograph.views.pages.costs import agent_price, call_cost, price_of, turn_price
from stenograph.views.pages.page import tokens_page, utc
from stenograph.views.pages.session import BranchPage, SessionHeading, session_heading, stray_agents
from stenograph.views.pages.tapes import TICKS, family_of
from stenograph.views.pages.timeline import (
    AgentSteps,
    BranchOption,
    CallFigures,
    ChunkPage,
    CompactionStep,
    NoteStep,
    Picture,
    PromptStep,
    Step,
    TextStep,
    ThoughtStep,
    TimelinePage,
    TimelineTurn,
    ToolStep,
    TurnOutline,
)
from stenograph.views.pages.timeline_tools import pictures_in, tool_step
from stenograph.views.pages.transcript import NotePart
from stenograph.views.pages.turn_parts import DEEPEST, leave_out, local_output_parts, note_parts, notification_note, run_duration
from stenograph.views.text import count_of, one_line

if TYPE_CHECKING:
    from stenograph.analysis import Spent
    from stenograph.index import StoredSession

#: About as many elements as one chunk has: five of them are on a page at most.
CHUNK = 700
#: What filled the context is worked out for sessions of up to so many lines.
_MOST_RECORDS = 20_000
#: Of a prompt in the outline.
_SHORT = 160
#: Ways through a session that are offered where it forks; a file may claim thousands.
_MOST_BRANCHES = 60


class _Seed(NamedTuple):
    """A step that can be made: where it happened, its letter on the tape, its size in elements, and how to make it."""

    node: int
    letter: str
    size: int
    make: Callable[[], Step]


class Timeline:
    """The timeline of one branch; `page` gives some chunks of it."""

    def __init__(self, session: Session, branch: Branch, *, title: str | None = None, copies: Collection[int] = ()) -> None:
        self._session = session
        self._copies = copies
        self._branch = branch
        self._title = title
        self._seeds: dict[int, list[_Seed]] = {}
        self._options = dict(_forks(session, branch))
        #: By the first line of each call.
        self._prices: dict[int, Spent | None] = {}
        self._head: TimelinePage | None = None
        self.outline = tuple(self._outline(turn) for turn in branch.turns)
        self.chunks = tuple(_chunks([(turn.number, [seed.size for seed in self._seeds[turn.node]]) for turn in branch.turns]))
        self._calls = tuple(_figures(session, branch.turns, self._cost))

    def _cost(self, call: ApiCall) -> Spent | None:
        if call.nodes[0] not in self._prices:
            self._prices[call.nodes[0]] = call_cost(call)
        return self._prices[call.nodes[0]]

    def chunk_of(self, number: int) -> int:
        """The chunk in which a turn begins; the last one for a turn that is not there."""
        for place, chunk in enumerate(self.chunks):
            if number < chunk.last_turn or (number == chunk.last_turn and (number != chunk.turn or not chunk.step)):
                return place
        return max(0, len(self.chunks) - 1)

    def chunk_of_line(self, number: int, line: int) -> int:
        """The chunk with the step of a turn that a line of the session's own file belongs to."""
        nodes = self._session.graph.nodes
        steps = next((self._seeds[turn.node] for turn in self._branch.turns if turn.number == number), [])
        step = max((place for place, seed in enumerate(steps) if nodes[seed.node].number <= line), default=0)
        return max(
            (place for place, chunk in enumerate(self.chunks) if (chunk.turn, chunk.step) <= (number, step)),
            default=0,
        )

    def last_chunk_of(self, number: int) -> int:
        """The chunk in which a turn ends."""
        return max((place for place, chunk in enumerate(self.chunks) if chunk.turn <= number <= chunk.last_turn), default=0)

    def page(self, first: int = 0, last: int | None = None) -> TimelinePage:
        """With the turns of the chunks from `first` to `last`, that one included; with all to the end where `last` is None."""
        end = len(self.chunks) - 1 if last is None else min(last, len(self.chunks) - 1)
        return replace(
            self._heading(),
            turns=self.turns(first, end),
            first_chunk=first,
            strays=self.strays() if end == len(self.chunks) - 1 else (),
        )

    def _heading(self) -> TimelinePage:
        """All but the turns, made once: a chunk that is fetched later needs it too."""
        if self._head is None:
            self._head = self._make_heading()
        return self._head

    def _make_heading(self) -> TimelinePage:
        spent = session_spent(self._session, copies=self._copies)
        price = price_of(spent.total)
        path = self._session.path
        size, modified = _file_facts(path)
        return TimelinePage(
            session=session_heading(self._session, self._branch, title=self._title, spent=spent),
            status=self._branch.turns[-1].status.value if self._branch.turns else "done",
            modified=modified,
            size=size,
            records=self._session.graph.files[0].last if self._session.graph.files else 0,
            usd=price.usd,
            usd_estimated=price.is_estimated,
            unpriced=spent.unpriced,
            client_usd=spent.client_usd,
            calls=self._calls,
            outline=self.outline,
            chunks=self.chunks,
            turns=(),
        )

    def turns(self, first: int, last: int) -> tuple[TimelineTurn, ...]:
        """The turns, or parts of turns, of some chunks."""
        found: list[TimelineTurn] = []
        seen: set[str] = set()
        by_number = {turn.number: turn for turn in self._branch.turns}
        for chunk in self.chunks[max(0, first) : last + 1]:
            for number in range(chunk.turn, chunk.last_turn + 1):
                turn = by_number.get(number)
                if turn is not None:
                    begin = chunk.step if number == chunk.turn else 0
                    end = chunk.last_step if number == chunk.last_turn else None
                    found.append(self._turn(turn, begin, end, seen))
        return tuple(found)

    def strays(self) -> tuple[AgentSteps, ...]:
        seen: set[str] = set()
        return tuple(agent_steps(run, seen=seen) for run in stray_agents(self._session))

    def _turn(self, turn: Turn, begin: int, end: int | None, seen: set[str]) -> TimelineTurn:
        seeds = _seeds(turn, 0, seen)
        page = _turn_page(turn, seeds, begin, end)
        options = self._options.get(turn.node, ()) if not begin else ()
        return replace(page, options=options) if options else page

    def _outline(self, turn: Turn) -> TurnOutline:
        seeds = self._seeds[turn.node] = list(_seeds(turn, 0, set()))
        last = turn.compactions[-1] if turn.compactions else None
        prompt = notification_note(turn.prompt).line if turn.kind is InputKind.NOTIFICATION else turn.prompt
        price = turn_price(turn, self._cost)
        return TurnOutline(
            number=turn.number,
            kind=turn.kind.value,
            status=turn.status.value,
            started=utc(turn.started),
            prompt=one_line(prompt[: 4 * _SHORT])[:_SHORT],
            tape="".join(seed.letter for seed in seeds),
            usd=price.usd,
            usd_estimated=price.is_estimated,
            size=sum(seed.size for seed in seeds),
            fork=len(self._options.get(turn.node, ())),
            compacted=(last.tokens_before, last.tokens_after) if last else None,
            compacted_line=turn.context.graph.nodes[last.node].number if last else 0,
        )


def _unread(number: int, started: datetime | None, prompt: str) -> TurnOutline:
    return TurnOutline(number, "prompt", "done", started, prompt, tape="", usd=None, usd_estimated=False, size=0)


def timeline_preview(opened: StoredSession, number: int) -> TimelinePage | None:
    """One turn of a session that is not loaded yet, the first unless it has the wanted one, read from its own lines alone.

    None if there is no turn. Raises UnreadableError.
    """
    way = list(opened.branches[0].turns) if opened.branches else []
    wanted = next((stored for stored in way if stored.number == number), way[0] if way else None)
    if wanted is None:
        return None
    turn = next(turn for turn, _ in opened.read(lambda stored: stored is wanted))
    seeds = _seeds(turn, 0, set())
    end = next(_chunks([(turn.number, [seed.size for seed in seeds])])).last_step
    size, modified = _file_facts(opened.path)
    started = {stored.number: _moment(stored.started) for stored in way}
    heading = SessionHeading(
        id=opened.id, path=str(opened.path), title=opened.title, project=opened.project, release=opened.release,
        model=opened.model, git_branch=opened.git_branch, slug=opened.slug, summary=None, pull_requests=(),
        started=started[way[0].number], turns=len(way), agents=0, tokens=tokens_page(Tokens()), branch=1,
        branches=(BranchPage(1, True, len(way), len(way)),), continues=(), ended=None,
        status="", usd=None, usd_estimated=False, usd_unpriced=False, tape="", notes=(), whole=False,
    )  # fmt: skip
    prompt = one_line(turn.prompt[: 4 * _SHORT])[:_SHORT]
    return TimelinePage(
        session=heading,
        status=turn.status.value if wanted is way[-1] else Status.DONE.value,
        modified=modified,
        size=size,
        records=0,
        usd=None,
        usd_estimated=False,
        unpriced=(),
        client_usd=None,
        calls=(),
        outline=tuple(_unread(each.number, started[each.number], prompt if each is wanted else "…") for each in way),
        chunks=(ChunkPage(turn.number, 0, turn.number, end, sum(seed.size for seed in seeds[:end])),),
        turns=(_turn_page(turn, seeds, 0, end),),
        partial=True,
    )


def _moment(seconds: float | None) -> datetime | None:
    return None if seconds is None else datetime.fromtimestamp(seconds, UTC)


def find_step(session: Session, tool_use_id: str) -> ToolStep | None:
    """One tool call of a session or its subagents, with all that the subagent it started did."""
    for turn in (*session.all_turns, *(turn for run in session.agents for turn in run.turns)):
        for call in turn.tool_calls:
            if call.id == tool_use_id:
                return _tool(call, 0, set())
    return None


def _file_facts(path: Path | None) -> tuple[int, datetime | None]:
    try:
        found = os.stat(path) if path else None  # noqa: PTH116 - one call for both
    except OSError:
        found = None
    return (found.st_size, datetime.fromtimestamp(found.st_mtime, UTC)) if found else (0, None)


def _chunks(turns: Sequence[tuple[int, list[int]]]) -> Iterator[ChunkPage]:
    """Steps of turns, packed by their size; a turn begins a chunk of its own rather than in the last tenth of one."""
    begin: tuple[int, int] | None = None
    size = 0
    end = (0, 0)
    for number, sizes in turns:
        if begin is not None and size > 0.6 * CHUNK:
            yield ChunkPage(*begin, *end, size)
            begin, size = None, 0
        for place, step in enumerate(sizes):
            if begin is not None and size + step > CHUNK:
                yield ChunkPage(*begin, *end, size)
                begin, size = None, 0
            begin = begin or (number, place)
            size += step
            end = (number, place + 1)
    if begin is not None:
        yield ChunkPage(*begin, *end, size)


def _turn_page(turn: Turn, seeds: Sequence[_Seed], begin: int = 0, end: int | None = None) -> TimelineTurn:
    letters = [seed.letter for seed in seeds]
    answer = max((place for place, letter in enumerate(letters) if letter == "t"), default=-1)
    is_final = answer >= 0 and not any(letter in "rbegwxo" for letter in letters[answer + 1 :])
    steps = [seed.make() for seed in seeds[begin:end]]
    if is_final and begin <= answer < begin + len(steps) and isinstance(said := steps[answer - begin], TextStep):
        steps[answer - begin] = TextStep(said.line, said.at, said.text, said.origin, final=True)
    price = turn_price(turn)
    return TimelineTurn(
        number=turn.number,
        kind=turn.kind.value,
        status=turn.status.value,
        line=turn.context.graph.nodes[turn.node].number,
        started=utc(turn.started),
        duration_ms=turn.duration_ms,
        models=tuple(dict.fromkeys(call.model for call in turn.calls if call.model and not call.is_synthetic)),
        tokens=tokens_page(turn.tokens),
        usd=price.usd,
        usd_estimated=price.is_estimated,
        steps=tuple(steps),
        first=begin,
        of=len(seeds),
    )


def _seeds(turn: Turn, depth: int, seen: set[str]) -> list[_Seed]:
    """All steps of a turn in their order; its opening comes first."""
    found: list[_Seed] = []
    for call in turn.calls:
        found += _call_seeds(call, depth, seen)
    for said in turn.interjections:
        found.append(_Seed(said.node, "p", 4, partial(_interjection, turn, said)))
    for compaction in turn.compactions:
        found.append(_Seed(compaction.node, "c", 16, partial(_compaction, turn, compaction)))
    notes = [*note_parts(turn.context, turn.events), *local_output_parts(turn.context, turn.nodes)]
    quiet = [note for _, note in notes if _is_quiet_hook(note)]
    if quiet:
        found.append(_Seed(turn.nodes[-1], "n", 6, partial(_note, turn, turn.nodes[-1], _hooks_note(quiet))))
    for node, note in notes:
        if _is_quiet_hook(note):
            continue
        letter = "i" if note.kind == "interrupt" else "x" if note.urgent else "n"
        found.append(_Seed(node, letter, 4, partial(_note, turn, node, note)))
    model = next((event for event in reversed(turn.events) if event.kind == "model"), None)
    if model is not None:
        found.append(_Seed(turn.node, "n", 4, partial(_note, turn, turn.node, NotePart("model", f"model: {model.what}"))))
    found.sort(key=lambda seed: seed.node)
    if turn.kind is InputKind.NOTIFICATION:
        note = notification_note(turn.opening.text)
        return [_Seed(turn.node, "n", 6, partial(_note, turn, turn.node, note)), *found]
    return [_Seed(turn.node, "p", 6, partial(_prompt, turn)), *found]


def _is_quiet_hook(note: NotePart) -> bool:
    return note.kind == "hook" and not note.urgent


def _hooks_note(notes: Sequence[NotePart]) -> NotePart:
    """All hooks of a turn that simply ran, in one line: there may be several for every tool call."""
    times: dict[str, int] = {}
    for note in notes:
        name = note.line.removeprefix("hook ").partition(" (")[0]
        times[name] = times.get(name, 0) + note.times
    total = sum(times.values())
    if len(times) == 1:
        return NotePart("hook", f"hook {next(iter(times))} ran{f' {total:,} times' if total > 1 else ''}")
    return NotePart("hook", f"{count_of(total, 'hook')} ran", "\n".join(f"{name}: {number:,}" for name, number in times.items()))


def _call_seeds(call: ApiCall, depth: int, seen: set[str]) -> Iterator[_Seed]:
    tools = iter(call.tool_calls)
    origin = "error" if call.is_api_error else "client" if call.is_synthetic else ""
    for node, record in zip(call.nodes, call.records, strict=True):
        content = record.content
        blocks = (TextBlock(text=content),) if isinstance(content, str) else content if isinstance(content, tuple) else ()
        for block in blocks:
            if isinstance(block, ToolUseBlock):
                tool = next(tools)
                letter = "x" if tool.is_error else TICKS[family_of(tool.name)]
                yield _Seed(node, letter, _size_of(tool), partial(_tool, tool, depth, seen))
            elif isinstance(block, TextBlock) and isinstance(block.text, str) and block.text.strip():
                size = 4 + min(200, len(block.text) // 60)
                letter = "x" if origin == "error" else "t"
                yield _Seed(node, letter, size, partial(_text, call, node, block.text, origin))
            elif isinstance(block, ThinkingBlock | RedactedThinkingBlock):
                text = block.thinking if isinstance(block, ThinkingBlock) and isinstance(block.thinking, str) else ""
                yield _Seed(node, "h", 6 + min(60, len(text) // 200), partial(_thought, call, node, text))


def _size_of(tool: ToolCall) -> int:
    """About as many elements as the step takes when it is drawn: changes and failures are open, other results are folded."""
    family = family_of(tool.name)
    if family == "change":
        words = tool.use.input_raw
        return 14 + min(500, len(bytes(words)) // 12 if words else 0)
    if family == "todo":
        return 40
    return 60 if tool.is_error else 14


def _prompt(turn: Turn) -> PromptStep:
    graph = turn.context.graph
    record = graph.records[turn.node]
    content = record.content if isinstance(record, UserRecord) else None
    pictures = tuple(each for each in pictures_in(content if isinstance(content, tuple) else ()) if isinstance(each, Picture))
    return PromptStep(graph.nodes[turn.node].number, utc(turn.started), turn.opening.text, pictures)


def _interjection(turn: Turn, said: Interjection) -> PromptStep:
    graph = turn.context.graph
    return PromptStep(graph.nodes[said.node].number, utc(moment_of(graph, said.node)), said.text, queued=True)


def _compaction(turn: Turn, found: Compaction) -> CompactionStep:
    return CompactionStep(
        line=turn.context.graph.nodes[found.node].number,
        at=utc(found.at),
        trigger=found.trigger,
        tokens_before=found.tokens_before,
        tokens_after=found.tokens_after,
        summary=found.summary,
    )


def _note(turn: Turn, node: int, note: NotePart) -> NoteStep:
    graph = turn.context.graph
    return NoteStep(graph.nodes[node].number, utc(moment_of(graph, node)), note.kind, note.line, note.text, note.urgent)


def _text(call: ApiCall, node: int, text: str, origin: str) -> TextStep:
    graph = call.context.graph
    return TextStep(graph.nodes[node].number, utc(moment_of(graph, node)), text, origin)


def _thought(call: ApiCall, node: int, text: str) -> ThoughtStep:
    graph = call.context.graph
    return ThoughtStep(graph.nodes[node].number, utc(moment_of(graph, node)), text)


def _tool(call: ToolCall, depth: int, seen: set[str]) -> ToolStep:
    run = call.agent
    agent = agent_steps(run, depth=depth + 1, seen=seen) if run else None
    return tool_step(call, agent, is_live=call.context.is_live)


def agent_steps(run: AgentRun, *, depth: int = 0, seen: set[str] | None = None) -> AgentSteps:
    """A subagent's run with its turns; without them where it was shown already, or is nested too deep."""
    seen = set() if seen is None else seen
    above = run.agent_id in seen
    left_out = 0 if above or depth <= DEEPEST else leave_out(run, seen)
    seen.add(run.agent_id)
    shown = () if above or left_out else run.turns
    price = agent_price(run)
    return AgentSteps(
        agent_id=run.agent_id,
        own_file=run.path is not None,
        agent_type=run.agent_type,
        description=run.description,
        background=run.background,
        models=tuple(dict.fromkeys(c.model for turn in run.turns for c in turn.calls if c.model and not c.is_synthetic)),
        duration_ms=run_duration(run),
        tokens=tokens_page(run.tokens),
        usd=price.usd,
        usd_estimated=price.is_estimated,
        turns=tuple(_turn_page(turn, _seeds(turn, depth, seen)) for turn in shown),
        shown_above=above,
        left_out=left_out,
    )


def _parts(session: Session, turns: Sequence[Turn]) -> dict[int, tuple[int, ...]]:
    """What filled the context of each call, by its first line."""
    if len(session.graph.records) > _MOST_RECORDS:
        return {}
    found = context_of(turns, session.compactions, shape_of(session.graph.records))
    return {each.call.nodes[0]: tuple(each.parts[name] for name in PARTS) for each in found}


def _figures(session: Session, turns: Sequence[Turn], cost: Callable[[ApiCall], Spent | None]) -> Iterator[CallFigures]:
    parts = _parts(session, turns)
    for turn in turns:
        for call in turn.calls:
            tokens = call.tokens
            if call.is_synthetic or call.is_api_error or not tokens.total:
                continue
            line = session.graph.nodes[call.nodes[0]].number
            price, filled = price_of(cost(call)), parts.get(call.nodes[0], ())
            yield CallFigures(turn.number, line, call.model, tokens.prompt, tokens.output, price.usd, price.is_estimated, filled)


def _forks(session: Session, shown: Branch) -> Iterator[tuple[int, tuple[BranchOption, ...]]]:
    """The turns of a branch before which others part, with all ways to continue."""
    branches = session.branches[:_MOST_BRANCHES]
    if len(branches) < 2:
        return
    ways: dict[int, list[tuple[int, Branch, Turn]]] = {}
    for number, branch in enumerate(branches, 1):
        previous = -1
        for turn in branch.turns:
            ways.setdefault(previous, []).append((number, branch, turn))
            previous = turn.node
    previous = -1
    for turn in shown.turns:
        by_turn: dict[int, list[tuple[int, Branch, Turn]]] = {}
        for way in ways.get(previous, ()):
            by_turn.setdefault(way[2].node, []).append(way)
        if len(by_turn) > 1:
            yield turn.node, tuple(_option(found, turn, shown) for _, found in sorted(by_turn.items()))
        previous = turn.node


def _option(found: list[tuple[int, Branch, Turn]], turn: Turn, shown: Branch) -> BranchOption:
    chosen = next((way for way in found if way[1] == shown), None) or next((way for way in found if way[1].is_current), found[0])
    number, branch, first = chosen
    follow = len(branch.turns) - next(place for place, each in enumerate(branch.turns) if each.node == first.node)
    return BranchOption(
        branch=number,
        prompt=one_line(first.prompt[: 4 * _SHORT])[:_SHORT],
        turns=follow,
        shown=first.node == turn.node,
        current=any(way[1].is_current for way in found),
    )
