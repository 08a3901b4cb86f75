"""A session -> what happened in it, as figures with the turns behind them: tools, waits, context, cache, what was thrown away.

In: a whole session and prices. Out: plain values, so that they can be kept in the index until the session's files change.
"""

from __future__ import annotations

import bisect
import hashlib
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime, timedelta
from itertools import pairwise

from msgspec import Struct

from stenograph.analysis.context import PARTS, CallContext, FixedShape, Resident, context_of, shape_of
from stenograph.analysis.costs import call_spent, session_spent, sum_spent
from stenograph.analysis.usage import Spent
from stenograph.index import call_key
from stenograph.pricing import Tariff
from stenograph.records import ChainedRecord
from stenograph.turns import ApiCall, CallPart, Compaction, Session, ToolCall, Turn, runs_below

#: A wait for the user that is longer is a break.
BREAK = timedelta(hours=1)
#: Results with as many tokens that stayed for as many calls are kept.
LARGE_RESULT = 2_000
LONG_STAY = 10
# Prompts that are shorter cost next to nothing to cache again.
_LEAST_CACHED = 4_096
_FIVE_MINUTES, _HOUR = timedelta(minutes=5), timedelta(hours=1)
_CHANGING = frozenset({"Edit", "MultiEdit", "Write", "NotebookEdit"})
_FEW = 10


class ToolUseFacts(Struct):
    calls: int = 0
    failed: int = 0
    #: The turns with failed calls, each as often as it had one.
    failed_turns: list[int] = []
    total_ms: int = 0
    slowest_ms: int = 0
    slowest_turn: int = 0


class TurnFacts(Struct):
    number: int
    started: float | None
    status: str
    #: Not on the branch that a client resumes, and not all of its responses are.
    is_rewound: bool
    #: The branch that it is on, from 1; None if that is the one that a client resumes.
    branch: int | None
    #: With its subagents' calls, in picodollars, and how much of it is estimated.
    cost: int
    estimated: int
    unpriced_calls: int
    #: The same for responses that were discarded by a rewind.
    rewound: int
    rewound_estimated: int
    rewound_unpriced_calls: int


class CacheRebuild(Struct):
    """A call that had to write again what the call before had in the cache."""

    turn: int
    at: float | None
    #: Since the call before, in seconds.
    gap: float
    tokens: int
    #: Beyond what reading them from the cache would have cost, in picodollars; None without a price.
    cost: int | None
    #: `break`, `model`, or `other`.
    cause: str


class CompactionFacts(Struct):
    turn: int
    trigger: str
    before: int | None
    after: int | None


class Wait(Struct):
    """`model`, or a tool's name."""

    turn: int
    what: str
    ms: int


class ResidentFacts(Struct):
    """A large tool result that stayed in the context for long."""

    turn: int
    tool: str
    #: A path, a command: the tool's first input.
    target: str
    tokens: int
    calls: int
    #: Of writing it to the cache once and reading it in every later call, in picodollars.
    cost: int
    #: In the session itself and after its last compaction: a client sends it again on resume.
    is_sent: bool


class Reread(Struct):
    """A file that was read again though nothing changed it in between."""

    path: str
    turns: list[int]
    tokens: int
    cost: int


class McpServer(Struct):
    """Tools of an MCP server that every request carried."""

    name: str
    tools: int
    #: Per request.
    tokens: int
    requests: int
    used: int
    cost: int


class RepeatedAgent(Struct):
    """Subagents that were started with the same prompt."""

    description: str
    turns: list[int]
    #: Of all but the first, in picodollars.
    cost: int


