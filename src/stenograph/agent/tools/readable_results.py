"""What a search found, without the files that may not be read.

In: the bytes of a search that puts NUL behind names (ripgrep's --null), as they come. Out: the lines that it would have written
otherwise, but those of files that are left out. What can't be told to belong to a file is left out too: so are names with a
newline in them. Knows nothing of processes or rules.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from stenograph.agent.tools.searching import Search

#: ripgrep writes it behind a file's lines, and puts no NUL behind that name. (13.0.0)
_REMARK = re.compile(rb": WARNING: stopped searching binary file after match [^\n]*\n")
_NUMBER = re.compile(rb"(\d+)([:-])")


class ReadableResults:
    """Of one search."""

    def __init__(self, wanted: Search, may_show: Callable[[bytes], bool]) -> None:
        """`may_show` is asked once for each stretch of results of one file, by the name that the search gives it."""
        self._wanted = wanted
        self._may_show = may_show
        #: What came and is not whole yet.
        self._held = b""
        self._name = b""
        self._is_shown = False
        #: A separator came, and nothing that is shown since.
        self._is_apart = False
        self._has_shown = False

    @property
    def held(self) -> int:
        """Bytes that wait for more."""
        return len(self._held)

    def feed(self, data: bytes) -> bytes:
        self._held += data
        shown = bytearray()
        at = 0
        while (end := self._result(at, shown)) is not None:
            at = end
        self._held = self._held[at:]
        return bytes(shown)

    def _result(self, at: int, shown: bytearray) -> int | None:
        """Takes one result; where the next begins, None where this one is not whole."""
        held = self._held
        if self._name and held.startswith(self._name + b": ", at):
            if held.find(b"\n", at) < 0:
                return None
            if remark := _REMARK.match(held, at + len(self._name)):
                self._show(held[at : remark.end()], shown)
                return remark.end()
        name_end = held.find(b"\0", at)
        end = name_end if self._wanted.mode == "files_with_matches" else held.find(b"\n", name_end)
        if name_end < 0 or end < 0:
            return None
        name = held[at:name_end]
        if not name:
            self._is_apart = True
            return end + 1
        if name != self._name:
            self._name = name
            self._is_shown = b"\n" not in name and self._may_show(name)
        self._show(self._line(name, held[name_end + 1 : end]) + b"\n", shown)
        return end + 1

    def _show(self, line: bytes, shown: bytearray) -> None:
        if not self._is_shown:
            return
        if self._is_apart and self._has_shown:
            shown += b"--\n"
        self._is_apart = False
        self._has_shown = True
        shown += line

    def _line(self, name: bytes, rest: bytes) -> bytes:
        match self._wanted.mode:
            case "files_with_matches":
                return name
            case "count":
                return name + b":" + rest
        number = _NUMBER.match(rest)
        if number is None:  # a remark of our own search
            return name + rest
        sign = number[2]
        return name + sign + (number[0] if self._wanted.with_numbers else b"") + rest[number.end() :]
