"""`steno schema`: what releases write, as it was recorded from them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from stenograph.cli import NOTHING_MATCHED
from stenograph.cli._settings import shared_options

if TYPE_CHECKING:
    from stenograph.drift.schema import ReleaseSchema, SchemaDiff


@click.group(short_help="Show what releases write, as recorded from them.", invoke_without_command=True)
@click.option("--json", "as_json", is_flag=True, help="Print JSON; before a subcommand it is the subcommand's.")
@shared_options
@click.pass_context
def schema(ctx: click.Context, as_json: bool) -> None:
    """Show what releases write, as recorded from them.

    Without a subcommand: the releases that were recorded, and how much is known.

    --json prints {"recorded": [releases], "public": [releases], "kinds", "fields"}.

    \b
    Example:
      steno schema diff 2.0.76 2.1.325
    """
    if ctx.invoked_subcommand is not None:
        if as_json and ctx.invoked_subcommand != "export":
            ctx.default_map = {ctx.invoked_subcommand: {"as_json": True}}
        return
    from stenograph.cli._text import echo_json
    from stenograph.drift import load_registry
    from stenograph.views.text import count_of

    registry = load_registry()
    fields = sum(len(shape.fields) for shape in registry.shapes.values())
    public = [release for release in registry.releases if release not in registry.recorded]
    if as_json:
        echo_json({"recorded": registry.recorded, "public": public, "kinds": len(registry.shapes), "fields": fields})
        return
    click.echo(f"{count_of(len(registry.recorded), 'recorded release')}: {', '.join(registry.recorded)}")
    click.echo(f"{count_of(len(public), 'more release')} known from public sessions only")
    click.echo(f"{count_of(len(registry.shapes), 'kind')}, {count_of(fields, 'field')}")


@schema.command(short_help="Show what one release writes.")
@click.argument("release", required=False)
@click.option("--kind", "kinds", multiple=True, metavar="KIND", help="Only kinds whose name holds this; may be given again.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@shared_options
@click.pass_context
def show(ctx: click.Context, release: str | None, kinds: tuple[str, ...], as_json: bool) -> None:
    """Show what one release writes, the newest by default: kinds, fields, JSON types; a * marks fields that are not always there.

    A release that was not recorded is told by the nearest older one that was, or by the oldest.

    --json prints {"release", "recorded", "shapes": {kind: {field: {"types", "always"}}}}.

    \b
    Example:
      steno schema show 2.1.325 --kind compact
    """
    from stenograph.cli._text import echo_json
    from stenograph.drift import load_registry
    from stenograph.drift.schema import schema_of

    registry = load_registry()
    release = release or registry.recorded[-1]
    found = schema_of(registry, release)
    shapes = {name: fields for name, fields in found.shapes.items() if not kinds or any(kind in name for kind in kinds)}
    if as_json:
        told = {
            name: {path: {"types": list(field.types), "always": field.always} for path, field in fields.items()}
            for name, fields in shapes.items()
        }
        echo_json({"release": release, "recorded": found.recorded, "shapes": told})
    else:
        _say_who_answers(found)
        for name, fields in shapes.items():
            click.echo(click.style(name, bold=True))
            width = max(map(len, fields), default=0) + 1
            for path, field in fields.items():
                name = path + ("" if field.always else "*")
                click.echo(f"  {name:<{width}}  {click.style('|'.join(field.types), dim=True)}")
    if not shapes:
        click.echo(f"steno: no kind of {found.recorded} has {' or '.join(kinds)} in its name", err=True)
        ctx.exit(NOTHING_MATCHED)


@schema.command(short_help="Show what changed from one release to another.")
@click.argument("old")
@click.argument("new")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@shared_options
def diff(old: str, new: str, as_json: bool) -> None:
    """Show what changed from one release to another: kinds and fields that came (+), went (-) or changed their type (~).

    --json prints {"old", "new", "added": [kinds], "removed": [kinds], "shapes": [{"shape", "added", "removed", "changed":
    [{"path", "old", "new"}]}]}.

    \b
    Example:
      steno schema diff 2.1.45 2.1.112
    """
    import msgspec

    from stenograph.cli._text import echo_json
    from stenograph.drift import load_registry
    from stenograph.drift.schema import diff_schemas, schema_of

    registry = load_registry()
    schemas = schema_of(registry, old), schema_of(registry, new)
    found = diff_schemas(*schemas)
    if as_json:
        echo_json(msgspec.to_builtins(found))
        return
    for each in schemas:
        _say_who_answers(each)
    _echo_diff(found)


@schema.command(short_help="Write the schema as JSON Schema or Markdown.")
@click.argument("release", required=False)
@click.option("--format", "kind", type=click.Choice(["json-schema", "markdown"]), default="json-schema", show_default=True)
@shared_options
def export(release: str | None, kind: str) -> None:
    """Write the schema as JSON Schema or Markdown, to standard output.

    RELEASE is the newest by default; Markdown without one is of all releases.

    \b
    Example:
      steno schema export 2.1.325 > line.schema.json
    """
    from stenograph.cli._text import echo_json
    from stenograph.drift import load_registry
    from stenograph.drift.schema import json_schema, markdown, schema_of

    registry = load_registry()
    if kind == "markdown":
        click.echo(markdown(registry, release), nl=False)
        return
    echo_json(json_schema(schema_of(registry, release or registry.recorded[-1])))


def _say_who_answers(schema: ReleaseSchema) -> None:
    if schema.release != schema.recorded:
        click.echo(f"{schema.release} was not recorded: told by {schema.recorded}", err=True)


def _echo_diff(found: SchemaDiff) -> None:
    from stenograph.views.text import count_of

    click.echo(click.style(f"{found.old} -> {found.new}", bold=True))
    for sign, colour, kinds in (("+", "green", found.added), ("-", "red", found.removed)):
        if kinds:
            click.echo(click.style(f"{sign} {count_of(len(kinds), 'kind')}: {', '.join(kinds)}", fg=colour))
    for shape in found.shapes:
        parts = [click.style(f"+{path}", fg="green") for path in shape.added]
        parts += [click.style(f"-{path}", fg="red") for path in shape.removed]
        parts += [
            click.style(f"~{change.path} {'|'.join(change.old)} -> {'|'.join(change.new)}", fg="yellow")
            for change in shape.changed
        ]
        click.echo(f"{click.style(shape.shape, bold=True)}  {'  '.join(parts)}")
    if not (found.added or found.removed or found.shapes):
        click.echo("no difference was recorded")
