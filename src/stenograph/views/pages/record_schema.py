"""What releases write, as it was recorded from them."""

from __future__ import annotations

from collections.abc import Sequence

from stenograph.drift import Registry, diff_schemas, schema_of
from stenograph.views.pages.page import Document, Page


class SchemaPage(Document, frozen=True, tag="schema/1"):
    """`steno schema`: which releases were recorded, and how much is known about them."""

    recorded: tuple[str, ...]
    """The releases that were recorded, oldest first."""
    public: tuple[str, ...]
    """The releases known from public sessions only."""
    kinds: int
    fields: int


class SchemaFieldPage(Page, frozen=True):
    """A field of a kind of object."""

    path: str
    types: tuple[str, ...]
    """JSON types."""
    always: bool
    """Every recorded object has it."""


class ShapePage(Page, frozen=True):
    """A kind of object."""

    shape: str
    fields: tuple[SchemaFieldPage, ...]


class ReleaseSchemaPage(Document, frozen=True, tag="release-schema/1"):
    """What one release writes."""

    release: str
    recorded_release: str
    """The recorded release that is shown: itself, the nearest older one, or the oldest of all."""
    shapes: tuple[ShapePage, ...]


class FieldChangePage(Page, frozen=True):
    """A field whose JSON types changed."""

    path: str
    old: tuple[str, ...]
    new: tuple[str, ...]


class ShapeDiffPage(Page, frozen=True):
    """What changed in a kind of object."""

    shape: str
    added: tuple[str, ...]
    """Paths of fields."""
    removed: tuple[str, ...]
    changed: tuple[FieldChangePage, ...]


class SchemaDiffPage(Document, frozen=True, tag="schema-diff/1"):
    """What changed from one release to another."""

    old: str
    new: str
    old_recorded_release: str
    """The recorded release that is compared for the old one."""
    new_recorded_release: str
    """The recorded release that is compared for the new one."""
    added: tuple[str, ...]
    """Kinds of objects."""
    removed: tuple[str, ...]
    shapes: tuple[ShapeDiffPage, ...]


def schema_page(registry: Registry) -> SchemaPage:
    return SchemaPage(
        recorded=tuple(registry.recorded),
        public=tuple(release for release in registry.releases if release not in registry.recorded),
        kinds=len(registry.shapes),
        fields=sum(len(shape.fields) for shape in registry.shapes.values()),
    )


def release_schema_page(registry: Registry, release: str | None = None, kinds: Sequence[str] = ()) -> ReleaseSchemaPage:
    """What a release writes, the newest by default; `kinds`: only kinds whose name holds one of these. Raises UsageError."""
    found = schema_of(registry, release or registry.recorded[-1])
    shapes = (
        ShapePage(name, tuple(SchemaFieldPage(path, field.types, field.always) for path, field in fields.items()))
        for name, fields in found.shapes.items()
        if not kinds or any(kind in name for kind in kinds)
    )
    return ReleaseSchemaPage(found.release, found.recorded, tuple(shapes))


def schema_diff_page(registry: Registry, old: str, new: str) -> SchemaDiffPage:
    """What changed from one release to another. Raises UsageError."""
    before, after = schema_of(registry, old), schema_of(registry, new)
    found = diff_schemas(before, after)
    shapes = (
        ShapeDiffPage(
            shape=each.shape,
            added=tuple(each.added),
            removed=tuple(each.removed),
            changed=tuple(FieldChangePage(change.path, change.old, change.new) for change in each.changed),
        )
        for each in found.shapes
    )
    return SchemaDiffPage(
        found.old, found.new, before.recorded, after.recorded, tuple(found.added), tuple(found.removed), tuple(shapes)
    )
