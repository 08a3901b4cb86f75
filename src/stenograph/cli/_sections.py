"""Options under headings, for the commands that have dozens."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import click

_OTHERS = "Options"


class SectionedCommand(click.Command):
    """`sections` is the name of the first option of each section -> its heading. Options before the first are listed last."""

    def __init__(self, *arguments: Any, sections: Mapping[str, str], **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.sections = sections

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        heading = _OTHERS
        headings = [name for name in self.sections.values() if name != _OTHERS]
        rows: dict[str, list[tuple[str, str]]] = {name: [] for name in (*headings, _OTHERS)}
        for option in self.get_params(ctx):
            heading = self.sections.get(option.name or "", heading)
            row = option.get_help_record(ctx)
            if row and isinstance(option, click.Option):
                rows[heading].append(row)
        for name, of_section in rows.items():
            with formatter.section(name):
                formatter.write_dl(of_section)
