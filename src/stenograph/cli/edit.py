"""`steno edit`: take things out of a session, or condense it, so that real clients still resume it."""

from __future__ import annotations

import os
import re
from datetime import UTC, datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import click

from stenograph.cli import FAILED
from stenograph.cli._session import session_argument
from stenograph.cli._settings import refuse_demo, shared_options, state_options
from stenograph.errors import UsageError

if TYPE_CHECKING:
    from stenograph.archive import Entry
    from stenograph.surgery import AnyEdit, Plan, Which

_RANGE = re.compile(r"(\d{1,9})(?:-(\d{1,9})?)?")
_ENDLESS = 10**9


@click.command(short_help="Take turns, tool calls, results, images or thinking out of a session, or condense it.")
@session_argument
@click.option("--drop-turns", is_flag=True, help="Take the chosen turns out of the conversation.")
@click.option("--drop-tool-calls", is_flag=True, help="Take tool calls out, with their results.")
@click.option("--truncate-results", type=click.IntRange(min=0), metavar="N", help="Cut results of tools to N characters.")
@click.option("--drop-images", is_flag=True, help="Put a word in the place of images and documents.")
@click.option("--strip-thinking", type=click.Choice(["all", "refused"]), help="Take thinking out: all, or what the API refuses.")
@click.option("--compress", is_flag=True, help="Put a digest in the place of the oldest turns.")
@click.option("--keep-tool-calls", is_flag=True, help="With --compress: name the tool calls too.")
@click.option("--drop-branches", is_flag=True, help="Take the lines of other branches out of the file.")
@click.option("--drop-bookkeeping", is_flag=True, help="Take progress, logs of requests and repeated notes out of the file.")
@click.option("--drop-agents", is_flag=True, help="Take the files of sub-agents away.")
@click.option("--portable", is_flag=True, help="Write one chain with increasing times, so that old clients lose nothing.")
@click.option("--turns", metavar="RANGES", help="Choose turns by number: 3, 2-5, 7- or several with commas.")
@click.option("--keep-last", type=click.IntRange(min=0), metavar="N", help="Choose all turns but the last N.")
@click.option("--before", metavar="TIME", help="Choose turns that began before a time (2026-01-31).")
@click.option("--older-than", metavar="AGE", help="Choose turns that began longer ago (36h, 7d, 2w).")
@click.option("--tool", "tools", multiple=True, metavar="NAME", help="Choose calls of this tool; may be given again.")
@click.option("--larger-than", type=click.IntRange(min=0), metavar="N", help="Choose calls with results of more characters.")
@click.option("--errors", is_flag=True, help="Choose calls that failed.")
@click.option("--prune", is_flag=True, help="Take what leaves the conversation out of the file too.")
@click.option("--reason", default="", metavar="TEXT", help="Why, for the journal.")
@click.option("--apply", "applying", is_flag=True, help="Do it. Without this nothing is written.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@shared_options
@click.pass_context
def edit(ctx: click.Context, /, session: str, prune: bool, applying: bool, as_json: bool, **options: Any) -> None:
    """Take turns, tool calls, results, images or thinking out of a session, or condense it.

    Without --apply nothing is written: it shows what would become of the file, what 2.0.76, 2.1.45 and the newest recorded client
    would send before and after, what each later turn costs less and what it costs once to fill the prompt cache anew (tokens are
    estimated). A plan after which a client would not send exactly that is refused.

    Turns that leave the conversation stay in the file as a branch that nobody resumes, so that tools that count tokens count the
    same; --prune takes them out. The original is kept: `steno undo` brings it back byte for byte.

    --json prints {"path", "id", "edits": [{"edit", ..., "counts"}], "lines": [before, after], "size": [before, after], "changed",
    "aside", "removed", "releases": [{"release", "refused", "messages": [before, after]}], "tokens": [before, after],
    "tokens_to_cache", "saved_a_turn_usd", "cache_cost_usd", "model", "problems", "notes", "entry": null | number}.

    Several edits are done one after the other, each on all that is chosen; choices narrow each other. --tool, --larger-than and
    --errors choose among tool calls only.

    \b
    Example:
      steno edit last --truncate-results 2000 --keep-last 3
      steno edit last --compress --keep-last 5 --apply
    """
    from stenograph.archive import Archive, default_archive_folder
    from stenograph.cli._text import echo_json, plain
    from stenograph.sessions import resolve
    from stenograph.surgery import apply, make_plan

    settings = state_options(ctx)
    file = resolve(session, settings.homes)
    if applying:
        refuse_demo(settings, file.path)
    plan = make_plan(file.path, _edits(_which(options, datetime.now(UTC)), options), prune=prune)
    entry: Entry | None = None
    if applying and not plan.problems:
        entry = apply(plan, Archive(default_archive_folder(os.environ)))
    if as_json:
        echo_json(_json(plan, entry))
    else:
        _echo(plan, entry, applying=applying)
    for problem in plan.problems:
        click.echo(f"steno: refused: {plain(problem)}", err=True)
    if plan.problems:
        ctx.exit(FAILED)


def _which(options: dict[str, Any], now: datetime) -> Which:
    from stenograph.cli.check import moment_of
    from stenograph.records.times import to_client_time
    from stenograph.surgery import Which

    if options["before"] and options["older_than"]:
        raise UsageError("give --before or --older-than, not both")
    when = options["before"] or options["older_than"]
    before = to_client_time(datetime.fromtimestamp(moment_of(when, now), UTC)) if when else None
    return Which(
        turns=tuple(_ranges(options["turns"])),
        keep_last=options["keep_last"],
        before=before,
        tools=options["tools"],
        larger_than=options["larger_than"],
        errors=options["errors"],
    )


def _ranges(text: str | None) -> list[tuple[int, int]]:
    ranges = []
    for part in text.split(",") if text else ():
        found = _RANGE.fullmatch(part.strip())
        if found is None:
            raise UsageError(f"--turns {text!r} is no list of turns; give one like 2-5,7")
        first = int(found[1])
        ranges.append((first, int(found[2]) if found[2] else _ENDLESS if "-" in part else first))
    return ranges


def _edits(which: Which, options: dict[str, Any]) -> list[AnyEdit]:
    from stenograph import surgery

    reason = options["reason"]
    edits: list[AnyEdit] = []
    if options["drop_turns"]:
        if which == surgery.Which():
            raise UsageError("--drop-turns needs to know which: give --turns, --keep-last, --before or --older-than")
        edits.append(surgery.DropTurns(which, reason))
    if options["drop_tool_calls"]:
        edits.append(surgery.DropToolCalls(which, reason))
    if options["truncate_results"] is not None:
        edits.append(surgery.TruncateResults(which, reason, limit=options["truncate_results"]))
    if options["drop_images"]:
        edits.append(surgery.DropImages(which, reason))
    if options["strip_thinking"]:
        edits.append(surgery.StripThinking(which, reason, refused_only=options["strip_thinking"] == "refused"))
    if options["drop_bookkeeping"]:
        edits.append(surgery.DropBookkeeping(reason=reason))
    if options["drop_branches"]:
        edits.append(surgery.DropBranches(reason=reason))
    if options["drop_agents"]:
        edits.append(surgery.DropAgents(which, reason))
    if options["compress"]:
        edits.append(surgery.Compress(which, reason, keep_tool_calls=options["keep_tool_calls"]))
    if options["portable"]:
        edits.append(surgery.MakePortable(reason=reason))
    if not edits:
        raise UsageError("nothing to do: give an edit such as --truncate-results 2000 or --compress --keep-last 5")
    return edits


def _json(plan: Plan, entry: Entry | None) -> dict[str, Any]:
    import msgspec

    return {
        "path": str(plan.path),
        "id": plan.session_id,
        "edits": [{**msgspec.to_builtins(done.edit), "counts": done.counts} for done in plan.done],
        "lines": [plan.lines_before, plan.lines_after],
        "size": [plan.size_before, plan.size_after],
        "changed": plan.changed,
        "aside": plan.aside,
        "removed": plan.removed,
        "releases": [
            {"release": each.release, "refused": each.refused or None, "messages": [len(each.before), len(each.after)]}
            for each in plan.outcomes
        ],
        "tokens": [plan.outlook.tokens_before, plan.outlook.tokens_after],
        "tokens_to_cache": plan.outlook.tokens_to_cache,
        "saved_a_turn_usd": float(plan.outlook.saved_a_turn),
        "cache_cost_usd": float(plan.outlook.cache_cost),
        "model": plan.outlook.model,
        "problems": plan.problems,
        "notes": plan.notes,
        "entry": entry.number if entry else None,
    }


def _money(usd: Decimal) -> str:
    return f"about ${usd:.2f}" if usd >= Decimal("0.01") else "less than a cent"


def _echo(plan: Plan, entry: Entry | None, *, applying: bool) -> None:
    from stenograph.cli._text import count_of, plain, size, table

    for done in plan.done:
        counts = ", ".join(f"{count:,} {what}" for what, count in done.counts.items() if count) or "nothing to do"
        click.echo(f"{click.style(done.edit.summary, bold=True)}  {counts}")
    if plan.is_empty:
        click.echo("the session stays as it is")
        return
    outlook = plan.outlook
    rows = [
        ["", "before", "after"],
        ["lines", f"{plan.lines_before:,}", f"{plan.lines_after:,}"],
        ["size", size(plan.size_before), size(plan.size_after)],
        ["tokens sent, estimated", f"{outlook.tokens_before:,}", f"{outlook.tokens_after:,}"],
        *([f"messages sent by {each.release}", str(len(each.before)), str(len(each.after))] for each in plan.outcomes),
    ]
    for line in table(rows, frozenset({1, 2})):
        click.echo(line)
    click.echo(f"{count_of(plan.changed, 'line')} changed, {plan.aside} set aside in the file, {plan.removed} taken out of it")
    listed = "" if outlook.is_listed else " (the price table does not know the model)"
    if outlook.tokens_after > outlook.tokens_before:
        click.echo("the conversation gets longer: what is put in is more than what is taken out")
    else:
        once = f"filling the prompt cache anew costs {_money(outlook.cache_cost)} once"
        click.echo(f"each later turn costs {_money(outlook.saved_a_turn)} less; {once}{listed}")
    if plan.aside:
        click.echo("what is set aside stays in the file, where no client sends it from: --prune takes it out too")
    if plan.prune and plan.removed:
        click.echo("tools that count tokens by the file's lines will no longer count those that were taken out")
    for path in plan.working.deleted:
        click.echo(f"takes away {plain(str(path))}")
    for note in plan.notes:
        click.echo(f"note: {plain(note)}")
    if entry:
        click.echo(click.style(f"done; `steno undo {plan.session_id[:8]}` brings it back (edit {entry.number})", fg="green"))
    elif not applying and not plan.problems:
        click.echo("nothing was written: --apply does it")
