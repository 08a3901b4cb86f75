"""Where the lines of one turn are -> the turn, without a look at the rest of the file.

`TurnReader` makes the places, and whoever keeps them can open any turn of a session of any size.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec
from msgspec import Struct

from stenograph.disk import read_slice
from stenograph.graph import build_graph
from stenograph.inputs import Input, InputKind
from stenograph.records import Located, locate
from stenograph.turns.agent_files import AgentFiles, TimeSpan
from stenograph.turns.assemble import split_conversations
from stenograph.turns.context import read_context
from stenograph.turns.model import AgentRun, Turn
from stenograph.turns.session import link_agents

# Kinds of input by number, from 1; 0 is a line that is none.
_KINDS = tuple(InputKind)
KIND_NUMBERS = {kind: number for number, kind in enumerate(_KINDS, 1)}


class TurnLines(Struct, frozen=True, array_like=True):
    """The lines of a turn, and what only the rest of the file says about them."""

    number: int
    #: Where whole lines begin and end, and the number of the first of them.
    ranges: tuple[tuple[int, int, int], ...]
    #: Of all these lines, from 0: the one that the turn begins with, and the one with its prompt, -1 where there is none.
    node: int
    opener: int
    #: What each line is as an input: a key of `KIND_NUMBERS`, or 0.
    kinds: bytes
    #: When it began and ended.
    span: TimeSpan
    #: Its conversation continued after its last line.
    is_left: bool = False
    #: Lines that are not its own: subagents inside the file, the beginning of a response, late results.
    others: tuple[int, ...] = ()
    #: Where the model or the permission mode changes.
    changes: tuple[tuple[int, str, str], ...] = ()
    #: The time of the last line that was said before it on its chain, as written; None where it is the first turn.
    said_before: str | None = None


def read_turn(
    path: Path, lines: TurnLines, agents: AgentFiles | None = None, spilled: Iterable[Path] = ()
) -> tuple[Turn, tuple[AgentRun, ...]]:
    """A turn over a graph of its own lines, those it shares with other turns and its subagents'; and subagents that began in it,
    started by nothing known. Raises UnreadableError."""
    own = list(locate_lines(path, lines))
    found = agents.of(own, lines.span) if agents else []
    graph = build_graph([(path, "", own), *found])
    context = read_context(graph, spilled)
    for place, kind in enumerate(lines.kinds):
        if kind and context.inputs[place].kind is not _KINDS[kind - 1]:
            context.inputs[place] = msgspec.structs.replace(context.inputs[place], kind=_KINDS[kind - 1])
    context.__dict__["changes"] = {place: (what, name) for place, what, name in lines.changes}
    others = set(lines.others)
    turn = Turn(
        number=lines.number,
        opening=context.inputs[lines.opener] if lines.opener >= 0 else Input(InputKind.EMPTY, ""),
        node=lines.node,
        nodes=tuple(place for place in range(len(own)) if place not in others),
        context=context,
        is_left=lines.is_left,
    )
    unlinked = link_agents(context, split_conversations(graph)[1], agents.metas if agents else {})
    return turn, tuple(run for run in unlinked if not run.tool_use_id and run.turns)


def locate_lines(path: Path, lines: TurnLines) -> Iterator[Located]:
    """The lines themselves. Raises UnreadableError."""
    for begin, end, number in lines.ranges:
        data = memoryview(text := read_slice(path, begin, end - 1))
        start = 0
        while start <= len(text):
            stop = text.find(b"\n", start)
            stop = len(text) if stop < 0 else stop
            yield locate(path, data[start:stop], number, begin + start, True)
            start, number = stop + 1, number + 1
