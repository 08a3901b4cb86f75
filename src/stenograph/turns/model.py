"""Turns, agent runs, branches and the session: frozen values, computed when first asked for."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime
from pathlib import Path

from msgspec import Struct

from stenograph.disk import Finding, redacted_repr
from stenograph.family import Family
from stenograph.graph import Graph
from stenograph.inputs import Input, InputKind, Status
from stenograph.records import ChainedRecord, find_invalid_text, once
from stenograph.turns import contents
from stenograph.turns.context import Context
from stenograph.turns.values import (
    ApiCall,
    CallPart,
    Compaction,
    Event,
    Interjection,
    Tokens,
    ToolCall,
    moment_of,
    sum_tokens,
)


class Turn(Struct, frozen=True, dict=True):
    """A prompt, or a background task's report, and everything that answers it."""

    # Its position in its chain, from 1; the same in every file that the chain was copied to.
    number: int
    opening: Input
    # The node that opened it. For a turn split off from another one: its own first node.
    node: int
    nodes: tuple[int, ...]
    context: Context
    # The node of the previous turn on its chain; -1 for the first.
    previous: int = -1
    # For the abandoned part of another turn, with the same opening: that turn's node; otherwise -1.
    parted_from: int = -1
    # The conversation continued after its last line, so a missing answer will never come.
    is_left: bool = False

    def __repr__(self) -> str:
        return f"<Turn {self.number}: {_count(self.calls, 'call')}, {_count(self.tool_calls, 'tool call')}>"

    @once
    def calls(self) -> tuple[ApiCall, ...]:
        return contents.calls_of(self.context, self.nodes)

    @once
    def interjections(self) -> tuple[Interjection, ...]:
        """Queued prompts that reached the model in the middle of the turn."""
        return tuple(contents.interjections_of(self.context, self.nodes))

    @once
    def compactions(self) -> tuple[Compaction, ...]:
        """Those after its opening."""
        return tuple(contents.compactions_of(self.context, self.nodes))

    @once
    def events(self) -> tuple[Event, ...]:
        """Hooks, retries, interrupts, local commands."""
        return tuple(contents.events_of(self.context, self.nodes, self.node))

    @once
    def _ending(self) -> Status | None:
        ending = contents.ending_of(self.context, self.node, self.nodes, self.calls)
        return Status.INTERRUPTED if ending is None and self.is_left else ending

    @property
    def is_over(self) -> bool:
        """Whether its lines say that it has ended."""
        return self._ending is not None

    @property
    def status(self) -> Status:
        """A turn without an end is running while its file is being written to, and interrupted otherwise."""
        return self._ending or (Status.RUNNING if self.context.is_live else Status.INTERRUPTED)

    @property
    def prompt(self) -> str:
        return self.opening.text

    @property
    def kind(self) -> InputKind:
        return self.opening.kind

    @property
    def is_human(self) -> bool:
        """Whether a person opened it: by a prompt, a command or shell input."""
        return self.opening.is_human or self.kind in (InputKind.COMMAND, InputKind.BASH)

    @property
    def uuid(self) -> str:
        record = self.context.graph.records[self.node]
        return (record.uuid or "") if isinstance(record, ChainedRecord) else ""

    @property
    def answer(self) -> str:
        """The model's last text, without a client's own messages."""
        return next((text for call in reversed(self.calls) if (text := call.text) and not call.is_synthetic), "")

    @property
    def tool_calls(self) -> tuple[ToolCall, ...]:
        """Of all its calls, in order."""
        return tuple(tool for call in self.calls for tool in call.tool_calls)

    @property
    def agent_runs(self) -> tuple[AgentRun, ...]:
        """The subagents that its tool calls started."""
        return tuple(tool.agent for tool in self.tool_calls if tool.agent)

    @property
    def tokens(self) -> Tokens:
        """Of its own calls, without subagents."""
        return sum_tokens(call.tokens for call in self.calls)

    @property
    def started(self) -> datetime | None:
        return moment_of(self.context.graph, self.node)

    @property
    def ended(self) -> datetime | None:
        """The latest time of its prompts, answers and results. Not simply its last line's: the clock can step back, and local
        commands and notes can follow."""
        return max(
            (at for node in contents.said_in(self.context, self.nodes) if (at := moment_of(self.context.graph, node))),
            default=None,
        )

    @property
    def duration_ms(self) -> int | None:
        """As measured by the client (since 2.1.1), or else from the first line to the last.

        The client leaves out the time it waited for the user. With a workflow in the background it counts from the turn that
        started it, so that the sum is more than has passed: then what has passed counts.
        """
        measured = [event for event in self.events if event.kind == "turn-duration"]
        if not measured:
            return _passed(self.started, self.ended)
        total = sum(int(float(event.what)) for event in measured)
        passed = _passed(self.started, measured[-1].at)
        return total if passed is None or total <= passed + _CLOCK_SLACK_MS else passed


