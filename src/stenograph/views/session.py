"""A session as lines to read: `steno show` as a function."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from stenograph.turns import AgentRun, Branch, Session, Turn
from stenograph.views.build import agent_part, aside_parts, session_page, turn_page
from stenograph.views.masking import Mask, as_is, mask_page
from stenograph.views.terminal import Look, render_agent, render_branches, render_heading, render_parts, render_turn


def render_session(
    session: Session,
    look: Look,
    *,
    branch: Branch | None = None,
    wanted: Callable[[Turn], bool] = lambda _: True,
    mask: Mask = as_is,
    title: str = "",
) -> Iterator[str]:
    """The lines of one branch (the current one unless another is given), made turn by turn."""
    shown = branch or next((each for each in session.branches if each.is_current), Branch((), is_current=True, shared=0))
    page = mask_page(session_page(session, shown, title=title), mask)
    yield from render_heading(page, look)
    whole = all(wanted(turn) for turn in shown.turns)
    if whole and (notes := aside_parts(session)):
        yield ""
        yield from render_parts([mask_page(note, mask) for note in notes], look)
    if whole:
        yield from render_branches(page, 0, look)
    for turn in shown.turns:
        if wanted(turn):
            yield from render_turn(mask_page(turn_page(turn, agents=look.agents, whole=look.full), mask), look)
            if lines := list(render_branches(page, turn.number, look)):
                yield ""
                yield from lines
    if whole and look.agents:
        for run in stray_agents(session):
            yield from ("", look.paint("· a sub-agent that no tool call here started", 2))
            yield from render_agent(mask_page(agent_part(run, whole=look.full), mask), look)


def stray_agents(session: Session) -> Iterator[AgentRun]:
    """The sub-agents that stand in no turn: nothing tells which tool call started them. Warm-ups are left out."""
    for run in session.agents:
        if run.tool_use_id not in session.context.uses and not run.is_warmup:
            yield run
