"""Markdown for a terminal, by rich, which is imported only here.

Entities (`&#x202e;`) are decoded by the parser after the text was made harmless, so every piece is made harmless again on its way
out; links are shown, never clickable.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, ClassVar

from stenograph.redact import Mask, as_is
from stenograph.views.text import harmless, wrap

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderResult
    from rich.markdown import Markdown, MarkdownElement

# As everything else in a terminal: no background, which would vanish in some theme, and no plain blue.
_STYLES = {
    "markdown.code": "cyan",
    "markdown.code_block": "cyan",
    "markdown.link": "bright_blue",
    "markdown.link_url": "bright_blue",
    "markdown.h1": "bold",
    "markdown.h2": "bold",
}
# Wide enough that no secret is broken over two lines.
_WIDE = 10_000


def markdown_lines(text: str, columns: int, *, color: bool, mask: Mask = as_is) -> Iterator[str]:
    """The lines of a Markdown text. Marks and entities may hide a secret that shows when they are gone: it is masked then."""
    lines = list(_rendered(text, columns, color=color))
    if mask is not as_is:
        from stenograph.redact import find_secrets

        if find_secrets("".join(plain.strip() for plain, _ in lines)) or any(find_secrets(plain) for plain, _ in lines):
            wide = [mask(plain) for plain, _ in _rendered(text, _WIDE, color=False)]
            # Rules and the edges of tables fill what room there is.
            wide = [re.sub(r"([^\w\s])\1{79,}", lambda run: run[1] * min(columns, len(run[0])), line) for line in wide]
            yield from (piece for line in wide for piece in wrap(line, columns))
            return
    yield from (painted for _, painted in lines)


@functools.cache
def _markdown() -> type[Markdown]:
    from rich.markdown import Heading, Markdown

    class LeftHeading(Heading):
        """On the text edge; rich centers those of the first level."""

        def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
            yield self.text

    class LeftMarkdown(Markdown):
        elements: ClassVar[dict[str, type[MarkdownElement]]] = {**Markdown.elements, "heading_open": LeftHeading}

        def __init__(self, markup: str, **wishes: Any) -> None:
            """Models break lines where lines end, as in lists of facts; clients show that too."""
            super().__init__(markup, **wishes)
            for child in (child for token in self.parsed for child in token.children or ()):
                if child.type == "softbreak":
                    child.type = "hardbreak"

    return LeftMarkdown


def _rendered(text: str, columns: int, *, color: bool) -> Iterator[tuple[str, str]]:
    """Each line as it reads, and as it is written to a terminal."""
    from rich.console import Console
    from rich.theme import Theme

    console = Console(
        width=columns,
        theme=Theme(_STYLES),
        color_system="standard" if color else None,
        force_terminal=color,
        no_color=not color,
        legacy_windows=False,
        highlight=False,
    )
    document = _markdown()(harmless(text), hyperlinks=False, code_theme="ansi_dark")
    for segments in console.render_lines(document, pad=False):
        pieces = [(harmless(segment.text).replace("\n", " "), segment.style) for segment in segments]
        # Tables and quotes are padded, with colors around the spaces.
        while pieces and not pieces[-1][0].strip():
            pieces.pop()
        pieces[-1:] = [(text.rstrip(), style) for text, style in pieces[-1:]]
        painted = (style.render(text, color_system=console._color_system) if color and style else text for text, style in pieces)
        yield "".join(text for text, _ in pieces), "".join(painted)