class FactSheet(Struct):
    turns: list[TurnFacts]
    tools: dict[str, ToolUseFacts]
    #: Model calls of the session itself and of its subagents, and what they cost, in picodollars.
    calls: int
    agent_calls: int
    cost: int
    agent_cost: int
    #: How much of these is estimated.
    estimated: int
    agent_estimated: int
    unpriced_calls: int
    agent_unpriced_calls: int
    #: The cost and how much of it is estimated, by quarters of an hour since 1970.
    quarters: dict[int, tuple[int, int]]
    #: Sums over the calls of the current branch and of subagents.
    context: dict[str, int]
    context_calls: int
    largest_context: int
    #: Tokens of all prompts, and those that were read from the cache.
    prompt_tokens: int
    cached_tokens: int
    model_ms: int
    tools_ms: int
    user_ms: int
    waits: list[Wait]
    #: Turns in which each happened, as often as it did.
    retries: list[int]
    api_errors: list[int]
    interrupts: list[int]
    compactions: list[CompactionFacts]
    rebuilds: list[CacheRebuild]
    residents: list[ResidentFacts]
    rereads: list[Reread]
    servers: list[McpServer]
    repeated_agents: list[RepeatedAgent]


def session_facts(session: Session, tariff: Tariff, copies: frozenset[int] = frozenset()) -> FactSheet:
    """The facts of a session, without calls that were copied from another one (`copies`, by their keys in the index)."""
    return _Facts(session, tariff, copies).all()


