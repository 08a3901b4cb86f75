"""Home and sessions: page values -> HTML, by the templates beside this module."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Any
from urllib.parse import urlencode

from markupsafe import Markup

from stenograph.inputs import as_typed
from stenograph.pricing import window_of_calls
from stenograph.sessions import HIDDEN
from stenograph.views.html.context import PageContext
from stenograph.views.html.rendering import StepPlace, Template, View, base_name, capfirst, cost, cost_note, local
from stenograph.views.html.turn_cache import turn_html
from stenograph.views.pages.files import FilePage
from stenograph.views.pages.home import ROWS, HomeQuery, HomeRow, ViewerHomePage
from stenograph.views.pages.timeline import TimelinePage, TimelineTurn, ToolStep
from stenograph.views.text import count_of, harmless, money, one_line, short_model
from stenograph.views.tools import path_from


def render_session(
    page: TimelinePage,
    context: PageContext,
    *,
    changed: Sequence[FilePage] | None = None,
    deleted: datetime | None = None,
) -> str:
    """The whole page, with the turns that the value has; the other chunks are places that the script fills.

    `deleted` is when Claude Code deletes the session.
    """
    place = StepPlace(context.root, page.session.id, branch=0 if _is_current(page) else page.session.branch)
    turns = _by_chunk(page)
    starts, prompts = _first_chunks(page), _prompts(page)
    return Template("session.html").render(
        **head_values(page, context, place, "Timeline", len(changed or ())),
        page=page,
        turns=turns,
        shown=set(turns),
        chunk_of=starts,
        compact=len(page.outline) > 150,
        changed=changed,
        added=sum(file.added or 0 for file in changed or ()),
        removed=sum(file.removed or 0 for file in changed or ()),
        days_left=None if deleted is None else max(0, (deleted - context.now).days),
        window=window_of_calls((call.model, call.context) for call in page.calls),
        short=lambda path: harmless(path_from(page.session.project or "", path)),
        models=tuple(dict.fromkeys(call.model for call in page.calls)),
        prompts=prompts,
        turn_html=lambda turn: Markup(turn_html(turn, place, prompts, context)),
    )


def render_turns(page: TimelinePage, context: PageContext) -> str:
    """The turns of a value alone, to be put in their place."""
    place = StepPlace(context.root, page.session.id, branch=0 if _is_current(page) else page.session.branch)
    prompts = _prompts(page)
    return "".join(turn_html(turn, place, prompts, context) for turn in page.turns)


def render_step(step: ToolStep, session: str, context: PageContext, *, agent: str = "", full: bool = False) -> str:
    """What a folded step holds; with `full` nothing is left out of it."""
    place = StepPlace(context.root, session, agent=agent, depth=0, full=full)
    return Template("step.html").render(item=View(step), place=place, context=context)


def render_home(page: ViewerHomePage, context: PageContext) -> str:
    query = {name: getattr(page.query, name) for name in page.query.__struct_fields__}
    defaults = HomeQuery()

    def link(**changes: Any) -> str:
        wanted = query | changes
        names = {"words": "q"}
        found = {names.get(name, name): value for name, value in wanted.items() if value != getattr(defaults, name)}
        found = {name: "1" if value is True else value for name, value in found.items()}
        return f"{context.root}/" + (f"?{urlencode(found)}" if found else "")

    def is_chosen(**changes: Any) -> bool:
        return all(query[name] == value for name, value in changes.items() if name != "page")

    labels = project_names([each.project for each in page.projects])
    return Template("home.html").render(
        page=page,
        context=context,
        here="Sessions",
        home_link=link,
        is_chosen=is_chosen,
        days=_days(page, context),
        all_activity=[sum(counts) for counts in zip(*(each.activity for each in page.projects), strict=True)],
        project_name=lambda project: labels.get(project) or base_name(project),
        hidden_name=lambda reason: capfirst(str(HIDDEN.get(reason, reason))),
        row_facts=_row_facts,
        day_cost=_day_cost,
        rows_per_page=ROWS,
    )


def render_error(heading: str, detail: str, context: PageContext) -> str:
    """What is shown where there is no page."""
    return Template("error.html").render(context=context, heading=heading, detail=capfirst(detail))


def _prompts(page: TimelinePage) -> dict[int, str]:
    """What a part of a long turn says above it."""
    return {turn.number: one_line(turn.prompt) for turn in page.outline}


def project_names(projects: Collection[str]) -> dict[str, str]:
    """The last part of each path; with the part before it where two would be the same."""
    last = {project: base_name(project) for project in projects}
    many = Counter(last.values())
    return {
        project: name if many[name] == 1 else "/".join(re.split(r"[/\\]", project.rstrip("/\\"))[-2:])
        for project, name in last.items()
    }


def _days(page: ViewerHomePage, context: PageContext) -> list[tuple[str, list[HomeRow]]]:
    """Rows by day, newest first; one list without days where they are sorted by something else."""
    if page.query.sort != "last":
        return [
            (
                {"size": "Largest first", "turns": "Most turns first", "cost": "Most expensive first"}.get(
                    page.query.sort, "Sessions"
                ),
                list(page.rows),
            )
        ]
    today = local(context.now).date()
    found: dict[str, list[HomeRow]] = {}
    for row in page.rows:
        day = local(row.session.last_record).date()
        away = (today - day).days
        short = f"{day.day} {day.strftime('%b')}"
        name = (
            "Today" if away == 0 else
            "Yesterday" if away == 1 else
            f"{day.strftime('%A')}, {short}" if 1 < away < 7 else
            day.strftime("%B") if day.year == today.year else day.strftime("%B %Y")
        )  # fmt: skip
        found.setdefault(name, []).append(row)
    return list(found.items())


def _row_facts(found: HomeRow) -> list[str]:
    row = found.session
    facts = [
        row.git_branch if row.git_branch != "HEAD" else "",
        short_model(found.models[-1]) if found.models else row.release,
        count_of(found.agents, "subagent") if found.agents else "",
    ]
    if row.summary and row.summary != row.title:
        facts.append(one_line(row.summary))
    elif row.first_prompt and row.title and (prompt := as_typed(row.first_prompt))[:40] != row.title[:40]:
        facts.append(f"“{one_line(prompt)[:140]}”")
    return [fact for fact in facts if fact]


def _day_cost(rows: Sequence[HomeRow]) -> str:
    priced = [row.session for row in rows if row.session.usd]
    return money(sum(row.usd or 0 for row in priced), estimated=any(row.usd_estimated for row in priced)) if priced else ""


def head_values(page: TimelinePage, context: PageContext, place: StepPlace, tab: str, files: int = 0) -> dict[str, Any]:
    """`files`: how many were changed, where that is known."""
    return {
        "files": files,
        "records": page.records,
        "context": context,
        "here": "",
        "place": place,
        "tab": tab,
        "head": page.session,
        "status": page.status,
        "calls": len(page.calls),
        "page_cost": cost(page),
        "is_estimated": page.usd_estimated,
        "unpriced": page.unpriced,
        "cost_note": cost_note(page),
    }


def _is_current(page: TimelinePage) -> bool:
    return next((branch.current for branch in page.session.branches if branch.number == page.session.branch), True)


def _by_chunk(page: TimelinePage) -> dict[int, list[TimelineTurn]]:
    """The turns of a value by the chunk they are in: each chunk has one entry per turn that it touches, in order."""
    found: dict[int, list[TimelineTurn]] = {}
    waiting = list(page.turns)
    for number, chunk in enumerate(page.chunks[page.first_chunk :], page.first_chunk):
        if not waiting:
            break
        touched = sum(chunk.turn <= turn.number <= chunk.last_turn for turn in page.outline)
        found[number], waiting = waiting[:touched], waiting[touched:]
    return found


def _first_chunks(page: TimelinePage) -> dict[int, int]:
    starts: dict[int, int] = {}
    for number, chunk in enumerate(page.chunks):
        for turn in range(chunk.turn, chunk.last_turn + 1):
            starts.setdefault(turn, number)
    return {turn.number: starts.get(turn.number, 0) for turn in page.outline}
