"""Commands about the running session: model, permissions, memory, tasks, cost, status."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from stenograph.agent.faces.console.look import MODES
from stenograph.agent.faces.console.panels import Menu, MenuChoice
from stenograph.errors import UsageError
from stenograph.views import QUIET, count_of, cut, money, one_line, short_path, table, thousands

if TYPE_CHECKING:
    from stenograph.agent.engine.session import Agent
    from stenograph.agent.faces.console.desk import Desk

_EFFORTS = ("low", "medium", "high", "xhigh", "max")
_INIT = (
    "Look through this project and write a CLAUDE.md at its root for an engineer who has never seen it: how to build, test and"
    " run it, one test too; how the code is organized, as far as one has to read several files to see it; conventions that are"
    " not obvious. Keep it short, and do not repeat what the files say themselves. If there is a CLAUDE.md, improve it."
)


def session_of(desk: Desk) -> Agent:
    """Raises UsageError while it is being opened."""
    if desk.agent is None:
        raise UsageError("the session is not open yet")
    return desk.agent


async def model(desk: Desk, name: str) -> None:
    agent = session_of(desk)
    if not name:
        families = agent.shared.models.families
        choices = [MenuChoice(short, fact=full, value=short) for short, full in families.items()]
        if agent.model not in families.values():
            choices.insert(0, MenuChoice(agent.model, fact="now", value=agent.model))
        now = next((place for place, one in enumerate(choices) if one.fact == agent.model), 0)
        found = await desk.ask(Menu("Model", choices, selected=now))
        if found is None:
            return
        name = found[0]
    agent.set_model(name)
    desk.painter.lines([desk.look.row(f"Model: {agent.model}", codes=QUIET)])


async def effort(desk: Desk, level: str) -> None:
    options = session_of(desk).shared.options
    if not level:
        found = await desk.ask(Menu("Effort", [MenuChoice(one, value=one) for one in _EFFORTS]))
        if found is None:
            return
        level = found[0]
    if level not in _EFFORTS:
        raise UsageError(f"effort is one of {', '.join(_EFFORTS)}")
    options.effort = desk.options.effort = level
    desk.painter.lines([desk.look.row(f"Effort: {level}", codes=QUIET)])


async def permissions(desk: Desk, rest: str) -> None:
    from stenograph.agent.permissions.live_policy import Behavior, PermissionUpdate, RuleDestination, parse_rules

    policy = session_of(desk).policy
    word, _, rule = rest.partition(" ")
    if word:
        if word not in {one.value for one in Behavior} or not rule:
            raise UsageError("use /permissions allow|ask|deny RULE")
        rules = parse_rules([rule], RuleDestination.SESSION)
        policy.apply(PermissionUpdate(kind="addRules", rules=rules, behavior=Behavior(word)))
    rows = [("", "rule", "from")]
    for behavior in (Behavior.DENY, Behavior.ASK, Behavior.ALLOW):
        rows += [(behavior.value, one_line(one.text), one.source) for one in policy.rules(behavior)]
    lines = [f"  Mode: {MODES[policy.mode.value]}"]
    lines += ["", *(f"  {line}" for line in table(rows))] if len(rows) > 1 else ["  No rules. Reading this directory is allowed."]
    desk.painter.lines([cut(line, desk.look.columns) for line in lines])


async def memory(desk: Desk, _: str) -> None:
    files = session_of(desk).shared.memory.files
    paths = [file.path for file in files if file.path.name.startswith("CLAUDE")]
    for path in (desk.options.cwd / "CLAUDE.md", desk.options.home / "CLAUDE.md"):
        if path not in paths:
            paths.append(path)
    choices = [MenuChoice(short_path(str(path)), fact="" if path.exists() else "new", value=path) for path in paths]
    found = await desk.ask(Menu("Edit memory. Changes apply to new sessions.", choices))
    if found is not None:
        await edit_file(desk, found[0])


async def edit_file(desk: Desk, path: Path) -> None:
    import asyncio
    import shlex

    environ = desk.options.environ
    editor = environ.get("VISUAL") or environ.get("EDITOR") or "vi"

    async def edit() -> int:
        process = await asyncio.create_subprocess_exec(*shlex.split(editor), str(path))
        return await process.wait()

    await desk.screen.aside(edit)


async def remember(desk: Desk, text: str) -> None:
    """`# words`: one more line in a CLAUDE.md."""
    from stenograph.disk import write_user_file

    everywhere = desk.options.home / "CLAUDE.md"
    choices = [
        MenuChoice("This project", fact="CLAUDE.md", value=desk.options.cwd / "CLAUDE.md"),
        MenuChoice("This project, not shared", fact="CLAUDE.local.md", value=desk.options.cwd / "CLAUDE.local.md"),
        MenuChoice("All your projects", fact=short_path(str(everywhere)), value=everywhere),
    ]
    found = await desk.ask(Menu(f"Remember: {one_line(text)}", choices))
    if found is None:
        return
    path: Path = found[0]
    try:
        before = path.read_bytes() if path.exists() else b""
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}") from error
    space = b"" if not before or before.endswith(b"\n") else b"\n"
    write_user_file(path, before + space + f"- {text}\n".encode())
    desk.painter.lines([desk.look.row(f"Added to {short_path(str(path))}", codes=QUIET)])
    desk.tell(f"<system-reminder>\nThe user added to {path.name}: {text}\n</system-reminder>")


async def agents(desk: Desk, _: str) -> None:
    types = session_of(desk).shared.agent_types
    rows = [(name, one_line(str(getattr(kind, "description", "")))) for name, kind in types.items()]
    desk.painter.lines([cut(f"  {line}", desk.look.columns) for line in table(rows)] or ["  No subagent types."])


async def mcp(desk: Desk, _: str) -> None:
    names = [name for name in session_of(desk).shared.toolbox.names if name.startswith("mcp__")]
    by_server: dict[str, list[str]] = {}
    for name in names:
        server, _, tool = name.removeprefix("mcp__").partition("__")
        by_server.setdefault(server, []).append(tool)
    lines = [f"{server}: {', '.join(tools)}" for server, tools in by_server.items()]
    desk.painter.lines([cut(f"  {one_line(line)}", desk.look.columns) for line in lines] or ["  No MCP servers."])


async def hooks(desk: Desk, _: str) -> None:
    found = session_of(desk).shared.options.settings.hooks
    rows = [(hook.event, hook.matcher or "*", one_line(hook.command)) for hook in found]
    desk.painter.lines([cut(f"  {line}", desk.look.columns) for line in table(rows)] or ["  No hooks."])


async def status(desk: Desk, _: str) -> None:
    agent = session_of(desk)
    address = desk.client.endpoint.address
    rows = [
        ("steno", desk.version),
        ("session", agent.session_id),
        ("file", short_path(str(agent.path))),
        ("directory", short_path(str(desk.options.cwd))),
        ("model", agent.model),
        ("mode", MODES[agent.policy.mode.value]),
        ("endpoint", address.host),
        ("memory", ", ".join(short_path(str(file.path)) for file in agent.shared.memory.files) or "none"),
        ("tools", count_of(len(agent.shared.toolbox.names), "tool")),
    ]
    lines = [f"  {desk.look.paint(name.ljust(10), *QUIET)} {one_line(value)}" for name, value in rows]
    desk.painter.lines(lines)


async def cost(desk: Desk, _: str) -> None:
    rows: list[tuple[str, ...]] = [("model", "input", "cache read", "cache write", "output", "cost")]
    for name, line in desk.bill.by_model().items():
        counts = ("inputTokens", "cacheReadInputTokens", "cacheCreationInputTokens", "outputTokens")
        rows.append((one_line(name), *(thousands(line[count]) for count in counts), money(line["costUSD"])))
    lines = [f"  {line}" for line in table(rows, frozenset(range(1, 6)))]
    lines[0] = desk.look.paint(lines[0], *QUIET)
    lines += ["", f"  {desk.look.paint(money(desk.bill.usd), 1)} in this run. steno usage has all sessions."]
    desk.painter.lines([cut(line, desk.look.columns + 12) for line in lines])


async def tasks(desk: Desk, _: str) -> None:
    background = session_of(desk).shared.background
    running = background.running
    if not running:
        desk.painter.lines([desk.look.row("Nothing runs in the background.", codes=QUIET)])
        return
    choices = [MenuChoice(one_line(task.command), fact=task.task_id, value=task) for task in running]
    found = await desk.ask(Menu("In the background", choices, keys="enter output  k stop  esc close", letters="k"))
    if found is None:
        return
    task, key = found
    if key == "k":
        await task.stop()
        desk.painter.lines([desk.look.row(f"Stopped {one_line(task.command)}", codes=QUIET)])
        desk.state.background = len(background.running)
        return
    from stenograph.agent.faces.console.full_screen import Pager
    from stenograph.views import harmless

    lines = harmless(task.output()).split("\n")
    await desk.screen.aside(lambda: Pager(lines, desk.look, one_line(task.command)).run(at_end=True))


async def init(desk: Desk, _: str) -> None:
    desk.send(_INIT)