class _Facts:
    def __init__(self, session: Session, tariff: Tariff, copies: frozenset[int]) -> None:
        self._copies = copies
        self._session = session
        self._tariff = tariff
        self._runs = list(runs_below(session.agents))
        # The main turn that started each subagent.
        self._started: dict[str, int] = {}
        for turn in session.all_turns:
            for run in runs_below(turn.agent_runs):
                self._started.setdefault(run.agent_id, turn.number)
        self._shape = shape_of(session.graph.records)
        #: Ids of tool calls that were waited for.
        self._waited: set[str] = set()
        self._residents: list[tuple[Resident, int, str, bool]] = []
        self._rebuilds: list[CacheRebuild] = []

    def all(self) -> FactSheet:
        session = self._session
        main = [(turn, turn.number) for turn in session.all_turns if not self._is_copied(turn)]
        agents = [[(turn, self._started.get(run.agent_id, 0)) for turn in run.turns] for run in self._runs]
        everything = [*main, *(each for chain in agents for each in chain)]
        context, calls, largest, prompts, cached = self._contexts()
        spent = session_spent(session, self._tariff, self._copies)
        own_calls = [call for turn, _ in main for call in self._counted(turn)]
        waits = sorted((wait for chain in (main, *agents) for wait in self._waits(chain)), key=lambda wait: -wait.ms)
        return FactSheet(
            turns=list(self._turns()),
            tools=_tools(everything),
            calls=spent.total.calls,
            agent_calls=spent.agents.calls,
            cost=spent.total.cost,
            agent_cost=spent.agents.cost,
            estimated=spent.total.estimated,
            agent_estimated=spent.agents.estimated,
            unpriced_calls=spent.total.unpriced_calls,
            agent_unpriced_calls=spent.agents.unpriced_calls,
            quarters={at: (each.cost, each.estimated) for at, each in spent.quarters.items() if at is not None},
            context=context,
            context_calls=calls,
            largest_context=largest,
            prompt_tokens=prompts,
            cached_tokens=cached,
            model_ms=sum(wait.ms for wait in waits if wait.what == "model"),
            tools_ms=sum(wait.ms for wait in waits if wait.what != "model"),
            user_ms=_user_ms(session.turns),
            waits=waits[:_FEW],
            retries=_events(everything, "retry"),
            api_errors=_events(everything, "api-error"),
            interrupts=_events(everything, "interrupt"),
            compactions=[
                CompactionFacts(turn.number, each.trigger, each.tokens_before, each.tokens_after)
                for turn, each in _compactions(session)
            ],
            rebuilds=self._rebuilds,
            residents=self._large_residents(),
            rereads=list(self._rereads()),
            servers=list(self._servers(own_calls)),
            repeated_agents=list(self._repeated()),
        )

    def _contexts(self) -> tuple[dict[str, int], int, int, int, int]:
        total, count, largest = dict.fromkeys(PARTS, 0), 0, 0
        prompts = cached = 0
        compactions = [each for turn in self._session.turns for each in turn.compactions]
        compaction = max(compactions, key=lambda each: each.node, default=None)
        chains: list[tuple[Sequence[Turn], int | None, FixedShape | None]] = [(self._session.turns, None, self._shape)]
        chains += [(run.turns, self._started.get(run.agent_id, 0), None) for run in self._runs]
        for turns, started, shape in chains:
            residents: list[Resident] = []
            for each in context_of(turns, self._session.compactions, shape, residents):
                if self._is_copy(each.call):
                    continue
                for part, tokens in each.parts.items():
                    total[part] += tokens
                count += 1
                largest = max(largest, each.prompt)
                prompts += each.prompt
                cached += each.call.tokens.cache_read
                self._note_rebuild(each, each.turn.number if started is None else started)
            model = next((call.model for turn in reversed(turns) for call in reversed(turn.calls) if not call.is_synthetic), "")
            self._residents += [
                (each, each.turn if started is None else started, model, started is None and self._is_sent(each.tool, compaction))
                for each in residents
            ]
        return total, count, largest, prompts, cached

    def _is_sent(self, tool: ToolCall, compaction: Compaction | None) -> bool:
        """Whether clients still send a result of the current branch: after its last compaction, or preserved by it."""
        if compaction is None or tool.result_node > compaction.node:
            return True
        record = self._session.graph.records[tool.result_node]
        return isinstance(record, ChainedRecord) and record.uuid in compaction.preserved

    def _note_rebuild(self, each: CallContext, turn: int) -> None:
        if each.before is None:
            return
        known = min(each.before.tokens.prompt, each.prompt)
        tokens = each.call.tokens
        lost = known - tokens.cache_read
        if known < _LEAST_CACHED or tokens.cache_read * 2 >= known or not tokens.cache_write:
            return
        started, ended = each.call.started, each.before.ended
        gap = max(timedelta(0), started - ended) if started and ended else timedelta(0)
        lifetime = _HOUR if each.before.tokens.cache_write_1h else _FIVE_MINUTES
        cause = "model" if each.call.model != each.before.model else "break" if gap >= lifetime else "other"
        rates = self._tariff.rate(each.call.model, prompt=each.prompt)
        written = 0 if rates is None else rates.cache_write_1h if tokens.cache_write_1h else rates.cache_write_5m
        cost = lost * (written - rates.cache_read) if rates else None
        at = started.timestamp() if started else None
        self._rebuilds.append(CacheRebuild(turn, at, gap.total_seconds(), lost, cost, cause))

    def _turns(self) -> Iterator[TurnFacts]:
        current = {turn.node for turn in self._session.turns}
        branches = self._branches()
        # Clients may write what they keep again: the same responses are then on both branches.
        kept = {call.message_id for turn in self._session.turns for each in _with_agents(turn) for call in each.calls}
        for turn in self._session.all_turns:
            if self._is_copied(turn):
                continue
            calls = [call for each in _with_agents(turn) for call in self._counted(each)]
            left = [] if turn.node in current else calls
            discarded = [call for call in left if not call.message_id or call.message_id not in kept]
            spent, lost = self._spent(calls), self._spent(discarded)
            yield TurnFacts(
                number=turn.number,
                started=turn.started.timestamp() if turn.started else None,
                status=turn.status.value,
                branch=None if turn.node in current else branches.get(turn.node),
                is_rewound=bool(discarded) or (not calls and turn.node not in current),
                cost=spent.cost,
                estimated=spent.estimated,
                unpriced_calls=spent.unpriced_calls,
                rewound=lost.cost,
                rewound_estimated=lost.estimated,
                rewound_unpriced_calls=lost.unpriced_calls,
            )

    def _branches(self) -> dict[int, int]:
        """By the opening of a turn, the first branch that it is on. No way is walked twice: there may be thousands."""
        found: dict[int, int] = {}
        for number, branch in enumerate(self._session.branches, 1):
            node = branch.end
            while node in branch.by_opening and node not in found:
                found[node] = number
                node = branch.by_opening[node].previous
        return found

    def _is_copy(self, call: ApiCall) -> bool:
        return bool(self._copies) and bool(call.message_id) and call_key(call.message_id) in self._copies

    def _is_copied(self, turn: Turn) -> bool:
        """Whether all that answered it was copied from another session."""
        calls = [call for call in turn.calls if not call.is_synthetic]
        return bool(calls) and all(map(self._is_copy, calls))

    def _counted(self, turn: Turn) -> list[ApiCall]:
        whole = [call for call in turn.calls if not call.is_synthetic and call.part is CallPart.WHOLE]
        return [call for call in whole if not self._is_copy(call)]

    def _waits(self, turns: Sequence[tuple[Turn, int]]) -> Iterator[Wait]:
        """Of one conversation. A call that was made later says that nothing before it was waited for any more.

        Old releases may write lines again and give them the time of that: in a public session of 1.0.120 ten responses of
        seconds end hours later, after many others. When these really ended is not known, so they do not count.
        """
        starts = sorted(call.started for turn, _ in turns for call in turn.calls if call.started and not call.is_synthetic)
        for turn, number in turns:
            for call in self._counted(turn):
                following = _first_after(starts, call.started)
                is_known = not (following and call.ended) or call.ended <= following
                yield Wait(number, "model", _between(call.started, call.ended) if is_known else 0)
            for tool in turn.tool_calls:
                is_repeated = bool(tool.id) and tool.id in self._waited
                self._waited.add(tool.id)
                if tool.agent is None and not is_repeated:  # an agent's own calls are waits
                    following = _first_after(starts, tool.started)
                    ended = min(tool.ended, following) if tool.ended and following else tool.ended
                    yield Wait(number, tool.name, _between(tool.started, ended))

    def _spent(self, calls: Iterable[ApiCall]) -> Spent:
        return sum_spent([spent for call in calls if (spent := call_spent(call, self._tariff)) is not None])

    def _staying(self, tokens: int, calls: int, model: str) -> int:
        """Of writing tokens to the cache once and reading them in so many later calls."""
        rates = self._tariff.rate(model)
        return 0 if rates is None else tokens * (rates.cache_write_5m + max(0, calls - 1) * rates.cache_read)

    def _large_residents(self) -> list[ResidentFacts]:
        found = [
            ResidentFacts(
                turn,
                each.tool.name,
                _target(each.tool),
                each.tokens,
                each.calls,
                self._staying(each.tokens, each.calls, model),
                is_sent,
            )
            for each, turn, model, is_sent in self._residents
            if each.tokens >= LARGE_RESULT and each.calls >= LONG_STAY
        ]
        return sorted(found, key=lambda each: -each.cost)

    def _rereads(self) -> Iterator[Reread]:
        """Files whose content came twice: read whole, at the same place, with no change by a tool in between."""
        seen: dict[str, set[str]] = {}
        found: dict[str, Reread] = {}
        for each, turn, model, _ in self._residents:
            tool, path = each.tool, _target(each.tool)
            if tool.name in _CHANGING:
                seen.pop(path, None)
            elif tool.name == "Read" and path and not tool.is_error:
                digest = hashlib.blake2b(tool.result.encode(errors="surrogatepass"), digest_size=16).hexdigest()
                if digest in seen.setdefault(path, set()):
                    reread = found.setdefault(path, Reread(path, [], 0, 0))
                    reread.turns.append(turn)
                    reread.tokens += each.tokens
                    reread.cost += self._staying(each.tokens, each.calls, model)
                seen[path].add(digest)
        yield from sorted(found.values(), key=lambda each: -each.cost)

    def _servers(self, calls: Sequence[ApiCall]) -> Iterator[McpServer]:
        """MCP servers of which a request has the tools, as far as the release records requests."""
        shape = self._shape
        first = next((call.tokens.prompt for call in calls if call.tokens.prompt), 0)
        if shape is None or not shape.total or not first:
            return
        used = {tool.name for call in calls for tool in call.tool_calls}
        used |= {tool.name for run in self._runs for turn in run.turns for tool in turn.tool_calls}
        servers: dict[str, list[str]] = {}
        for name in shape.tools:
            parts = name.split("__")
            if parts[0] == "mcp" and len(parts) > 2:
                servers.setdefault(parts[1], []).append(name)
        fixed = min(first, shape.total)
        for server, tools in servers.items():
            characters = sum(shape.tools[name] for name in tools)
            tokens = fixed * characters // shape.total if first < shape.total else characters // 4
            rates = self._tariff.rate(calls[0].model)
            cost = tokens * len(calls) * rates.cache_read if rates else 0
            yield McpServer(server, len(tools), tokens, len(calls), sum(name in used for name in tools), cost)

    def _repeated(self) -> Iterator[RepeatedAgent]:
        by_prompt: dict[str, list[int]] = {}
        for place, run in enumerate(self._runs):
            if run.prompt and not run.is_warmup:
                by_prompt.setdefault(run.prompt, []).append(place)
        for places in by_prompt.values():
            if len(places) > 1:
                runs = [self._runs[place] for place in places]
                costs = [self._spent(call for turn in run.turns for call in self._counted(turn)).cost for run in runs]
                turns = [self._started.get(run.agent_id, 0) for run in runs]
                yield RepeatedAgent(runs[0].description, sorted(turns), sum(costs) - max(costs))


