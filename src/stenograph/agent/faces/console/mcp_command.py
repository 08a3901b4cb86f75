"""`/mcp`: the MCP servers with their tools, and for those that want OAuth, signing in and out."""

from __future__ import annotations

import asyncio
import contextlib
import threading
import webbrowser
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from stenograph.agent.faces.console.panels import Menu, MenuChoice, TextLine
from stenograph.agent.faces.console.settings_commands import session_of
from stenograph.views import QUIET, count_of, harmless, one_line, wrap

if TYPE_CHECKING:
    from stenograph.agent.engine.session import Agent
    from stenograph.agent.faces.console.desk import Desk

_WAITING = "Waiting for the browser. If its last page does not load, paste the address of that page here."
#: Browsers that would draw over the console.
_IN_TERMINAL = frozenset({"www-browser", "links", "elinks", "lynx", "w3m"})


async def mcp(desk: Desk, _: str) -> None:
    agent = session_of(desk)
    _list(desk, agent)
    choices = [
        MenuChoice(f"Authenticate {one_line(name)}", fact="opens the browser", value=(_sign_in, name))
        for name in agent.servers_to_log_in
    ]
    choices += [
        MenuChoice(f"Sign out of {one_line(name)}", fact="deletes its tokens", value=(_sign_out, name))
        for name in agent.servers_logged_in
    ]
    if not choices:
        return
    found = await desk.ask(Menu("MCP servers", choices))
    if found is not None:
        run, name = found[0]
        await run(desk, agent, name)


def _list(desk: Desk, agent: Agent) -> None:
    """Every server, also one that failed, with its tools or with why."""
    tools = _tools_by_server(agent)
    lines = []
    for state in agent.server_states:
        name = str(state["name"])
        own = tools.get(name, ())
        about = {"connected": ", ".join(own) or "no tools", "needs-auth": "needs authentication"}
        lines.append(f"{name}: {about.get(state['status'], state['status'])}")
    lines += agent.server_problems
    pieces = [piece for line in lines for piece in wrap(one_line(line), desk.look.columns - 2)]
    desk.painter.lines([f"  {piece}" for piece in pieces] or ["  No MCP servers."])


def _tools_by_server(agent: Agent) -> dict[str, list[str]]:
    from stenograph.agent.mcp.servers import plain_name

    tools: dict[str, list[str]] = {}
    for tool in agent.shared.toolbox.tools:
        if tool.server:
            tools.setdefault(tool.server, []).append(tool.name.removeprefix(f"mcp__{plain_name(tool.server)}__"))
    return tools


async def _sign_in(desk: Desk, agent: Agent, name: str) -> None:
    """Until the browser is back, or the person gives up."""
    asking: asyncio.Task[None] | None = None

    async def show(address: str, take: Callable[[str], bool]) -> None:
        nonlocal asking
        # A line of its own, however long: terminals copy it as one.
        desk.painter.lines(["  Allow access in your browser. If it does not open, go to", "", harmless(address)])
        asking = asyncio.create_task(_ask_for_address(desk, take, login.cancel))
        # Some browsers return only when they are closed.
        threading.Thread(target=_open_browser, args=(address,), daemon=True).start()

    login = asyncio.create_task(agent.log_in_to_server(name, show))
    try:
        await asyncio.wait([login])
    finally:
        for task in (login, asking):
            if task is not None:
                task.cancel()
    if login.cancelled():
        desk.painter.lines([desk.look.row(f"Not authenticated: {one_line(name)}", codes=QUIET)])
        return
    await login
    tools = count_of(len(_tools_by_server(agent).get(name, ())), "tool")
    desk.painter.lines([desk.look.row(f"Authenticated {one_line(name)}: {tools}", codes=QUIET)])


async def _ask_for_address(desk: Desk, take: Callable[[str], bool], give_up: Callable[[], object]) -> None:
    title = f"{_WAITING} An empty line cancels." if desk.is_plain else _WAITING
    while (address := await desk.ask(TextLine(title))) or (address is not None and not desk.is_plain):
        if take(address):
            return
        if address:
            desk.painter.note("this is not the address of the last page")
    give_up()


def _open_browser(address: str) -> None:
    """Where there is one: the address is shown anyway."""
    with contextlib.suppress(webbrowser.Error, OSError):
        browser = webbrowser.get()
        if Path(str(getattr(browser, "name", ""))).name not in _IN_TERMINAL:
            browser.open_new_tab(address)


async def _sign_out(desk: Desk, agent: Agent, name: str) -> None:
    await agent.log_out_of_server(name)
    desk.painter.lines([desk.look.row(f"Signed out of {one_line(name)}", codes=QUIET)])
