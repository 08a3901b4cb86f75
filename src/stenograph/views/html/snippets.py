"""The text around a match of a search -> HTML: the matches marked, and of Markdown only its words."""

from __future__ import annotations

import re

from markupsafe import Markup, escape

from stenograph.redact import find_secrets
from stenograph.views.html.markup import inline_words
from stenograph.views.pages.search import HitLinePage
from stenograph.views.text import harmless

#: What is written as Markdown. In other texts, the same characters are code, paths and output.
_MARKDOWN = ("prompt", "answer", "thinking")
#: Around a match while Markdown is read: letters to its parser, and in no snippet, which has private characters as escapes.
_BEGIN, _END = "\ue000", "\ue001"
_BOUND = re.compile(f"([{_BEGIN}{_END}])")
#: Signs of lines, which are all one here: headings, quotations, and the language of code.
_SIGNS = re.compile(r"(?<!\S)(?:#{1,6} |> (?=\w))|(?<=```)\w+ ")
#: What begins an item of a list; and what is between the cells of a table, if there is the line below its head.
_ITEM = re.compile(r"(?<=[.:;!?)*`]) [-*] (?=\S)")
_HEAD = re.compile(r"\|(?: ?:?-{2,}:? ?\|)+")
_CELLS = re.compile(r"(?: ?\|)+ ?")
#: Signs whose other half is not in the snippet.
_HALVES = re.compile(rf"(?<!\w)\*\*(?=[\w{_BEGIN}])|(?<=[\w.,:;!?)\"'{_END}])\*\*(?!\w)|`+")


def snippet_html(line: HitLinePage) -> Markup:
    """The text around a match, with the matches marked."""
    text, last = "", 0
    for begin, end in line.matches:
        text += line.snippet[last:begin] + _BEGIN + line.snippet[begin:end] + _END
        last = end
    text += line.snippet[last:]
    if line.kind in _MARKDOWN:
        plain = _ITEM.sub(" · ", _SIGNS.sub("", text))
        plain = _CELLS.sub(" · ", _HEAD.sub("|", plain)) if _HEAD.search(plain) else plain
        words = inline_words(plain.strip(" ·").replace(": · ", ": "), _HALVES)
        # A match in the address of a link stays in sight, and a secret with signs in it stays in pieces.
        if _BOUND.findall(words) == _BOUND.findall(text) and not find_secrets(_BOUND.sub("", words)):
            text = "".join(piece if _BOUND.match(piece) else harmless(piece) for piece in _BOUND.split(words))
    return Markup(str(escape(text)).replace(_BEGIN, "<mark>").replace(_END, "</mark>"))
