"""`steno edit`: take things out of a session, or condense it, so that real clients still resume it."""

from __future__ import annotations

import itertools
import os
import re
from collections.abc import Sequence
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from stenograph.cli import REFUSED
from stenograph.cli._arguments import named_session, session_argument
from stenograph.cli._consent import consent, consent_options
from stenograph.cli._messages import echo_error, echo_warning, sentence
from stenograph.cli._output import echo_page, json_option, make_mask, render_options, reveal_option, tell_masked
from stenograph.cli._sections import SectionedCommand
from stenograph.cli._settings import again, demo_refusal, refuse_demo, shared_options, state_options
from stenograph.errors import UsageError, in_quotes

if TYPE_CHECKING:
    from stenograph.surgery import AnyEdit, Selector

_RANGE = re.compile(r"(\d{1,9})(?:-(\d{1,9})?)?")
_ENDLESS = 10**9
_TURNS = re.compile(r"[\d,-]+")
_TURN_CHOICES = {"turns": "--turns", "keep_last": "--keep-last", "before": "--before", "older_than": "--older-than"}
_CALL_CHOICES = {"tools": "--tool", "errors": "--errors", "agents": "--agent", "calls": "--call"}


class EditCommand(SectionedCommand):
    """Knows what is meant by `--drop-turns 3`: click takes a value behind a flag for another SESSION."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        given = list(args)
        try:
            return super().parse_args(ctx, args)
        except click.UsageError as error:
            behind = {flag: value for flag, value in itertools.pairwise(given) if _TURNS.fullmatch(value)}
            if type(error) is not click.UsageError or "--drop-turns" not in behind:
                raise
            raise click.UsageError(
                f"--drop-turns takes no value; use --drop-turns --turns {behind['--drop-turns']}", ctx
            ) from None


@click.command(
    cls=EditCommand,
    sections={
        "drop_turns": "Edits",
        "turns": "Select turns",
        "tools": "Select tool calls",
        "prune": "Options",
    },
    short_help="Trim or compress a session.",
)
@session_argument
@click.option("--drop-turns", is_flag=True, help="Remove turns from the conversation.")
@click.option("--drop-tool-calls", is_flag=True, help="Remove tool calls and their results.")
@click.option("--truncate-results", type=click.IntRange(min=0), metavar="N", help="Shorten tool results to N characters.")
@click.option("--drop-images", is_flag=True, help="Replace images and documents with a placeholder.")
@click.option(
    "--strip-thinking",
    type=click.Choice(["all", "refused"]),
    help="Remove thinking: `all`, or `refused` for only unsigned thinking, which the API rejects.",
)
@click.option("--compress", is_flag=True, help="Replace the oldest turns with a digest.")
@click.option("--keep-tool-calls", is_flag=True, help="With --compress: list tool calls in the digest instead of counting them.")
@click.option("--drop-branches", is_flag=True, help="Delete abandoned branches from the file.")
@click.option("--drop-bookkeeping", is_flag=True, help="Delete progress lines, request logs and repeated notes.")
@click.option("--drop-agents", is_flag=True, help="Delete subagent files. The calls that started them stay.")
@click.option("--portable", is_flag=True, help="Link each line to the one before it, so that old releases lose nothing.")
@click.option("--turns", metavar="RANGES", help="Select turns by number: 3, 2-5, 7- or a list such as 2-5,7.")
@click.option("--keep-last", type=click.IntRange(min=0), metavar="N", help="Select all turns but the last N.")
@click.option("--before", metavar="TIME", help="Select turns that started before a time (2026-01-31).")
@click.option("--older-than", metavar="AGE", help="Select turns older than AGE (36h, 7d, 2w).")
@click.option("--tool", "tools", multiple=True, metavar="NAME", help="Select calls of this tool. Repeatable.")
@click.option("--larger-than", type=click.IntRange(min=0), metavar="N", help="Select calls whose result exceeds N characters.")
@click.option("--errors", is_flag=True, help="Select calls that failed.")
@click.option(
    "--agent", "agents", multiple=True, metavar="NAME", help="Select calls that started this subagent (id or type). Repeatable."
)
@click.option("--call", "calls", multiple=True, metavar="ID", help="Select the call with this tool use id. Repeatable.")
@click.option("--prune", is_flag=True, help="Also delete dropped lines from the file.")
@click.option("--reason", default="", metavar="TEXT", help="Note to store in the journal.")
@click.option(
    "--preview", "previewing", is_flag=True, help="List every turn and call that would be dropped, and print the digest."
)
@consent_options
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
    dry_run: bool,
    previewing: bool,
    reveal: bool,
    as_json: bool,
    **options: Any,
) -> None:
    """Trim or compress a session.

    In a terminal, shows a plan with savings and proof, then asks. Otherwise, only shows the plan. A plan is refused unless
    Claude Code 2.0.76, 2.1.45 and 2.1.325 would all send exactly what it shows. The original is archived, and `steno undo`
    restores it byte for byte.

    Dropped turns stay in the file as a branch that no client resumes, so that token counters still see them. --prune deletes
    them.

    Edits run in a fixed order (docs/surgery.md), and all selectors must match.

    \b
    Examples:
      steno edit last --truncate-results 2000 --keep-last 3
      steno edit last --compress --keep-last 5 --apply
    """
    from stenograph.archive import Archive, default_archive_folder
    from stenograph.surgery import Attempt, attempt, make_plan
    from stenograph.views import EditPage, edit_page, mask_page, plain, render_edit, render_edit_result

    settings = state_options(ctx)
    file = named_session(ctx, session, writes=True)
    if applying:
        refuse_demo(settings, file.path)
    if reveal and not previewing:
        raise UsageError("--reveal requires --preview")
    edits = _edits(_which(options, datetime.now(UTC)), options)
    _refuse_idle_choices(edits, options)
    plan = make_plan(file.path, edits, prune=prune)
    archive = Archive(default_archive_folder(os.environ))
    allowed = consent(applying=applying, dry_run=dry_run, as_json=as_json)
    mask, masker = make_mask(reveal)
    refusal = demo_refusal(ctx, settings, plan.path)

    def page_of(attempted: Attempt) -> EditPage:
        return mask_page(edit_page(plan, attempted, partial(again, ctx), previewing=previewing, refusal=refusal), mask)

    attempted = attempt(plan, archive, is_applied=applying, active_seconds=settings.config.active_seconds)
    busy, is_refused = attempted.busy, applying and attempted.busy is not None
    if busy and is_refused and not as_json:
        raise busy
    page = page_of(attempted)
    can_be_done = page.changes_file and not page.problems and page.refusal is None
    look = render_options(ctx, asks=allowed.may_ask and can_be_done)
    echo_page(page, render_edit, look, as_json=as_json)
    tell_masked(masker)
    if can_be_done and allowed.ask():
        attempted = attempt(plan, archive, is_applied=True, active_seconds=settings.config.active_seconds)
        if attempted.busy:
            raise attempted.busy
        echo_page(page_of(attempted), render_edit_result, look, as_json=False)
        return
    if busy and is_refused:
        echo_error(busy.what, why=busy.why, hint=busy.hint)
    elif busy:
        echo_warning("--apply would be refused now", why=f"{plan.path} is in use", hint=busy.hint)
    if page.problems:
        ways = f"{page.try_first}, then this edit again" if page.try_first else again(ctx, "check", str(plan.path))
        echo_error(
            "the plan was refused; nothing was written", why=[plain(sentence(problem)) for problem in page.problems], hint=ways
        )
    if page.problems or is_refused:
        ctx.exit(REFUSED)


def _which(options: dict[str, Any], now: datetime) -> Selector:
    from stenograph.cli._arguments import age_before, date_of
    from stenograph.records import to_client_time
    from stenograph.surgery import Selector

    if options["before"] and options["older_than"]:
        raise UsageError("--before conflicts with --older-than")
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
        calls=options["calls"],
    )


def _ranges(text: str | None) -> list[tuple[int, int]]:
    ranges = []
    for part in text.split(",") if text else ():
        found = _RANGE.fullmatch(part.strip())
        if found is None:
            raise UsageError(f"invalid --turns {in_quotes(text or '')}; use a list such as 2-5,7")
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
        raise UsageError(f"{by_turns[0]} selects turns and has no effect on: {_named(edits)}")
    # Beside an edit of tool calls one of the whole file may stand, but none that takes all that is in the same turns.
    idle = [edit for edit in edits if not isinstance(edit, of_calls)]
    if by_calls and (len(idle) == len(edits) or any(not isinstance(edit, of_whole_files) for edit in idle)):
        raise UsageError(f"{by_calls[0]} selects tool calls and has no effect on: {_named(idle)}")


def _named(edits: Sequence[AnyEdit]) -> str:
    return ", ".join(edit.summary for edit in edits)


def _edits(which: Selector, options: dict[str, Any]) -> list[AnyEdit]:
    from stenograph import surgery
    from stenograph.redact import mask

    reason = mask(options["reason"])[0]  # the journal keeps it
    edits: list[AnyEdit] = []
    if options["drop_turns"]:
        if not which.chooses_turns:
            raise UsageError("--drop-turns needs a selector: --turns, --keep-last, --before or --older-than")
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
        raise UsageError("--keep-tool-calls requires --compress")
    if options["compress"]:
        if not which.chooses_turns:
            raise UsageError("--compress needs a turn selector, for example --keep-last 1")
        edits.append(surgery.Compress(which, reason, keep_tool_calls=options["keep_tool_calls"]))
    if options["portable"]:
        edits.append(surgery.MakePortable(reason=reason))
    if not edits:
        raise UsageError("nothing to do; add an edit such as --truncate-results 2000 or --compress --keep-last 5")
    return edits
