"""What goes to stderr beside the results: errors, warnings and notes, all of one form.

    error: what happened
      Why, with names, counts and choices.
    try: a command that can be pasted

The label is colored on a terminal; the rest is plain. Messages never quote a transcript.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterable

import click

_LABELS = {"error": "31", "warning": "1;33", "note": "2"}
_INDENT = "  "


def echo_error(what: str, *, why: str | Iterable[str] = "", hint: str = "") -> None:
    """Something failed."""
    _echo("error", what, why, hint)


def echo_warning(what: str, *, why: str | Iterable[str] = "", hint: str = "") -> None:
    """It was done, but."""
    _echo("warning", what, why, hint)


def echo_note(what: str, *, why: str | Iterable[str] = "", hint: str = "") -> None:
    """Worth knowing."""
    _echo("note", what, why, hint)


def _echo(label: str, what: str, why: str | Iterable[str], hint: str) -> None:
    from stenograph.views import plain

    # Several lines come harmless and aligned.
    reasons = [plain(sentence(why))] if isinstance(why, str) else list(why)
    lines = [f"{_painted(label)}: {plain(what)}", *(_INDENT + reason for reason in reasons if reason)]
    if hint:
        lines.append(f"try: {plain(hint)}")
    with contextlib.suppress(OSError):  # nowhere is left to say so
        click.echo("\n".join(lines), err=True, color=True)


def sentence(clause: str) -> str:
    """A clause as a sentence of its own; one that begins with a name keeps its first letter."""
    if not clause:
        return ""
    first = clause.split(maxsplit=1)[0]
    start = clause[0].upper() if first.isalpha() and first != "steno" else clause[0]
    return f"{start}{clause[1:]}{'' if clause.endswith(('.', '?', '!')) else '.'}"


def _painted(label: str) -> str:
    return f"\x1b[{_LABELS[label]}m{label}\x1b[0m" if _is_colored() else label


def _is_colored() -> bool:
    from stenograph.config import Config, wants_color

    ctx = click.get_current_context(silent=True)
    # The context knows what the settings say once they are read; a message may come before that.
    wanted = ctx.color if ctx is not None and ctx.color is not None else wants_color(Config(), os.environ)
    if {"--no-color", "--plain", "--color=never"} & set(sys.argv):  # at the last error the context is gone
        wanted = False
    return sys.stderr.isatty() and wanted is not False
