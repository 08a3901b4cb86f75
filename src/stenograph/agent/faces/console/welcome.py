"""The first lines of a session: what runs where, what was loaded, and the end of what was said before."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stenograph.views import QUIET, count_of, one_line, short_model, short_path, wrap

if TYPE_CHECKING:
    from stenograph.agent.engine import events
    from stenograph.agent.engine.session import Agent
    from stenograph.agent.faces.console.desk import Desk


def welcome(desk: Desk, event: events.SessionBegin) -> None:
    from stenograph.agent.context.git import branch_of

    look = desk.look
    branch = branch_of(desk.options.cwd)
    where = short_path(event.cwd) + (f" on {branch}" if branch else "")
    lines = [look.row(f"steno {desk.version}  {short_model(event.model)}  {where}", codes=QUIET)]
    if desk.agent is not None and (loaded := loaded_words(desk.agent)):
        lines += [look.row(piece, codes=QUIET) for piece in wrap(f"{loaded} loaded", look.columns - 2)]
    desk.painter.lines(lines, "welcome")
    if desk.agent is not None and desk.agent.last_turns:
        from stenograph.agent.faces.console.past import past_lines

        desk.painter.lines(past_lines(desk.agent.last_turns, look, desk.painter.folded), "past")
        desk.agent.last_turns = []  # shown once


def loaded_words(agent: Agent) -> str:
    """What was found in files: `CLAUDE.md, 12 permission rules and 1 MCP server`."""
    from stenograph.agent.permissions.live_policy import Behavior

    rules = sum(len(agent.policy.rules(behavior)) for behavior in Behavior)
    servers = sum(state["status"] == "connected" for state in agent.server_states)
    names = [one_line(name) for name in dict.fromkeys(file.path.name for file in agent.shared.memory.files)]
    names += [count_of(rules, "permission rule")] if rules else []
    names += [count_of(servers, "MCP server")] if servers else []
    return " and ".join(filter(None, (", ".join(names[:-1]), *names[-1:])))
