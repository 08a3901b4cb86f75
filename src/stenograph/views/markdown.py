"""Markdown for a terminal, by rich, which is imported only here.

In: Markdown as a model wrote it. Out: lines of the wanted width. Entities (`&#x202e;`) are decoded by the Markdown parser,
after the text was made harmless, so every piece is made harmless again on its way out; links are shown, never made clickable.
"""

from __future__ import annotations

from collections.abc import Iterator

from stenograph.views.text import harmless


def render_markdown(text: str, columns: int, *, color: bool) -> Iterator[str]:
    """The lines of a Markdown text."""
    from rich.console import Console
    from rich.markdown import Markdown

    console = Console(
        width=columns,
        color_system="standard" if color else None,
        force_terminal=color,
        no_color=not color,
        legacy_windows=False,
        highlight=False,
    )
    document = Markdown(harmless(text), hyperlinks=False, code_theme="ansi_dark")
    for segments in console.render_lines(document, pad=False):
        line = ""
        for segment in segments:
            piece = harmless(segment.text).replace("\n", " ")
            line += segment.style.render(piece, color_system=console._color_system) if color and segment.style else piece
        yield line.rstrip()
