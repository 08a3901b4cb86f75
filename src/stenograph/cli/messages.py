"""`steno messages`: what a client of a given release would send when it resumes a session."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import click

from stenograph.cli._hints import HintingCommand
from stenograph.cli._look import make_mask, reveal_option
from stenograph.cli._session import session_argument
from stenograph.cli._settings import shared_options, state_options
from stenograph.errors import UsageError
from stenograph.releases import NEWEST, release_numbers

if TYPE_CHECKING:
    from stenograph.messages import Explained, Lost, Resume

_WORDS = 2000

_HINTS = {"--release": "--as-of RELEASE says which client"}


@click.command(cls=HintingCommand, hints=_HINTS, short_help="Show what a client would send when it resumes a session.")
@session_argument
@click.option("--as-of", "release", default=NEWEST, metavar="RELEASE", help=f"The client's release. [default: {NEWEST}]")
@click.option("--explain", "explaining", is_flag=True, help="For each record: sent or not, and by which rule.")
@click.option("--lost", "losing", is_flag=True, help="What the release would lose of the session, and why.")
@reveal_option
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@shared_options
@click.pass_context
def messages(ctx: click.Context, session: str, release: str, explaining: bool, losing: bool, reveal: bool, as_json: bool) -> None:
    """Show what a client would send when it resumes a session.

    The messages before the new prompt, as the client of that release rebuilds them from the file. Reminders that a release words
    itself are left out; those stored in the file are shown. Secrets of known formats are masked (--reveal).

    --json prints {"id", "release", "refused": null | rule, "messages": [{"role", "content": [blocks], "lines"}]}; with
    --explain [{"line", "kind", "sent", "rule"}]; with --lost {"release", "said": {"messages", "tool_calls", "thinking"}, "lost":
    the same, "losses": [{"rule", "messages", "tool_calls", "thinking"}]}.

    \b
    Example:
      steno messages last --as-of 2.0.76 --lost
    """
    from stenograph.graph import build_graph
    from stenograph.messages import explain, lost, read_for_resume, resume_messages
    from stenograph.records import read_all_records
    from stenograph.records.garbage import no_garbage_hunt
    from stenograph.sessions import resolve
    from stenograph.sessions.understanding import understanding

    if explaining and losing:
        raise UsageError("give --explain or --lost, not both")
    release_numbers(release)  # what is none is told before anything is read
    file = resolve(session, state_options(ctx).homes)
    with understanding(file.path), no_garbage_hunt():
        # To explain a line it has to be read, also where the client does not.
        is_whole = explaining or losing
        graph = build_graph([(file.path, "", read_all_records(file.path))]) if is_whole else read_for_resume(file.path, release)
        if losing:
            _show_lost(lost(graph, release), as_json=as_json)
            return
        resume = resume_messages(graph, release)
    if explaining:
        _show_explained(explain(resume, graph), as_json=as_json)
        return
    mask, _ = make_mask(reveal)
    lines = {node: graph.nodes[node].number for message in resume.messages or [] for node in message.nodes if node >= 0}
    if as_json:
        from stenograph.cli._text import echo_long_json
        from stenograph.redact import mask_json

        sent = (
            {
                "role": message.role,
                "content": message.content if reveal else mask_json(message.content, mask),
                "lines": [lines[node] for node in message.nodes if node in lines],
            }
            for message in resume.messages or []
        )
        echo_long_json({"id": file.session_id, "release": release, "refused": resume.refused}, "messages", sent)
        return
    for line in _message_lines(resume, lines, mask):
        click.echo(line)


def _message_lines(resume: Resume, lines: dict[int, int], mask: Callable[[str], str]) -> Iterator[str]:
    from stenograph.views.text import cut, one_line

    if resume.refused:
        yield f"{resume.release} would not resume this session (rule {resume.refused})"
        return
    for number, message in enumerate(resume.messages or [], 1):
        made_of = sorted(lines[node] for node in message.nodes if node in lines)
        where = f"lines {', '.join(map(str, made_of))}" if made_of else "put in by the client"
        yield f"{number:>5}  {message.role:<9}  {where}"
        for block in message.content:
            yield f"         {cut(one_line(mask(_block_line(block))), _WORDS)}"


def _block_line(block: dict[str, Any]) -> str:
    import json

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


def _show_explained(explained: list[Explained], *, as_json: bool) -> None:
    from stenograph.cli._text import echo_json, plain, table

    if as_json:
        echo_json([{"line": one.line, "kind": one.kind, "sent": one.is_sent, "rule": one.rule} for one in explained])
        return
    rows = [
        [str(one.line), plain(one.kind), "sent" if one.is_sent else "-", "" if one.is_sent else one.rule] for one in explained
    ]
    for line in table([["line", "kind", "sent", "rule"], *rows], frozenset({0})):
        click.echo(line)


def _show_lost(found: Lost, *, as_json: bool) -> None:
    from stenograph.cli._text import echo_json, table

    if as_json:
        import msgspec

        losses = [{"rule": loss.rule, **msgspec.to_builtins(loss.counts)} for loss in found.losses]
        said, total = msgspec.to_builtins((found.said, found.total))
        echo_json({"release": found.release, "said": said, "lost": total, "losses": losses})
        return
    rows = [["", "messages", "tool calls", "thinking"]]
    for name, counts in [("said", found.said), *((loss.rule, loss.counts) for loss in found.losses), ("lost", found.total)]:
        rows.append([name, str(counts.messages), str(counts.tool_calls), str(counts.thinking)])
    for line in table(rows, frozenset({1, 2, 3})):
        click.echo(line)
