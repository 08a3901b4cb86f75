"""JSON of commands that do not have a page yet."""

from __future__ import annotations

import contextlib
import sys
from datetime import UTC, datetime
from typing import Any

import click


def echo_json(value: Any) -> None:
    from stenograph.views.encode import encode_page, page_text

    terminal = sys.stdout.isatty()
    encoding = sys.stdout.encoding or "utf-8"
    fast = not terminal and encoding.lower() == "utf-8"
    click.echo(encode_page(value) if fast else page_text(value, indent=2 if terminal else None, encoding=encoding))


def iso(moment: datetime | None) -> str | None:
    if moment is None:
        return None
    with contextlib.suppress(ValueError, OverflowError):
        moment = moment.astimezone(UTC)
    return moment.isoformat().replace("+00:00", "Z")
