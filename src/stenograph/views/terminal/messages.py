"""What a release would send, and how a session is resumed -> lines."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any

from stenograph.views.pages.messages import ExplainedPage, LostPage, MessagePage, MessagesPage, ResumePage, SaidPage
from stenograph.views.terminal.options import BOLD, RenderOptions
from stenograph.views.text import count_of, cut, one_line, plain, table, wrap

_WORDS = 2000
_INDENT = " " * 9


def render_messages(page: MessagesPage, messages: Iterable[MessagePage], options: RenderOptions) -> Iterator[str]:
    if page.refused:
        yield f"{page.release} would not resume this session (rule {page.refused})"
        return
    yield options.paint(f"{page.release} would send {count_of(page.count, 'message')} before the new prompt", BOLD)
    columns = None if options.width is None else max(1, options.width - len(_INDENT))
    for number, message in enumerate(messages, 1):
        name = "line" if len(message.lines) == 1 else "lines"
        where = f"{name} {', '.join(map(str, sorted(message.lines)))}" if message.lines else "added by the client"
        yield f"{number:>5}  {message.role:<9}  {where}"
        for block in message.content:
            yield from (_INDENT + line for line in wrap(cut(one_line(_block_line(block)), _WORDS), columns))


def _block_line(block: dict[str, Any]) -> str:
    kind = str(block.get("type"))
    if kind in ("text", "thinking"):
        return f"{kind}: {block.get(kind, '')}"
    if kind == "tool_use":
        return f"tool_use {block.get('name')}: {json.dumps(block.get('input'), ensure_ascii=False)}"
    if kind == "tool_result":
        content = block.get("content")
        words = content if isinstance(content, str) else json.dumps(content, ensure_ascii=False)
        return f"tool_result{' (error)' if block.get('is_error') else ''}: {words}"
    return kind


def render_explained(page: ExplainedPage, options: RenderOptions) -> Iterator[str]:  # noqa: ARG001
    rows = [[str(one.line), plain(one.kind), "sent" if one.sent else "-", "" if one.sent else one.rule] for one in page.records]
    yield from table([["line", "kind", "sent", "rule"], *rows], frozenset({0}))


def render_lost(page: LostPage, options: RenderOptions) -> Iterator[str]:  # noqa: ARG001
    rows = [["", "messages", "tool calls", "thinking"], _count_row("in the session", page.said)]
    rows += [_count_row(f"rule {loss.rule}", loss.lost) for loss in page.losses]
    yield from table([*rows, _count_row("lost", page.lost)], frozenset({1, 2, 3}))


def _count_row(name: str, said: SaidPage) -> list[str]:
    return [name, str(said.messages), str(said.tool_calls), str(said.thinking)]


def render_resume(page: ResumePage, options: RenderOptions) -> Iterator[str]:  # noqa: ARG001
    yield page.shell
