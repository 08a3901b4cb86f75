"""Markdown as it arrives -> blocks that are whole, each once, and the one that still grows.

A block ends at an empty line before text at the margin, before the next item of a list, and around a fence at the margin, so
that an item stays with its nested ones and a fence stays whole. One that grows too large to be drawn again and again is
divided between two lines. Of a paragraph, the beginning can be taken early. Knows nothing of terminals.
"""

from __future__ import annotations

import re

from msgspec import Struct

_FENCE = re.compile(r" {0,12}(`{3,}|~{3,})(.*)")
#: Characters. Beyond, a block is divided; a table is not, because its columns would part.
_LARGEST = 6_000
_LARGEST_TABLE = 30_000
_ITEM = re.compile(r"(?:[-+*]|\d{1,9}[.)])(?:\s|$)")
#: What makes a line another thing than a paragraph.
_NO_PARAGRAPH = re.compile(rf"\s|[>#|<]|```|~~~|{_ITEM.pattern}|\[[^\]]+\]:|[-=*_\s]+$")
#: Marks with their ends, and what may be one that has not ended.
_ENDED = re.compile(r"(`+)(?!`).+?(?<!`)\1(?!`)|\[[^\[\]]*\](?:\([^()]*\))?|(\*\*|__|~~|\*|_)(?=\S).+?(?<=\S)\2", re.DOTALL)
_WORD = re.compile(r"\S+\s")
_BEGUN = re.compile(r"[`\[|]|[*~](?=\S)|(?<!\w)_(?=\S)|<(?=\S)")


class MarkdownBlock(Struct, frozen=True):
    text: str
    #: It continues what precedes it, without an empty line.
    is_joined: bool = False


class MarkdownStream:
    def __init__(self) -> None:
        self._lines: list[str] = []
        self._size = 0
        #: What grows continues what precedes it, without an empty line.
        self.is_joined = False
        self._has_item = False
        self._begun: list[str] = []  # of the line that has not ended
        self._fence = ""  # the line that opened it, within one
        self._mark = ""
        self._is_blank = False
        self._done: list[MarkdownBlock] = []

    def feed(self, text: str) -> None:
        if "\n" not in text:
            self._begun += [text] if text else []
            return
        first, *more = text.split("\n")
        self._line("".join([*self._begun, first]))
        for line in more[:-1]:
            self._line(line)
        self._begun = [more[-1]] if more[-1] else []

    def take(self) -> list[MarkdownBlock]:
        """The blocks that became whole since the last call."""
        if self._is_blank and not self._fence and self._begun and not self._begun[0][:1].isspace():
            # Text at the margin, although its line has not ended.
            self._finish()
            self._is_blank = False
        done, self._done = self._done, []
        return done

    def end(self) -> list[MarkdownBlock]:
        """All that is left."""
        if self._begun:
            self._line("".join(self._begun))
            self._begun = []
        self._finish()
        self._fence = ""
        return self.take()

    @property
    def rest(self) -> str:
        """The block that still grows."""
        return "\n".join([*self._lines, "".join(self._begun)])

    def end_of_rest(self, most: int) -> str:
        """About as many characters of its end as can be seen: a paragraph may be a whole answer."""
        rest = self.rest if len(self._begun) <= most else "".join(self._begun[-most:])
        # A fence keeps its opening line: it is divided when it grows.
        return rest if len(rest) <= 2 * most or self._fence else rest[-most:].partition(" ")[2] or rest[-most:]

    @property
    def rest_of_fence(self) -> str:
        """The same without the line that has not ended, where that is one of code; else nothing."""
        return "\n".join(self._lines).rstrip() if self._fence else ""

    @property
    def open_line_of_fence(self) -> str:
        """That line alone, as code; nothing where the fence is part of a list."""
        return f"{self._fence}\n{''.join(self._begun)}" if self._fence and not self._fence[0].isspace() else ""

    def beginning(self, words: int) -> str:
        """So many words of a paragraph that grows, if they will be read as they are whatever follows; else nothing."""
        rest = self.rest
        if self._fence or self._is_blank or any(map(_NO_PARAGRAPH.match, rest.split("\n"))):
            return ""
        place = next((found.end() for number, found in enumerate(_WORD.finditer(rest), 1) if number == words), 0)
        text = rest[:place]
        is_begun = _BEGUN.search(_ENDED.sub("", text)) is not None
        return "" if is_begun or _NO_PARAGRAPH.match(rest[place:]) else text

    def leave_out(self, text: str) -> None:
        """This beginning of what grows, which was taken."""
        rest = self.rest[len(text) :]
        *self._lines, last = rest.split("\n")
        self._begun = [last] if last else []
        self._size = sum(len(line) + 1 for line in self._lines)
        self.is_joined = True

    def _line(self, line: str) -> None:
        if self._fence:
            self._add(line)
            found = _FENCE.match(line)
            if found and found[1].startswith(self._mark) and not found[2].strip():
                is_alone = not self._fence[0].isspace()
                self._fence = ""
                if is_alone:
                    self._finish()
            elif self._size > _LARGEST:
                opening = self._fence
                self._add(self._mark)
                self._finish()
                self._add(opening)
                self.is_joined = True
            return
        if not line.strip():
            self._is_blank = True
            if self._lines:
                self._add("")
            return
        is_large = self._size > (_LARGEST_TABLE if line.startswith("|") else _LARGEST)
        is_item = _ITEM.match(line) is not None
        is_next = is_item and self._has_item and not self._is_blank
        is_code = line.startswith(("```", "~~~"))
        if (self._is_blank and not line.startswith(("  ", "\t"))) or is_large or is_next or is_code:
            self._finish()
            self.is_joined = not (self._is_blank or is_code)
        self._is_blank = False
        self._has_item = self._has_item or is_item
        self._add(line)
        if found := _FENCE.match(line):
            self._fence, self._mark = line, found[1]

    def _add(self, line: str) -> None:
        self._lines.append(line)
        self._size += len(line) + 1

    def _finish(self) -> None:
        if text := "\n".join(self._lines).strip("\n"):
            self._done.append(MarkdownBlock(text, self.is_joined))
        self._lines, self._size = [], 0
        self.is_joined = self._has_item = False
