"""Lines to the terminal, through a pager where they are more than it can show.

In: lines as they are made. Nothing waits for the last one: a pager starts as soon as the screen is full, and gets the rest
while the user reads. Where stdout is no terminal lines are simply written.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterable

import click


def echo_lines(lines: Iterable[str], *, pager: bool = True) -> None:
    """Write lines, each with a line end."""
    command = _pager() if pager and sys.stdout.isatty() else None
    if command is None:
        for line in lines:
            click.echo(line, color=True)  # colour was decided when the line was made
        return
    import shutil

    height = shutil.get_terminal_size().lines - 1
    waiting: list[str] = []
    source = iter(lines)
    for line in source:
        waiting.append(line)
        if len(waiting) > height:
            break
    else:
        for line in waiting:
            click.echo(line, color=True)
        return
    _page(command, waiting, source)


def _pager() -> list[str] | None:
    """The user's pager, else less; None where there is none, or the user wants none."""
    import shlex
    import shutil

    chosen = os.environ.get("PAGER")
    if chosen is not None and chosen.strip() in ("", "cat"):
        return None
    try:
        command = shlex.split(chosen) if chosen else ["less"]
    except ValueError:
        return None
    return command if shutil.which(command[0]) else None


def _page(command: list[str], first: list[str], rest: Iterable[str]) -> None:
    import signal
    import subprocess

    # As git does: less shows colours, and leaves the text on the screen; who has set LESS knows better.
    environment = {**os.environ, "LESS": os.environ.get("LESS", "RX"), "LV": os.environ.get("LV", "-c")}
    process = subprocess.Popen(command, stdin=subprocess.PIPE, env=environment)
    assert process.stdin is not None
    # Ctrl-C is the pager's: it ends a search or a following there, not us.
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        try:
            for lines in (first, rest):
                for line in lines:
                    process.stdin.write(f"{line}\n".encode(errors="backslashreplace"))
                    process.stdin.flush()
        except BrokenPipeError:
            pass  # the reader has read enough
        finally:
            with contextlib.suppress(BrokenPipeError):
                process.stdin.close()
            process.wait()
    finally:
        signal.signal(signal.SIGINT, before)
