"""A session as lines to read: `steno show` as a function."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from stenograph.turns import NO_BRANCH, AgentRun, Branch, Session, Turn
from stenograph.views.masking import Mask, as_is, mask_page
from stenograph.views.pages.transcript import BranchPage
from stenograph.views.pages.turn_parts import agent_part, aside_parts, session_page, turn_page, walk_runs
from stenograph.views.terminal.options import RenderOptions
from stenograph.views.terminal.transcript import (
    render_agent,
    render_branches,
    render_heading,
    render_parts,
    render_turn,
)


def render_session(
    session: Session,
    options: RenderOptions,
    *,
    branch: Branch | None = None,
    wanted: Callable[[Turn], bool] = lambda _: True,
    mask: Mask = as_is,
    title: str = "",
) -> Iterator[str]:
    """The lines of one branch (the current one unless another is given), made turn by turn."""
    options = options.masking(mask)
    shown = branch or next((each for each in session.branches if each.is_current), NO_BRANCH)
    page = mask_page(session_page(session, shown, title=title), mask)
    yield from render_heading(page, options)
    whole = all(wanted(turn) for turn in shown.turns)
    if whole and (notes := aside_parts(session)):
        yield ""
        yield from render_parts([mask_page(note, mask) for note in notes], options)
    branches: dict[int, list[BranchPage]] = {}
    for other in page.others:
        branches.setdefault(other.after, []).append(other)
    if whole:
        yield from render_branches(branches.get(0, ()), options)
    seen: set[str] = set()
    for turn in shown.turns:
        if wanted(turn):
            yield from render_turn(
                mask_page(turn_page(turn, agents=options.agents, whole=options.full, seen=seen), mask), options
            )
            if lines := list(render_branches(branches.get(turn.number, ()), options)):
                yield ""
                yield from lines
    if whole and options.agents:
        for run in stray_agents(session):
            yield from ("", options.paint("· a sub-agent that no tool call here started", 2))
            yield from render_agent(mask_page(agent_part(run, whole=options.full, seen=seen), mask), options)


def stray_agents(session: Session) -> Iterator[AgentRun]:
    """The sub-agents that stand in no turn: nothing tells which tool call started them. Warm-ups are left out."""
    placed: set[str] = set()
    walk_runs((run for turn in session.all_turns for run in turn.agent_runs), placed)
    strays = [run for run in session.agents if run.agent_id not in placed and not run.is_warmup]
    # Those first that nobody started at all: they tell of the runs below them. What is left then is a ring.
    inner = {below.agent_id for run in strays for below in run.agent_runs}
    for run in (*(run for run in strays if run.agent_id not in inner), *(run for run in strays if run.agent_id in inner)):
        if run.agent_id not in placed:
            walk_runs([run], placed)
            yield run
