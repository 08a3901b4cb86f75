"""`steno search`: full text over every session."""

from __future__ import annotations

from datetime import datetime

import click

from stenograph.cli import NOTHING_MATCHED
from stenograph.cli._index import synced_store
from stenograph.cli._messages import echo_note
from stenograph.cli._output import echo_page, json_option, make_mask, progress, render_options, reveal_option
from stenograph.cli._settings import again, shared_options, state_options
from stenograph.errors import UsageError
from stenograph.index import KINDS_BY_NAME


@click.command(short_help="Search everything that was said and done.")
@click.argument("words", nargs=-1, metavar="[QUERY...]")
@click.option(
    "--in", "kinds", type=click.Choice((*KINDS_BY_NAME, "tools")), multiple=True, help="Search only these texts. Repeatable."
)
@click.option("--project", metavar="NAME", help="Only sessions of this project and its worktrees: a path or part of one.")
@click.option("--branch", metavar="NAME", help="Only sessions of this git branch.")
@click.option("--release", metavar="V", help="Only sessions written by this release; 2.1 matches every 2.1.x.")
@click.option("--model", metavar="NAME", help="Only sessions with this model: any part of its name.")
@click.option("--tool", metavar="NAME", help="Only calls of this tool and their results.")
@click.option("--file", "touched", metavar="PATH", help="Only tool calls on files with this in their path.")
@click.option("--errors", "only_errors", is_flag=True, help="Only tool calls that failed.")
@click.option("--since", metavar="TIME", help="Only lines since TIME: a date (2026-01-31) or an age (36h, 7d, 2w).")
@click.option("--until", metavar="TIME", help="Only lines before TIME.")
@click.option("--regex", "is_regex", is_flag=True, help="Treat the query as a regular expression. Reads every session.")
@click.option(
    "--limit", "-n", type=click.IntRange(min=1), metavar="N", default=10, show_default=True, help="Maximum number of sessions."
)
@click.option(
    "--lines", type=click.IntRange(min=1), metavar="N", default=3, show_default=True, help="Maximum number of lines per session."
)
@click.option(
    "--context", "-C", type=click.IntRange(min=0), metavar="N", default=0, help="Show N lines of the text around each match."
)
@reveal_option
@json_option
@shared_options
@click.pass_context
def search(
    ctx: click.Context,
    words: tuple[str, ...],
    kinds: tuple[str, ...],
    project: str | None,
    branch: str | None,
    release: str | None,
    model: str | None,
    tool: str | None,
    touched: str | None,
    only_errors: bool,
    since: str | None,
    until: str | None,
    is_regex: bool,
    limit: int,
    lines: int,
    context: int,
    reveal: bool,
    as_json: bool,
) -> None:
    """Search everything that was said and done.

    Finds sessions that contain all the words. With three or more words, most of them are enough. Searches prompts, answers,
    thinking, tool calls, results, titles and branch names, including those of subagents. In a terminal, without a query, opens
    a picker that searches as you type.

    Case and accents do not matter. Use quotes for a phrase, a trailing * for a prefix, and AND, OR, NOT and parentheses.
    `userName` also finds `user_name`.

    The first search builds an index in the data directory; later ones read only what changed. Deleting the index loses nothing.

    \b
    Examples:
      steno search discount rounding
      steno search '"connection refused"' --tool Bash --since 7d
      steno search --regex 'TODO\\(\\w+\\)' --in outputs
    """
    if not words:
        _pick(ctx)
        return
    from stenograph.index import BoundedPattern, Filter, forms_of, parse_query, scan
    from stenograph.index import search as find
    from stenograph.views import render_search, search_page

    now = datetime.now().astimezone()
    names = {each for kind in kinds for each in (("inputs", "outputs") if kind == "tools" else (kind,))}
    settings = state_options(ctx)
    narrowed = Filter(
        homes=tuple(settings.homes),
        kinds=frozenset(KINDS_BY_NAME[name] for name in names),
        project=project,
        branch=branch,
        release=release,
        model=model,
        tool=tool,
        file=touched,
        only_errors=only_errors,
        since=_seconds(since, now),
        until=_seconds(until, now),
    )
    text = " ".join(words)
    sought = BoundedPattern(text) if is_regex else parse_query(text)
    store, synced = synced_store(ctx)
    if isinstance(sought, BoundedPattern):
        with progress("Searching") as report:
            found = scan(store, sought, narrowed, limit=limit, lines=lines, progress=report)
    else:
        found = find(store, sought, narrowed, limit=limit, lines=lines)
    page = search_page(text, sought, found, synced, make_mask(reveal)[0], context=context)
    echo_page(page, render_search, render_options(ctx), as_json=as_json, pager=False)
    if not page.hits:
        stem = "" if is_regex else min(forms_of(text), key=len, default="")
        is_near = stem and find(store, parse_query(f"{stem}*"), narrowed, limit=1).total
        echo_note("nothing matches", hint=again(ctx, "search", f"{stem}*") if is_near else "")
        ctx.exit(NOTHING_MATCHED)


def _seconds(text: str | None, now: datetime) -> float | None:
    if text is None:
        return None
    from stenograph.sessions import date_or_age

    return date_or_age(text, now)


def _pick(ctx: click.Context) -> None:
    """Show or resume the session that is chosen. Raises UsageError where nobody can choose."""
    from stenograph.cli._picker import can_pick, pick_session, run_choice

    if not can_pick(ctx):
        raise UsageError("no query given", hint="steno search WORDS")
    if (chosen := pick_session(ctx, "show")) is not None:
        run_choice(ctx, chosen)
