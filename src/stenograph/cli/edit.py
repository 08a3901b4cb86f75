"""`steno edit`: take things out of a session, or condense it, so that real clients still resume it."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Any

import click
import msgspec

from stenograph.cli import FAILED
from stenograph.cli._arguments import HintingCommand, session_argument
from stenograph.cli._output import echo_page, json_option, make_mask, render_options, reveal_option, tell_masked
from stenograph.cli._settings import DEMO_IS_READ_ONLY, again, is_demo, refuse_demo, shared_options, state_options
from stenograph.errors import UsageError

if TYPE_CHECKING:
    from stenograph.surgery import AnyEdit, Selector

_RANGE = re.compile(r"(\d{1,9})(?:-(\d{1,9})?)?")
_ENDLESS = 10**9
_TURN_CHOICES = {"turns": "--turns", "keep_last": "--keep-last", "before": "--before", "older_than": "--older-than"}
_CALL_CHOICES = {"tools": "--tool", "errors": "--errors", "agents": "--agent"}

_HINTS = {"--dry-run": "without --apply nothing is written"}


@click.command(
    cls=HintingCommand,
    hints=_HINTS,
    short_help="Take turns, tool calls, results, images or thinking out of a session, or condense it.",
)
@session_argument
@click.option("--drop-turns", is_flag=True, help="Take the chosen turns out of the conversation.")
@click.option("--drop-tool-calls", is_flag=True, help="Take tool calls out, with their results.")
@click.option(
    "--truncate-results", type=click.IntRange(min=0), metavar="N", help="Cut results of tools to N characters and a note."
)
@click.option("--drop-images", is_flag=True, help="Put a word in the place of images and documents.")
@click.option("--strip-thinking", type=click.Choice(["all", "refused"]), help="Take thinking out: all, or what the API refuses.")
@click.option("--compress", is_flag=True, help="Put a digest in the place of the oldest turns.")
@click.option("--keep-tool-calls", is_flag=True, help="With --compress: name other tool calls too, but those that change files.")
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
@click.option("--agent", "agents", multiple=True, metavar="NAME", help="Choose sub-agents by id or type; may be given again.")
@click.option("--prune", is_flag=True, help="Take what leaves the conversation out of the file too.")
@click.option("--reason", default="", metavar="TEXT", help="Why, for the journal.")
@click.option("--apply", "applying", is_flag=True, help="Do it. Without this nothing is written.")
@click.option("--preview", "previewing", is_flag=True, help="List what goes: turns, tool calls; and print the digest.")
@reveal_option
@json_option
@shared_options
@click.pass_context
def edit(
    ctx: click.Context,
    /,
    session: str,
    prune: bool,
    applying: bool,
    previewing: bool,
    reveal: bool,
    as_json: bool,
    **options: Any,
) -> None:
    """Take turns, tool calls, results, images or thinking out of a session, or condense it.

    Without --apply nothing is written: it shows what would become of the file, what 2.0.76, 2.1.45 and the newest recorded client
    would send before and after, what each later turn costs less and what it costs once to fill the prompt cache anew (tokens are
    estimated). A plan after which a client would not send exactly that is refused.

    Turns that leave the conversation stay in the file as a branch that nobody resumes, so that tools that count tokens count the
    same; --prune takes them out. The original is kept: `steno undo` brings it back byte for byte.

    --preview lists what would go, by turn, and prints the digest; only then is anything shown of what was said, with secrets of
    known formats masked (--reveal). --portable shows what each client would lose of the session before and after.

    Several edits are done one after the other, each on all that is chosen; choices narrow each other. --tool, --larger-than,
    --errors and --agent choose among tool calls only: --agent those that started the sub-agents, and for --drop-agents the
    sub-agents themselves.

    \b
    Example:
      steno edit last --truncate-results 2000 --keep-last 3
      steno edit last --compress --keep-last 5 --apply
    """
    from stenograph.archive import Archive, default_archive_folder
    from stenograph.sessions import resolve
    from stenograph.surgery import attempt, make_plan
    from stenograph.surgery import preview as preview_plan
    from stenograph.views import edit_page, mask_page, plain, render_edit

    settings = state_options(ctx)
    file = resolve(session, settings.homes)
    if applying:
        refuse_demo(settings, file.path)
    if reveal and not previewing:
        raise UsageError("--reveal shows secrets in what --preview lists; give --preview too")
    edits = _edits(_which(options, datetime.now(UTC)), options)
    _refuse_idle_choices(edits, options)
    plan = make_plan(file.path, edits, prune=prune)
    archive = Archive(default_archive_folder(os.environ))
    attempted = attempt(plan, archive, is_applied=applying, active_seconds=settings.config.active_seconds)
    busy, is_refused = attempted.busy, applying and attempted.busy is not None
    if busy and is_refused and not as_json:
        raise busy
    page = edit_page(
        plan,
        attempted,
        partial(again, ctx),
        preview=preview_plan(plan) if previewing else None,
        refusal=DEMO_IS_READ_ONLY if is_demo(settings, plan.path) else None,
    )
    mask, masker = make_mask(reveal)
    page = msgspec.structs.replace(page, preview=mask_page(page.preview, mask)) if page.preview else page
    echo_page(page, render_edit, render_options(ctx), as_json=as_json)
    tell_masked(masker)
    if busy:
        click.echo(f"steno: {plain(str(busy))}{'' if is_refused else ' (--apply would be refused now)'}", err=True)
    for problem in page.problems:
        click.echo(f"steno: refused: {plain(problem)}", err=True)
    if page.problems or is_refused:
        ctx.exit(FAILED)


def _which(options: dict[str, Any], now: datetime) -> Selector:
    from stenograph.cli._arguments import age_before, date_of
    from stenograph.records import to_client_time
    from stenograph.surgery import Selector

    if options["before"] and options["older_than"]:
        raise UsageError("give --before or --older-than, not both")
    when = date_of(options["before"]) if options["before"] else None
    when = age_before(options["older_than"], now) if options["older_than"] else when
    before = to_client_time(datetime.fromtimestamp(when, UTC)) if when is not None else None
    return Selector(
        turns=tuple(_ranges(options["turns"])),
        keep_last=options["keep_last"],
        before=before,
        tools=options["tools"],
        larger_than=options["larger_than"],
        errors=options["errors"],
        agents=options["agents"],
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


def _refuse_idle_choices(edits: list[AnyEdit], options: dict[str, Any]) -> None:
    """A choice that means nothing to an edit is not passed over: somebody would lose more than they chose. Raises UsageError."""
    from stenograph import surgery

    of_calls = (surgery.DropToolCalls, surgery.TruncateResults, surgery.DropAgents)
    of_whole_files = (surgery.DropBranches, surgery.DropBookkeeping, surgery.MakePortable)
    by_turns = [flag for name, flag in _TURN_CHOICES.items() if options[name] is not None]
    by_calls = [flag for name, flag in _CALL_CHOICES.items() if options[name]]
    by_calls += ["--larger-than"] if options["larger_than"] is not None else []
    if by_turns and all(isinstance(edit, of_whole_files) for edit in edits):
        raise UsageError(f"{by_turns[0]} chooses among turns, which means nothing to: {_named(edits)}")
    # Beside an edit of tool calls one of the whole file may stand, but none that takes all that is in the same turns.
    idle = [edit for edit in edits if not isinstance(edit, of_calls)]
    if by_calls and (len(idle) == len(edits) or any(not isinstance(edit, of_whole_files) for edit in idle)):
        raise UsageError(f"{by_calls[0]} chooses among tool calls, which means nothing to: {_named(idle)}")


def _named(edits: Sequence[AnyEdit]) -> str:
    return ", ".join(edit.summary for edit in edits)


def _edits(which: Selector, options: dict[str, Any]) -> list[AnyEdit]:
    from stenograph import surgery

    reason = options["reason"]
    edits: list[AnyEdit] = []
    if options["drop_turns"]:
        if not which.chooses_turns:
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
    if options["keep_tool_calls"] and not options["compress"]:
        raise UsageError("--keep-tool-calls says what the digest holds; give --compress too")
    if options["compress"]:
        if not which.chooses_turns:
            raise UsageError("--compress needs to know which turns: --keep-last 1 takes all but the newest")
        edits.append(surgery.Compress(which, reason, keep_tool_calls=options["keep_tool_calls"]))
    if options["portable"]:
        edits.append(surgery.MakePortable(reason=reason))
    if not edits:
        raise UsageError("nothing to do: give an edit such as --truncate-results 2000 or --compress --keep-last 5")
    return edits
