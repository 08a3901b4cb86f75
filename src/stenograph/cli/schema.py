"""`steno schema`: what releases write, as it was recorded from them."""

from __future__ import annotations

import click

from stenograph.cli import NOTHING_MATCHED
from stenograph.cli._messages import echo_note
from stenograph.cli._output import echo_json, echo_page, json_option, render_options
from stenograph.cli._settings import shared_options


@click.group(short_help="Show the session format of each release.", invoke_without_command=True)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@shared_options
@click.pass_context
def schema(ctx: click.Context, as_json: bool) -> None:
    """Show the session format of each release.

    Without a subcommand, lists the recorded releases and how much is known about them.

    \b
    Example:
      steno schema diff 2.0.76 2.1.325
    """
    if ctx.invoked_subcommand is not None:
        if as_json and ctx.invoked_subcommand != "export":
            ctx.default_map = {ctx.invoked_subcommand: {"as_json": True}}
        return
    from stenograph.drift import load_registry
    from stenograph.views import render_schema, schema_page

    echo_page(schema_page(load_registry()), render_schema, render_options(ctx), as_json=as_json)


@schema.command(short_help="Show the format of one release")
@click.argument("release", required=False)
@click.option("--kind", "kinds", multiple=True, metavar="KIND", help="Show only kinds whose name contains this. Repeatable.")
@json_option
@shared_options
@click.pass_context
def show(ctx: click.Context, release: str | None, kinds: tuple[str, ...], as_json: bool) -> None:
    """Show the format of one release, by default the newest.

    Lists kinds, fields and JSON types. A * marks fields that are not always present.

    For a release that was not recorded, shows the nearest older one, or the oldest.

    \b
    Example:
      steno schema show 2.1.325 --kind compact
    """
    from stenograph.drift import load_registry
    from stenograph.views import release_schema_page, render_release_schema

    page = release_schema_page(load_registry(), release, kinds)
    if not as_json:
        _say_who_answers(page.release, page.recorded_release)
    echo_page(page, render_release_schema, render_options(ctx), as_json=as_json)
    if not page.shapes:
        echo_note(f"no kind of {page.recorded_release} has {' or '.join(kinds)} in its name")
        ctx.exit(NOTHING_MATCHED)


@schema.command(short_help="Show what changed between two releases")
@click.argument("old")
@click.argument("new")
@json_option
@shared_options
@click.pass_context
def diff(ctx: click.Context, old: str, new: str, as_json: bool) -> None:
    """Show what changed from one release to another: kinds and fields that were added (+) or removed (-), and
    fields whose type changed (~).

    \b
    Example:
      steno schema diff 2.1.45 2.1.112
    """
    from stenograph.drift import load_registry
    from stenograph.views import render_schema_diff, schema_diff_page

    page = schema_diff_page(load_registry(), old, new)
    if not as_json:
        _say_who_answers(page.old, page.old_recorded_release)
        _say_who_answers(page.new, page.new_recorded_release)
    echo_page(page, render_schema_diff, render_options(ctx), as_json=as_json)


@schema.command(short_help="Print the schema as JSON Schema or Markdown")
@click.argument("release", required=False)
@click.option(
    "--format",
    "kind",
    type=click.Choice(["json-schema", "markdown"]),
    default="json-schema",
    show_default=True,
    help="Output format.",
)
@shared_options
def export(release: str | None, kind: str) -> None:
    """Write the schema as JSON Schema or Markdown, to standard output.

    RELEASE defaults to the newest. Markdown without RELEASE covers all releases.

    \b
    Example:
      steno schema export 2.1.325 > line.schema.json
    """
    from stenograph.drift import json_schema, load_registry, markdown, schema_of

    registry = load_registry()
    if kind == "markdown":
        click.echo(markdown(registry, release), nl=False)
        return
    echo_json(json_schema(schema_of(registry, release or registry.recorded[-1])))


def _say_who_answers(release: str, recorded: str) -> None:
    if release != recorded:
        echo_note(f"{release} was not recorded; showing {recorded}")