#: The client measures by another clock than the one of its lines.
_CLOCK_SLACK_MS = 1000


def _passed(started: datetime | None, ended: datetime | None) -> int | None:
    return max(0, round((ended - started).total_seconds() * 1000)) if started and ended else None


class AgentRun(Struct, frozen=True, dict=True):
    """A subagent's work: its own turns, and the tool call that started it."""

    agent_id: str
    turns: tuple[Turn, ...]
    path: Path | None = None
    # From `.meta.json`, the result, or the tool's input.
    agent_type: str = ""
    description: str = ""
    # The tool use that started it. `evidence` says how that is known: `meta`, `result`, `progress`, `prompt`.
    tool_use_id: str = ""
    evidence: str = ""
    background: bool = False
    # Whether it is only the warm-up that 2.0.x leaves behind.
    is_warmup: bool = False

    # The prompt in the tool's input; agents of 2.0.42 to 2.0.55 do not repeat it in their file.
    asked: str = ""

    def __repr__(self) -> str:
        return f"<AgentRun: {_count(self.turns, 'turn')}>"

    @property
    def prompt(self) -> str:
        return (self.turns[0].prompt if self.turns else "") or self.asked

    @property
    def answer(self) -> str:
        return next((turn.answer for turn in reversed(self.turns) if turn.answer), "")

    @property
    def tokens(self) -> Tokens:
        """Of its own calls, without the agents that it started."""
        return sum_tokens(turn.tokens for turn in self.turns)

    @property
    def agent_runs(self) -> tuple[AgentRun, ...]:
        return tuple(run for turn in self.turns for run in turn.agent_runs)


def runs_below(runs: Iterable[AgentRun], seen: set[str] | None = None) -> Iterator[AgentRun]:
    """Subagents and those that they started, each once, though a file may say that one started itself.

    Those in `seen` are skipped with all below them; the others are added to it.
    """
    waiting = list(runs)
    seen = set() if seen is None else seen
    while waiting:
        run = waiting.pop()
        if run.agent_id not in seen:
            seen.add(run.agent_id)
            yield run
            waiting += run.agent_runs


@redacted_repr
class Branch(Struct, frozen=True, dict=True):
    """One way through the conversation, from its first turn to its last."""

    # The opening of its last turn.
    end: int
    # The one that a client resumes.
    is_current: bool
    # The number of the last turn that it shares with the current branch; 0 for none.
    shared: int
    # Every turn by its opening. Ways are walked when asked for: thousands of them would fill the memory.
    by_opening: dict[int, Turn]

    @once
    def turns(self) -> tuple[Turn, ...]:
        way = []
        node = self.end
        while node in self.by_opening:
            way.append(self.by_opening[node])
            node = self.by_opening[node].previous
        return tuple(reversed(way))


NO_BRANCH = Branch(-1, True, 0, {})


class SessionLink(Struct, frozen=True):
    """Another session that this one continues, and how that is known."""

    session_id: str
    # `first-line`, `copied-records` (forks by 2.0 and 2.1.45 keep the old id on copies), or `session_id`.
    evidence: str


