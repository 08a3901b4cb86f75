"""From a page to stdout: shared options, the pager, progress on stderr, and one way to print a page."""

from __future__ import annotations

import contextlib
import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, TypeVar

import click

from stenograph.cli._messages import echo_note, echo_warning

if TYPE_CHECKING:
    from stenograph.redact import Mask, Masker
    from stenograph.views import Document, FindingPage, RenderOptions

    DocumentType = TypeVar("DocumentType", bound=Document)

F = TypeVar("F", bound=Callable[..., Any])


def json_option(command: F) -> F:
    return click.option("--json", "as_json", is_flag=True, help="Print JSON (schema: docs/json.md).")(command)


def reveal_option(command: F) -> F:
    return click.option("--reveal", is_flag=True, help="Show secrets instead of masking them.")(command)


def pager_option(command: F) -> F:
    return click.option("--pager/--no-pager", default=True, help="Page output that is longer than the screen. [default: yes]")(
        command
    )


def width_option(command: F) -> F:
    return click.option(
        "--width",
        type=click.IntRange(min=20),
        metavar="COLUMNS",
        help="Wrap at N columns. [default: terminal width; no wrapping in a pipe]",
    )(command)


def hooks_option(command: F) -> F:
    return click.option("--hooks", is_flag=True, help="Show all hooks, not only those that failed or blocked.")(command)


def terminal_width() -> int | None:
    if not sys.stdout.isatty():
        return None
    import shutil

    return shutil.get_terminal_size().columns


def render_options(ctx: click.Context, columns: int | None = None, **wishes: Any) -> RenderOptions:
    from functools import partial

    from stenograph.cli._settings import again, is_plain, wished_color
    from stenograph.views import RenderOptions

    plain = is_plain(ctx)
    terminal = sys.stdout.isatty() and not plain
    wished = wished_color(ctx)
    color = terminal if wished is None else wished
    width = columns or (None if plain else terminal_width())
    return RenderOptions(width=width, color=color, markdown=terminal or color, command=partial(again, ctx), **wishes)


def make_mask(reveal: bool) -> tuple[Mask, Masker | None]:
    """The function that masks texts, and the masker that counts them; with `reveal` texts stay as they are."""
    from stenograph.redact import as_is

    if reveal:
        return as_is, None
    from stenograph.redact import Masker

    masker = Masker()
    return masker.mask, masker


def tell_masked(masker: Masker | None) -> None:
    from stenograph.views import count_of

    if masker is not None and masker.different:
        echo_note(f"{count_of(masker.different, 'secret')} masked (--reveal)")


def echo_page(
    page: DocumentType,
    render: Callable[[DocumentType, RenderOptions], Iterable[str]],
    options: RenderOptions,
    *,
    as_json: bool,
    pager: bool = False,
) -> None:
    if as_json:
        echo_json(page)
    else:
        echo_lines(render(page, options), pager=pager)


def echo_json(page: Document | dict[str, Any]) -> None:
    """A page as one JSON document; indented only on a terminal, for Python indents ten times as slowly and `jq` takes either."""
    from stenograph.views import encode_page, page_text

    if _writes_utf8_lines():
        click.echo(encode_page(page))
        return
    indent = 2 if sys.stdout.isatty() else None
    click.echo(page_text(page, indent=indent, encoding=sys.stdout.encoding or "utf-8"))


def echo_long_json(page: Document, items: Iterable[Any]) -> None:
    """The same for a page whose last member is an empty list: its items are written while they are made."""
    from msgspec.structs import replace

    from stenograph.views import encode_long

    if not _writes_utf8_lines():
        echo_json(replace(page, **{page.__struct_fields__[-1]: tuple(items)}))
        return
    for piece in encode_long(page, items):
        click.echo(piece, nl=False)
    click.echo()


def _writes_utf8_lines() -> bool:
    return not sys.stdout.isatty() and (sys.stdout.encoding or "").lower() == "utf-8"


def echo_unreadable(findings: Iterable[FindingPage]) -> None:
    """What could not be read, one line each, on stderr; what is merely unusual is left to `steno doctor`."""

    for finding in findings:
        if finding.code.startswith("unreadable"):
            echo_warning(finding.detail)


# For terminals outside UTF-8: one character each, so that columns stay aligned.
_ASCII = str.maketrans("●■✗✓•·│┊┬▌─━╸█▅▄▂▆…→", "*#x+-.|:+|-=-#+=_%.>")


def _in_encoding(lines: Iterable[str]) -> Iterable[str]:
    """The lines with ASCII instead of our marks where stdout can't show them."""
    try:
        "●█…".encode(sys.stdout.encoding or "utf-8")
    except (UnicodeEncodeError, LookupError):
        return (line.translate(_ASCII) for line in lines)
    return lines


def echo_lines(lines: Iterable[str], *, pager: bool = True) -> None:
    from stenograph.cli._settings import is_plain

    lines = _in_encoding(lines)
    ctx = click.get_current_context(silent=True)
    command = _pager() if pager and sys.stdout.isatty() and not (ctx and is_plain(ctx)) else None
    if command is None:
        for line in lines:
            click.echo(line, color=True)  # color was decided when the line was made
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


#: Before progress is shown, in seconds.
PATIENCE = 0.5
_REDRAW = 0.1
#: Of less nobody can say how long the rest takes.
_LEAST_SHARE = 0.02


@contextlib.contextmanager
def progress(label: str) -> Iterator[Callable[[int, int], None] | None]:
    """A function to call with the work done and the work there is, or None where nobody would see it."""
    from stenograph.config import wants_plain

    if not _is_watched() or wants_plain(os.environ):
        yield None
        return
    started = time.monotonic()
    drawn = 0.0

    def show(done: int, total: int) -> None:
        nonlocal drawn
        now = time.monotonic()
        if now - started < PATIENCE or now - drawn < _REDRAW:
            return
        drawn = now
        share = min(1.0, done / total) if total else 1.0
        left = f"  {max(1, round((now - started) * (1 - share) / share))} s left" if _LEAST_SHARE <= share < 1 else ""
        sys.stderr.write(f"\r\x1b[K{label}  {share:.0%}{left}")
        sys.stderr.flush()

    try:
        yield show
    finally:
        if drawn:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()


@contextlib.contextmanager
def waiting(for_what: str) -> Iterator[None]:
    """Says `waiting for ...` once, where what is done inside takes longer than a second."""
    if not _is_watched():
        yield
        return
    import threading

    def say() -> None:
        sys.stderr.write(f"waiting for {for_what}\n")
        sys.stderr.flush()

    timer = threading.Timer(PATIENCE, say)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def _is_watched() -> bool:
    return sys.stderr is not None and sys.stderr.isatty()
