"""`steno turns`: the turns of a session as a table, or all that is known of them as JSON."""

from __future__ import annotations

from itertools import takewhile
from typing import TYPE_CHECKING

import click

from stenograph.cli._output import make_mask, reveal_option
from stenograph.cli._session import choose_branch, session_argument
from stenograph.cli._settings import shared_options, state_options

if TYPE_CHECKING:
    from stenograph.turns import Branch, Turn

_PROMPT_IN_A_PIPE = 200
_HEADINGS = ("turn", "kind", "status", "started", "took", "calls", "tools", "agents", "in", "out", "prompt")
_RIGHT = frozenset({"turn", "took", "calls", "tools", "agents", "in", "out"})
_PROMPT_COLUMNS = 30
#: What a narrow terminal goes without, in this order.
_DISPENSABLE = ("in", "out", "calls", "agents", "tools", "took", "kind", "started")


@click.command(short_help="List the turns of a session.")
@session_argument
@click.option("--branch", type=click.IntRange(min=1), metavar="N", help="Another branch than the current one.")
@click.option("--all", "everything", is_flag=True, help="The turns of every branch, in the order of the file.")
@click.option("--results/--no-results", default=True, help="With --json: tools' outputs too. [default: yes]")
@click.option(
    "--round-threshold",
    type=click.FloatRange(min=0),
    metavar="MINUTES",
    help="With --json: after how long a silence a round is a resumed one. [default: 5]",
)
@reveal_option
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@shared_options
@click.pass_context
def turns(
    ctx: click.Context,
    session: str,
    branch: int | None,
    everything: bool,
    results: bool,
    round_threshold: float | None,
    reveal: bool,
    as_json: bool,
) -> None:
    """List the turns of a session.

    A turn is what a person asked and all that answers it; its number is its place in the conversation. In a narrow terminal some
    columns are left out. Secrets of known formats are masked (--reveal).

    --json prints {"id", "path", "branches": [{"current", "shared", "turns": the numbers behind those shared}], "tokens",
    "turns": [{"number", "kind", "status", "round": "new_session" | "new_round" | "continue" | "resume", "uuid", "prompt",
    "images", "answer", "started", "ended", "duration_ms", "tokens", "calls":
    [{"message_id", "request_id", "model", "text", "thinking", "stop_reason", "synthetic", "api_error", "replayed", "started",
    "ended", "tokens", "tool_calls": [{"id", "name", "input", "answered", "is_error", "result", "spilled", "started", "ended",
    "agent": null | {"agent_id", "agent_type", "description", "background", "evidence", "path", "tokens", "turns",
    "shown_above", "left_out"}}]}],
    "interjections", "compactions", "events"}], "agents": those that no tool call started, "findings": [{"code", "path",
    "line", "detail"}]}; times are UTC.

    \b
    Example:
      steno turns last --json
    """
    from stenograph.sessions import resolve
    from stenograph.sessions.load import load_file

    file = resolve(session, state_options(ctx).homes)
    loaded = load_file(file.path)
    chosen = loaded.all_turns if everything else choose_branch(loaded, branch).turns
    mask, _ = make_mask(reveal)
    if as_json:
        from stenograph.cli._text import echo_json
        from stenograph.redact import mask_json
        from stenograph.turns.seeds.seed004 import THRESHOLD_MINUTES, round_types
        from stenograph.views.data import agent_data, tokens_data, turn_data
        from stenograph.views.session import stray_agents

        rounds = round_types(loaded, THRESHOLD_MINUTES if round_threshold is None else round_threshold)
        seen: set[str] = set()
        found = {
            "id": loaded.id,
            "path": str(file.path),
            "branches": [
                {"current": each.is_current, "shared": each.shared, "turns": _own_turns(each)} for each in loaded.branches
            ],
            "tokens": tokens_data(loaded.tokens),
            "turns": [{**turn_data(turn, results=results, seen=seen), "round": rounds[turn.node].value} for turn in chosen],
            "agents": [agent_data(run, results=results, seen=seen) for run in stray_agents(loaded)],
            "findings": [
                {"code": finding.code, "path": str(finding.path), "line": finding.line, "detail": finding.detail}
                for finding in loaded.findings
            ],
        }
        echo_json(mask_json(found, mask))
        return
    from stenograph.cli._output import terminal_width
    from stenograph.views.text import cut, table

    columns = terminal_width()
    rows = [dict(zip(_HEADINGS, _row(turn, mask(_asked(turn))), strict=True)) for turn in chosen]
    named = _fitted([dict(zip(_HEADINGS, _HEADINGS, strict=True)), *rows], columns)
    right = frozenset(place for place, name in enumerate(named[0]) if name in _RIGHT)
    lines = table([list(row.values()) for row in named], right)
    for number, line in enumerate(lines):
        shown = line if columns is None else cut(line, columns)
        click.echo(click.style(shown, bold=True) if number == 0 else shown)
    if not rows:
        click.echo("steno: the session has no turns", err=True)


def _own_turns(branch: Branch) -> list[int]:
    """The numbers of a branch's turns; of another than the current one those that the two do not share."""
    if branch.is_current:
        return [turn.number for turn in branch.turns]
    own = [turn.number for turn in takewhile(lambda turn: turn.number > branch.shared, reversed(branch.turns))]
    return own[::-1]


def _fitted(rows: list[dict[str, str]], columns: int | None) -> list[dict[str, str]]:
    """The rows, without what is least needed where prompts would get less than their share of the columns."""
    from stenograph.views.text import column_width

    if columns is None:
        return rows
    wanted = min(_PROMPT_COLUMNS, column_width(row["prompt"] for row in rows))
    for name in _DISPENSABLE:
        if columns - sum(column_width(row[other] for row in rows) + 2 for other in rows[0] if other != "prompt") >= wanted:
            break
        rows = [{other: cell for other, cell in row.items() if other != name} for row in rows]
    return rows


def _asked(turn: Turn) -> str:
    """What opened the turn: a person's words, or a background task's summary."""
    from stenograph.inputs import InputKind
    from stenograph.views.pages.turn_parts import notification_summary

    return (turn.kind is InputKind.NOTIFICATION and notification_summary(turn.prompt)) or turn.prompt


def _row(turn: Turn, prompt: str) -> list[str]:
    from stenograph.views.text import cut, duration, local_time, one_line, thousands

    tokens = turn.tokens
    return [
        str(turn.number),
        turn.kind.value,
        turn.status.value,
        local_time(turn.started) if turn.started else "-",
        duration(turn.duration_ms) if turn.duration_ms is not None else "-",
        str(len(turn.calls)),
        str(len(turn.tool_calls)),
        str(len(turn.agent_runs)),
        thousands(tokens.input + tokens.cache_read + tokens.cache_write),
        thousands(tokens.output),
        cut(one_line(prompt), _PROMPT_IN_A_PIPE),
    ]
