"""Search and health: page values -> HTML."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from pathlib import PurePath
from typing import Any
from urllib.parse import urlencode

from msgspec import Struct
from msgspec.structs import asdict

from stenograph.check import IN_THE_TREE
from stenograph.family import session_by_place
from stenograph.views.html.context import PageContext
from stenograph.views.html.pages import project_names
from stenograph.views.html.rendering import ICONS, Template, address_part, tool_name
from stenograph.views.html.snippets import snippet_html
from stenograph.views.pages.archive import ArchivePage
from stenograph.views.pages.check import CheckPage, DamagePage, ResumabilityPage
from stenograph.views.pages.search import FacetsPage, HitLinePage, HitPage, SearchPage
from stenograph.views.pages.tapes import family_of
from stenograph.views.terminal.search import partly_found
from stenograph.views.text import count_of, cut, one_line

_KINDS = (
    ("Everywhere", ""),
    ("Prompts", "prompts"),
    ("Answers", "answers"),
    ("Tool calls", "inputs"),
    ("Tool output", "outputs"),
    ("Thinking", "thinking"),
    ("Titles", "titles"),
)
_KIND_OF = {
    "prompts": "prompt", "answers": "answer", "inputs": "input", "outputs": "output", "thinking": "thinking", "titles": "title",
}  # fmt: skip
_TITLE_COLUMNS = 80
#: Files that are named of those with one kind of damage.
SHOWN_PLACES = 4
_KIND_NAMES = {"input": "tool call", "output": "tool output"}


class SearchAsked(Struct, frozen=True):
    """What a search was narrowed by, as the address has it."""

    q: str = ""
    kinds: str = ""
    project: str = ""
    since: str = ""
    tool: str = ""
    errors: str = ""
    newest: str = ""
    limit: str = "20"
    lines: str = ""


def render_search(
    page: SearchPage | None,
    asked: SearchAsked,
    context: PageContext,
    *,
    problem: str = "",
    tapes: Mapping[str, str] | None = None,
) -> str:
    """The page of a search; without a value the page that asks for words. `tapes` are those of sessions by their files."""

    def link(**changes: Any) -> str:
        default = asdict(SearchAsked())
        wanted = asdict(asked) | changes
        found = {name: str(value) for name, value in wanted.items() if str(value) != default[name]}
        return f"{context.root}/search" + (f"?{urlencode(found)}" if found else "")

    facets = (page.facets if page else None) or FacetsPage({}, {}, {})
    projects, tools = dict(facets.projects), dict(facets.tools)
    if asked.project:
        projects.setdefault(asked.project, 0)
    if asked.tool:
        tools.setdefault(asked.tool, 0)
    return Template("search.html").render(
        partly_found=partly_found,
        page=page,
        asked=asked,
        context=context,
        here="Search",
        link=link,
        problem=problem,
        kinds=[(name, key, facets.kinds.get(_KIND_OF.get(key, ""), 0)) for name, key in _KINDS],
        counted=page is not None and page.facets is not None,
        projects=list(projects.items())[:20],
        project_name=project_names({*projects, *(hit.project or "" for hit in (page.hits if page else ()))}).get,
        tools=tools,
        tapes=tapes or {},
        tool_icon=lambda tool: ICONS.get(family_of(tool), "tool"),
        snippet=snippet_html,
        hit_link=lambda hit, line: _hit_link(hit, line, context),
        hit_kind=lambda line: ("subagent, " if line.agent else "") + _hit_kind(line),
    )


def _hit_kind(line: HitLinePage) -> str:
    return tool_name(line.tool) if line.tool else _KIND_NAMES.get(line.kind, line.kind)


def _hit_link(hit: HitPage, line: HitLinePage, context: PageContext) -> str:
    base = f"{context.root}/s/{address_part(hit.id)}"
    if line.turn and (line.agent or line.kind == "title"):
        return f"{base}?turn={line.turn}#turn-{line.turn}"
    if line.turn:
        return f"{base}?turn={line.turn}&line={line.line}#line-{line.line}"
    agent = f"?agent={address_part(line.agent)}" if line.agent else ""
    return f"{base}/raw/{line.line}{agent}"


def render_health(
    page: CheckPage,
    context: PageContext,
    *,
    titles: Mapping[str, str] | None = None,
    archive: ArchivePage | None = None,
    sessions: Collection[str] | None = None,
    portable: Collection[str] = (),
    unknown: int = 0,
) -> str:
    """Drift, damage, what releases would lose and what is deleted; `titles` are those of sessions by their ids.

    `sessions`: those that have pages, by the names of their files; all unless given. `portable`: paths of sessions that
    lose less once they are portable; of `unknown` others that is not known.
    """
    by_file: dict[str, dict[str, ResumabilityPage]] = {}
    for row in page.resume:
        by_file.setdefault(row.path, {})[row.release] = row
    losses = [(path, rows) for path, rows in by_file.items() if not all(_is_whole(row) for row in rows.values())]
    return Template("health.html").render(
        page=page,
        context=context,
        here="Health",
        resume=by_file,
        losses=losses[:60],
        losing=len(losses),
        whole=len(by_file) - len(losses),
        refused=sum(any(row.refused for row in rows.values()) for _, rows in losses),
        releases=_releases(page.resume),
        title_of=lambda path: cut(one_line((titles or {}).get(_stem(path)) or _stem(path)), _TITLE_COLUMNS),
        stem=_stem,
        has_page=lambda path: sessions is None or _stem(path) in sessions,
        loss=_loss,
        archive=archive,
        fix=lambda damage: _fix(damage, portable, context),
        portable=portable,
        unknown=unknown,
        shown_places=SHOWN_PLACES,
    )


def _fix(damage: DamagePage, portable: Collection[str], context: PageContext) -> str:
    """The command that fixes it, or that shows where it is; empty where nothing is to be done."""
    if damage.ordinary or not damage.places:
        return ""
    helped = next((place.path for place in damage.places if place.path in portable), None)
    if damage.code in IN_THE_TREE and helped:
        return context.command("edit", _stem(helped), "--portable")
    return context.command("check", _stem(damage.places[0].path))


def _is_whole(row: ResumabilityPage) -> bool:
    return row.whole and not row.refused


def _releases(rows: Sequence[ResumabilityPage]) -> list[str]:
    """Newest first: it is the one that most people run."""
    return list(dict.fromkeys(row.release for row in rows))[::-1]


def _stem(path: str) -> str:
    """The session of a file; of a subagent's file its session's."""
    return session_by_place(PurePath(path))


def _loss(row: ResumabilityPage) -> str:
    lost = row.lost
    parts = [
        count_of(lost.messages, "message") if lost.messages else "",
        count_of(lost.tool_calls, "tool call") if lost.tool_calls else "",
        count_of(lost.thinking, "thought") if lost.thinking and not lost.messages else "",
    ]
    return ", ".join(part for part in parts if part) or "something"