class Session(Struct, frozen=True, dict=True):
    """A whole session: `turns` is the branch that a client would resume, `branches` has all of them."""

    id: str
    graph: Graph
    context: Context
    # Of every branch, each once, in file order.
    all_turns: tuple[Turn, ...]
    branches: tuple[Branch, ...]
    agents: tuple[AgentRun, ...]
    family: Family | None = None
    # As lists of sessions show it; None if unknown or not loaded from a file.
    title: str | None = None

    def __repr__(self) -> str:
        release = self.release if self.release and self.release.replace(".", "").isdecimal() else "unknown release"
        return f"<Session {self.id[:8]}: {_count(self.turns, 'turn')}, {release}>"

    @once
    def release(self) -> str | None:
        """The last release that wrote a line of its own file."""
        return next((record.version for record in reversed(self._own) if isinstance(record.version, str)), None)

    @once
    def cwd(self) -> str | None:
        """The directory in which it began."""
        return next((record.cwd for record in self._own if isinstance(record.cwd, str)), None)

    @once
    def model(self) -> str | None:
        """The model of the current branch's last call."""
        calls = (call for turn in reversed(self.turns) for call in reversed(turn.calls))
        return next((call.model for call in calls if call.model and not call.is_synthetic), None)

    @property
    def _own(self) -> list[ChainedRecord]:
        records = self.graph.records[: self.graph.files[0].last] if self.graph.files else []
        return [record for record in records if isinstance(record, ChainedRecord)]

    @once
    def findings(self) -> tuple[Finding, ...]:
        """Everything that is wrong in the files, in the links between lines, and between tool uses and results."""
        damaged_family = self.family.findings if self.family else ()
        texts = [
            finding
            for file in self.graph.files
            for finding in find_invalid_text(file.path, self.graph.nodes[file.first : file.last])
        ]
        return (*self.graph.findings, *texts, *damaged_family, *contents.unpaired(self.context))

    @once
    def events(self) -> tuple[Event, ...]:
        """Events outside any turn: start-up hooks, local commands before the first prompt."""
        inside = {node for turn in self.all_turns for node in turn.nodes}
        outside = (node for node in range(self.graph.files[0].last) if node not in inside) if self.graph.files else ()
        return tuple(contents.events_of(self.context, outside))

    @once
    def compactions(self) -> tuple[Compaction, ...]:
        """Of every branch, in file order."""
        return tuple(contents.compactions_of(self.context, range(len(self.graph.records))))

    @once
    def continues(self) -> tuple[SessionLink, ...]:
        """The sessions that this one continues."""
        return tuple(SessionLink(other, how) for other, how in contents.links_of(self.context, self.id))

    @property
    def turns(self) -> tuple[Turn, ...]:
        return next((branch.turns for branch in self.branches if branch.is_current), ())

    @property
    def calls(self) -> tuple[ApiCall, ...]:
        return tuple(call for turn in self.all_turns for call in turn.calls)

    @property
    def tool_calls(self) -> tuple[ToolCall, ...]:
        return tuple(tool for turn in self.all_turns for tool in turn.tool_calls)

    @property
    def tokens(self) -> Tokens:
        """Of every branch and subagent: everything that was paid for, counted once; so without interrupted responses."""
        turns = (*self.all_turns, *(turn for run in self.agents for turn in run.turns))
        return sum_tokens(call.tokens for turn in turns for call in turn.calls if not call.is_interrupted)

    @property
    def path(self) -> Path | None:
        return self.graph.files[0].path if self.graph.files else None


def _count(things: tuple[object, ...], name: str) -> str:
    return f"{len(things)} {name}{'' if len(things) == 1 else 's'}"


def tokens_of_all(sessions: Iterable[Session]) -> Tokens:
    """What several sessions cost together: a response that a resume or fork copied into another file counts once."""
    seen: set[str] = set()
    total = Tokens()
    for session in sessions:
        for turn in (*session.all_turns, *(turn for run in session.agents for turn in run.turns)):
            for call in turn.calls:
                if call.message_id not in seen and not call.is_interrupted:
                    total += call.tokens
                    if call.message_id and call.part is CallPart.WHOLE:
                        seen.add(call.message_id)
    return total
