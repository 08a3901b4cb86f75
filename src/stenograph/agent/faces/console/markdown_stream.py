"""Markdown as it arrives -> blocks that are whole, each once, and the one that still grows.

A block ends at an empty line before text at the margin, so that a list stays with its nested items and a fence stays whole. One
that grows too large to be drawn again and again is divided between two lines. Knows nothing of terminals.
"""

from __future__ import annotations

import re

_FENCE = re.compile(r" {0,12}(`{3,}|~{3,})(.*)")
#: Characters. Beyond, a block is divided; a table is not, because its columns would part.
_LARGEST = 6_000
_LARGEST_TABLE = 30_000


class MarkdownStream:
    def __init__(self) -> None:
        self._lines: list[str] = []
        self._size = 0
        self._begun: list[str] = []  # of the line that has not ended
        self._fence = ""  # the line that opened it, within one
        self._mark = ""
        self._is_blank = False
        self._done: list[str] = []

    def feed(self, text: str) -> None:
        if "\n" not in text:
            self._begun.append(text)
            return
        first, *more = text.split("\n")
        self._line("".join([*self._begun, first]))
        for line in more[:-1]:
            self._line(line)
        self._begun = [more[-1]] if more[-1] else []

    def take(self) -> list[str]:
        """The blocks that became whole since the last call."""
        done, self._done = self._done, []
        return done

    def end(self) -> list[str]:
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

    def _line(self, line: str) -> None:
        if self._fence:
            self._add(line)
            found = _FENCE.match(line)
            if found and found[1].startswith(self._mark) and not found[2].strip():
                self._fence = ""
            elif self._size > _LARGEST:
                opening = self._fence
                self._add(self._mark)
                self._finish()
                self._add(opening)
            return
        if not line.strip():
            self._is_blank = True
            if self._lines:
                self._add("")
            return
        is_large = self._size > (_LARGEST_TABLE if line.startswith("|") else _LARGEST)
        if (self._is_blank and not line.startswith(("  ", "\t"))) or is_large:
            self._finish()
        self._is_blank = False
        self._add(line)
        if found := _FENCE.match(line):
            self._fence, self._mark = line, found[1]

    def _add(self, line: str) -> None:
        self._lines.append(line)
        self._size += len(line) + 1

    def _finish(self) -> None:
        if text := "\n".join(self._lines).strip("\n"):
            self._done.append(text)
        self._lines, self._size = [], 0