def _with_agents(turn: Turn) -> list[Turn]:
    return [turn, *(each for run in runs_below(turn.agent_runs) for each in run.turns)]


def _compactions(session: Session) -> Iterator[tuple[Turn, Compaction]]:
    """Compactions of the session itself, each with the turn that it is in or after."""
    turns = sorted(session.all_turns, key=lambda turn: turn.node)
    for each in session.compactions:
        if before := [turn for turn in turns if turn.node < each.node]:
            yield before[-1], each


def _tools(turns: Sequence[tuple[Turn, int]]) -> dict[str, ToolUseFacts]:
    found: dict[str, ToolUseFacts] = {}
    # 1.0 and 2.1.14 wrote a history again into the same file.
    seen: set[str] = set()
    for turn, number in turns:
        for tool in turn.tool_calls:
            if tool.id and tool.id in seen:
                continue
            seen.add(tool.id)
            facts = found.get(tool.name)
            if facts is None:
                facts = found[tool.name] = ToolUseFacts(failed_turns=[])
            facts.calls += 1
            if tool.is_error:
                facts.failed += 1
                facts.failed_turns.append(number)
            ms = _between(tool.started, tool.ended)
            facts.total_ms += ms
            if ms > facts.slowest_ms:
                facts.slowest_ms, facts.slowest_turn = ms, number
    return found


def _user_ms(turns: Sequence[Turn]) -> int:
    total = 0
    for before, turn in pairwise(turns):
        ms = _between(before.ended, turn.started)
        total += ms if ms <= BREAK.total_seconds() * 1000 else 0
    return total


def _first_after(moments: Sequence[datetime], moment: datetime | None) -> datetime | None:
    """The first of sorted moments that is later than one."""
    place = bisect.bisect_right(moments, moment) if moment else len(moments)
    return moments[place] if place < len(moments) else None


def _between(started: datetime | None, ended: datetime | None) -> int:
    return max(0, round((ended - started).total_seconds() * 1000)) if started and ended else 0


def _events(turns: Sequence[tuple[Turn, int]], kind: str) -> list[int]:
    return [number for turn, number in turns for event in turn.events if event.kind == kind]


def _target(tool: ToolCall) -> str:
    for name in ("file_path", "notebook_path", "path", "command", "pattern", "url", "query", "description"):
        if isinstance(value := tool.input.get(name), str):
            return value
    return ""
