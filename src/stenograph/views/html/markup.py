"""Markdown and plain text of a session -> HTML that runs and fetches nothing.

Markdown is rendered without raw HTML, then sanitized all the same. Images become links: no picture is fetched from anywhere.
"""

from __future__ import annotations

import re
from functools import cache
from html import unescape
from typing import TYPE_CHECKING, Any

from markupsafe import Markup, escape

from stenograph.redact import find_secrets
from stenograph.views.html.code import code_html
from stenograph.views.text import harmless

if TYPE_CHECKING:
    from markdown_it import MarkdownIt

_TAGS = {
    "p", "br", "hr", "h1", "h2", "h3", "h4", "h5", "h6", "ul", "ol", "li", "blockquote", "pre", "code", "em", "strong", "s",
    "a", "table", "thead", "tbody", "tr", "th", "td", "span",
}  # fmt: skip
_ATTRIBUTES = {"a": {"href", "title"}, "span": {"class"}, "ol": {"start"}, "code": {"class"}, "pre": {"tabindex"}}
_SCHEMES = ("http://", "https://", "mailto:")
# More is shown plain: nobody reads it as prose, and it would cost seconds.
_LONGEST = 200_000
_TAG = re.compile("<[^>]*>")
# What leaves no gap between two words.
_INLINE_TAG = re.compile(r"</?(?:em|strong|s|a|code|span)\b[^>]*>")
_ATTRIBUTE = re.compile('(?:href|title)="([^"]*)"')
# As `redact` writes it.
_SECRET = re.compile(r"\[([a-z][a-z0-9-]{2,40}):([0-9a-f]{12}|\d{1,6})\]")


def _anchor(address: str, title: str = "") -> str:
    """The start of a link. What is not a whole address was relative to something else than our pages, so it leads nowhere."""
    to = f' href="{escape(address)}"' if address.startswith(_SCHEMES) else ""
    return f'<a{to} title="{escape(title)}">' if title else f"<a{to}>"


@cache
def _parser(breaks: bool) -> MarkdownIt:
    from markdown_it import MarkdownIt

    def fence(tokens: Any, place: int, _options: Any, _env: Any) -> str:
        token = tokens[place]
        language = token.info.strip().split(" ")[0] if token.info else ""
        return f'<pre tabindex="0"><code>{code_html(token.content.rstrip(chr(10)), language[:40])}</code></pre>\n'

    def image(tokens: Any, place: int, _options: Any, _env: Any) -> str:
        token = tokens[place]
        source = str(token.attrGet("src") or "")
        return f"{_anchor(source)}image: {escape(token.content or source)}</a>"

    def link(tokens: Any, place: int, _options: Any, _env: Any) -> str:
        token = tokens[place]
        return _anchor(str(token.attrGet("href") or ""), str(token.attrGet("title") or ""))

    def heading(tokens: Any, place: int, _options: Any, _env: Any) -> str:
        """A turn has a heading of the second level: those of its text are below it."""
        token = tokens[place]
        level = min(6, int(token.tag[1]) + 2)
        return f"<{'/' if token.nesting < 0 else ''}h{level}>"

    parser = MarkdownIt("commonmark", {"html": False, "breaks": breaks}).enable(["table", "strikethrough"])
    rules = parser.renderer.rules  # type: ignore[attr-defined]
    rules["fence"] = rules["code_block"] = fence
    rules["image"] = image
    rules["link_open"] = link
    rules["heading_open"] = rules["heading_close"] = heading
    return parser


def markdown_html(text: str, *, breaks: bool = False) -> Markup:
    """With `breaks` every line end is one, as in what a person typed."""
    import nh3

    text = harmless(text, keep_tabs=True)
    if len(text) > _LONGEST:
        return Markup('<p class="pre">') + escape(text) + Markup("</p>")
    rendered = _parser(breaks).render(text)
    clean = nh3.clean(
        rendered,
        tags=_TAGS,
        attributes=_ATTRIBUTES,
        url_schemes={"http", "https", "mailto"},
        link_rel="noopener noreferrer",
    )
    return with_secrets(_without_hidden(clean, text))


def _without_hidden(html: str, source: str) -> Markup:
    """Marks and entities may hide a secret that shows when they are gone: the words of such a text, without it."""
    words = unescape(_TAG.sub("\n", _INLINE_TAG.sub("", html)))
    secrets = find_secrets(words)
    if not (secrets or find_secrets(unescape("\n".join(_ATTRIBUTE.findall(html))))) or find_secrets(source):
        return Markup(html)
    for secret in reversed(secrets):
        words = f"{words[: secret.start]}[{secret.name}]{words[secret.end :]}"
    return Markup('<p class="pre">{}</p>').format(harmless(words, keep_tabs=True).strip())


def inline_words(line: str, signs: re.Pattern[str]) -> str:
    """What a line of Markdown reads; `signs`: what else is left out of it, but not of its code."""
    (inline,) = _parser(breaks=False).parseInline(line)
    return "".join(
        token.content if token.type == "code_inline" else signs.sub("", token.content) for token in inline.children or ()
    )


def text_html(text: str) -> Markup:
    """Plain text, as it was typed."""
    return with_secrets(escape(harmless(text, keep_tabs=True)))


def with_secrets(html: Markup) -> Markup:
    """The placeholders of masked secrets as buttons that fetch one; those in tags are left as they are."""
    if "[" not in html or not _SECRET.search(html):
        return html
    parts = re.split(r"(<[^>]*>)", str(html))
    return Markup("".join(part if part.startswith("<") else _SECRET.sub(_button, part) for part in parts))


def _button(found: re.Match[str]) -> str:
    name, mark = found.groups()
    return (
        f'<button class="secret" type="button" data-secret="{name}:{mark}" title="Reveal this secret">{name} {mark[:4]}</button>'
    )
