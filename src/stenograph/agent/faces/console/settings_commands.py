"""Commands about the running session: model, permissions, memory, tasks, cost, status."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from stenograph.agent.faces.console.look import MODES
from stenograph.agent.faces.console.panels import Menu, MenuChoice, TextLine
from stenograph.errors import UsageError
from stenograph.views import QUIET, cut, money, one_line, short_model, short_path, table, thousands, width, wrap

if TYPE_CHECKING:
    from stenograph.agent.engine.session import Agent
    from stenograph.agent.faces.console.desk import Desk

_EFFORTS = ("low", "medium", "high", "xhigh", "max")


def session_of(desk: Desk) -> Agent:
    """Raises UsageError while it is being opened."""
    if desk.agent is None:
        raise UsageError("the session is not open yet")
    return desk.agent


async def model(desk: Desk, name: str) -> None:
    from stenograph.pricing import known_facts

    agent = session_of(desk)
    if not name:
        # Another endpoint may have one model only, whatever it is called.
        shorts = {full: short for short, full in reversed(agent.shared.models.families.items()) if full != agent.model}
        choices = [MenuChoice(agent.model, fact="now", value=agent.model)]
        choices += [MenuChoice(full, fact=short, value=full) for full, short in reversed(shorts.items())]
        choices.append(MenuChoice("Another one", value=""))
        found = await desk.ask(Menu("Model", choices))
        if found is None:
            return
        name = found[0] or (await desk.ask(TextLine("Name of the model, as the endpoint knows it"))) or ""
        if not name:
            return
    agent.set_model(name)
    desk.options.model = name
    words = f"Model: {agent.model}"
    if known_facts(agent.model) is None and agent.model not in agent.shared.options.profiles:
        window = thousands(agent.shared.limits.window_of(agent.model))
        assumed = f"without a price, and with a context window of {window} tokens"
        desk.painter.note(f"unknown model {agent.model}; the endpoint decides whether it exists. It is used {assumed}.")
    desk.painter.lines([desk.look.row(words, codes=QUIET)])


async def effort(desk: Desk, level: str) -> None:
    from stenograph.pricing import known_facts

    agent = session_of(desk)
    options = agent.shared.options
    if not level:
        facts = known_facts(agent.model)
        now = options.effort or (facts.effort if facts is not None else None) or ""
        choices = [MenuChoice(one, fact="now" if one == now else "", value=one) for one in _EFFORTS]
        selected = _EFFORTS.index(now) if now in _EFFORTS else 0
        found = await desk.ask(Menu("Effort", choices, selected=selected))
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
        ("tools", str(len(agent.shared.toolbox.names))),
    ]
    lines: list[str] = []
    for name, value in rows:
        first, *more = wrap(one_line(value), desk.look.columns - 13)
        lines += [f"  {desk.look.paint(name.ljust(10), *QUIET)} {first}", *(f"{'':13}{piece}" for piece in more)]
    desk.painter.lines(lines)


async def cost(desk: Desk, _: str) -> None:
    counts = ("inputTokens", "cacheReadInputTokens", "cacheCreationInputTokens", "outputTokens")
    rows: list[tuple[str, ...]] = [("model", "input", "cache read", "cache write", "output", "cost")]
    for name, line in desk.bill.by_model().items():
        price = line["costBasis"] if line["costBasis"] == "unpriced" else money(line["costUSD"])
        rows.append((short_model(name), *(thousands(line[count]) for count in counts), price))
    lines = [f"  {line}" for line in table(rows, frozenset(range(1, 6)))]
    if max(map(width, lines)) > desk.look.columns:
        # A row for each figure.
        lines = [f"  {line}" for line in table(list(zip(*rows, strict=True)), frozenset(range(1, len(rows))))]
    lines[0] = desk.look.paint(lines[0], *QUIET)
    total = f"  {desk.look.paint(money(desk.bill.usd), 1)} since the console was started."
    desk.painter.lines([*lines, "", total, desk.look.row("All sessions: !steno usage", codes=QUIET)])


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
