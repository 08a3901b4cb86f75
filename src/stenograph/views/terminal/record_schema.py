"""What releases write -> lines."""

from __future__ import annotations

from collections.abc import Iterator

from stenograph.views.pages.record_schema import ReleaseSchemaPage, SchemaDiffPage, SchemaPage
from stenograph.views.terminal.options import BOLD, DIM, GREEN, RED, YELLOW, RenderOptions
from stenograph.views.text import count_of, wrap


def render_schema(page: SchemaPage, options: RenderOptions) -> Iterator[str]:
    yield from wrap(f"{count_of(len(page.recorded), 'recorded release')}: {', '.join(page.recorded)}", options.width)
    yield f"{count_of(len(page.public), 'more release')} known from public sessions only"
    yield f"{count_of(page.kinds, 'kind')}, {count_of(page.fields, 'field')}"


def render_release_schema(page: ReleaseSchemaPage, options: RenderOptions) -> Iterator[str]:
    for shape in page.shapes:
        yield options.paint(shape.shape, BOLD)
        width = max((len(field.path) for field in shape.fields), default=0) + 1
        for field in shape.fields:
            name = field.path + ("" if field.always else "*")
            yield f"  {name:<{width}}  {options.paint('|'.join(field.types), DIM)}"


def render_schema_diff(page: SchemaDiffPage, options: RenderOptions) -> Iterator[str]:
    yield options.paint(f"{page.old} -> {page.new}", BOLD)
    for sign, color, kinds in (("+", GREEN, page.added), ("-", RED, page.removed)):
        if kinds:
            yield options.paint(f"{sign} {count_of(len(kinds), 'kind')}: {', '.join(kinds)}", color)
    for shape in page.shapes:
        parts = [options.paint(f"+{path}", GREEN) for path in shape.added]
        parts += [options.paint(f"-{path}", RED) for path in shape.removed]
        parts += [
            options.paint(f"~{change.path} {'|'.join(change.old)} -> {'|'.join(change.new)}", YELLOW) for change in shape.changed
        ]
        yield f"{options.paint(shape.shape, BOLD)}  {'  '.join(parts)}"
    if not (page.added or page.removed or page.shapes):
        yield "no difference was recorded"
