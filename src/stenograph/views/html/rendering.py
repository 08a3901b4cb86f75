"""What the templates call: the parts of a step, its address, figures and times; and the environment that knows them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from functools import cache
from typing import Any, Protocol
from urllib.parse import quote, urlsplit

from jinja2 import Environment, PackageLoader, StrictUndefined, pass_context
from jinja2.filters import do_urlencode
from jinja2.runtime import Context
from markupsafe import Markup, escape

from stenograph.views.html import charts, code
from stenograph.views.html.context import PageContext
from stenograph.views.html.markup import markdown_html, text_html, with_secrets
from stenograph.views.pages.files import FilePage
from stenograph.views.pages.timeline import AgentSteps, TimelinePage, ToolStep
from stenograph.views.text import (
    count_of,
    duration,
    harmless,
    money,
    one_line,
    percent,
    quoted,
    short_model,
    short_path,
    size,
    thousands,
    time_taken,
    will_delete,
)

#: Steps of one turn of a subagent that are drawn at once.
_MOST_NESTED = 120
# What is drawn at once below a step; more is fetched when it is opened.
_SMALL_AGENT = 14
ICONS = {
    "read": "read", "search": "find", "shell": "term", "change": "edit", "web": "web", "todo": "todo", "question": "ask",
    "plan": "plan", "agent": "agent", "skill": "list", "other": "tool",
}  # fmt: skip
_NAMES = {
    "TodoWrite": "Todo", "AskUserQuestion": "Question", "ExitPlanMode": "Plan", "EnterPlanMode": "Plan mode", "Task": "Agent",
}  # fmt: skip


def address_part(text: str) -> str:
    """As it is in an address. Names of files and ids in lines may hold half a surrogate pair, which no address can."""
    return quote(text, safe="", errors="replace")


class StepPlace:
    """Where steps are: their session's address, and the subagent whose file their lines are in."""

    def __init__(
        self, root: str, session: str, *, branch: int = 0, agent: str = "", depth: int = 0, full: bool = False, most: int = 0
    ) -> None:
        self.id = session
        self.root = root
        self.base = f"{root}/s/{address_part(session)}"
        #: The branch that is shown; 0 for the current one.
        self.shown = branch
        self.query = f"branch={branch}" if branch else ""
        self.agent = agent
        self.depth = depth
        self.full = full
        self.most = most or _MOST_NESTED

    def raw(self, line: int) -> str:
        return f"{self.base}/raw/{line}" + (f"?agent={address_part(self.agent)}" if self.agent else "")

    def step(self, tool: str, full: bool = False) -> str:
        return f"{self.base}/steps/{address_part(tool)}" + ("?full=1" if full else "")

    def turn(self, number: int) -> str:
        return f"{self.base}?{self.query + '&' if self.query else ''}turn={number}#turn-{number}"

    def line(self, number: int, line: int) -> str:
        """Where a line of the session's own file is shown, in its turn."""
        return f"{self.base}?{self.query + '&' if self.query else ''}turn={number}&line={line}#line-{line}"

    def chunk(self, number: int) -> str:
        return f"{self.base}?{self.query + '&' if self.query else ''}chunk={number}"

    def branch(self, branch: int, turn: int) -> str:
        return f"{self.base}?branch={branch}&turn={turn}#turn-{turn}"

    def inside(self, run: AgentSteps) -> StepPlace:
        inner = StepPlace(
            self.root, self.id, agent=run.agent_id if run.own_file else self.agent, depth=self.depth + 1, full=self.full
        )
        inner.query, inner.shown = self.query, self.shown
        return inner


class View:
    """A step or a body with its form, which a template asks for; its other members are its own."""

    def __init__(self, value: Any) -> None:
        self.form = str(value.__struct_config__.tag)
        self._value = value

    def __getattr__(self, name: str) -> Any:
        return getattr(self._value, name)

    @property
    def bodies(self) -> list[View]:
        return [View(body) for body in self._value.bodies]

    @property
    def items(self) -> Any:
        return self._value.items


