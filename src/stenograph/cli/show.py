"""`steno show`: the library's `render_session` through a pager."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import click

from stenograph.cli._output import hooks_option, make_mask, pager_option, render_options, reveal_option, tell_masked, width_option
from stenograph.cli._session import choose_branch, parse_turns, session_argument
from stenograph.cli._settings import shared_options, state_options
from stenograph.errors import UsageError

if TYPE_CHECKING:
    from stenograph.turns import Branch, Session, Turn


@click.command(short_help="Read a session in the terminal.")
@session_argument
@click.option("--turn", "turns", metavar="N[-M]", help="Only this turn, or these: 3, 3-5, 3-.")
@click.option("--branch", type=click.IntRange(min=1), metavar="N", help="Another branch than the current one.")
@click.option("--thinking", is_flag=True, help="Show what the model thought.")
@click.option("--results/--no-results", default=True, help="Show what tools gave back. [default: yes]")
@click.option("--agents/--no-agents", default=True, help="Show what sub-agents did. [default: yes]")
@hooks_option
@click.option("--full", is_flag=True, help="Show long outputs, patches, thoughts and summaries to their end.")
@click.option(
    "--steps", "as_steps", is_flag=True, help="One line a step: prompts, answers, tool calls and results as they stand."
)
@width_option
@pager_option
@reveal_option
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@shared_options
@click.pass_context
def show(
    ctx: click.Context,
    session: str,
    turns: str | None,
    branch: int | None,
    thinking: bool,
    results: bool,
    agents: bool,
    hooks: bool,
    full: bool,
    as_steps: bool,
    width: int | None,
    pager: bool,
    reveal: bool,
    as_json: bool,
) -> None:
    """Read a session in the terminal.

    Prompts, answers, tool calls as what they did, sub-agents indented, and where branches part. Long outputs are cut in the
    middle, thoughts and hooks folded (--full, --thinking, --hooks). Secrets of known formats are masked (--reveal).

    --json prints {"session": {...}, "turns": [{"number", "kind", "status", "started", "duration_ms", "models", "new_model",
    "input_tokens", "output_tokens", "parts": [{"part": "prompt" | "text" | "thought" | "note" | "tool", ...}]}], "agents":
    those that no tool call started}: what is shown, uncut; with --steps [{"type", "content_summary", "raw_uuid",
    "parent_uuid", "timestamp", "tool_calls"}], of every branch unless --turn or --branch is given.

    \b
    Example:
      steno show last --turn 2-3 --thinking
    """
    from stenograph.cli._pager import echo_lines
    from stenograph.sessions import glance, resolve, title
    from stenograph.sessions.load import load_file

    file = resolve(session, state_options(ctx).homes)
    loaded = load_file(file.path)
    chosen = choose_branch(loaded, branch)
    wanted = parse_turns(turns)
    if turns is not None and not any(wanted(turn) for turn in chosen.turns):
        raise UsageError(f"there is no turn {turns}; the branch has {len(chosen.turns)}")
    mask, masker = make_mask(reveal)
    if as_steps:
        some = None if turns is None and branch is None else [turn for turn in chosen.turns if wanted(turn)]
        _show_steps(ctx, loaded, some, mask, as_json=as_json, width=width, pager=pager)
    else:
        name = title(glance(file.path)) or ""
        if as_json:
            _echo_pages(loaded, chosen, wanted, mask, name, agents=agents, whole=full)
        else:
            from stenograph.views.session import render_session

            options = render_options(ctx, width, thinking=thinking, results=results, agents=agents, hooks=hooks, full=full)
            echo_lines(render_session(loaded, options, branch=chosen, wanted=wanted, mask=mask, title=name), pager=pager)
    tell_masked(masker)


def _echo_pages(
    session: Session,
    branch: Branch,
    wanted: Callable[[Turn], bool],
    mask: Callable[[str], str],
    name: str,
    *,
    agents: bool,
    whole: bool,
) -> None:
    import msgspec

    from stenograph.cli._text import echo_json
    from stenograph.redact import mask_json
    from stenograph.views.pages.turn_parts import agent_part, session_page, turn_page
    from stenograph.views.session import stray_agents

    seen: set[str] = set()
    pages = [turn_page(turn, agents=agents, whole=whole, seen=seen) for turn in branch.turns if wanted(turn)]
    page = session_page(session, branch, title=name)
    strays = [agent_part(run, whole=whole, seen=seen) for run in stray_agents(session)] if agents else []
    shown = {"session": page, "turns": pages, "agents": strays}
    echo_json(mask_json(msgspec.to_builtins(shown), mask))


def _show_steps(
    ctx: click.Context,
    session: Session,
    turns: list[Turn] | None,
    mask: Callable[[str], str],
    *,
    as_json: bool,
    width: int | None,
    pager: bool,
) -> None:
    from stenograph.views.steps import step_data

    records = session.graph.records
    if turns is not None:
        chosen = [records[node] for turn in turns for node in turn.nodes]
    else:
        files = session.graph.files
        chosen = list(records[: files[0].last] if files else ())
    found = step_data(chosen, mask)
    if as_json:
        from stenograph.cli._text import echo_json

        echo_json(found)
        return
    from stenograph.cli._pager import echo_lines

    options = render_options(ctx, width)
    echo_lines(_step_lines(found, options.width), pager=pager)


def _step_lines(steps: list[dict[str, Any]], columns: int | None) -> Iterator[str]:
    from stenograph.views.text import cut, one_line

    for number, step in enumerate(steps, 1):
        tools = ", ".join(tool["tool_name"] for tool in step["tool_calls"])
        words = [
            f"{number:>5}",
            f"{step['type']:<17}",
            one_line(f"[{tools}]") if tools else "",
            one_line(step["content_summary"]),
        ]
        yield cut("  ".join(word for word in words if word), columns)
