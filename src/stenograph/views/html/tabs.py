"""The other views of a session: its files, what a resume would send, its records, one record."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from markupsafe import Markup, escape

from stenograph.analysis import REASONS
from stenograph.views.html.code import code_html
from stenograph.views.html.context import PageContext
from stenograph.views.html.markup import text_html, with_secrets
from stenograph.views.html.pages import head_values
from stenograph.views.html.rendering import StepPlace, Template, local
from stenograph.views.pages.check import ResumabilityPage
from stenograph.views.pages.files import FilesPage
from stenograph.views.pages.messages import MessagesPage
from stenograph.views.pages.timeline import TimelinePage
from stenograph.views.text import count_of, harmless, one_line, size
from stenograph.views.tools import path_from

if TYPE_CHECKING:
    from stenograph.views.pages.records import RecordPage, RecordsPage

# Lines of diffs that are open when the page is shown.
_OPEN_LINES = 500
# Characters of a record that are shown.
_LONGEST = 400_000


def render_files(page: FilesPage, heading: TimelinePage, context: PageContext, *, full: bool = False) -> str:
    changed = [file for file in page.files if file.changed]
    opened: set[int] = set()
    lines = 0
    for number, file in enumerate(changed, 1):
        lines += len(file.diff or ())
        if lines <= _OPEN_LINES or number == 1 or full:
            opened.add(number)
    place = StepPlace(context.root, page.id)
    return Template("files.html").render(
        **head_values(heading, context, place, "Files", len(changed)),
        page=page,
        changed=changed,
        read=[file for file in page.files if not file.changed],
        added=sum(file.added or 0 for file in changed),
        removed=sum(file.removed or 0 for file in changed),
        opened=opened,
        full=full,
        short=lambda path: harmless(path_from(page.project or "", path)),
        doubt_name=lambda doubt: REASONS.get(doubt, doubt),
    )


def render_messages(
    page: MessagesPage,
    heading: TimelinePage,
    context: PageContext,
    *,
    resume: Sequence[ResumabilityPage] = (),
    offset: int = 0,
    limit: int = 200,
    changed: int = 0,
) -> str:
    """`changed`: how many files were changed, where that is known."""
    place = StepPlace(context.root, page.id)
    return Template("messages.html").render(
        **head_values(heading, context, place, "Messages", changed),
        page=page,
        resume=resume,
        offset=offset,
        limit=limit,
        block_line=_block_line,
        loss=what_is_lost,
    )


def render_resume(rows: Sequence[ResumabilityPage], session: str, context: PageContext) -> str:
    """What each release would make of a session, as a piece."""
    return Template("resume_piece.html").render(
        context=context, resume=rows, place=StepPlace(context.root, session), loss=what_is_lost
    )


def what_is_lost(row: ResumabilityPage) -> str:
    lost = row.lost
    parts = ((lost.messages, "message"), (lost.tool_calls, "tool call"), (lost.thinking, "thought"))
    return ", ".join(count_of(number, name) for number, name in parts if number)


def _block_line(block: dict[str, Any]) -> Markup:
    """One content block in short."""
    kind = str(block.get("type") or "")
    text = block.get("text") if kind == "text" else block.get("thinking") if kind == "thinking" else None
    if isinstance(text, str):
        cut = text if len(text) <= 1200 else text[:1200] + "…"
        label = Markup('<span class="mute">thinking </span>') if kind == "thinking" else Markup("")
        return Markup('<p class="pre" dir="auto" tabindex="0">{}{}</p>').format(label, text_html(cut))
    if kind == "tool_use":
        asked = json.dumps(block.get("input"), ensure_ascii=False, default=str)
        return Markup('<p><b>{}</b> <code dir="auto">{}</code></p>').format(
            str(block.get("name") or "tool"), text_html(one_line(asked)[:300])
        )
    if kind == "tool_result":
        content = block.get("content")
        said = content if isinstance(content, str) else _texts(content)
        state = (
            Markup('<span class="del">failed </span>') if block.get("is_error") else Markup('<span class="mute">result </span>')
        )
        return Markup('<p>{}<code dir="auto">{}</code></p>').format(state, text_html(one_line(said[:2000])[:300]))
    return Markup('<p class="mute">{}</p>').format(harmless(kind or "block"))


def _texts(content: Any) -> str:
    blocks = content if isinstance(content, list) else []
    return " ".join(str(each.get("text") or each.get("type") or "") for each in blocks if isinstance(each, dict))


def render_records(
    page: RecordsPage,
    heading: TimelinePage,
    context: PageContext,
    *,
    agents: Sequence[str] = (),
    limit: int = 200,
    changed: int = 0,
) -> str:
    """`changed`: how many files were changed, where that is known."""
    place = StepPlace(context.root, page.id, agent=page.agent_id or "")
    return Template("records.html").render(
        **head_values(heading, context, place, "Records", changed),
        page=page,
        agents=agents,
        limit=limit,
        agent_query=Markup("&amp;agent={}").format(quote(page.agent_id, safe="")) if page.agent_id else "",
        day_of=lambda moment: f"{local(moment).day} {local(moment).strftime('%b')}, ",
        clock_s=lambda moment: local(moment).strftime("%H:%M:%S"),
    )


def render_raw(page: RecordPage, context: PageContext, *, piece: bool = False) -> str:
    """A page of its own, or the piece that the drawer shows."""
    place = StepPlace(context.root, page.id, agent=page.agent_id or "")
    text = page.text if page.record is None else json.dumps(page.record, ensure_ascii=False, indent=2)
    more = len(text) - _LONGEST
    shown = with_secrets(code_html(text[:_LONGEST], "json" if page.record is not None else ""))
    if more > 0:
        shown += escape(f"\n… {size(more)} more")
    return Template("raw_piece.html" if piece else "raw.html").render(page=page, place=place, json=shown, context=context)