def is_open(item: View, place: StepPlace) -> bool:
    """Changes, failures, what runs, short lists and small subagents are open."""
    if item.agent:
        return (_weight(item.agent) <= _SMALL_AGENT and place.depth < 2) or place.full
    return (
        item.family in ("change", "todo", "question")
        or item.status in ("failed", "running", "interrupted")
        or any(body.form in ("picture", "links") for body in item.bodies)
    ) and bool(item.bodies)


def is_lazy(item: View, place: StepPlace) -> bool:
    """What is folded and long is fetched when it is opened."""
    if is_open(item, place) or place.full:
        return False
    if item.agent:
        return not item.agent.shown_above
    return any(_length(body) > 12 for body in item.bodies)


def _length(body: View) -> int:
    text = getattr(body._value, "text", None)
    if isinstance(text, str):
        return max(text.count("\n") + 1, len(text) // 100)
    return 3 if body.form in ("fact", "checklist") else 13


def _weight(run: AgentSteps) -> int:
    own = sum(len(turn.steps) for turn in run.turns)
    return own + sum(
        _weight(step.agent) for turn in run.turns for step in turn.steps if isinstance(step, ToolStep) and step.agent
    )


def name_of(item: View) -> str:
    return _NAMES.get(str(item.name)) or tool_name(str(item.name))


def tool_name(name: str) -> str:
    """A tool by its own name; one of an MCP server with the server before it."""
    if name.startswith("mcp__"):
        return harmless(" · ".join(part for part in name[5:].split("__") if part))
    return harmless(name) or "Tool"


def agent_facts(run: AgentSteps) -> str:
    steps = sum(isinstance(step, ToolStep) for turn in run.turns for step in turn.steps)
    facts = [
        run.agent_type,
        *map(short_model, run.models[:1]),
        "background" if run.background else "",
        count_of(steps, "step") if steps else "",
    ]
    return " · ".join(fact for fact in facts if fact)


@pass_context
def command(values: Context, verb: str, session: str, *more: str, place: StepPlace | None = None, turn: int = 0) -> str:
    """A command about a session, or about a turn of the branch that a place is on."""
    context: PageContext = values["context"]
    short = session[:8] if re.fullmatch(r"[0-9a-f]{8}-.*", session) else session
    branch = ["--branch", str(place.shown)] if place and place.shown else []
    upto = ["--turn", str(turn), *branch] if turn else []
    if verb == "resume" and turn:
        return context.command("clone", short, *upto, "--resume")
    return context.command(*verb.split(), short, *more, *upto)


class Priced(Protocol):
    """What has a cost: a session, a turn, a subagent."""

    @property
    def usd(self) -> float | None: ...
    @property
    def usd_estimated(self) -> bool: ...


def cost(item: Priced) -> str:
    """What something cost, marked as in a terminal; empty if that is not known."""
    if item.usd is None and getattr(item, "usd_unpriced", False):
        return "unpriced"
    return money(item.usd, estimated=item.usd_estimated)


def cost_note(page: TimelinePage) -> str:
    usd, client, unpriced = page.usd, page.client_usd, page.unpriced
    if usd is None:
        return f"Without a price: {', '.join(unpriced)}" if unpriced else "No call recorded its usage."
    known = "partly estimated: an old release did not record all output" if page.usd_estimated else "by recorded usage"
    parts = [f"{cost(page)} {known}"]
    if copied := page.session.copied_usd:
        parts.append(f"{money(copied)} more for calls copied from another session, where they count")
    if client is not None:
        parts.append("as Claude Code reports" if abs(client - usd) < 0.005 else f"Claude Code reports {money(client)}")
    if unpriced:
        parts.append(f"without a price: {', '.join(unpriced)}")
    return "; ".join(parts)


def safe_link(url: str, title: str) -> Markup:
    """A link to what a browser may open, else its text."""
    if url.startswith(("http://", "https://")):
        return Markup('<a href="{}" rel="noopener noreferrer">{}</a>').format(url, harmless(title))
    return escape(harmless(title))


def host_of(url: str) -> str:
    try:
        return harmless(urlsplit(url).hostname or "")
    except ValueError:
        return ""


def tree_html(value: Any, depth: int = 0) -> Markup:
    """JSON as a tidy tree."""
    if isinstance(value, dict) and value and depth < 8:
        rows = Markup("").join(
            Markup("<dt>{}</dt><dd>{}</dd>").format(one_line(str(name)), tree_html(each, depth + 1))
            for name, each in list(value.items())[:100]
        )
        return Markup("<dl>") + rows + Markup("</dl>")
    if isinstance(value, list) and value and depth < 8:
        if all(not isinstance(each, dict | list) for each in value) and len(value) <= 12:
            return Markup(", ").join(_leaf(each) for each in value)
        rows = Markup("").join(
            Markup("<dt>{}</dt><dd>{}</dd>").format(number, tree_html(each, depth + 1))
            for number, each in enumerate(value[:100], 1)
        )
        return Markup("<dl>") + rows + Markup("</dl>")
    return _leaf(value)


def _leaf(value: Any) -> Markup:
    if isinstance(value, str):
        return Markup('<span class="s" dir="auto">{}</span>').format(text_html(value[:4000]))
    if value is None or isinstance(value, bool):
        return Markup('<span class="k">{}</span>').format({None: "null", True: "true", False: "false"}[value])
    if isinstance(value, int | float):
        return Markup('<span class="m">{}</span>').format(value)
    return escape("[]" if isinstance(value, list) else "{}" if not value else "…")


def _terminal(text: str, most: int) -> tuple[Markup, int]:
    """Head and tail of a long output."""
    lines = text.rstrip("\n").split("\n")
    if not most or (len(lines) <= most + 10 and len(text) <= 8000):
        return with_secrets(code.terminal_html(text.rstrip("\n"))), 0
    head, tail = lines[: most * 3 // 4], lines[-(most // 4) :] if len(lines) > most else []
    cut = [line[:600] + "…" if len(line) > 600 else line for line in head]
    end = [line[:600] + "…" if len(line) > 600 else line for line in tail]
    left_out = max(0, len(lines) - len(head) - len(tail))
    html = code.terminal_html("\n".join(cut))
    if end:
        html += Markup('\n<span class="gap"></span>\n') + code.terminal_html("\n".join(end))
    return with_secrets(html), left_out or 1


def _listing(text: str, path: str, start: int, most: int) -> tuple[Markup, int]:
    html, left_out = code.listing_html(text, path, start, head=most)
    return with_secrets(html), left_out


def _patch(lines: Sequence[str], path: str, most: int) -> tuple[Markup, int]:
    html, left_out = code.patch_html(lines, path, most=most)
    return with_secrets(html), left_out


def blamed_patch(file: FilePage, place: StepPlace, most: int) -> tuple[Markup, int]:
    """A net difference with the turn that wrote each added line; named where another turn begins."""
    spans = {line: span.turn for span in file.written for line in range(span.first, span.last + 1)}
    last = [0, 0]

    def by(line: int) -> str:
        turn = spans.get(line, 0)
        is_same = last == [turn, line - 1]
        last[:] = [turn, line]
        if is_same or not turn:
            return ""
        return Markup('<a class="by" href="{}" title="Written in turn {}">t{}</a>').format(place.turn(turn), turn, turn)

    html, left_out = code.patch_html((file.diff or ())[2:], file.path, most=most, by=by)
    return with_secrets(html), left_out


def _matches(text: str, most: int) -> tuple[Markup, int]:
    html, left_out = code.matches_html(text, most=most)
    return with_secrets(html), left_out


def local(moment: datetime) -> datetime:
    try:
        return moment.astimezone()
    except (ValueError, OverflowError, OSError):
        return moment


def clock(moment: datetime) -> str:
    return local(moment).strftime("%H:%M")


def day_and_time(moment: datetime, context: PageContext) -> str:
    """`14:05` today, `Sat 16:40` within six days, `12 Oct`, `2025-10-12`."""
    here, now = local(moment), local(context.now)
    if here.date() == now.date():
        return here.strftime("%H:%M")
    if timedelta(0) <= now - here < timedelta(days=6):
        return here.strftime("%a %H:%M")
    return f"{here.day} {here.strftime('%b')}" if here.year == now.year else here.strftime("%Y-%m-%d")


def long_moment(moment: datetime) -> str:
    here = local(moment)
    return f"{here.day} {here.strftime('%b %Y, %H:%M')}"


def ago(moment: datetime, context: PageContext) -> str:
    """How long something has been going on: `41 s`."""
    passed = (context.now - moment).total_seconds()
    return duration(int(passed) * 1000) if passed >= 1 else ""


def capfirst(text: str) -> str:
    return text[:1].upper() + text[1:]


def base_name(path: str) -> str:
    return re.split(r"[/\\]", path.rstrip("/\\"))[-1] or path


def _urlencoded(value: str | Mapping[str, str]) -> str:
    """Jinja's own filter fails for half a surrogate pair."""
    return do_urlencode(value.encode(errors="replace").decode() if isinstance(value, str) else value)


@cache
def _environment() -> Environment:
    environment = Environment(
        auto_reload=False,
        loader=PackageLoader("stenograph.views.html"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "one_line": one_line,
        "urlencode": _urlencoded,
        "capfirst": capfirst,
        "base_name": base_name,
        "short_model": short_model,
        "short_path": short_path,
        "quoted": quoted,
    }
    environment.globals |= {
        "agent_facts": agent_facts,
        "ago": ago,
        "bar": charts.bar,
        "blamed_patch": blamed_patch,
        "clock": clock,
        "command": command,
        "context_chart": charts.context_chart,
        "count": count_of,
        "duration": duration,
        "host_of": host_of,
        "icon_of": lambda item: ICONS.get(item.family, "tool"),
        "is_lazy": is_lazy,
        "is_open": is_open,
        "limited": lambda steps, place: steps[: place.most],
        "listing": _listing,
        "loop_name": "",
        "markdown_html": markdown_html,
        "matches": _matches,
        "moment": long_moment,
        "money": money,
        "cost": cost,
        "will_delete": will_delete,
        "name_of": name_of,
        "part_classes": charts.PART_CLASSES,
        "part_names": charts.PART_NAMES,
        "patch": _patch,
        "percent": percent,
        "safe_link": safe_link,
        "size": size,
        "spark": charts.spark,
        "minimap": charts.minimap,
        "stack": charts.stack,
        "stack_of": lambda parts: charts.stack(
            [(kind, share, f"{name}: {percent(share)}") for kind, name, _, share in parts], sum(part[3] for part in parts)
        ),
        "stack_times": lambda parts: [(kind, ms, f"{name}: {duration(ms)}") for kind, name, ms in parts],
        "tape": charts.tape,
        "terminal": _terminal,
        "text_html": text_html,
        "thousands": thousands,
        "time_taken": time_taken,
        "tool_name": tool_name,
        "tree": tree_html,
        "view": View,
        "when": day_and_time,
    }
    return environment


def compile_templates() -> None:
    """Ahead of the first page: it takes a few tenths of a second. So does the first language that is found by a file's name."""
    for name in _environment().list_templates():
        _environment().get_template(name)
    markdown_html("`ready`\n\n```py\nx = 1\n```")
    code.line_pieces("x = 1", "ready.py")


class Template:
    """A template with what depends on its context."""

    def __init__(self, name: str) -> None:
        self._template = _environment().get_template(name)

    def render(self, **values: Any) -> str:
        context: PageContext = values["context"]
        extra: Mapping[str, Any] = {
            "static": lambda name: f"{context.root}/static/{quote(context.version, safe='')}/{name}",
        }
        return self._template.render(**{"here": ""} | dict(extra) | values)
