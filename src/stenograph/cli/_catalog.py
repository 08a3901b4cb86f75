"""The catalog of a run: the homes of its settings and the user's archive. Its copies go when the command ends."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import click

from stenograph.cli._settings import state_options

if TYPE_CHECKING:
    from stenograph.catalog import Catalog

_KEY = "stenograph.cli.catalog"


def catalog_of(ctx: click.Context) -> Catalog:
    """Raises as `state_options` does. The demo has no archive."""
    from stenograph.catalog import Catalog

    known: Catalog | None = ctx.meta.get(_KEY)
    if known is None:
        settings = state_options(ctx)
        known = Catalog(settings.homes, None) if settings.demo else Catalog.of_environment(settings.homes, os.environ)
        ctx.meta[_KEY] = known
        ctx.find_root().call_on_close(known.close)
    return known
